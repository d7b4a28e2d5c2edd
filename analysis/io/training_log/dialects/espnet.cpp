// ESPnet2: "(trainer:636) INFO: 2epoch:train:12009-12640batch: ..., loss=65.129, ..., optim0_lr0=1.485e-05,
// grad_norm=63.297, grad_scale=2.048e+03", means of these batches, and "(trainer:581) WARNING: The grad norm is nan.
// Skipping updating the model." for each that was skipped: espnet/espnet espnet2/train/trainer.py (train_one_epoch) and
// espnet2/train/reporter.py (log_message).
#include <array>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::array fields{
    line_field{"loss", &scale_record::loss},
    line_field{"grad_norm", &scale_record::grad_norm},
    line_field{"grad_scale", &scale_record::after},
    line_field{"optim0_lr0", &scale_record::learning_rate},
};

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// `at` is behind the words of "2epoch:train:12009-12640batch:".
record_match read_batches(const record_text& text, std::size_t at, bool) {
  constexpr std::string_view words = "epoch:train:";
  const std::string_view all = text.view();
  const std::size_t end = text.line_end(at - 1);
  std::size_t epoch_at = at - words.size();
  while (epoch_at > text.line_begin(at - 1) && is_digit(all[epoch_at - 1])) --epoch_at;
  const auto epoch = text.number_at(epoch_at, "e");
  const std::size_t dash = all.substr(at, end - at).find_first_not_of("0123456789");
  if (!epoch || dash == 0 || dash == std::string_view::npos || all[at + dash] != '-') return no_record();
  const std::size_t from = at + dash + 1;
  const std::size_t digits = all.substr(from, end - from).find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || !all.substr(from + digits).starts_with("batch:"))
    return no_record();
  const std::int64_t first = step_of({.digits = all.substr(at, dash)});
  const std::int64_t number = step_of({.digits = all.substr(epoch_at, at - words.size() - epoch_at)});
  scale_record r{.what = kind::reached, .is_mean = true};
  r.step = step_of({.digits = all.substr(from, digits)});
  r.steps = r.step - first + 1;
  constexpr std::int64_t most_epochs = 1'000'000;
  if (first < 1 || r.steps < 1 || number < 0 || number > most_epochs) return no_record();
  r.part = static_cast<std::uint32_t>(number);
  put_values(text, from + digits, end, fields, r);
  return whole_record(r, end);
}

record_match read_skipping(const record_text&, std::size_t at, bool) {
  return whole_record({.what = kind::overflow}, at);
}

constexpr std::array starts{
    record_start{"epoch:train:", read_batches},
    record_start{"Thegradnormisnan.Skippingupdatingthemodel", read_skipping, true},
    record_start{"Thegradnormisinf.Skippingupdatingthemodel", read_skipping, true},
};

}  // namespace

log_dialect espnet_dialect() { return {.name = "ESPnet", .starts = starts, .counts_in_epochs = true}; }

}  // namespace ulp::io
