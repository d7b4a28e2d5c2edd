#include "column_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "known_names.hpp"
#include "training_log/dialects/line_values.hpp"

namespace ulp::io {
namespace {

using m = column_meaning;

constexpr std::size_t longest_name = 256;  // that anybody gives a column

constexpr std::array<std::string_view, 4> training{"train", "training", "tr", "trn"};
constexpr std::array<std::string_view, 10> validation{"val",  "valid", "validation", "eval",    "evaluation",
                                                      "test", "dev",   "testing",    "holdout", "metrics_val"};
// These say how a number was taken, and not what it is.
constexpr std::array<std::string_view, 25> manner{
    "avg",     "average", "mean", "ave",   "running", "smooth", "smoothed", "ema",     "reduced",
    "current", "cur",     "last", "batch", "step",    "iter",   "global",   "metrics", "metric",
    "history", "scalars", "logs", "log",   "data",    "stats",  "samples"};
constexpr std::array<std::string_view, 2> by_epoch{"epoch", "epochs"};
// Of these, those of a mean, which may be one of all steps so far.
constexpr std::array<std::string_view, 8> means_of_steps{"avg",     "average", "mean",     "ave",
                                                         "running", "smooth",  "smoothed", "ema"};
// In names of what is set, and not measured: max_grad_norm, loss_scale_window. Those of parts of a network, too.
constexpr std::array<std::string_view, 14> of_settings{"max",    "min",     "clip",    "clipping", "target",
                                                       "window", "weight",  "weights", "coef",     "coeff",
                                                       "init",   "initial", "param",   "layer"};
constexpr std::array<std::string_view, 8> settings{
    "config", "cfg", "args", "hparams", "params", "hyperparams", "hyperparameters", "hyper_parameters"};
constexpr std::array<std::string_view, 3> words_of_scale{"scale", "scaler", "scaling"};
// In front of "loss_scale": any other word makes it the weight of a part of the loss, as in "kl_loss_scale".
constexpr std::array<std::string_view, 24> before_scale{
    "amp",     "fp16",      "float16", "half",    "mixed",     "precision", "grad",  "gradient",
    "dynamic", "optimizer", "optim",   "scaler",  "deepspeed", "ds",        "apex",  "native",
    "torch",   "trainer",   "engine",  "current", "train",     "training",  "debug", "perf"};
// W&B's table of several runs has these beside the values.
constexpr std::array<std::string_view, 4> not_values{"__min", "__max", "_vs_samples", "__ystd"};

template <std::size_t N>
bool is_in(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

const known_name* known(std::string_view name) {
  const auto* const found = std::ranges::find(known_names, name, &known_name::name);
  return found == known_names.end() ? nullptr : found;
}

bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// "Train/GradNorm (L2)" to "train/grad_norm_l2": small letters, one underscore for everything that parts words.
std::string plain_of(std::string_view name) {
  while (name.starts_with('#') || name.starts_with(' ')) name.remove_prefix(1);
  // W&B's CSV: "run name - train/loss".
  if (const std::size_t dash = name.rfind(" - "); dash != std::string_view::npos) name.remove_prefix(dash + 3);
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    if (c == '|' || c == '\\') c = '/';
    if (is_upper(c)) {
      if (i > 0 && is_lower(name[i - 1])) plain += '_';
      c = static_cast<char>(c - 'A' + 'a');
    }
    constexpr std::string_view parts_words = " -.:()[]'\"?";
    if (parts_words.find(c) != std::string_view::npos) c = '_';
    const bool is_at_edge = c == '_' && !plain.empty() && plain.back() == '/';
    if (!is_at_edge) plain += c;
  }
  while (plain.ends_with('_')) plain.pop_back();
  return plain;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> all;
  for (;;) {
    const std::size_t end = text.find(at);
    if (const auto word = text.substr(0, end); !word.empty()) all.push_back(word);
    if (end == std::string_view::npos) return all;
    text.remove_prefix(end + 1);
  }
}

// A word that says whether it is of training, validation or an epoch, or how it was taken.
bool qualifies(std::string_view word, column_reading& into) {
  if (is_in(validation, word)) into.of_validation = true;
  if (is_in(by_epoch, word)) into.of_epoch = true;
  if (is_in(means_of_steps, word)) into.is_running = true;
  return is_in(validation, word) || is_in(by_epoch, word) || is_in(training, word) || is_in(manner, word);
}

std::string joined_words(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : "_") + std::string(word);
  return all;
}

// Names of which more than one are used: lr_group0, lr_adam_w, box_loss, loss_rpn_cls.
std::optional<column_reading> by_pattern(const std::string& name, column_reading r) {
  constexpr std::uint32_t behind_all_names = 1000;
  const auto has = [&](std::string_view start) { return name.starts_with(start); };
  r.place = behind_all_names;
  r.means = m::learning_rate;
  if (has("lr_") || has("learning_rate_") || name.ends_with("_lr") || (name.size() == 3 && has("lr"))) return r;
  r.means = m::loss;
  r.is_part = true;
  const auto words = split(name, '_');
  if (words.empty()) return std::nullopt;
  const bool is_setting = std::ranges::any_of(words, [](std::string_view word) { return is_in(of_settings, word); });
  if (!is_setting && !is_in(words_of_scale, words.front()) && !is_in(words_of_scale, words.back()) &&
      (has("loss_") || name.ends_with("_loss")))
    return r;
  return std::nullopt;
}

std::optional<column_reading> read_name(std::string_view name) {
  if (name.size() > longest_name) return std::nullopt;
  const std::string plain = plain_of(name);
  for (const std::string_view end : not_values)
    if (plain.ends_with(end)) return std::nullopt;
  if (is_in(settings, std::string_view(plain).substr(0, plain.find('/'))) && plain.find('/') != std::string::npos)
    return std::nullopt;
  const auto read = [](const known_name& k, column_reading r) {
    r.means = k.means;
    r.is_log2 = k.is_log2;
    r.stands_in = k.stands_in;
    r.place = static_cast<std::uint32_t>(&k - known_names.data());
    if (k.means == m::step || k.means == m::epoch) r.of_epoch = false;
    return r;
  };
  column_reading r;
  if (const auto* const whole = known(plain)) return read(*whole, r);

  std::string in_one = plain;
  std::ranges::replace(in_one, '/', '_');
  if (const auto* const whole = known(in_one)) return read(*whole, r);

  // What qualifies is taken from the path, then from both ends of what is left.
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(plain, '/'))
    if (part.find_first_not_of('_') != std::string_view::npos && !qualifies(part, r)) parts.push_back(part);
  if (parts.empty()) {  // "train/step" and "epoch/batch" have a meaning of their own
    const std::string_view leaf = std::string_view(plain).substr(plain.rfind('/') + 1);
    const auto* const k = known(leaf);
    return k == nullptr ? std::nullopt : std::optional(read(*k, r));
  }
  const std::string_view leaf = std::string_view(plain).substr(plain.rfind('/') + 1);
  const auto* const counter = known(leaf);
  const bool counts = counter != nullptr && (counter->means == m::step || counter->means == m::epoch);
  if (counts && (parts.back() == leaf || known(joined_words(parts)) == nullptr)) return read(*counter, r);
  for (std::size_t from = 0; from < parts.size(); ++from) {
    std::vector<std::string_view> words;
    for (std::size_t i = from; i < parts.size(); ++i)
      for (const std::string_view word : split(parts[i], '_')) words.push_back(word);
    column_reading here = r;
    here.is_nested = from > 0;
    for (;;) {
      const std::string text = joined_words(words);
      if (const auto* const k = known(text)) {
        // A norm or a scale beneath a name of something else may be of anything.
        if (here.is_nested && (k->name == "norm" || k->name == "total_norm")) break;
        return read(*k, here);
      }
      if (words.size() < 2) break;
      if (qualifies(words.front(), here))
        words.erase(words.begin());
      else if (qualifies(words.back(), here) || words.back().starts_with("rank"))
        words.pop_back();
      else
        break;
    }
    if (words.empty()) continue;
    if (from + 1 == parts.size() || joined_words(words).starts_with("lr_"))
      if (auto found = by_pattern(joined_words(words), here)) return found;
    // "amp_grad_scale", where a path lost its strokes.
    here.is_nested = true;
    const bool is_setting = std::ranges::any_of(words, [](std::string_view word) { return is_in(of_settings, word); });
    if (is_setting) continue;
    bool may_be_scale = is_in(before_scale, words.front());
    for (words.erase(words.begin()); words.size() > 1; words.erase(words.begin())) {
      const auto* const k = known(joined_words(words));
      const bool is_count = k != nullptr && (k->means == m::step || k->means == m::epoch);
      if (k != nullptr && !is_count && (k->means != m::loss_scale || may_be_scale)) return read(*k, here);
      may_be_scale = may_be_scale && is_in(before_scale, words.front());
    }
  }
  return std::nullopt;
}

