#include "line_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "bytes/ascii.hpp"

namespace ulp::io {
namespace {

bool is_of_name(char c) noexcept { return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '/'; }

// Blanks are gone: a name may follow a word that stands for a number.
bool begins_name(const record_text& text, std::size_t begin, std::size_t at) noexcept {
  const std::string_view before = text.view().substr(begin, at - begin);
  if (before.empty()) return true;
  if (text.blank_before(at)) return !ends_in_evaluation(before);
  if (!is_of_name(before.back()) || is_digit(before.back())) return true;
  constexpr std::array nonfinite{"nan", "NaN", "NAN", "inf", "Inf", "INF"};
  return std::ranges::any_of(nonfinite, [&](const char* word) { return before.ends_with(word); });
}

struct found_value {
  double value = not_known;
  std::size_t begin = 0;
  std::size_t end = 0;
};

// What stands between a key and its number, and after the number.
constexpr std::string_view separators = ":=\"'[";
constexpr std::string_view enders = ",(\"']|;)";

// "65,536" and "64k": a loss scale is a power of two, and no other number is known by that.
std::optional<found_value> grouped_scale(const record_text& text, const record_text::number& n) {
  const std::string_view all = text.view();
  double value = n.value;
  std::size_t at = n.end;
  const auto joined = [&](std::size_t i) { return i < all.size() && !text.blank_before(i); };
  while (joined(at) && all[at] == ',') {
    std::size_t digits = 0;
    while (joined(at + 1 + digits) && is_digit(all[at + 1 + digits])) ++digits;
    if (digits != 3) return std::nullopt;
    for (std::size_t i = at + 1; i <= at + 3; ++i)
      value = (i == at + 1 ? value * 1000 : value) + (all[i] - '0') * std::pow(10, at + 3 - i);
    at += 4;
  }
  if (joined(at) && (all[at] == 'k' || all[at] == 'K')) {
    value *= 1024;
    ++at;
  }
  const bool ends = !joined(at) || !(is_letter(all[at]) || is_digit(all[at]));
  return ends && is_power_of_two(value) ? std::optional{found_value{.value = value, .end = at}} : std::nullopt;
}

// "2**16" and "2^16". What goes on as "0,553", "65,536" or "1.2k" is no number that is known.
std::optional<found_value> whole_number(const record_text& text, const record_text::number& n) {
  const std::string_view all = text.view();
  const auto joined = [&](std::size_t at) { return at < all.size() && !text.blank_before(at); };
  std::size_t at = n.end;
  if (!joined(at)) return found_value{.value = n.value, .end = at};
  if (all[at] == '^' || all.substr(at).starts_with("**")) {
    at += all[at] == '^' ? 1 : 2;
    const auto power = joined(at) ? text.number_at(at, enders) : std::nullopt;
    const double value = power ? std::pow(n.value, power->value) : not_known;
    return std::isfinite(value) ? std::optional{found_value{.value = value, .end = power->end}} : std::nullopt;
  }
  const bool has_more_digits = all[at] == ',' && joined(at + 1) && is_digit(all[at + 1]) &&
                               n.digits.find_first_not_of("+-0123456789") == std::string_view::npos;
  constexpr std::string_view units = "kKMGBT";
  const bool has_unit = is_digit(all[at - 1]) && units.find(all[at]) != std::string_view::npos &&
                        !(joined(at + 1) && (is_letter(all[at + 1]) || is_digit(all[at + 1])));
  if (has_more_digits || has_unit) return std::nullopt;
  return found_value{.value = n.value, .end = at};
}

// "True" and "False", which stand for 1 and 0.
enum class truth_words : std::uint8_t { none, allowed, needed };

std::optional<found_value> value_at(const record_text& text, std::size_t from, std::size_t end, truth_words truth,
                                    bool is_scale) {
  const std::string_view all = text.view();
  const std::size_t key_end = from;
  while (from < end && from - key_end < 4 && separators.find(all[from]) != std::string_view::npos) ++from;
  from = skip_wrapper(all, from);
  if (from >= end) return std::nullopt;
  if (truth != truth_words::none) {
    for (const std::string_view word : {"True", "true"})
      if (all.substr(from).starts_with(word)) return found_value{.value = 1, .end = from + word.size()};
    for (const std::string_view word : {"False", "false"})
      if (all.substr(from).starts_with(word)) return found_value{.value = 0, .end = from + word.size()};
    if (truth == truth_words::needed) return std::nullopt;
  }
  const bool is_apart = from > key_end || text.blank_before(from) || !is_digit(all[from]);
  const auto n = is_apart ? text.number_at(from, enders) : std::nullopt;
  auto found = n ? whole_number(text, *n) : std::nullopt;
  if (n && !found && is_scale) found = grouped_scale(text, *n);
  return found && found->end <= end ? found : std::nullopt;
}

std::size_t find_key(std::string_view all, std::string_view key, std::size_t from, key_case spelling) noexcept {
  if (spelling == key_case::as_given) return all.find(key, from);
  const auto same = [&](char a, char b) { return small(a) == small(b); };
  const std::string_view rest = all.substr(std::min(from, all.size()));
  const auto found = std::search(rest.begin(), rest.end(), key.begin(), key.end(), same);
  return found == rest.end() ? std::string_view::npos : from + static_cast<std::size_t>(found - rest.begin());
}

// "samples skipped: 3", "skipped 3 samples" and "skipped 3 (corrupt images)": no steps.
bool begins_with_data(const record_text& text, std::size_t at) {
  const auto word_at = [&](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && is_letter(text.view()[end]) && (end == from || !text.blank_before(end))) ++end;
    return text.view().substr(from, end - from);
  };
  if (at < text.size() && text.view()[at] == '(') ++at;
  const std::string_view first = word_at(at);
  constexpr std::array<std::string_view, 4> of_steps{"step", "iter", "update", "batch"};
  if (first.empty() || std::ranges::any_of(of_steps, [&](std::string_view of) { return first.starts_with(of); }))
    return false;
  const std::size_t next = at + first.size();
  return is_of_data(first) || (next < text.size() && text.blank_before(next) && is_of_data(word_at(next)));
}
bool ends_in_data(std::string_view before) {
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(before[begin - 1])) --begin;
  const std::string_view word = before.substr(begin);
  return is_of_data(word) || word.ends_with("samples") || word.ends_with("tokens");
}

