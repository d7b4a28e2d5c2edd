// Progress bars beside a framework that prints no step numbers.
#include "bar.hpp"

#include <array>

#include "bytes/ascii.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

record_match read_bar(const record_text& text, std::size_t at, bool) {
  const auto bar = bar_before(text, at);
  if (!bar) return no_record();
  scale_record r{.what = scale_record::kind::reached, .step = bar->number};
  r.part = static_cast<std::uint32_t>(bar->length);
  return whole_record(r, at);
}

constexpr std::array bar_starts{record_start{"<", read_bar}};

}  // namespace

std::optional<progress_bar> bar_before(const record_text& text, std::size_t at) {
  const std::string_view all = text.view();
  const std::size_t first = text.line_begin(at - 1);
  std::size_t i = at - 1;
  const auto back = [&](auto&& belongs) {
    const std::size_t from = i;
    while (i > first && belongs(all[i - 1])) --i;
    return from - i;
  };
  const auto back_over = [&](char c) { return i > first && all[i - 1] == c && i-- > first; };
  if (back([](char c) { return is_digit(c) || c == ':'; }) < 4 || !back_over('[')) return std::nullopt;
  const std::size_t of = i;
  if (back(is_digit) == 0) return std::nullopt;
  const auto length = text.number_at(i, "[");
  if (!length || length->end != of || !back_over('/') || back(is_digit) == 0) return std::nullopt;
  const auto step = text.number_at(i, "/");
  constexpr std::int64_t longest = 0xFFFFFFFF;
  if (!step || step_of(*step) < 0 || step_of(*length) < 0 || step_of(*length) > longest) return std::nullopt;
  return progress_bar{step_of(*step), step_of(*length), i};
}

log_dialect bar_dialect() { return {.starts = bar_starts, .is_bar = true}; }

}  // namespace ulp::io