// "skipped_samples", not "Train/Samples/overflow".
bool counts_data(std::string_view name) {
  const std::string plain = plain_of(name);
  const auto words = split(std::string_view(plain).substr(plain.rfind('/') + 1), '_');
  return std::ranges::any_of(words, is_of_data);
}

}  // namespace

std::optional<column_reading> reading_of(std::string_view name) {
  const auto reading = read_name(name);
  const bool tells_of_skips = reading && (reading->means == m::found_inf || reading->means == m::skipped);
  return tells_of_skips && counts_data(name) ? std::nullopt : reading;
}

bool names_steps(std::string_view name) {
  constexpr std::array<std::string_view, 15> of_steps{"step",     "steps", "iteration", "iterations", "iters",
                                                      "updates",  "grad",  "gradient",  "optimizer",  "found",
                                                      "foundinf", "is",    "has",       "was",        "nan"};
  const std::string plain = plain_of(name);
  const auto words = split(std::string_view(plain).substr(plain.rfind('/') + 1), '_');
  return std::ranges::any_of(words, [&](std::string_view word) { return is_in(of_steps, word); });
}

bool has_word(std::string_view name, std::string_view wanted) {
  if (name.size() > longest_name) return false;
  const std::string plain = plain_of(name);
  for (const std::string_view part : split(plain, '/'))
    for (const std::string_view word : split(part, '_'))
      if (word == wanted) return true;
  return false;
}

