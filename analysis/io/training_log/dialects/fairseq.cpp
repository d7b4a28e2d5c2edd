// fairseq: a line for each skipped batch, with the scale after it, half of the one before; a skipped batch is no update.
// Progress every log_interval updates. Layouts, of facebookresearch/fairseq:
//   "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0": fairseq/trainer.py (train_step)
//   and fairseq/optim/dynamic_loss_scaler.py; "NOTE: overflow detected, setting loss scale to: 64.0" of 2020; "| WARNING:
//   overflow detected, ..." of 2019;
//   fairseq/logging/progress_bar.py: simple "epoch 001:    200 / 1374 loss=14.351, ..., num_updates=190, lr=4.8e-06,
//   gnorm=3.901, ..., loss_scale=0.062, ...", json {"num_updates": "3", "lr": "6e-05", ..., "loss_scale": "1"}, summaries
//   "| num_updates 10198 | lr 0.0006 | ..."; the printed loss scale is rounded, and a mean over the updates since the line
//   before until 2021 (trainer.py: metrics.log_scalar);
//   "Loaded checkpoint PATH (epoch 28 @ 9165 updates)": trainer.py (load_checkpoint); "fp16_init_scale=128": the arguments.
#include <algorithm>
#include <array>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

record_match read_setting(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, "", {.what = kind::overflow}, &scale_record::after);
}

struct field {
  std::string_view key;
  double scale_record::*number;
};
constexpr std::array fields{
    field{"lr", &scale_record::learning_rate},
    field{"gnorm", &scale_record::grad_norm},
    field{"loss_scale", &scale_record::after},
};

// What stands between a key and its value, and after it: "=" ",", nothing "|", quotes ":" and quotes.
constexpr std::string_view around = "=:\"";

record_match read_updates(const record_text& text, std::size_t at, bool last) {
  const std::string_view all = text.view();
  const std::size_t words = at - 1;  // the end of "num_updates"
  const auto skip = [&](std::size_t& from, std::string_view which) {
    while (from < all.size() && which.find(all[from]) != std::string_view::npos) ++from;
  };
  skip(at, around);
  if (at == all.size()) return last ? no_record() : unfinished_record();
  const auto updates = text.number_at(at, ",|\"");
  if (!updates || step_of(*updates) < 0) return no_record();
  if (updates->open && !last) return unfinished_record();
  scale_record r{.what = kind::reached, .step = step_of(*updates), .is_mean = true};
  // The loss stands in front of them.
  constexpr std::array losses{line_field{"loss", &scale_record::loss}, line_field{"train_loss", &scale_record::loss}};
  const std::size_t line = text.line_begin(words);
  const put_fields put = put_values(text, std::max(line, std::min(text.taken(), words)), words, losses, r);
  std::size_t end = updates->end;
  constexpr int most_fields = 12;
  for (int i = 0; i < most_fields; ++i) {
    std::size_t from = end;
    skip(from, "\"");
    if (from == all.size() && !last) return unfinished_record();
    if (from == all.size() || (all[from] != ',' && all[from] != '|')) break;
    ++from;
    skip(from, "\"");
    std::string_view key = all.substr(from);
    if (key.starts_with("train_") && !key.starts_with("train_wall")) key.remove_prefix(6);
    const field* known = nullptr;
    for (const field& f : fields)
      if (key.starts_with(f.key)) known = &f;
    std::size_t value = from;
    while (value < all.size() && (all[value] == '_' || (all[value] >= 'a' && all[value] <= 'z'))) ++value;
    if (value == from || key.starts_with("epoch") || key.starts_with("num_updates")) break;
    skip(value, around);
    if (value == all.size() && !last) return unfinished_record();
    const auto n = text.number_at(value, ",|\"%}");
    if (!n) break;
    if (n->open && !last) return unfinished_record();
    if (known != nullptr) r.put(known->number, n->value);
    end = n->end;
    if (end < all.size() && all[end] == '%') ++end;
    if (known != nullptr && known->number == &scale_record::after) break;
  }
  record_match m = whole_record(r, end);
  if (put.count > 0) m.begin = put.begin;
  return m;
}

record_match read_fairseq_initial_scale(const record_text& text, std::size_t at, bool last) {
  return read_trailing(text, at, last, "=:'\"", {.what = kind::fresh}, &scale_record::after);
}

// "FloatingPointError: Minimum loss scale reached (0.0001)": optim/dynamic_loss_scaler.py (check_overflow) raises it
// instead of the line of the overflow.
record_match read_fairseq_minimum(const record_text&, std::size_t at, bool) {
  return whole_record({.what = kind::fatal}, at);
}

record_match read_fairseq_loaded(const record_text& text, std::size_t at, bool) {
  constexpr std::size_t longest_path = 1000;
  const std::size_t end = std::min(text.line_end(at), at + longest_path);
  const std::size_t sign = text.view().substr(at, end - at).rfind('@');
  if (sign == std::string_view::npos) return no_record();
  const auto n = text.number_at(at + sign + 1, "u");
  scale_record r{.what = kind::restored};
  if (!n || (r.step = step_of(*n)) < 0) return no_record();
  return whole_record(r, n->end);
}

constexpr std::array fairseq_starts{
    record_start{"settinglossscaleto:", read_setting},
    record_start{"num_updates", read_updates},
    record_start{"fp16_init_scale", read_fairseq_initial_scale},
    record_start{"Loadedcheckpoint", read_fairseq_loaded},
    record_start{"loadedcheckpoint", read_fairseq_loaded},
    record_start{"Error:Minimumlossscalereached", read_fairseq_minimum},
    record_start{"Exception:Minimumlossscalereached", read_fairseq_minimum},
};

}  // namespace

log_dialect fairseq_dialect() {
  return {.name = "fairseq", .starts = fairseq_starts, .counts_updates = true, .scale_is_mean = true};
}

}  // namespace ulp::io
