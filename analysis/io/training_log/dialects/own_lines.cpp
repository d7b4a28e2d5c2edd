// Lines that a script prints itself, with the number of a step and its loss, norm or scale by their names, in any order:
// "step 12 | loss 2.31 | grad_norm nan", "Epoch: 14: Step: 1483/1511, loss=1240.7", "loss: 0.5, global_step: 12". Such lines
// are everywhere; those of many frameworks read as they do.
#include <algorithm>
#include <array>
#include <cmath>

#include "bytes/ascii.hpp"
#include "line_values.hpp"
#include "rows.hpp"
#include "usual_fields.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// "step", "global_step: 12", "iteration [12/100]".
struct step_number {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int64_t number = -1;
  std::int64_t of = -1;
  std::int64_t unit = 1;  // to which it is rounded: 100 of "1.2k"
  bool is_global = false;
};

std::size_t skip_any(std::string_view all, std::size_t at, std::string_view which, std::size_t most) {
  for (std::size_t n = 0; n < most && at < all.size() && which.find(all[at]) != std::string_view::npos; ++n) ++at;
  return at;
}

std::int64_t take_whole(const record_text& text, std::size_t& at, std::size_t line) {
  const whole_number_at n = whole_at(text, at, line);
  at = n.end;
  return n.number;
}

// "1.2k": of a number that ends at `n.end` and may go on so.
void read_thousands(const record_text& text, std::size_t line, step_number& n) {
  const std::string_view all = text.view();
  std::size_t at = n.end;
  std::int64_t unit = 1000;
  std::int64_t number = n.number * unit;
  if (at < line && all[at] == '.')
    for (++at; at < line && is_digit(all[at]) && unit > 1; ++at) {
      unit /= 10;
      number += (all[at] - '0') * unit;
    }
  constexpr std::int64_t most = 1'000'000'000;
  if (at >= line || (all[at] != 'k' && all[at] != 'K') || text.blank_before(at) || n.number > most) return;
  n.number = number;
  n.unit = unit;
  n.end = at + 1;
}

// "3it [00:01, 4.5it/s, loss=2.5]", a progress bar that knows no end, else "it 3": such a short word may be anything. `at` is behind it.
std::optional<step_number> number_of_it(const record_text& text, std::size_t at) {
  const std::string_view all = text.view();
  const std::size_t line_begin = text.line_begin(at - 1);
  const std::size_t line = text.line_end(at - 1);
  const std::size_t word = at - 2;
  step_number n{.begin = word};
  while (n.begin > line_begin && is_digit(all[n.begin - 1]) && !text.blank_before(n.begin)) --n.begin;
  if (n.begin < word) {
    const bool goes_on = n.begin > line_begin && all[n.begin - 1] == '.' && !text.blank_before(n.begin);
    std::size_t end = n.begin;
    n.number = take_whole(text, end, word);
    n.end = at;
    return !goes_on && n.number >= 0 && at < line && all[at] == '[' ? std::optional(n) : std::nullopt;
  }
  if (word > line_begin && !text.blank_before(word) &&
      (is_letter(all[word - 1]) || all[word - 1] == '_' || all[word - 1] == '/'))
    return std::nullopt;
  n.end = std::min(skip_any(all, at, ":=#", 1), line);
  if (n.end == line || (n.end == at && !text.blank_before(at))) return std::nullopt;
  n.number = take_whole(text, n.end, line);
  const char next = n.end < line ? all[n.end] : '\n';
  const bool ends =
      next == '\n' || text.blank_before(n.end) || std::string_view(",;|])}").find(next) != std::string_view::npos;
  return n.number >= 0 && ends ? std::optional(n) : std::nullopt;
}

