// Golden traces of the frameworks' own scalers: how the files are read and compared. See tests/data/golden/README.md.
#ifndef ULP_TESTS_MODEL_GOLDEN_HPP
#define ULP_TESTS_MODEL_GOLDEN_HPP

#include <ulp/model/scaler.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/files.hpp"

namespace ulp::test {

using parameters = std::vector<std::pair<std::string, parameter_value>>;

inline std::vector<std::string> fields_of(const std::string& line, char separator = ',') {
  std::vector<std::string> fields;
  std::stringstream in(line);
  for (std::string field; std::getline(in, field, separator);) fields.push_back(field);
  return fields;
}

inline double number_of(const std::string& text) {
  if (text == "nan") return std::nan("");
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size()) throw std::runtime_error("no number: " + text);
  return x;
}

// One step of an input: overflow given, or the largest magnitude from which it follows.
struct golden_input {
  bool closed_loop = false;
  std::vector<double> values;
};

inline golden_input read_input(const std::filesystem::path& path) {
  std::stringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  golden_input input;
  input.closed_loop = fields_of(line).at(1) == "maxabs";
  while (std::getline(in, line)) input.values.push_back(number_of(fields_of(line).at(1)));
  return input;
}

// The scales after each step that an .events file stands for; shorter where the original raised.
struct golden_trace {
  double first = 0;
  std::vector<std::pair<std::size_t, double>> changes;  // step, scale_next
  std::optional<std::size_t> error_step;
};

inline golden_trace read_events(const std::filesystem::path& path) {
  std::stringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  golden_trace trace;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    const auto at = static_cast<std::size_t>(number_of(fields.at(0)));
    if (fields.at(2).starts_with("ERROR"))
      trace.error_step = at;
    else
      trace.changes.emplace_back(at, number_of(fields.at(2)));
  }
  return trace;
}

// Steps whose scale differs from the trace; float16's overflow threshold as in the golden set.
inline std::size_t differing_steps(scaler s, const golden_input& input, const golden_trace& trace) {
  std::size_t wrong = 0;
  std::size_t change = 0;
  double expected = s.scale();
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const bool found = input.closed_loop ? !(s.scale() * input.values[i] < 65520) : input.values[i] != 0;
    const scaler_verdict verdict = s.update({.found_inf = found});
    if (change < trace.changes.size() && trace.changes[change].first == i) expected = trace.changes[change++].second;
    if (s.scale() != expected || verdict.skipped != found) ++wrong;
  }
  return wrong + (trace.changes.size() - change);
}

// Patterns of exhaustive10 (all 1024 of ten steps) that come out differently.
inline std::size_t differing_patterns(const scaler& start, const std::filesystem::path& path) {
  std::stringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  std::size_t wrong = 0;
  std::size_t patterns = 0;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    const auto scales = fields_of(fields.at(1), ';');
    scaler s = start;
    bool same = true;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const bool skipped = s.update({.found_inf = fields[0][i] == '1'}).skipped;
      same = same && s.scale() == number_of(scales[i]) && skipped == (fields.at(2)[i] == '1');
    }
    ++patterns;
    if (!same) ++wrong;
  }
  return patterns == 1024 ? wrong : 1024;
}

}  // namespace ulp::test

#endif
