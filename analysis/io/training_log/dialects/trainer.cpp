// Hugging Face Trainer: what it logs every logging_steps steps, as a Python dict without the step's number,
// "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.01}", or with it as an entry of log_history in
// trainer_state.json: huggingface/transformers src/transformers/trainer.py (_maybe_log_save_evaluate, log) and
// trainer_callback.py (ProgressCallback.on_log; newer ones print the numbers as texts). The norm is that of the last step.
// As lines of JSON, with "global_step/max_steps": "5/100" by modelscope/ms-swift swift/trainers/callback.py (on_log), with
// "current_steps": 5 by hiyouga/LLaMA-Factory src/llamafactory/train/callbacks.py (LogCallback.on_log).
#include <algorithm>
#include <array>
#include <optional>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

struct trainer_field {
  std::string_view key;
  double scale_record::*number;
};
constexpr std::array trainer_fields{
    trainer_field{"loss", &scale_record::loss},
    trainer_field{"grad_norm", &scale_record::grad_norm},
    trainer_field{"learning_rate", &scale_record::learning_rate},
    trainer_field{"lr", &scale_record::learning_rate},
    trainer_field{"epoch", &scale_record::epoch},
};
constexpr std::array step_keys{std::string_view{"step"}, std::string_view{"global_step"},
                               std::string_view{"current_steps"}, std::string_view{"global_step/max_steps"}};

// The value of a key: a number, a text of one, or any other text or word, which is passed over.
struct entry_value {
  std::optional<record_text::number> number;
  std::size_t end = 0;
};
std::optional<entry_value> value_at(const record_text& text, std::size_t at) {
  const std::string_view all = text.view();
  const char quote = all[at];
  if (quote != '\'' && quote != '"') {
    if (const auto n = text.number_at(at, ",}")) return entry_value{n, n->end};
    for (const std::string_view word : {"null", "None", "true", "false", "True", "False"})
      if (all.substr(at).starts_with(word)) return entry_value{std::nullopt, at + word.size()};
    return std::nullopt;
  }
  const std::size_t close = all.find(quote, at + 1);
  if (close == std::string_view::npos) return std::nullopt;
  auto n = text.number_at(at + 1, "/'\"");
  if (n && n->end != close && all[n->end] != '/') n.reset();
  return entry_value{n, close + 1};
}

// `at` is behind the bracket and the quote of the first key.
record_match read_entry(const record_text& text, std::size_t at, bool last) {
  const std::string_view all = text.view();
  const char quote = all[at - 1];
  const auto incomplete = [&] { return last ? no_record() : unfinished_record(); };
  scale_record r{.what = kind::metrics};
  bool has_loss = false;
  bool has_rate = false;
  constexpr int most_keys = 40;
  constexpr std::size_t longest_text = 64;
  for (int i = 0; i < most_keys; ++i) {
    const std::size_t key_end = all.find(quote, at);
    if (key_end == std::string_view::npos) return all.size() - at < longest_text ? incomplete() : no_record();
    const std::string_view key = all.substr(at, key_end - at);
    std::size_t value = key_end + 1;
    if (value >= all.size()) return incomplete();
    if (all[value] != ':') return no_record();
    if (++value >= all.size()) return incomplete();
    const auto v = value_at(text, value);
    if (!v) return all.size() - value < longest_text ? incomplete() : no_record();
    std::size_t end = v->end;
    if (end >= all.size()) return incomplete();
    const bool is_step = std::ranges::find(step_keys, key) != step_keys.end();
    if (key == "num_updates") return no_record();  // fairseq
    if (is_step && v->number) r.step = step_of(*v->number);
    if (v->number && (!is_step || key == "step")) {
      has_loss = has_loss || key == "loss";
      has_rate = has_rate || key == "learning_rate" || key == "grad_norm" || (key == "lr" && r.step >= 0);
      for (const trainer_field& f : trainer_fields)
        if (key == f.key) r.put(f.number, v->number->value);
    }
    if (all[end] == '}') {
      if (!has_loss || !has_rate) return no_record();
      if (r.step >= 0) r.what = kind::reached;
      return whole_record(r, end + 1);
    }
    if (all[end] != ',') return no_record();
    if (++end >= all.size()) return incomplete();
    if (all[end] != quote) return no_record();
    at = end + 1;
  }
  return no_record();
}

constexpr std::array trainer_starts{
    record_start{"{'", read_entry},
    record_start{"{\"", read_entry},
};

}  // namespace

log_dialect trainer_dialect() {
  return {.name = "Hugging Face Trainer", .starts = trainer_starts, .replaces_loss = true};
}

}  // namespace ulp::io
