// Hugging Face Trainer: what it logs every logging_steps steps, as a Python dict without the step's number,
// "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.01}", or with it as an entry of log_history in
// trainer_state.json: huggingface/transformers src/transformers/trainer.py (_maybe_log_save_evaluate, log) and
// trainer_callback.py (ProgressCallback.on_log; newer ones print the numbers as texts). The norm is that of the last step.
#include <array>

#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

struct field {
  std::string_view key;
  double scale_record::*number;
};
constexpr std::array fields{
    field{"loss", &scale_record::loss},
    field{"grad_norm", &scale_record::grad_norm},
    field{"learning_rate", &scale_record::learning_rate},
    field{"epoch", &scale_record::epoch},
};

// `at` is behind the bracket and the quote of the first key.
record_match read_entry(const record_text& text, std::size_t at, bool last) {
  const std::string_view all = text.view();
  const char quote = all[at - 1];
  const auto incomplete = [&] { return last ? no_record() : unfinished_record(); };
  scale_record r{.what = kind::metrics};
  bool has_loss = false;
  bool has_rate = false;
  constexpr int most_keys = 40;
  for (int i = 0; i < most_keys; ++i) {
    const std::size_t key_end = all.find(quote, at);
    if (key_end == std::string_view::npos) return all.size() - at < 64 ? incomplete() : no_record();
    const std::string_view key = all.substr(at, key_end - at);
    std::size_t value = key_end + 1;
    if (value >= all.size()) return incomplete();
    if (all[value] != ':') return no_record();
    if (++value >= all.size()) return incomplete();
    const bool in_quotes = all[value] == quote;
    if (in_quotes && ++value >= all.size()) return incomplete();
    const auto n = text.number_at(value, ",}'\"");
    if (!n) return no_record();
    std::size_t end = n->end;
    if (in_quotes && end < all.size() && all[end] != quote) return no_record();
    if (in_quotes) ++end;
    if (end >= all.size()) return incomplete();
    if (key == "step") r.step = step_of(*n);
    has_loss = has_loss || key == "loss";
    has_rate = has_rate || key == "learning_rate" || key == "grad_norm";
    for (const field& f : fields)
      if (key == f.key) r.put(f.number, n->value);
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

constexpr std::array starts{
    record_start{"{'", read_entry},
    record_start{"{\"", read_entry},
};

}  // namespace

log_dialect trainer_dialect() { return {.name = "Hugging Face Trainer", .starts = starts, .replaces_loss = true}; }

}  // namespace ulp::io
