// Pins replays of real runs: the skips of a real float16 run predicted from a float32 recording of the same seeds, and
// the gradient norm that training logged.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/bytes/regex.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/model/replay/replay.hpp>

#include <cmath>
#include <sstream>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<trajectory_row> replayed(const std::string& input, const scenario& s, const source_options& how = {}) {
  const auto from = open_source({input}, how);
  replayer r(s);
  std::vector<trajectory_row> rows;
  step now;
  while (from->next(now)) rows.push_back(r.advance(now, from->tensors()));
  return rows;
}

scenario pytorch_float16(double growth_interval) {
  scenario s{make_scaler(*find_scaler("pytorch"), {{"growth_interval", growth_interval}}), {float16}};
  return s;
}

}  // namespace

TEST_CASE("the float32 run predicts the float16 run when the tensors that pass through float16 are checked") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const std::string input = (shared / "data/chartf_good/chartf_good.hist.csv.gz").string();
  scenario s = pytorch_float16(200);
  s.checked = regex(R"((qkv|proj|fc1|fc2)\.(weight|bias)$|^head\.weight$)");
  std::vector<std::pair<std::int64_t, double>> skips;
  const auto rows = replayed(input, s);
  for (const trajectory_row& row : rows)
    if (row.skipped) skips.emplace_back(row.key.step, row.scale_used);
  CHECK(skips == std::vector<std::pair<std::int64_t, double>>{{506, 0x1p18}, {900, 0x1p18}, {1304, 0x1p19}});
  CHECK(rows.size() == 1500);
  CHECK(rows.back().scale_next == 0x1p18);

  s.checked = regex(".");
  std::size_t skipped = 0;
  for (const trajectory_row& row : replayed(input, s)) skipped += row.skipped ? 1 : 0;
  CHECK(skipped == 6);
}

TEST_CASE("norms are those that training logged, and clipping triggers as often") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  struct expectation {
    std::string run;
    std::size_t clipped;
    bool scaled;
  };
  for (const auto& [run, clipped, is_scaled] :
       {expectation{"cnn_digits", 58, false}, expectation{"chartf_good", 1488, false}, expectation{"lstm", 786, false},
        expectation{"chartf_fp16hot", 25, true}}) {
    CAPTURE(run);
    const auto dir = shared / "data" / run;
    source_options how;
    how.scalars = (dir / (run + ".scalars.csv")).string();
    how.factor_is_loss_scale = is_scaled;
    if (!is_scaled) how.factor = 1;
    scenario s = pytorch_float16(200);
    s.clip_norm = norm_clipping{.max_norm = 1};
    const auto rows = replayed((dir / (run + ".hist.csv.gz")).string(), s, how);

    std::stringstream in(read_file(how.scalars));
    std::string line;
    std::getline(in, line);
    const auto header = fields_of(line);
    const auto column = static_cast<std::size_t>(std::find(header.begin(), header.end(), "grad_norm") - header.begin());
    std::size_t i = 0;
    std::size_t triggered = 0;
    double worst = 0;
    while (std::getline(in, line)) {
      const double logged = number_of(fields_of(line).at(column));
      const trajectory_row& row = rows.at(i++);
      triggered += row.clipped.value_or(false) ? 1 : 0;
      if (std::isfinite(logged)) worst = std::max(worst, std::abs(row.norm - logged) / logged);
    }
    CHECK(i == rows.size());
    CHECK(worst < 1e-12);
    CHECK(triggered == clipped);
  }
}
