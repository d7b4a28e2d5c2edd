// Pins promise 2 on real gradients: counts from the dump, from its recording and from every raw value are the same;
// ranges from the histograms of whole runs contain the true counts.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>

#include <algorithm>
#include <cmath>
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

// But those whose codes are read as multiples of scales beside them: tests of the dumps pin these.
std::vector<std::filesystem::path> dumps() {
  std::vector<std::filesystem::path> all;
  const auto shared = shared_dir();
  if (shared.empty()) return all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shared / "data"))
    if (entry.path().extension() == ".safetensors" && entry.path().parent_path().filename() != "malformed" &&
        read_file(entry.path().string()).find("weight_scale_inv") == std::string::npos)
      all.push_back(entry.path());
  return all;
}

}  // namespace

TEST_CASE("every dump: raw values, dump and recording agree in six roundings") {
  const auto all = dumps();
  if (all.empty()) return;
  std::size_t compared = 0;
  std::size_t wrong = 0;
  for (const auto& file : all) {
    CAPTURE(file.string());
    const auto raw = read_raw(file);
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    const auto dump = open_source({file.string()});
    {
      recording_writer writer(path, recording_writer::mode::create);
      const auto again = open_source({file.string()});
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
              if (!(outcomes_of(rows->at(name).table, {*find_format(f), mode}, {scale}) == truth)) ++wrong;
          }
        }
      }
    }
  }
  CHECK(all.size() >= 10);
  CHECK(compared > 10000);
  CHECK(wrong == 0);
}

TEST_CASE("values of every dump in seven formats, all scales from 2^-8 to 2^24, all roundings and all ways to flush") {
  constexpr std::size_t most = 400;  // values of a tensor, spread over it
  std::size_t compared = 0;
  std::size_t wrong = 0;
  std::size_t ranges = 0;
  for (const auto& path : dumps())
    for (const auto& [name, values] : read_raw(path)) {
      std::vector<double> some;
      for (std::size_t i = 0; i < values.size(); i += std::max<std::size_t>(1, values.size() / most))
        some.push_back(values[i]);
      const cell_table table = count_cells(std::span{some});
      for (const char* const f : {"float16", "bfloat16", "cbfloat16", "tf32", "float8_e4m3fn", "float8_e5m2", "e3m8"}) {
        const format to = *find_format(f);
        for (int k = -8; k <= 24; k += 4)
          for (const direction d : deterministic_directions)
            for (const flush how : {flush::never, flush::before_rounding, flush::after_rounding, flush::result}) {
              const rounding mode{.direction = d, .flush = how};
              const double scale = std::ldexp(1.0, k);
              const outcome_counts truth = count_raw(some, to, mode, scale);
              const outcome_counts counts = outcomes_of(table, {to, mode}, {scale});
              ++compared;
              if (!(counts == truth)) {
                // The overflow edge of e4m3fn to nearest is in the table; its other edges may cut cells.
                const bool holds =
                    counts.underflow.low <= truth.underflow.low && truth.underflow.low <= counts.underflow.high &&
                    counts.overflow.low <= truth.overflow.low && truth.overflow.low <= counts.overflow.high;
                (to.top == specials::nan_all_ones && holds ? ranges : wrong) += 1;
              }
            }
      }
    }
  if (!shared_dir().empty()) CHECK(compared > 100'000);
  CHECK(wrong == 0);
  INFO(ranges);
  CHECK(ranges * 100 <= compared);
}

TEST_CASE("one draw of every value lies within five standard deviations of the mean") {
  std::size_t compared = 0;
  for (const auto& path : dumps())
    for (const auto& [name, values] : read_raw(path))
      for (const char* const f : {"float16", "bfloat16", "cbfloat16", "float8_e5m2"})
        for (const double scale : {1.0, 0x1p8})
          for (const int bits : {8, 32}) {
            const format to = *find_format(f);
            const rounding mode{.direction = direction::stochastic, .random_bits = bits};
            std::vector<float> narrow(values.begin(), values.end());
            const expected_outcomes e =
                expected_outcomes_of(count_cells(std::span{narrow}), {to, mode}, {.scale = scale});
            double zeros = 0;
            double overflows = 0;
            for (std::size_t i = 0; i < values.size(); ++i) {
              const unpacked y = product(values[i], scale);
              if (y.kind != number_class::finite) continue;
              const encoded drawn = encode(to, y, mode, random_bits(1, stream_of(name, 0), i, bits));
              zeros += (drawn.code & to.magnitude_mask()) == 0 ? 1 : 0;
              overflows += any(drawn.flags, status::overflow) ? 1 : 0;
            }
            ++compared;
            CAPTURE(path.string(), name, f, scale, bits);
            const auto within = [](const expected_count& c, double n) {
              const double slack = 5 * c.deviation().high + 1e-6;
              return c.mean.low - slack <= n && n <= c.mean.high + slack;
            };
            if (!within(e.underflow, zeros)) CHECK(zeros == e.underflow.mean.low);
            if (!within(e.overflow, overflows)) CHECK(overflows == e.overflow.mean.low);
          }
  if (!shared_dir().empty()) CHECK(compared > 1000);
}

TEST_CASE("the modelled SQNR of real tensors is close to that of rounding every value") {
  // Of float32 values; what had been rounded before has errors of its own pattern. Small tensors are few errors.
  constexpr std::size_t many = 1000;
  std::vector<double> differences;
  std::vector<double> of_small;
  for (const auto& path : dumps())
    for (const auto& [name, values] : read_raw(path)) {
      const cell_table table = count_cells(std::span{values});
      for (const char* const f : formats) {
        const format to = *find_format(f);
        rounding_noise truth;
        for (const double x : values) {
          const encoded e = encode(to, product(x, 0x1p8), {});
          if (!std::isfinite(x) || any(e.flags, status::overflow)) continue;
          const double error = to_double(to, e.code) / 0x1p8 - x;
          truth.signal += x * x;
          truth.squares += error * error;
        }
        const rounding_noise model = noise_of(table, {to}, {.scale = 0x1p8});
        CAPTURE(path.string(), name, f);
        if (!(truth.squares > 0) || model.overflowing > 0) continue;
        CHECK(model.least <= truth.squares * (1 + 1e-9));
        CHECK(model.most >= truth.squares * (1 - 1e-9));
        if (path.string().find(".half.") != std::string::npos) continue;
        (values.size() >= many ? differences : of_small).push_back(std::abs(model.sqnr() - truth.sqnr()));
      }
    }
  if (differences.empty()) return;
  std::ranges::sort(differences);
  std::ranges::sort(of_small);
  // docs/numerics.md quotes medians and largest differences.
  CHECK(differences.back() < 3.1);
  CHECK(of_small[of_small.size() / 2] < 0.65);
  CHECK(of_small.back() < 6.5);
  CHECK(differences[differences.size() / 2] < 0.1);
}

TEST_CASE("with the error ladder the SQNR of every dump is that of rounding every value") {
  std::size_t compared = 0;
  for (const auto& path : dumps()) {
    source_options how;
    how.with_errors = true;
    const auto from = open_source({path.string()}, how);
    const auto rows = rows_of(*from);
    for (const auto& [name, values] : read_raw(path))
      for (const char* const f : {"float16", "bfloat16", "cbfloat16", "tf32", "float8_e4m3fn", "float8_e5m2", "e3m8"})
        for (const double scale : {0x1p-8, 1.0, 0x1p8, 0x1p16}) {
          const format to = *find_format(f);
          const rounding_noise noise = noise_of(rows.at(name), {to}, {.scale = scale});
          if (!noise.exact) continue;
          rounding_noise truth;
          for (const double x : values) {
            const encoded e = encode(to, product(x, scale), {});
            if (!std::isfinite(x) || any(e.flags, status::overflow)) continue;
            const double error = x - to_double(to, e.code) / scale;
            truth += {.signal = x * x, .squares = error * error, .products = error * x, .values = 1};
          }
          ++compared;
          CAPTURE(path.string(), name, f, scale);
          const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-11 * std::abs(b); };
          if (noise.values != truth.values || !close(noise.squares, truth.squares) ||
              !close(noise.signal - noise.products, truth.signal - truth.products))
            CHECK(noise.squares == truth.squares);
        }
  }
  if (!shared_dir().empty()) CHECK(compared > 5000);
}

