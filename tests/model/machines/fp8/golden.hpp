// Golden traces of policies that scale each tensor: how the files are read and compared. See tests/data/golden_fp8/README.md.
#ifndef ULP_TESTS_MODEL_MACHINES_FP8_GOLDEN_HPP
#define ULP_TESTS_MODEL_MACHINES_FP8_GOLDEN_HPP

#include <ulp/formats/catalog.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>

#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/golden.hpp"
#include "support/files.hpp"

namespace ulp::test {

// "0x1.8p+1", "inf", "nan".
inline double hexadecimal(const std::string& text) {
  if (!text.starts_with("0x")) return number_of(text);
  double x = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, x, std::chars_format::hex);
  if (error != std::errc{} || stop != end) throw std::runtime_error("no number: " + text);
  return x;
}

struct fp8_trace {
  std::map<std::string, std::string> header;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  explicit fp8_trace(const std::filesystem::path& path) {
    std::stringstream in(read_file(path));
    std::string line;
    std::getline(in, line);
    std::stringstream words(line);
    for (std::string word; words >> word;)
      if (const std::size_t at = word.find('='); at != std::string::npos)
        header[word.substr(0, at)] = word.substr(at + 1);
    std::getline(in, line);
    columns = fields_of(line);
    while (std::getline(in, line)) rows.push_back(fields_of(line));
  }
};

inline const fp8_scaler_entry& policy_of_file(const std::filesystem::path& path) {
  for (const fp8_scaler_entry& entry : fp8_scaler_catalog())
    if (path.filename().string().starts_with(entry.name)) return entry;
  throw std::runtime_error("no policy for " + path.string());
}

// The parameters that the file's header names; those that it says of itself are left out.
inline fp8_scaler policy_of(const fp8_trace& trace, const fp8_scaler_entry& entry) {
  std::vector<std::pair<std::string, parameter_value>> parameters;
  const auto rule = trace.header.find("rule");
  const bool is_function = rule != trace.header.end() && rule->second == "compute_scaling_factor";
  for (const auto& [key, text] : trace.header) {
    const bool is_parameter =
        key != "source" && key != "format" && key != "scale" && key != "value_for_inf" && key != "rule";
    if (is_parameter) parameters.emplace_back(key, parse_parameter(text));
  }
  // The function alone, called with 8 as the old scale.
  if (is_function) parameters.insert(parameters.end(), {{"rule", rule->second}, {"initial_scale", 8.0}});
  const auto format = trace.header.find("format");
  return make_fp8_scaler(entry, format != trace.header.end() && format->second == "e5m2" ? float8_e5m2 : float8_e4m3fn,
                         parameters);
}

struct fp8_comparison {
  std::size_t compared = 0;
  std::string first_difference;
};

inline fp8_comparison compare(const std::filesystem::path& path) {
  const fp8_trace trace(path);
  const fp8_scaler start = policy_of(trace, policy_of_file(path));
  std::map<std::string, fp8_scaler> of_tensor;
  fp8_comparison result;
  for (const auto& row : trace.rows) {
    const fp8_scales got = of_tensor.try_emplace(row.at(1), start).first->second.update(hexadecimal(row.at(2)));
    const std::map<std::string, double> by_name{
        {"scale_before", got.before}, {"scale_used", got.used}, {"scale_after", got.after}};
    for (std::size_t i = 3; i < trace.columns.size(); ++i) {
      const auto value = by_name.find(trace.columns[i]);
      if (value == by_name.end()) continue;
      ++result.compared;
      const double want = hexadecimal(row.at(i));
      const bool same = value->second == want || (std::isnan(want) && std::isnan(value->second));
      if (!same && result.first_difference.empty())
        result.first_difference = path.filename().string() + " step " + row.at(0) + " of " + row.at(1) + ": " +
                                  trace.columns[i] + " is " + std::to_string(value->second) + ", not " + row.at(i);
    }
  }
  return result;
}

}  // namespace ulp::test

#endif
