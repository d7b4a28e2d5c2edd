// Pins the ranges that TensorBoard's histograms of a real run give: they hold the true counts of the run's dump, of every
// raw value rounded by the reference, and agree with the binade counts of every step; prints how wide they are.
#include <cmath>
#include <cstdio>
#include <map>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/model/outcomes/lost_mass.hpp>

#include "model/golden.hpp"
#include "support/catch.hpp"
#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr const char* format_names[] = {"float16", "bfloat16", "cbfloat16"};
constexpr double scales[] = {1, 0x1p8, 0x1p15};

// "grad/wgrad/blk.0.qkv.weight" -> "wgrad/blk.0.qkv.weight", as dumps have it.
std::string dump_name(const std::string& tag) { return tag.substr(tag.find('/') + 1); }
// "blk.0.qkv.weight", as the histograms of the run have it.
std::string plain_name(const std::string& tag) { return dump_name(dump_name(tag)); }

std::filesystem::path events_of(const std::filesystem::path& shared) {
  for (const auto& file : std::filesystem::directory_iterator(shared / "data" / "tfevents" / "chartf_good_v1"))
    return file.path();
  return {};
}

double width_of(const count_range& range, std::uint64_t of) {
  return 100 * static_cast<double>(range.high - range.low) / static_cast<double>(of);
}

}  // namespace

TEST_CASE("TensorBoard's histograms hold the true counts of the dump") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto from = open_source({events_of(shared).string()});
  step first;
  REQUIRE(from->next(first));
  REQUIRE(first.key.step == 0);
  const auto raw = read_raw(shared / "data" / "chartf_good" / "chartf_good.step00000.safetensors");
  std::printf("%s\n", from->notes().at(0).c_str());
  int compared = 0;
  for (const char* const f : format_names)
    for (const double scale : scales) {
      double width = 0;
      double off = 0;
      int n = 0;
      for (const direction d : deterministic_directions)
        for (const tensor_row& row : first.tensors) {
          const auto& values = raw.at(dump_name(from->tensors()[row.tensor].name));
          const rounding mode{.direction = d};
          const outcome_counts truth = count_raw(values, *find_format(f), mode, scale);
          const outcome_counts told = outcomes_of(row.table, {*find_format(f), mode}, {.scale = scale});
          CAPTURE(f, scale, to_string(mode), from->tensors()[row.tensor].name);
          CHECK(told.numel == truth.numel);
          CHECK(told.nonfinite == truth.nonfinite);
          CHECK(contains(told.zeros(), {truth.zero, truth.zero}));
          CHECK(contains(told.underflow, truth.underflow));
          CHECK(contains(told.subnormal, truth.subnormal));
          CHECK(contains(told.normal, truth.normal));
          CHECK(contains(told.overflow, truth.overflow));
          CHECK(contains(told.infinite, truth.infinite));
          width += width_of(told.underflow, told.numel);
          const double middle = static_cast<double>(told.underflow.low + told.underflow.high) / 2;
          off += 100 * std::fabs(middle - static_cast<double>(truth.underflow.low)) / static_cast<double>(told.numel);
          ++n;
          ++compared;
        }
      std::printf(
          "%s at %g: the underflow of %d cases is known to %.3f percentage points of all values on average, "
          "the middle is off by %.3f\n",
          f, scale, n, width / n, off / n);
    }
  CHECK(compared == 3 * 3 * 6 * 6);
}

TEST_CASE("TensorBoard's histograms agree with the octaves of every step") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto from = open_source({events_of(shared).string()});
  const auto binades = open_source({(shared / "data" / "chartf_good" / "chartf_good.hist.csv.gz").string()});
  step now;
  step same;
  int compared = 0;
  while (from->next(now)) {
    do REQUIRE(binades->next(same));
    while (same.key < now.key);
    REQUIRE(same.key == now.key);
    std::map<std::string, const tensor_row*> by_name;
    for (const tensor_row& row : same.tensors) by_name[binades->tensors()[row.tensor].name] = &row;
    CHECK(std::isfinite(now.scalars.loss));
    for (const tensor_row& row : now.tensors) {
      const cell_table& truth = by_name.at(plain_name(from->tensors()[row.tensor].name))->table;
      const cell_table& told = row.table;
      CHECK(told.numel == truth.numel);
      CHECK(contains(count_range{told.zeros, told.zeros + told.maybe_zeros}, count_range{truth.zeros, truth.zeros}));
      CHECK(told.max_abs == truth.max_abs);
      CHECK(squares_sum(told).value == Approx(squares_sum(truth).value).epsilon(1e-4));
      const value_range magnitudes = magnitudes_bounds(told);
      CHECK(magnitudes.low <= magnitudes_sum(truth).value);
      CHECK(magnitudes.high >= magnitudes_sum(truth).value);
      for (const char* const f : format_names)
        for (const double scale : scales) {
          const outcome_counts a = outcomes_of(told, {*find_format(f)}, {.scale = scale});
          const outcome_counts b = outcomes_of(truth, {*find_format(f)}, {.scale = scale});
          // Both hold the truth.
          CHECK(a.underflow.low <= b.underflow.high);
          CHECK(a.underflow.high >= b.underflow.low);
          CHECK(a.overflow.low <= b.overflow.high);
          CHECK(a.overflow.high >= b.overflow.low);
          ++compared;
        }
    }
  }
  CHECK(compared == 21 * 6 * 9);
}
