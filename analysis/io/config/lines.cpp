#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "bytes/ascii.hpp"
#include "lines_rows.hpp"

namespace ulp {
namespace {

using io::lines_row;

struct named_row {
  const lines_row* row = nullptr;
  std::string_view name;  // among the row's
};

named_row row_of(std::string_view name) {
  const auto named = [](std::string_view wanted) -> named_row {
    for (const lines_row& row : io::lines_rows())
      for (const std::string_view n : row.names)
        if (io::in_small_letters(n) == wanted) return {&row, n};
    return {};
  };
  if (const named_row found = named(io::in_small_letters(name)); found.row != nullptr) return found;
  const scaler_entry* const scaler = find_scaler(name);
  return scaler == nullptr ? named_row{} : named(scaler->name);
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

std::string plain_number(double x) {
  constexpr double exact = 0x1p53;
  return x == std::floor(x) && std::abs(x) <= exact ? std::to_string(static_cast<std::int64_t>(x))
                                                    : to_string(parameter_value{x});
}

// In Python powers of two say what they are.
std::string in_python(double x, bool whole) {
  constexpr double small = 16;
  if (is_power_of_two(x) && (x > small || x < 1 / small))
    return (whole && x > 1 ? "2**" : "2.0**") + std::to_string(std::ilogb(x));
  const std::string text = plain_number(x);
  return whole || text.find_first_of(".e") != std::string::npos ? text : text + ".0";
}

// %d decimal, %i rounded to an integer, %e the exponent of the power of two that is not above, %p of Python, %w of Python
// as an integer.
std::string filled_in(std::string_view text, double x) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'd': result += plain_number(x); break;
      case 'i': result += plain_number(std::max(std::round(x), 1.0)); break;
      case 'e': result += std::to_string(std::max(std::ilogb(x), 0)); break;
      case 'p': result += in_python(x, false); break;
      case 'w': result += in_python(std::max(std::round(x), 1.0), true); break;
      default: result += text[i]; break;
    }
  }
  return result;
}

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_usable(const std::optional<double>& x) { return x && *x > 0 && std::isfinite(*x); }

// What stands in a program's code is no setting of it.
std::string of_code(const named_row& of, const std::string& code) {
  return std::string{of.row->float16} + "\n# the loss scale has no setting in " + std::string{of.name} +
         "; in its code: " + code;
}

std::string dynamic_text(const named_row& of, const loss_scale_choice& choice) {
  const lines_row& row = *of.row;
  std::string text{row.dynamic_start};
  const auto add = [&](const std::string& part) {
    if (!text.ends_with('(') && !text.ends_with('{')) text += row.between;
    text += part;
  };
  if (is_usable(choice.init_scale) && !row.initial.empty()) {
    add(filled_in(row.initial, *choice.init_scale));
    // A ceiling below the scale of the first step would be what counts.
    if (row.ceiling > 0 && *choice.init_scale > row.ceiling) add(filled_in(row.raised_ceiling, *choice.init_scale));
  }
  if (is_usable(choice.growth_interval) && !row.growth.empty()) add(filled_in(row.growth, *choice.growth_interval));
  text += row.dynamic_end;
  if (row.float16.empty()) return text;
  const bool asks = is_usable(choice.init_scale) || is_usable(choice.growth_interval);
  return asks ? of_code(of, text) : std::string{row.float16};
}

// The counters that are compared with the interval are int32.
std::string constant_text(const named_row& of, double scale) {
  const lines_row& row = *of.row;
  if (row.has_constant) return filled_in(row.constant, scale);
  const bool is_commented = row.dynamic_end.find('#') != std::string_view::npos;
  const std::string text = std::string{row.dynamic_start} + filled_in(row.initial, scale) + std::string{row.between} +
                           "growth_interval=2**31 - 1" + std::string{row.dynamic_end} + (is_commented ? "; " : "  # ") +
                           "never grows, but an overflow still halves it";
  return row.float16.empty() ? text : of_code(of, text);
}

}  // namespace

std::vector<std::string> configuration_lines(std::string_view framework_or_scaler, const loss_scale_choice& choice) {
  const named_row of = row_of(framework_or_scaler);
  const lines_row* const row = of.row;
  const auto chosen = choice.format.empty() ? std::optional{float16} : find_format(choice.format);
  if (row == nullptr || !chosen) return {};
  if (*chosen == bfloat16) return lines_in(row->bfloat16);
  if (*chosen == binary32) return lines_in(row->float32);
  std::string text;
  if (*chosen == cbfloat16 && !row->cbfloat16.empty())
    text = row->cbfloat16;
  else if (*chosen == float16)
    text = row->type_of_float16;
  else
    return {};
  if (!choice.static_scale)
    text += dynamic_text(of, choice);
  else if (is_usable(choice.static_scale))
    text += constant_text(of, *choice.static_scale);
  return lines_in(text);
}

}  // namespace ulp
