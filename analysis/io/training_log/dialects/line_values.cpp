#include "line_values.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::io {
namespace {

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_of_name(char c) noexcept { return is_letter(c) || c == '_' || c == '.' || c == '/'; }

// Blanks are gone: a name may follow a word that stands for a number.
bool begins_name(std::string_view before) noexcept {
  if (before.empty() || !is_of_name(before.back())) return true;
  return before.ends_with("nan") || before.ends_with("inf") || before.ends_with("NaN");
}

struct found_value {
  double value = not_known;
  std::size_t end = 0;
};

std::optional<found_value> value_of(const record_text& text, std::size_t begin, std::size_t end, std::string_view key) {
  const std::string_view all = text.view();
  for (std::size_t at = all.find(key, begin); at < end; at = all.find(key, at + 1)) {
    if (!begins_name(all.substr(begin, at - begin))) continue;
    std::size_t from = at + key.size();
    if (from < end && (all[from] == ':' || all[from] == '=')) ++from;
    const auto n = from < end ? text.number_at(from, ",(") : std::nullopt;
    if (n && n->end <= end) return found_value{n->value, n->end};
  }
  return std::nullopt;
}

}  // namespace

std::size_t put_values(const record_text& text, std::size_t begin, std::size_t end, std::span<const line_field> fields,
                       scale_record& into) {
  std::size_t found = 0;
  for (const line_field& f : fields) {
    const auto v = value_of(text, begin, end, f.key);
    if (!v) continue;
    ++found;
    into.put(f.number, v->value);
    const bool has_mean = v->end < end && text.view()[v->end] == '(';
    const auto mean = has_mean ? text.number_at(v->end + 1, ")") : std::nullopt;
    if (f.number == &scale_record::grad_norm && mean && !std::isfinite(mean->value)) into.mean_is_nonfinite = true;
  }
  return found;
}

std::optional<counter> counter_at(const record_text& text, std::size_t at) {
  const std::string_view all = text.view();
  if (at >= all.size() || all[at] != '[') return std::nullopt;
  const auto number = at + 1 < all.size() ? text.number_at(at + 1, "/]") : std::nullopt;
  if (!number || number->end >= all.size()) return std::nullopt;
  counter c{.number = step_of(*number), .end = number->end};
  if (all[c.end] == '/') {
    const auto of = c.end + 1 < all.size() ? text.number_at(c.end + 1, "]") : std::nullopt;
    if (!of || step_of(*of) < 0) return std::nullopt;
    c.total = step_of(*of);
    c.end = of->end;
  }
  if (c.number < 0 || c.end >= all.size() || all[c.end] != ']') return std::nullopt;
  ++c.end;
  return c;
}

std::int64_t step_in_epochs(std::int64_t epoch, std::int64_t iteration, std::int64_t per_epoch) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 26;
  if (epoch < 0 || iteration < 0 || per_epoch < 1 || epoch > most || per_epoch > most || iteration > most) return -1;
  return epoch * per_epoch + iteration;
}

}  // namespace ulp::io