// `at` is behind the word, which has `length` characters.
std::optional<step_number> number_behind(const record_text& text, std::size_t at, std::size_t length) {
  if (length == 2) return number_of_it(text, at);
  const std::string_view all = text.view();
  const std::size_t line_begin = text.line_begin(at - 1);
  const std::size_t line = text.line_end(at - 1);
  step_number n{.begin = at - length};
  const std::string_view before = all.substr(line_begin, n.begin - line_begin);
  n.is_global = before.ends_with("global") || before.ends_with("global_");
  constexpr std::array prefixes{"global", "global_", "current_", "train_", "train/", "cur_"};
  const bool has_prefix = std::ranges::any_of(prefixes, [&](const char* p) { return before.ends_with(p); });
  const bool inside =
      !before.empty() && !text.blank_before(n.begin) &&
      (is_letter(before.back()) || before.back() == '_' || before.back() == '/' || before.back() == '.');
  if (inside && !has_prefix) return std::nullopt;
  for (const std::string_view suffix : {"ation", "ations", "s", "_idx", "_num", "no.", "es"})
    if (all.substr(at).starts_with(suffix)) {
      at += suffix.size();
      break;
    }
  const std::size_t number = std::min(skip_any(all, at, ":=#[(\"'", 4), line);
  if (number == line || (number == at && !text.blank_before(at))) return std::nullopt;
  n.end = number;
  n.number = take_whole(text, n.end, line);
  if (n.number < 0) return std::nullopt;
  read_thousands(text, line, n);
  if (n.end < line && all[n.end] == '/') {
    step_number of{.end = n.end + 1};
    of.number = take_whole(text, of.end, line);
    if (of.number >= 0) {
      read_thousands(text, line, of);
      n.of = of.number;
      n.end = of.end;
    }
  }
  const char next = n.end < line ? all[n.end] : '\n';
  const bool ends = next == '\n' || text.blank_before(n.end) ||
                    std::string_view(",;:|])}\"'-><").find(next) != std::string_view::npos;
  return ends ? std::optional(n) : std::nullopt;
}

constexpr std::array words{"step", "Step", "STEP", "iter", "Iter", "batch", "Batch", "update", "Update", "it", "It"};

// The first one in a part of a line.
std::optional<step_number> next_number(const record_text& text, std::size_t from, std::size_t end,
                                       std::string_view word) {
  if (from >= end) return std::nullopt;
  const auto next = [&](std::size_t at) {
    const std::size_t line = text.line_end(at);
    at = text.view().find(word, at);
    while (at < line && !number_behind(text, at + word.size(), word.size())) at = text.view().find(word, at + 1);
    return at;
  };
  const std::size_t at = text.first_place({word, place_key::with::step}, from, next);
  return at < end ? number_behind(text, at + word.size(), word.size()) : std::nullopt;
}

// The epoch that a line names in front of its step.
std::int64_t epoch_in(const record_text& text, std::size_t begin, std::size_t end) {
  for (const std::string_view word : {"epoch", "Epoch", "EPOCH"})
    if (const auto n = next_number(text, begin, end, word)) return n->number;
  return -1;
}

// "[val] step 3", "Val: step 3"; not "interval: step 3", or what stands further in front.
bool ends_in_val(const record_text& text, std::size_t begin, std::size_t end) {
  const std::string_view all = text.view();
  while (end > begin && !is_letter(all[end - 1]) && !is_digit(all[end - 1])) --end;
  const std::string_view part = all.substr(begin, end - begin);
  return std::ranges::any_of(std::array<std::string_view, 3>{"val", "Val", "VAL"}, [&](std::string_view word) {
    if (!part.ends_with(word)) return false;
    const std::size_t at = end - word.size();
    return at == begin || text.blank_before(at) || !is_letter(all[at - 1]);
  });
}

// Where a second loss begins behind the first one, as of the next record where a line break was lost; `end` where none does.
std::size_t second_loss(const record_text& text, std::size_t begin, std::size_t end) {
  constexpr std::array losses{line_field{"loss", &scale_record::loss}};
  scale_record r;
  const put_fields first = put_values(text, begin, end, losses, r, key_case::any);
  if (first.count == 0) return end;
  const put_fields second = put_values(text, first.end, end, losses, r, key_case::any);
  return second.count == 0 ? end : second.begin;
}

// Whether a part of a line is of an evaluation.
bool is_evaluation(const record_text& text, std::size_t begin, std::size_t end) {
  if (begin < end && ends_in_val(text, begin, end)) return true;
  constexpr std::array<std::string_view, 8> evaluations{"valid", "Valid", "VALID", "eval",
                                                        "Eval",  "EVAL",  "Test",  "TEST"};
  return begin < end && std::ranges::any_of(evaluations, [&](std::string_view word) {
           const auto next = [&](std::size_t from) { return text.view().find(word, from); };
           const std::size_t at = text.first_place({word}, begin, next);
           return at < end && at + word.size() <= end;
         });
}