// A name may begin where the part begins; any other is one that the line has by itself.
std::optional<found_value> value_of(const record_text& text, std::size_t begin, std::size_t end, const line_field& of,
                                    key_case spelling) {
  if (begin >= end) return std::nullopt;
  const std::size_t line = text.line_begin(begin);
  const std::size_t line_end = text.line_end(begin);
  const std::string_view all = text.view().substr(0, line_end);
  const bool counts_skips = of.number == &scale_record::overflow || of.number == &scale_record::skips;
  const truth_words truth = of.flag != nullptr ? truth_words::needed
                            : counts_skips     ? truth_words::allowed
                                               : truth_words::none;
  const auto value_behind = [&](std::size_t at, std::size_t within) {
    auto found = value_at(text, at + of.key.size(), within, truth, of.number == &scale_record::after);
    if (found) found->begin = at;
    if (found && counts_skips && (ends_in_data(all.substr(line, at - line)) || begins_with_data(text, found->end)))
      found.reset();
    return found;
  };
  if (find_key(all.substr(0, std::min(begin + of.key.size(), all.size())), of.key, begin, spelling) == begin)
    if (auto found = value_behind(begin, end)) return found;
  const auto what = spelling == key_case::any ? place_key::with::value_in_any_case : place_key::with::value;
  const auto next = [&](std::size_t from) {
    std::size_t at = find_key(all, of.key, from, spelling);
    while (at < line_end && !(begins_name(text, line, at) && value_behind(at, line_end)))
      at = find_key(all, of.key, at + 1, spelling);
    return at;
  };
  const std::size_t at = text.first_place({of.key, what}, begin, next);
  return at < end ? value_behind(at, end) : std::nullopt;
}

}  // namespace

