#include "overflow_words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bytes/ascii.hpp"
#include "dialects/line_values.hpp"

namespace ulp::io {
namespace {

using words = std::span<const std::string_view>;

bool is_in(std::string_view word, words list) { return std::ranges::find(list, word) != list.end(); }
template <std::size_t N>
bool is_in(std::string_view word, const std::array<std::string_view, N>& list) {
  return is_in(word, words(list));
}
template <std::size_t N>
bool holds_any(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::ranges::any_of(list, [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

// Few lines have any of these.
constexpr std::array<std::string_view, 14> signs{
    "nan",
    "inf",
    "finite",
    "overflow",
    "skip",
    "scal",
    "explod",
    "diverg",
    "discard",
    "reject",
    "not updating",
    "not a number",
    "\xE6\xBA\xA2\xE5\x87\xBA",
    "\xE3\x82\xAA\xE3\x83\xBC\xE3\x83\x90\xE3\x83\xBC\xE3\x83\x95\xE3\x83\xAD\xE3\x83\xBC"};
// Of evaluations and arguments; counts of nothing; the best value before the first.
constexpr std::array<std::string_view, 11> no_news{"eval_",          "evaluat",       "val_",     "val loss",
                                                   "validation",     "argument",      "config",   "namespace",
                                                   "nan iterations", "improved from", "best loss"};
// Why a run ends, without a word for the number: Keras TerminateOnNaN, icefall train.py, fairseq, DeepSpeed, TensorFlow.
constexpr std::array<std::string_view, 5> last_words{"invalid loss, terminating", "grad_scale is too small",
                                                     "minimum loss scale reached", "loss scale already at minimum",
                                                     "nanlossduringtraining"};

// What a line that speaks of a number which is not finite is about; a table of accuracies has "nan" too. The last are Chinese: loss,
// gradient, "detected", step.
constexpr std::array<std::string_view, 28> concerned{"loss",
                                                     "grad",
                                                     "norm",
                                                     "tensor",
                                                     "found",
                                                     "return",
                                                     "result",
                                                     "output",
                                                     "weight",
                                                     "param",
                                                     "detect",
                                                     "activ",
                                                     "stopp",
                                                     "encount",
                                                     "step",
                                                     "update",
                                                     "batch",
                                                     "scale",
                                                     "scaling",
                                                     "amp",
                                                     "fp16",
                                                     "optimi",
                                                     "skip",
                                                     "abort",
                                                     "\xE6\x8D\x9F\xE5\xA4\xB1",
                                                     "\xE6\xA2\xAF\xE5\xBA\xA6",
                                                     "\xE6\xA3\x80\xE6\xB5\x8B",
                                                     "\xE6\xAD\xA5"};
constexpr std::array<std::string_view, 7> nonfinite_names{"nan",      "nans",     "inf",      "infs",
                                                          "infinite", "infinity", "nonfinite"};
constexpr std::array<std::string_view, 4> overflow_names{"overflow", "overflows", "overflowed", "overflowing"};
constexpr std::array<std::string_view, 2> ends_of_training{"exploded", "diverged"};
// What else may flow over: directly in front of the word, or behind it.
constexpr std::array<std::string_view, 19> other_overflows{
    "stack",   "buffer",  "integer", "int",   "token", "tokens", "capacity",   "queue",       "text", "expert",
    "experts", "context", "disk",    "cache", "n/a",   "heap",   "arithmetic", "encountered", "page"};
// Measures of which one that is not finite says nothing of gradients: directly in front of the number.
constexpr std::array<std::string_view, 24> other_measures{
    "acc",    "accuracy", "ppl", "perplexity", "eta", "time",        "bleu",   "wer",
    "cer",    "map",      "iou", "miou",       "lr",  "score",       "reward", "speed",
    "metric", "best",     "f1",  "auc",        "snr", "temperature", "clip",   "clipping"};

constexpr std::array<std::string_view, 6> deniers{"no", "not", "without", "never", "zero", "free"};
// What may stand between them and the word.
constexpr std::array<std::string_view, 15> between{"or",       "and",       "any",   "more",   "further",
                                                   "gradient", "gradients", "grad",  "grads",  "loss",
                                                   "of",       "fp16",      "steps", "values", "single"};
constexpr std::array<std::string_view, 13> conditions{"if",       "whether",    "avoid",   "avoids",   "prevent",
                                                      "prevents", "preventing", "against", "checking", "check",
                                                      "checks",   "ensure",     "guard"};
constexpr std::array<std::string_view, 6> told_to{"terminate", "raise", "stop", "abort", "skip", "fail"};
// Of what looks for such numbers or has mended them, behind the word.
constexpr std::array<std::string_view, 27> watchers{
    "guard",     "check",      "checks", "checking", "detection", "detector",  "filter",     "filtering", "handling",
    "handler",   "protection", "safe",   "policy",   "threshold", "tolerance", "enabled",    "disabled",  "avoided",
    "prevented", "fix",        "fixed",  "resolved", "gone",      "cleared",   "workaround", "risk",      "margin"};
constexpr std::array<std::string_view, 15> no_values{"false",    "none",    "no",   "null",  "off",
                                                     "raise",    "skip",    "warn", "error", "ignore",
                                                     "disabled", "enabled", "auto", "n/a",   "na"};
// What stands between the word and how often it was.
constexpr std::array<std::string_view, 11> amounts{"count",  "counts",   "counter", "total",      "rate", "ratio",
                                                   "number", "fraction", "percent", "percentage", "steps"};
// What has numbers of its own.
constexpr std::array<std::string_view, 9> numbered{"step",  "rank",  "gpu",    "iteration", "iter",
                                                   "batch", "epoch", "update", "scaler"};

constexpr std::array<std::string_view, 11> skips{"skip",      "skipped",    "skipping", "skips",
                                                 "discarded", "discarding", "rejected", "rejecting",
                                                 "ignored",   "ignoring",   "dropped"};
constexpr std::array<std::string_view, 9> updates{"step",      "steps",      "update", "updates",  "updating",
                                                  "iteration", "iterations", "iter",   "optimizer"};
constexpr std::array<std::string_view, 5> batches{"batch", "batches", "minibatch", "microbatch", "gradient"};
// Why steps are passed over that no scaler skips.
constexpr std::array<std::string_view, 43> other_reasons{
    "first",      "resume",      "resumed",    "resuming", "already", "fast",   "forward", "until",     "data",
    "dataloader", "checkpoint",  "saved",      "save",     "saving",  "warmup", "lr",      "scheduler", "logging",
    "log",        "epochs",      "profiling",  "profiler", "test",    "empty",  "missing", "to",        "cached",
    "connection", "connections", "size",       "length",   "eval",    "val",    "shard",   "shards",    "snapshot",
    "upload",     "ckpt",        "generation", "sampling", "plot",    "plots",  "corrupt"};

constexpr std::array<std::string_view, 10> scales{"loss_scale", "grad_scale",  "amp_scale",   "lossscale",
                                                  "gradscale",  "loss_scaler", "grad_scaler", "scaler",
                                                  "gradscaler", "lossscaler"};
constexpr std::array<std::string_view, 8> before_scale{"loss", "grad", "gradient", "amp",
                                                       "fp16", "new",  "dynamic",  "cost"};
constexpr std::array<std::string_view, 16> lowered{
    "reduced", "reducing", "decreased", "decreasing", "lowered", "lowering", "halved", "halving",
    "dropped", "dropping", "shrunk",    "shrinking",  "backed",  "backing",  "fell",   "falling"};
constexpr std::array<std::string_view, 4> least{"minimum", "min", "floor", "lowest"};
constexpr std::array<std::string_view, 9> arrives{"hit", "hits",  "reached", "reaches", "already",
                                                  "at",  "below", "stuck",   "clamped"};

// What a text of training data or of a model begins with.
constexpr std::array<std::string_view, 19> speakers{"prompt",    "question", "answer",   "instruction", "user",
                                                    "assistant", "human",    "response", "completion",  "generated",
                                                    "text",      "sample",   "example",  "caption",     "input",
                                                    "target",    "q",        "a",        "title"};

// In names of counters, one of each; none of the third.
constexpr std::array<std::string_view, 10> counted{"overflow", "overflows", "overflowed", "nonfinite", "notfinite",
                                                   "nan",      "nans",      "inf",        "infs",      "skipped"};
constexpr std::array<std::string_view, 4> findings{"found", "detected", "has", "any"};
constexpr std::array<std::string_view, 14> counters{"count",      "counts",  "num",    "n",       "number",
                                                    "total",      "steps",   "step",   "updates", "iters",
                                                    "iterations", "batches", "events", "grads"};
constexpr std::array<std::string_view, 16> settings{"max",       "min",     "threshold", "limit", "patience", "window",
                                                    "tolerance", "allowed", "interval",  "every", "first",    "skip",
                                                    "check",     "until",   "warmup",    "on"};

bool is_small_letter(char c) noexcept { return c >= 'a' && c <= 'z'; }

struct token {
  std::string_view text;
  bool is_value = false;     // a colon or an equals sign stands in front of it
  bool is_key = false;       // or behind it
  bool begins_part = false;  // a sentence, or what a comma or a bracket parts
};

bool is_whole_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

// "0.0", "0%", "0.00".
bool is_zero(std::string_view text) {
  return !text.empty() && is_digit(text.front()) && text.find_first_not_of("0.") == std::string_view::npos;
}

std::optional<double> decimal_of(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The words of a line in small letters. "skip_nan", "torch.isnan" and "--nan-guard" stay whole, as names; paths are left out; "nan/inf"
// are two words.
std::vector<token> tokens_of(std::string_view text) {
  constexpr std::string_view of_word = "_./-+";
  constexpr std::string_view parts = ".,;!?()[]{}|\"'`";
  std::vector<token> all;
  bool begins_part = true;
  bool is_value = false;
  const auto add = [&](std::string_view word) {
    all.push_back({word, is_value, false, begins_part});
    begins_part = is_value = false;
  };
  const auto add_joined = [&](std::string_view word) {
    if (word == "n/a") return add(word);
    const bool is_path = word.find('/') != std::string_view::npos;
    const char joint = is_path ? '/' : '-';
    std::vector<std::string_view> pieces;
    for (std::string_view rest = word; !rest.empty();) {
      const std::size_t end = std::min(rest.find(joint), rest.size());
      if (end > 0) pieces.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto is_nonfinite = [](std::string_view piece) { return is_in(piece, nonfinite_names); };
    if (is_path && !std::ranges::all_of(pieces, is_nonfinite)) return;
    const bool is_option = word.starts_with('-') && word.size() > 1 && !is_digit(word[1]);
    if (is_option) return;
    for (const std::string_view piece : pieces) add(piece);
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (is_small_letter(text[end]) || is_digit(text[end]) || of_word.find(text[end]) != std::string_view::npos))
      ++end;
    if (end == at) {
      const char c = text[at++];
      const bool is_sign = c == ':' || c == '=';
      if (is_sign && !all.empty() && !begins_part) all.back().is_key = is_value = true;
      begins_part = begins_part || parts.find(c) != std::string_view::npos;
      continue;
    }
    std::string_view word = text.substr(at, end - at);
    at = end;
    const bool ends_sentence = word.ends_with('.');
    while (!word.empty() && (word.back() == '.' || word.back() == '-')) word.remove_suffix(1);
    if (word.find('/') != std::string_view::npos || (word.find('-') != std::string_view::npos && !decimal_of(word)))
      add_joined(word);
    else if (!word.empty())
      add(word);
    begins_part = begins_part || ends_sentence;
  }
  return all;
}

class reader {
 public:
  explicit reader(std::string_view text) : text_(text), all_(tokens_of(text)) {}

  [[nodiscard]] bool says() const {
    if (all_.empty()) return says_in_chinese_or_japanese();
    if ((all_.front().is_key && is_in(all_.front().text, speakers)) || is_about_data()) return false;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (is_nonfinite(i) || is_overflow(i) || is_end(i) || is_skipped(i) || counts(i)) return true;
    return lowers_scale() || says_in_chinese_or_japanese();
  }

 private:
  [[nodiscard]] std::string_view word(std::size_t i) const {
    return i < all_.size() ? all_[i].text : std::string_view{};
  }
  [[nodiscard]] std::string_view word_before(std::size_t i) const {
    return i == 0 ? std::string_view{} : all_[i - 1].text;
  }
  template <std::size_t N>
  [[nodiscard]] bool has(const std::array<std::string_view, N>& list) const {
    return std::ranges::any_of(all_, [&](const token& t) { return is_in(t.text, list); });
  }
  // "Skipped 312 rows (overflow of sequence_len)", "NaN boxes removed": what is fed to the network, and nothing of what comes of it.
  [[nodiscard]] bool is_about_data() const {
    constexpr std::array<std::string_view, 11> data{"dataset",      "dataloader", "tokenizer", "transcript",
                                                    "boxes",        "duration",   "captions",  "annotations",
                                                    "sequence_len", "max_length", "max_len"};
    constexpr std::array<std::string_view, 6> results{"loss", "grad", "norm", "scal", "weight", "step"};
    const auto is_data = [&](const token& t) { return is_of_data(t.text) || is_in(t.text, data); };
    return std::ranges::any_of(all_, is_data) && !holds_any(text_, results);
  }
  [[nodiscard]] bool is_concerned() const { return holds_any(text_, concerned); }

  // "0 overflows", but not "step 0 overflows" or "rank 0: overflow".
  [[nodiscard]] bool counts_none(std::size_t i) const {
    if (i == 0 || word(i - 1) != "0" || all_[i - 1].is_key) return false;
    return !is_in(word_before(i - 1), numbered);
  }

  // Of words from `first` to `last`: "no gradient overflow", "check for NaN", "overflow: False", "NaN guard enabled".
  [[nodiscard]] bool is_denied(std::size_t first, std::size_t last) const {
    if (counts_none(first)) return true;
    for (std::size_t i = first; i-- > 0 && !all_[i + 1].begins_part;) {
      if (is_in(word(i), deniers)) return true;
      if (!is_in(word(i), between) && !is_in(word(i), nonfinite_names)) break;
    }
    constexpr std::size_t near = 5;
    for (std::size_t i = first, n = 0; i-- > 0 && n < near && !all_[i + 1].begins_part; ++n)
      if (is_in(word(i), conditions)) return true;
    if (first > 1 && word(first - 1) == "on" && is_in(word(first - 2), told_to)) return true;
    const bool is_amount = is_in(word(last + 1), amounts);
    const std::size_t value = is_amount ? last + 2 : last + 1;
    if (word(value) == "0" || word(value) == "false") return true;
    if ((is_amount || all_[last].is_key) && (is_zero(word(value)) || is_in(word(value), no_values))) return true;
    constexpr std::array<std::string_view, 3> fails{"failed", "error", "fails"};
    constexpr std::size_t behind = 2;
    for (std::size_t i = last + 1; i < all_.size() && i <= last + behind && !all_[i].begins_part; ++i)
      if (is_in(word(i), watchers)) return !has(fails);
    return false;
  }

  // "NaN", "not finite", "non finite", "not a number".
  [[nodiscard]] bool is_nonfinite(std::size_t i) const {
    std::size_t last = i;
    if (!is_in(word(i), nonfinite_names)) {
      const bool is_not = word(i) == "not" || word(i) == "non";
      if (is_not && word(i + 1) == "finite")
        last = i + 1;
      else if (is_not && word(i + 1) == "a" && word(i + 2) == "number")
        last = i + 2;
      else
        return false;
    }
    if (!is_concerned() || is_denied(i, last)) return false;
    const auto norm = word(last + 1) == "norm" ? decimal_of(word(last + 2)) : std::nullopt;
    if (norm && std::isfinite(*norm)) return false;  // the infinity norm: "inf-norm 2.1"
    if (i == 0) return true;
    if (is_in(word(i - 1), other_measures) || word(i - 1) == "from") return false;
    constexpr std::array<std::string_view, 4> of_gradients{"loss", "grad", "norm", "scale"};
    return !all_[i].is_value || holds_any(word(i - 1), of_gradients) || i + 1 < all_.size();
  }

  [[nodiscard]] bool is_overflow(std::size_t i) const {
    if (!is_in(word(i), overflow_names) || !is_concerned() || is_denied(i, i)) return false;
    return !is_in(word_before(i), other_overflows) && !is_in(word(i + 1), other_overflows);
  }

  [[nodiscard]] bool is_end(std::size_t i) const {
    constexpr std::array<std::string_view, 3> what{"loss", "grad", "train"};
    return is_in(word(i), ends_of_training) && holds_any(text_, what) && !is_denied(i, i);
  }

  // "skipped step", "skipping this batch, loss 1e9", "not updating"; not "skipped 3 samples", "skipping the first 100 steps", "skip if nan".
  [[nodiscard]] bool is_skipped(std::size_t i) const {
    const bool is_not_updating = word(i) == "not" && (word(i + 1) == "updating" || word(i + 1) == "stepping");
    if (!is_not_updating && !is_in(word(i), skips)) return false;
    if (has(other_reasons) || (!is_not_updating && is_denied(i, i)) || word(i + 1) == "0") return false;
    if (is_not_updating) return is_concerned();
    const std::size_t object = is_whole_number(word(i + 1)) ? i + 2 : i + 1;
    if (is_of_data(word(object)) || is_of_data(word_before(i))) return false;
    constexpr std::array<std::string_view, 3> reasons{"loss", "grad", "norm"};
    constexpr std::size_t near = 4;
    const std::size_t from = i - std::min(i, near);
    const std::size_t end = std::min(all_.size(), i + near + 1);
    bool is_of_step = false;
    for (std::size_t k = from; k < end; ++k) {
      const bool none = all_[k].is_key && word(k + 1) == "0" && !is_in(word(k), numbered);
      if (none || counts_none(k) || (k > i && word(k) == "if")) return false;
      is_of_step = is_of_step || is_in(word(k), updates) || (is_in(word(k), batches) && holds_any(text_, reasons));
    }
    return is_of_step;
  }

  // "overflow_steps: 3", "notfinite_count=2", "nan_detected: True", "found_inf=1"; not "max_skipped_steps: 10".
  [[nodiscard]] bool counts(std::size_t i) const {
    const std::string_view name = word(i);
    if (!all_[i].is_key || name.find('_') == std::string_view::npos) return false;
    bool of_overflows = false;
    bool is_counter = false;
    bool is_found = false;
    for (std::string_view rest = name; !rest.empty();) {
      const std::size_t end = std::min(rest.find('_'), rest.size());
      const std::string_view part = rest.substr(0, end);
      if (is_in(part, settings) || is_in(part, watchers)) return false;
      of_overflows = of_overflows || is_in(part, counted);
      is_counter = is_counter || is_in(part, counters);
      is_found = is_found || is_in(part, findings);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    const auto n = decimal_of(word(i + 1));
    const bool is_positive = n && *n > 0;
    return of_overflows && (is_counter || is_found) && (is_positive || (is_found && word(i + 1) == "true"));
  }

  [[nodiscard]] bool is_scale(std::size_t i) const {
    if (is_in(word(i), scales)) return true;
    return (word(i) == "scale" || word(i) == "scaling" || word(i) == "scaler") && is_in(word_before(i), before_scale);
  }

  // "loss scale reduced to 32768", "GradScaler backed off", "scale 32768.0 (was 65536.0)", "loss scale hit minimum".
  [[nodiscard]] bool lowers_scale() const {
    std::size_t at = all_.size();
    for (std::size_t i = all_.size(); i-- > 0;)
      if (is_scale(i)) at = i;
    if (at == all_.size() || has(conditions) || is_denied(at, at)) return false;
    if (has(lowered) || (has(least) && has(arrives))) return true;
    std::vector<double> numbers;
    for (std::size_t i = at + 1; i < all_.size(); ++i)
      if (const auto n = decimal_of(word(i)); n && *n > 0) numbers.push_back(*n);
    constexpr std::array<std::string_view, 1> was{"was"};
    constexpr std::array<std::string_view, 3> arrows{"->", "=>", "\xE2\x86\x92"};
    if (numbers.size() < 2) return false;
    if (has(was)) return numbers[0] < numbers[1];
    constexpr std::array<std::string_view, 1> from{"from"};
    return (has(from) || holds_any(text_, arrows)) && numbers[1] < numbers[0];
  }

  // "Overflow" beside gradient, loss, step, update or scale.
  [[nodiscard]] bool says_in_chinese_or_japanese() const {
    constexpr std::array<std::string_view, 2> overflows{
        "\xE6\xBA\xA2\xE5\x87\xBA",
        "\xE3\x82\xAA\xE3\x83\xBC\xE3\x83\x90\xE3\x83\xBC\xE3\x83\x95\xE3\x83\xAD\xE3\x83\xBC"};
    constexpr std::array<std::string_view, 7> what{
        "\xE6\xA2\xAF\xE5\xBA\xA6", "\xE6\x8D\x9F\xE5\xA4\xB1", "\xE6\xAD\xA5",
        "\xE6\x9B\xB4\xE6\x96\xB0", "\xE7\xBC\xA9\xE6\x94\xBE", "\xE5\x8B\xBE\xE9\x85\x8D",
        "\xE6\x90\x8D\xE5\xA4\xB1"};
    constexpr std::array<std::string_view, 5> no{"\xE6\xB2\xA1\xE6\x9C\x89", "\xE6\x9C\xAA", "\xE6\x97\xA0",
                                                 "\xE3\x81\xAA\xE3\x81\x97", "\xE9\x98\xB2\xE6\xAD\xA2"};
    return holds_any(text_, overflows) && holds_any(text_, what) && !holds_any(text_, no);
  }

  std::string_view text_;
  std::vector<token> all_;
};

}  // namespace

bool says_nonfinite(std::string_view line) {
  const std::string text = in_small_letters(line);
  if (holds_any(text, last_words)) return true;
  if (!holds_any(text, signs) || holds_any(text, no_news)) return false;
  return reader(text).says();
}

bool field_says_nonfinite(std::string_view column, std::string_view text) {
  constexpr std::size_t longest = 4096;
  std::string words(text.substr(0, longest));
  // One word is a state, not the name of a setting.
  if (words.find_first_of(" =:") == std::string::npos) std::ranges::replace(words, '_', ' ');
  return says_nonfinite(std::string(column) + ": optimizer " + words);
}

}  // namespace ulp::io