// Words behind "skipped" that say why: a number or "no" there says how many, or none.
bool begins_reason(std::string_view rest) noexcept {
  constexpr std::array<std::string_view, 8> reasons{"inf",        "nan",       "overflow",     "nonfinite",
                                                    "non-finite", "notfinite", "gradoverflow", "foundinf"};
  return std::ranges::any_of(reasons, [&](std::string_view reason) { return rest.starts_with(reason); });
}

// "(skipped: inf grads)", "skipped (overflow)", "[SKIPPED]": where the words end that say in a line that its step was skipped, 0 where
// there are none.
std::size_t skip_words_end(const record_text& text, std::size_t begin, std::size_t end) {
  std::string part(text.view().substr(begin, end - begin));
  std::ranges::transform(part, part.begin(), small);
  constexpr std::string_view word = "skipped";
  for (std::size_t at = part.find(word); at != std::string::npos; at = part.find(word, at + 1)) {
    const std::size_t behind = at + word.size();
    const char before = at == 0 ? ' ' : part[at - 1];
    const bool is_word = !is_letter(before) && before != '_';
    const bool is_enclosed =
        (before == '(' || before == '[') && behind < part.size() && (part[behind] == ')' || part[behind] == ']');
    const std::size_t reason = std::min(skip_any(part, behind, ":=-(,", 2), part.size());
    if (is_word && (is_enclosed || begins_reason(std::string_view{part}.substr(reason)))) return begin + reason;
  }
  return 0;
}

// Where the last of these words ends, 0 where there is none. Few lines have any, so that their letters are looked for first.
std::size_t put_skips(const record_text& text, std::size_t begin, std::size_t end, scale_record& r) {
  constexpr std::array<std::string_view, 7> letters{"kip", "KIP", "verflow", "ound_inf", "VERFLOW", "_fin", "_FIN"};
  const auto has = [&](std::string_view word) {
    const std::size_t at =
        text.first_place({word}, begin, [&](std::size_t from) { return text.view().find(word, from); });
    return at < end;
  };
  if (std::ranges::none_of(letters, has)) return 0;
  const std::size_t words_end = skip_words_end(text, begin, end);
  const put_fields put = put_values(text, begin, end, skip_fields, r, key_case::any);
  if (words_end > 0) {
    r.overflow = 1;
    r.skips = not_known;  // "inf" is no count
  }
  return std::max(words_end, put.count > 0 ? put.end : 0);
}

// "loss_D: 0.62 loss_G: 2.02": where none is the loss of all, the first of its parts, NaN where any of them is not finite.
put_fields put_parts(const record_text& text, std::size_t begin, std::size_t end, scale_record& r) {
  constexpr std::string_view start = "loss_";
  const std::string_view all = text.view();
  put_fields put{.begin = end, .end = begin};
  for (std::size_t at = all.find(start, begin); at < end; at = all.find(start, at + 1)) {
    std::size_t key_end = at + start.size();
    while (key_end < end && (is_letter(all[key_end]) || is_digit(all[key_end]) || all[key_end] == '_')) ++key_end;
    const std::string_view key = all.substr(at, key_end - at);
    constexpr std::array<std::string_view, 5> others{"scale", "weight", "coef", "val", "eval"};
    if (std::ranges::any_of(others, [&](auto word) { return key.find(word) != std::string_view::npos; })) continue;
    scale_record part;
    const std::array fields{line_field{key, &scale_record::loss}};
    const put_fields one = put_values(text, at, end, fields, part);
    if (one.count == 0) continue;
    const bool is_lost = part.loss_is_nan || std::isinf(part.loss);
    if (put.count++ == 0 || is_lost) {
      r.loss = part.loss;
      r.loss_is_nan = part.loss_is_nan;
    }
    put.begin = std::min(put.begin, one.begin);
    put.end = std::max(put.end, one.end);
  }
  return put;
}