std::size_t skip_wrapper(std::string_view text, std::size_t at) noexcept {
  constexpr std::array<std::string_view, 5> wrappers{"tensor(", "torch.tensor(", "np.float64(", "np.float32(",
                                                     "array("};
  for (const std::string_view wrapper : wrappers)
    if (at < text.size() && text.substr(at).starts_with(wrapper)) {
      at += wrapper.size();
      return at < text.size() && text[at] == '[' ? at + 1 : at;
    }
  return at;
}

bool ends_in_evaluation(std::string_view text) noexcept {
  constexpr std::array words{"val",  "Val",  "valid", "Valid", "validation", "Validation", "eval", "Eval",
                             "test", "Test", "VAL",   "dev",   "Averaged",   "evaluation", "mean", "best"};
  while (!text.empty() && (text.back() == '_' || text.back() == '/' || text.back() == '-')) text.remove_suffix(1);
  return std::ranges::any_of(words, [&](const char* word) { return text.ends_with(word); });
}

whole_number_at whole_at(const record_text& text, std::size_t at, std::size_t end) {
  constexpr std::size_t group = 3;
  const std::string_view all = text.view();
  const auto digits_at = [&](std::size_t from) {
    std::size_t n = 0;
    while (from + n < end && is_digit(all[from + n]) && (n == 0 || !text.blank_before(from + n))) ++n;
    return n;
  };
  const std::size_t first = digits_at(at);
  std::string digits(all.substr(at, first));
  at += first;
  const bool may_go_on = first > 0 && first <= group && digits.front() != '0';
  while (may_go_on && at + 1 < end && all[at] == ',' && !text.blank_before(at) && !text.blank_before(at + 1) &&
         digits_at(at + 1) == group) {
    digits += all.substr(at + 1, group);
    at += 1 + group;
  }
  return {step_of({.digits = digits}), at};
}

bool is_of_data(std::string_view word) noexcept {
  constexpr std::array<std::string_view, 15> names{"sample",   "example", "token",  "sequence", "doc",
                                                   "document", "file",    "row",    "line",     "image",
                                                   "frame",    "prompt",  "record", "item",     "utterance"};
  return std::ranges::any_of(names, [&](std::string_view name) {
    return word.starts_with(name) && (word.size() == name.size() || word.substr(name.size()) == "s");
  });
}

put_fields put_values(const record_text& text, std::size_t begin, std::size_t end, std::span<const line_field> fields,
                      scale_record& into, key_case spelling) {
  put_fields all{.begin = end, .end = begin};
  std::array<const line_field*, 12> put{};
  for (const line_field& f : fields) {
    const bool again = std::ranges::any_of(std::span(put).first(std::min(all.count, put.size())),
                                           [&](const auto* p) { return p->number == f.number && p->flag == f.flag; });
    const auto v = again ? std::nullopt : value_of(text, begin, end, f, spelling);
    if (!v) continue;
    if (all.count < put.size()) put[all.count] = &f;
    ++all.count;
    all.begin = std::min(all.begin, v->begin);
    all.end = std::max(all.end, v->end);
    if (f.flag != nullptr) {
      into.*f.flag = static_cast<std::int64_t>(v->value);
      continue;
    }
    into.put(f.number, f.is_log2 ? std::exp2(v->value) : f.is_opposite ? (v->value == 0 ? 1 : 0) : v->value);
    into.scale_is_rounded = into.scale_is_rounded || f.is_log2;
    constexpr std::array<std::string_view, 3> vague{"overflow", "overflows", "skipped"};
    if (std::ranges::find(vague, f.key) != vague.end() && is_digit(text.view()[v->end - 1]))
      into.skips_are_vague = true;
    if (f.number == &scale_record::after) into.scale_is_vague = f.key == "scale";
    const bool has_mean = v->end < end && text.view()[v->end] == '(';
    const auto mean = has_mean ? text.number_at(v->end + 1, ")") : std::nullopt;
    if (f.number == &scale_record::grad_norm && mean && !std::isfinite(mean->value)) into.mean_is_nonfinite = true;
    if (mean) all.end = std::max(all.end, mean->end);
  }
  return all;
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
