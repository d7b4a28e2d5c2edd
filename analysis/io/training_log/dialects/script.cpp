// Step numbers that training scripts print themselves, beside a framework that prints none: "step 12", "global_step: 12",
// "iter=12", "iteration 12"; and lines that are those of one script.
#include <array>

#include "bytes/ascii.hpp"
#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

record_match read_number(const record_text& text, std::size_t at, bool last, std::size_t word) {
  const std::string_view all = text.view();
  constexpr std::string_view global = "global_";
  const std::string_view before = all.substr(text.line_begin(at - word), at - word - text.line_begin(at - word));
  const char previous = before.empty() ? ' ' : before.back();
  const bool inside_word =
      (previous >= 'a' && previous <= 'z') || (previous >= 'A' && previous <= 'Z') || previous == '_';
  if (inside_word && !before.ends_with(global)) return no_record();
  if (all.substr(at).starts_with("ation")) at += 5;
  if (at < all.size() && (all[at] == ':' || all[at] == '=' || all[at] == '#')) ++at;
  if (at < all.size() && all[at] == '[') ++at;
  if (at == all.size() || at == text.line_begin(at)) return no_record();  // not over lines: the words are too common
  const auto n = text.number_at(at, "");
  if (!n || step_of(*n) < 0) return no_record();
  if (n->open && !last) return unfinished_record();
  const whole_number_at grouped = whole_at(text, at, text.line_end(at));
  if (grouped.end > n->end) return whole_record({.what = kind::reached, .step = grouped.number}, grouped.end);
  return whole_record({.what = kind::reached, .step = step_of(*n)}, n->end);
}

// yolact: "[  1]    1520 || B: 5.535 | C: 3.031 |"; `at` is behind "||B:".
record_match read_columns(const record_text& text, std::size_t at, bool) {
  constexpr std::size_t words = 4;
  const std::string_view all = text.view();
  const std::size_t end = at - words;
  std::size_t begin = end;
  while (begin > text.line_begin(at - 1) && is_digit(all[begin - 1])) --begin;
  if (begin == end) return no_record();
  const auto n = text.number_at(begin, "|");
  if (!n || step_of(*n) < 0) return no_record();
  return whole_record({.what = kind::reached, .step = step_of(*n)}, at);
}

// NVIDIA/tacotron2 train.py: "Train loss 15 47.531357 Grad Norm 11.616506 2.96s/it", before
// "Train iter 16 loss 49.316841 Grad Norm 10.800460 3.22s/it", not of skipped steps, from 0 on.
record_match read_train_loss(const record_text& text, std::size_t at, bool last) {
  const auto step = at < text.size() ? text.number_at(at, " l") : std::nullopt;
  if (!step || step_of(*step) < 0) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*step)};
  r.is_applied = true;
  constexpr std::string_view word = "loss";
  const std::string_view rest = text.view().substr(step->end);
  if (!rest.starts_with(' ') && !rest.starts_with(word)) return no_record();
  const std::size_t number = step->end + (rest.starts_with(' ') ? 1 : word.size());
  const auto loss = number < text.size() ? text.number_at(number, "G") : std::nullopt;
  if (!loss) return no_record();
  if (loss->open && !last) return unfinished_record();
  r.put(&scale_record::loss, loss->value);
  constexpr std::string_view words = "GradNorm";
  const bool has_norm = text.view().substr(loss->end).starts_with(words);
  const auto norm = has_norm ? text.number_at(loss->end + words.size(), " ") : std::nullopt;
  if (norm) r.put(&scale_record::grad_norm, norm->value);
  return whole_record(r, norm ? norm->end : loss->end);
}

record_match read_four(const record_text& text, std::size_t at, bool last) { return read_number(text, at, last, 4); }

constexpr std::array script_starts{
    record_start{"Trainloss", read_train_loss},
    record_start{"Trainiter", read_train_loss},
    record_start{"||B:", read_columns},
    record_start{"step", read_four},
    record_start{"Step", read_four},
    record_start{"iter", read_four},
    record_start{"Iter", read_four},
};

}  // namespace

log_dialect script_dialect() { return {.starts = script_starts, .may_count_from_zero = true}; }

}  // namespace ulp::io