TEST_CASE("value clipping of the recorded dumps of a run is clamping every element") {
  for (const std::string number : {"00000", "00100", "01000"}) {
    const auto shared = shared_dir();
    if (shared.empty()) return;
    const auto path = shared / "data" / "cnn_digits" / ("cnn_digits.step" + number + ".safetensors");
    const temporary_dir dir;
    const std::string recorded = (dir / "run.ulp").string();
    source_options how;
    how.edges = {1e-4, 1e-3, 0.01, 0.1};
    how.factor = 1024;
    {
      recording_writer writer(recorded, recording_writer::mode::create);
      const auto dump = open_source({path.string()}, how);
      step now;
      while (dump->next(now)) writer.write(now, dump->tensors());
    }
    const auto raw = read_raw(path);
    for (const bool merged : {false, true})
      for (const double bound : how.edges) {
        const auto from = merged ? open_totals(recorded) : open_recording(recorded);
        clamping sum;
        step now;
        REQUIRE(from->next(now));
        for (const tensor_row& row : now.tensors) sum += clamping_of(row, bound, {.factor = row.factor});
        std::uint64_t elements = 0;
        double squares = 0;
        for (const auto& [name, values] : raw)
          for (const double x : values) {
            const double y = std::abs(x) / 1024;
            elements += y > bound ? 1 : 0;
            squares += std::min(y, bound) * std::min(y, bound);
          }
        CAPTURE(number, bound);
        CHECK(sum.elements == count_range{elements, elements});
        CHECK(sum.squares.exact());
        CHECK(sum.squares.low == Approx(squares).epsilon(1e-12));
      }
  }
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
            ours[key] += outcomes_of(row.table, {*find_format(f)}, {std::ldexp(1.0, j)});
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
