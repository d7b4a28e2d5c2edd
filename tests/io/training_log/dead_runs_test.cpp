// Pins what is read of logs that people pasted into issue threads when their runs overflowed or died: each log of
// tests/data/logs against its row of expected.csv, which was made by hand. A log may be refused, but not misread.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// "379-385 701 10199*3": steps, ranges of them, and one step several times.
std::vector<std::int64_t> steps_in(const std::string& text) {
  std::vector<std::int64_t> steps;
  if (text == "-") return steps;
  for (const std::string& part : split(text, ' ')) {
    const auto range = split(part, '-');
    const auto times = split(part, '*');
    const std::int64_t first = std::stoll(range.at(0));
    const std::int64_t last = range.size() > 1 ? std::stoll(range[1]) : first;
    const std::int64_t count = times.size() > 1 ? std::stoll(times[1]) : 1;
    for (std::int64_t s = first; s <= last; ++s) steps.insert(steps.end(), static_cast<std::size_t>(count), s);
  }
  return steps;
}

std::string scales_of(const contents& read) {
  std::vector<double> scales;
  for (const step& s : read.steps)
    if (s.scalars.applied == false && !std::isnan(s.scalars.loss_scale)) scales.push_back(s.scalars.loss_scale);
  if (scales.empty()) return "-";
  std::ostringstream text;
  text.precision(17);
  text << scales.front() << ".." << scales.back();
  return text.str();
}

// As numbers: texts of the same scale may differ.
std::vector<double> numbers(const std::string& scales) {
  if (scales == "-") return {};
  const std::size_t dots = scales.find("..");
  return {std::strtod(scales.substr(0, dots).c_str(), nullptr), std::strtod(scales.substr(dots + 2).c_str(), nullptr)};
}

const std::filesystem::path& folder() {
  static const std::filesystem::path all = source_dir() / "tests" / "data" / "logs";
  return all;
}

}  // namespace

TEST_CASE("dead runs: pasted logs are read as their hand-made rows say") {
  std::ifstream table(folder() / "expected.csv");
  std::string line;
  std::getline(table, line);
  REQUIRE(line == "log,numbers,rows,skipped,lost,open,scales,marked");
  std::size_t rows = 0;
  std::size_t refused = 0;
  while (std::getline(table, line)) {
    std::vector<std::string> row = split(line, ',');
    row.resize(8);
    const std::string path = (folder() / (row[0] + ".log")).string();
    INFO(row[0]);
    ++rows;
    if (row[1] == "refused") {
      ++refused;
      CHECK_THROWS_AS(open_source({path}), input_error);
      continue;
    }
    const auto log = open_source({path});
    const contents read = read_all(*log);
    CHECK(read.steps.size() == std::stoull(row[2]));
    std::vector<std::int64_t> skipped;
    std::vector<std::int64_t> lost;
    std::vector<std::int64_t> marked;
    std::uint64_t open = 0;
    for (const step& s : read.steps) {
      const bool found = s.scalars.found_inf.value_or(false);
      if (found && s.scalars.applied == false) skipped.push_back(s.key.step);
      if (found && s.scalars.applied != false) lost.push_back(s.key.step);
      open += s.scalars.found_inf ? 0 : 1;
      const bool is_marked = s.bounds && !s.bounds->certain;
      if (is_marked && (marked.empty() || marked.back() != s.key.step)) marked.push_back(s.key.step);
      // What is not known to have been applied is not said to be.
      CHECK((s.scalars.found_inf || !s.scalars.applied));
    }
    CHECK(skipped == steps_in(row[3]));
    CHECK(lost == steps_in(row[4]));
    CHECK(open == std::stoull(row[5]));
    CHECK(numbers(scales_of(read)) == numbers(row[6]));
    CHECK(marked == steps_in(row[7]));
    const bool says_order = std::ranges::any_of(
        read.notes, [](const std::string& n) { return n.starts_with("the log has no step numbers"); });
    CHECK(says_order == (row[1] == "order"));
  }
  CHECK(rows >= 30);
  CHECK(rows - refused >= 27);
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder())) files += file.path().extension() == ".log";
  CHECK(files == rows);
}

TEST_CASE("a count of no skipped step beside NaN leaves the steps between open") {
  const playground place;
  std::string text;
  for (int i = 10; i <= 2000; i += 10) {
    const std::string step = std::to_string(i);
    const bool lost = i > 1500;
    text +=
        " iteration " + std::string(9 - step.size(), ' ') + step +
        "/  500000 | consumed samples:         2560 | learning rate: 1.0E-04 | global batch size:   256 | lm loss: " +
        (lost ? "NAN" : "2.5E+00") + " | loss scale: 1.0 | grad norm: " + (lost ? "nan" : "0.412") +
        " | number of skipped iterations:   0 | number of nan iterations:   0 |\n";
  }
  const contents log = place.open("train.log", text);
  REQUIRE(log.steps.size() == 2000);
  std::size_t applied = 0;
  for (std::size_t i = 1500; i < log.steps.size(); ++i) applied += log.steps[i].scalars.found_inf == false ? 1 : 0;
  CHECK(applied == 0);
  CHECK(log.steps[1509].scalars.found_inf == true);
  CHECK(log.steps[1400].scalars.found_inf == false);
}
