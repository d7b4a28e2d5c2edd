#include "bounds.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "bytes/text.hpp"
#include "payload.hpp"

namespace ulp::io {
namespace {

std::optional<double> number_of(std::string_view text) {
  double x = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x);
  return error == std::errc() && stop == end ? std::optional(x) : std::nullopt;
}

}  // namespace

std::string to_text(const max_abs_bounds& bounds) {
  return (bounds.certain ? "" : "~") + decimal_text(bounds.low) + ".." + decimal_text(bounds.high);
}

void read_max_abs(std::string_view text, step& into) {
  if (text == "nan") {
    into.max_abs = not_known;
    return;
  }
  max_abs_bounds bounds{.certain = !text.starts_with('~')};
  if (!bounds.certain) text.remove_prefix(1);
  const std::size_t dots = text.find("..");
  const auto low = number_of(text.substr(0, dots));
  const auto high = dots == std::string_view::npos ? std::nullopt : number_of(text.substr(dots + 2));
  if (!low || !high || std::signbit(*low) || !std::isfinite(*low) || !(*low < *high))
    throw payload_error("a largest gradient that is neither a number, nor nan, nor bounds low..high");
  bounds.low = *low;
  bounds.high = *high;
  into.bounds = bounds;
}

}  // namespace ulp::io
