// Golden traces of the frameworks' own scalers: how the files are read and compared. See tests/data/golden/README.md.
#ifndef ULP_TESTS_MODEL_GOLDEN_HPP
#define ULP_TESTS_MODEL_GOLDEN_HPP

#include <ulp/model/machines/scaler.hpp>

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

inline scaler made(const std::string& name, const parameters& p = {}) { return make_scaler(*find_scaler(name), p); }

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

// The scales after each step that an .events file stands for; the last one is of the step in which the original raised.
struct golden_trace {
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
    trace.changes.emplace_back(at, number_of(fields.at(2)));
    if (fields.size() > 3) trace.error_step = at;
  }
  return trace;
}

// Whether the step overflows; float16's overflow threshold, as in the golden set.
inline bool overflows(const golden_input& input, std::size_t step, double scale) {
  return input.closed_loop ? !(scale * input.values[step] < 65520) : input.values[step] != 0;
}

// What a scaler makes of an input, up to the step in which it raises.
struct golden_run {
  std::vector<double> scales;  // after each step
  std::size_t found = 0;
  std::size_t skipped = 0;
  std::string error;
};

inline golden_run run_over(scaler s, const golden_input& input) {
  golden_run run;
  for (std::size_t i = 0; i < input.values.size() && run.error.empty(); ++i) {
    const bool found = overflows(input, i, s.scale());
    const scaler_verdict verdict =
        s.update({.found_inf = found, .max_abs = input.closed_loop ? input.values[i] : not_known});
    run.scales.push_back(s.scale());
    run.found += found ? 1 : 0;
    run.skipped += verdict.skipped ? 1 : 0;
    run.error = verdict.error;
  }
  return run;
}

// Steps whose scale, skip or error differs from the trace.
inline std::size_t differing_steps(scaler s, const golden_input& input, const golden_trace& trace) {
  std::size_t wrong = 0;
  std::size_t change = 0;
  double expected = s.scale();
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const bool found = overflows(input, i, s.scale());
    const scaler_verdict verdict = s.update({.found_inf = found});
    if (change < trace.changes.size() && trace.changes[change].first == i) expected = trace.changes[change++].second;
    const bool raised = trace.error_step == i;
    if (s.scale() != expected || verdict.skipped != found || verdict.error.empty() == raised) ++wrong;
    if (raised) break;
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
      const scaler_verdict verdict = s.update({.found_inf = fields[0][i] == '1'});
      const bool raised = scales[i].starts_with("E:");
      same = same && verdict.error.empty() != raised && verdict.skipped == (fields.at(2)[i] == '1') &&
             (raised || s.scale() == number_of(scales[i]));
    }
    ++patterns;
    if (!same) ++wrong;
  }
  return patterns == 1024 ? wrong : 1024;
}

}  // namespace ulp::test

#endif