record_match read_with(const record_text& text, std::size_t at, std::string_view word,
                       const std::optional<step_number>& n, bool is_epoch) {
  if (!n) return no_record();
  const std::size_t line = text.line_end(at - 1);
  const std::size_t begin = std::max(text.line_begin(at - 1), std::min(text.taken(), n->begin));
  if (is_evaluation(text, begin, n->begin)) return no_record();
  // Another number of the same line says more.
  for (const char* const other : words) {
    if (!is_epoch && n->is_global) break;
    const auto found = next_number(text, begin, line, other);
    if (found && (is_epoch || (found->is_global && found->begin != n->begin))) return no_record();
  }
  const auto following = next_number(text, n->end, line, word);
  const std::size_t end = following ? second_loss(text, n->end, following->begin) : line;
  scale_record r{.what = kind::reached, .step = n->number, .step_unit = n->unit};
  put_fields put = put_values(text, begin, n->begin, usual_fields, r, key_case::any);
  if (!r.has_values() || !following) {
    scale_record behind = r;
    const put_fields more = put_values(text, n->end, end, usual_fields, behind, key_case::any);
    if (more.count > 0) {
      put.end = more.end;
      r = behind;
    }
  }
  if (!r.has_values() && word == "[") put = put_parts(text, begin, end, r);
  const std::size_t skips_end = put_skips(text, begin, end, r);
  if (!r.has_values() && !(r.overflow == 1)) return no_record();
  if (!is_epoch) {
    r.of_epoch = epoch_in(text, begin, n->begin);
    r.in_epoch = r.of_epoch >= 0 ? n->number : -1;
    r.per_epoch = n->of;
    constexpr std::int64_t most_epochs = 1'000'000;
    r.part = static_cast<std::uint32_t>(std::clamp<std::int64_t>(r.of_epoch, 0, most_epochs));
  }
  record_match m = whole_record(r, std::max({n->end, put.end, skips_end}));
  m.begin = put.count > 0 ? std::min(n->begin, put.begin) : n->begin;
  return m;
}

record_match read_number(const record_text& text, std::size_t at, std::string_view word, bool is_epoch) {
  return read_with(text, at, word, number_behind(text, at, word.size()), is_epoch);
}

// "[10/400] loss: 2.9 grad_norm: 0.67", at the beginning of a line; `at` is behind "]loss".
record_match read_bracket(const record_text& text, std::size_t at, bool) {
  constexpr std::size_t word = 4;
  const std::size_t begin = text.line_begin(at - 1);
  const auto count = counter_at(text, begin);
  if (!count || count->total < 0 || count->end != at - word) return no_record();
  return read_with(text, at, "[", step_number{begin, count->end, count->number, count->total}, false);
}

// WaveGlow: "243413:	nan", a line with nothing else, the iteration and the loss: NVIDIA/waveglow train.py (train).
record_match read_pair(const record_text& text, std::size_t at, bool last) {
  std::size_t begin = text.line_begin(at - 1);
  const std::size_t line = text.line_end(at - 1);
  const std::size_t first = begin;
  constexpr std::size_t longest_number = 20;
  if (at - 1 - begin > longest_number) return no_record();
  const std::int64_t step = take_whole(text, begin, at - 1);
  const bool is_apart = step >= 0 && begin == at - 1 && at < line && text.blank_before(at);
  const auto loss = is_apart ? text.number_at(at, "") : std::nullopt;
  if (!loss || loss->end != line || (!last && loss->open && std::isfinite(loss->value))) return no_record();
  if (std::isfinite(loss->value) && loss->digits.find('.') == std::string_view::npos) return no_record();
  scale_record r{.what = kind::reached, .step = step};
  r.put(&scale_record::loss, loss->value);
  record_match m = whole_record(r, line);
  m.begin = first;
  return m;
}

template <std::size_t index>
record_match read_word(const record_text& text, std::size_t at, bool) {
  return read_number(text, at, words[index], false);
}
record_match read_epoch(const record_text& text, std::size_t at, bool) { return read_number(text, at, "epoch", true); }

template <std::size_t... index>
constexpr auto starts_of(std::index_sequence<index...>) {
  return std::array{record_start{words[index], read_word<index>}..., record_start{":", read_pair},
                    record_start{"]loss", read_bracket}, record_start{"]Loss", read_bracket}};
}
constexpr auto own_starts = starts_of(std::make_index_sequence<words.size()>());

// Lines of whole epochs, or of steps whose number they do not tell: see settle_epochs.
constexpr std::array epochs{record_start{"epoch", read_epoch}, record_start{"Epoch", read_epoch}};

}  // namespace

log_dialect own_lines_dialect() {
  return {.name = "a script",
          .starts = own_starts,
          .counts_in_epochs = true,
          .may_count_from_zero = true,
          .is_own = true,
          .scale_is_open = true};
}

log_dialect own_epochs_dialect() {
  return {.name = "a script",
          .starts = epochs,
          .may_count_from_zero = true,
          .is_by_epoch = true,
          .is_own = true,
          .scale_is_open = true};
}

}  // namespace ulp::io
