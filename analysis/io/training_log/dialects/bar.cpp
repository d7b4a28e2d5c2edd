// Progress bars of tqdm, beside a framework that prints no step numbers: "378/2724 [13:58:09<86:18:35, 132.44s/it]"
// (tqdm/tqdm tqdm/std.py, format_meter).
#include <array>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// `at` is behind the "<" of "378/2724[13:58:09<".
record_match read_bar(const record_text& text, std::size_t at, bool) {
  const std::string_view all = text.view();
  const std::size_t first = text.line_begin(at - 1);
  std::size_t i = at - 1;
  const auto back = [&](auto&& belongs) {
    const std::size_t from = i;
    while (i > first && belongs(all[i - 1])) --i;
    return from - i;
  };
  const auto back_over = [&](char c) { return i > first && all[i - 1] == c && i-- > first; };
  if (back([](char c) { return is_digit(c) || c == ':'; }) < 4 || !back_over('[')) return no_record();
  const std::size_t of = i;
  if (back(is_digit) == 0) return no_record();
  const auto length = text.number_at(i, "[");
  if (!length || length->end != of || !back_over('/') || back(is_digit) == 0) return no_record();
  const auto step = text.number_at(i, "/");
  constexpr std::int64_t longest = 0xFFFFFFFF;
  if (!step || step_of(*step) < 0 || step_of(*length) < 0 || step_of(*length) > longest) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*step)};
  r.part = static_cast<std::uint32_t>(step_of(*length));
  return whole_record(r, at);
}

constexpr std::array starts{record_start{"<", read_bar}};

}  // namespace

log_dialect bar_dialect() { return {.starts = starts, .is_bar = true}; }

}  // namespace ulp::io
