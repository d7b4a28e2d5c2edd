#include "unread.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "bytes/ascii.hpp"
#include "dialects/line_values.hpp"

namespace ulp::io {
namespace {

enum : std::uint8_t { loss, norm, scale, overflow };
struct sign_word {
  std::string_view text;
  std::uint8_t kind;
  bool has_number = true;  // a number follows
};
constexpr std::array sign_words{
    sign_word{"loss", loss},
    sign_word{"Loss", loss},
    sign_word{"grad_norm", norm},
    sign_word{"gradnorm", norm},
    sign_word{"GradNorm", norm},
    sign_word{"gnorm", norm},
    sign_word{"global_norm", norm},
    sign_word{"loss_scale", scale},
    sign_word{"lossscale", scale},
    sign_word{"grad_scale", scale},
    sign_word{"gradscale", scale},
    sign_word{"OVERFLOW", overflow, false},
    sign_word{"overflowdetected", overflow, false},
    sign_word{"verflow.Skip", overflow, false},
    sign_word{"verflow,skip", overflow, false},
    sign_word{"Foundinf", overflow, false},
};

// Lines of an evaluation, of a summary or of arguments are no records.
bool tells_of_no_step(std::string_view line) noexcept {
  constexpr std::array others{"valid",  "Valid",     "VALID",         "eval",    "Eval",     "EVAL",   "val_",
                              "Val",    "Test",      "test_",         "Average", "argument", "config", "Args",
                              "usage:", "Namespace", "train_runtime", "wandb:",  "summary"};
  return std::ranges::any_of(others, [&](const char* word) { return line.find(word) != std::string_view::npos; });
}

// "loss_scale", not "min_loss_scale" or "max_grad_norm", which are arguments.
bool is_whole(const record_text& text, std::size_t from, std::size_t at) noexcept {
  if (at == from || text.blank_before(at)) return true;
  const char before = text.view()[at - 1];
  return !is_letter(before) && before != '_';
}

// "loss: 2.5", "loss=nan", "loss 2.5"; not "loss.....2.5", an argument.
bool has_number(const record_text& text, std::size_t at, bool zero_is_argument, bool none_counts) {
  constexpr std::string_view separators = ":=\"'[(";
  const std::size_t from = at;
  while (at < text.size() && at - from < 3 && separators.find(text.view()[at]) != std::string_view::npos) ++at;
  at = skip_wrapper(text.view(), at);
  if (at >= text.size() || (at == from && !text.blank_before(at))) return false;
  if (text.view()[at] == '.') return false;
  if (text.view().substr(at).starts_with("None")) return none_counts;
  const auto n = text.number_at(at, ",|}]'\"");
  return n && (n->value != 0 || !zero_is_argument);  // a loss scale of 0 is a dynamic one
}

}  // namespace

bool record_sign::is_overflow() const noexcept { return word == overflow; }

void add_signs(const record_text& text, std::size_t from, std::uint64_t line, std::vector<record_sign>& to) {
  const std::string_view all = text.view();
  if (tells_of_no_step(all.substr(from))) return;
  const std::size_t first = to.size();
  // "step 57 loss None"; without a step it is an argument.
  const std::string_view line_text = all.substr(from);
  const bool has_step = std::ranges::any_of(std::array{"step", "Step", "iter", "Iter"}, [&](const char* word) {
    return line_text.find(word) != std::string_view::npos;
  });
  for (const sign_word& word : sign_words)
    for (std::size_t at = all.find(word.text, from); at != std::string_view::npos; at = all.find(word.text, at + 1)) {
      const std::size_t end = at + word.text.size();
      const bool is_none = text.blank_before(end) && all.substr(end).starts_with("None");
      const bool ends = end == all.size() || !is_letter(all[end]) || is_none;
      if (word.has_number &&
          !(ends && has_number(text, at + word.text.size(), word.kind == scale, has_step && word.kind == loss)))
        continue;
      if ((word.kind == scale || word.kind == norm) && !is_whole(text, from, at)) continue;
      if (ends_in_evaluation(all.substr(from, at - from))) continue;
      to.push_back({at, line, word.kind});
    }
  std::ranges::sort(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(), {}, &record_sign::offset);
}

void unread_records::add(const record_sign& sign) {
  if (sign.line != line_) {
    count_ += of_line();
    std::ranges::fill(of_kind_, 0);
    line_ = sign.line;
  }
  if (first_line_ == 0 || sign.line < first_line_) first_line_ = sign.line;
  ++of_kind_[sign.word];
}

std::uint64_t unread_records::of_line() const noexcept { return *std::ranges::max_element(of_kind_); }

std::vector<nonfinite_words> untold(std::span<const nonfinite_words> all, std::span<const scale_record> records) {
  const auto tells = [](const scale_record& r) {
    const bool has_collapsed = r.after < 1;  // a loss scale, as icefall's when it ends the run
    return has_collapsed || r.is_nonfinite() || r.skipped > 0 || r.what == scale_record::kind::overflow ||
           r.what == scale_record::kind::position || r.what == scale_record::kind::fatal;
  };
  std::vector<nonfinite_words> left;
  for (const nonfinite_words& words : all) {
    const auto next = std::ranges::lower_bound(records, words.line, {}, &scale_record::line);
    const bool is_told =
        (next != records.end() && ((next->line == words.line && next->has_values()) || tells(*next))) ||
        (next != records.begin() && tells(*std::prev(next)));
    if (!is_told) left.push_back(words);
  }
  return left;
}

}  // namespace ulp::io
