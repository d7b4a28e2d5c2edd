// Pins promise 2 on real gradients: counts from the dump, from its recording and from every raw value are the same;
// ranges from the histograms of whole runs contain the true counts.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/recording.hpp>
#include <ulp/io/source.hpp>

#include <map>
#include <sstream>

#include "model/golden.hpp"
#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr const char* formats[] = {"float16", "bfloat16", "cbfloat16"};
constexpr double scales[] = {1, 0x1p8, 0x1p15};

std::map<std::string, tensor_row> rows_of(source& from) {
  std::map<std::string, tensor_row> rows;
  step now;
  REQUIRE(from.next(now));
  for (const tensor_row& row : now.tensors) rows[from.tensors()[row.tensor].name] = row;
  CHECK_FALSE(from.next(now));
  return rows;
}

}  // namespace

TEST_CASE("every dump: raw values, dump and recording agree in six roundings") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  std::size_t files = 0;
  std::size_t compared = 0;
  std::size_t wrong = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared / "data")) {
    if (entry.path().extension() != ".safetensors" || entry.path().parent_path().filename() == "malformed") continue;
    ++files;
    CAPTURE(entry.path().string());
    const auto raw = read_raw(entry.path());
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    const auto dump = open_source({entry.path().string()});
    {
      recording_writer writer(path, recording_writer::mode::create);
      const auto again = open_source({entry.path().string()});
      step now;
      while (again->next(now)) writer.write(now, again->tensors());
    }
    const auto recording = open_source({path});
    const auto from_dump = rows_of(*dump);
    const auto from_recording = rows_of(*recording);
    REQUIRE(from_dump.size() == raw.size());
    REQUIRE(from_recording.size() == raw.size());
    for (const auto& [name, values] : raw) {
      for (const char* const f : formats) {
        for (const double scale : scales) {
          for (const direction d : deterministic_directions) {
            const rounding mode{.direction = d};
            const outcome_counts truth = count_raw(values, *find_format(f), mode, scale);
            ++compared;
            for (const auto* const rows : {&from_dump, &from_recording})
              if (!(outcomes_of(rows->at(name).table, *find_format(f), mode, {scale}) == truth)) ++wrong;
          }
        }
      }
    }
  }
  CHECK(files >= 10);
  CHECK(compared > 10000);
  CHECK(wrong == 0);
}

TEST_CASE("ranges from whole-run histograms contain the true counts") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  for (const std::string run : {"cnn_digits", "chartf_good", "chartf_fp16hot", "lstm"}) {
    // kind, format, log2 scale -> underflow, below the smallest normal number, overflow
    std::map<std::tuple<std::string, std::string, int>, std::array<std::uint64_t, 3>> truth;
    std::stringstream flow(read_file(shared / "data" / run / (run + ".flow.csv")));
    std::string line;
    std::getline(flow, line);
    while (std::getline(flow, line)) {
      const auto f = fields_of(line);
      if (f[0] != "all") continue;
      auto& sums = truth[{f[1], f[6], std::stoi(f[7])}];
      for (std::size_t i = 0; i < 3; ++i) sums[i] += std::stoull(f[8 + i]);
    }
    REQUIRE_FALSE(truth.empty());
    std::map<std::tuple<std::string, std::string, int>, outcome_counts> ours;
    const auto from = open_source({(shared / "data" / run / (run + ".hist.csv.gz")).string()});
    step now;
    while (from->next(now))
      for (const tensor_row& row : now.tensors)
        for (const auto& [key, counts] : truth) {
          const auto& [kind, f, j] = key;
          if (parse_kind(kind) == from->tensors()[row.tensor].kind)
            ours[key] += outcomes_of(row.table, *find_format(f), {}, {std::ldexp(1.0, j)});
        }
    for (const auto& [key, counts] : truth) {
      CAPTURE(run, std::get<0>(key), std::get<1>(key), std::get<2>(key));
      const outcome_counts& c = ours.at(key);
      CHECK((c.underflow.low <= counts[0] && counts[0] <= c.underflow.high));
      CHECK((c.overflow.low <= counts[2] && counts[2] <= c.overflow.high));
      const std::uint64_t low = c.underflow.low + c.subnormal.low;
      const std::uint64_t high = c.underflow.high + c.subnormal.high;
      CHECK((low <= counts[1] && counts[1] <= high));
    }
  }
}
