#include <ulp/ask/questions/typed_values.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/name_suggestions.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>

namespace ulp {

namespace {

// Of a name that neither catalogue of policies has.
[[noreturn]] void refuse_scaler(const std::string& name) {
  std::vector<std::string_view> names;
  const auto add = [&](const auto& catalogue) {
    for (const auto& e : catalogue) {
      names.push_back(e.name);
      names.insert(names.end(), e.aliases.begin(), e.aliases.end());
    }
  };
  add(scaler_catalog());
  add(fp8_scaler_catalog());
  if (name.find(',') != std::string::npos)
    throw std::invalid_argument(fmt::format("'{}' is more than one scaler; ulp sweep takes a list", name));
  std::string near;
  for (int i = 0; i < 3; ++i) {
    const std::string_view best = nearest_name(name, names);
    near += (near.empty() ? "" : ", ") + std::string{best};
    std::erase(names, best);
  }
  throw std::invalid_argument(fmt::format("unknown scaler '{}'; near: {} (see ulp scalers)", name, near));
}

}  // namespace

const scaler_entry& scaler_named(const std::string& name) {
  if (const scaler_entry* const entry = find_scaler(name)) return *entry;
  if (find_fp8_scaler(name) != nullptr)
    throw std::invalid_argument(
        fmt::format("{} scales each tensor, not the run: only ulp replay and ulp sweep take it", name));
  refuse_scaler(name);
}

const fp8_scaler_entry& fp8_scaler_named(const std::string& name) {
  if (const fp8_scaler_entry* const entry = find_fp8_scaler(name)) return *entry;
  if (find_scaler(name) != nullptr)
    throw std::invalid_argument(fmt::format("{} scales the run, not each tensor (see ulp scalers)", name));
  refuse_scaler(name);
}

format format_named(const std::string& name) {
  auto found = parse_format(name);
  if (!found.value && name.find(',') != std::string::npos && name.find('=') == std::string::npos)
    throw std::invalid_argument(
        fmt::format("format '{}': expected a single format; ulp outcomes and ulp sweep take several", name));
  if (!found.value) throw std::invalid_argument(found.error);
  return *found.value;
}

format value_format_named(const std::string& name) {
  const format f = format_named(name);
  if (!f.has_sign || !f.has_zero())
    throw std::invalid_argument(fmt::format(
        "{} has no sign and no zero: it holds the scales of blocks, see `ulp inspect`; values are not rounded to it",
        name));
  return f;
}

std::vector<std::string> joined_names(const std::vector<std::string>& parts) {
  std::vector<std::string> names;
  for (const std::string& part : parts)
    if (names.empty() || part.find('=') == std::string::npos)
      names.push_back(part);
    else
      names.back() += "," + part;
  return names;
}

double positive_number(const std::string& text, const std::string& option) {
  const auto x = parse_number(text);
  const double value = x ? std::bit_cast<double>(encode(binary64, *x).code) : 0;
  if (!(value > 0) || !std::isfinite(value))
    throw std::invalid_argument(
        fmt::format("{}: '{}' is not a positive number (like 1024, 0.5 or 2^15)", option, text));
  return value;
}

regex regex_of(const std::string& text, const std::string& option) {
  try {
    return regex(text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option, problem.what()));
  }
}

std::pair<std::string, std::string> key_and_value(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw std::invalid_argument(fmt::format("{}: '{}' is not of the form key=value", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> formats_in_question(const std::vector<std::string>& typed,
                                             const std::optional<std::string>& said,
                                             const std::vector<std::string>& usual) {
  if (!typed.empty()) return typed;
  if (said && format_named(*said).width() < 32) return {*said};
  return usual;
}

std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::string> all;
  if (typed.empty()) return all;
  constexpr std::size_t least_limit = 2;
  constexpr std::size_t tolerance = 3;  // one letter of so many may be wrong
  const std::size_t limit = std::max(least_limit, typed.size() / tolerance);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& name : names) {
    // Longer names that hold it come after all that are as long as it.
    const std::size_t distance = name.starts_with(typed)                 ? 1
                                 : name.find(typed) != std::string::npos ? limit
                                                                         : edit_distance(typed, name);
    if (distance <= limit && distance < typed.size()) near.emplace_back(distance, name);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string_view>::first);
  for (const auto& [distance, name] : near)
    if (all.size() < most) all.emplace_back(name);
  return all;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::vector<std::string> near = near_names(typed, names, 1);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near.front());
}

}  // namespace ulp