bool names_validation(std::string_view name) {
  return std::ranges::any_of(validation, [&](std::string_view word) { return has_word(name, word); });
}

bool looks_important(std::string_view name) {
  if (name.size() > longest_name) return false;
  const std::string plain = plain_of(name);
  for (const std::string_view end : not_values)
    if (plain.ends_with(end)) return false;
  constexpr std::array<std::string_view, 12> important{"loss",    "norm", "gnorm", "scale", "scaler",   "overflow",
                                                       "skipped", "inf",  "nan",   "grad",  "gradient", "lr"};
  return std::ranges::any_of(important, [&](std::string_view word) { return has_word(name, word); });
}

namespace {

struct meaning_name {
  std::string_view name;
  column_meaning means;
};
constexpr std::array meaning_names{
    meaning_name{"step", m::step},
    meaning_name{"epoch", m::epoch},
    meaning_name{"loss", m::loss},
    meaning_name{"grad_norm", m::grad_norm},
    meaning_name{"lr", m::learning_rate},
    meaning_name{"loss_scale", m::loss_scale},
    meaning_name{"found_inf", m::found_inf},
    meaning_name{"skipped", m::skipped},
    meaning_name{"applied", m::applied},
    meaning_name{"rank", m::rank},
    meaning_name{"run", m::run},
    meaning_name{"part", m::part},
    meaning_name{"key", m::key},
    meaning_name{"value", m::value},
    meaning_name{"norm", m::grad_norm},
    meaning_name{"learning_rate", m::learning_rate},
    meaning_name{"scale", m::loss_scale},
};

}  // namespace

std::string_view to_string(column_meaning meaning) noexcept {
  return std::ranges::find(meaning_names, meaning, &meaning_name::means)->name;
}

std::optional<column_meaning> column_meaning_named(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(meaning_names, name, &meaning_name::name);
  return found == meaning_names.end() ? std::nullopt : std::optional(found->means);
}

}  // namespace ulp::io
