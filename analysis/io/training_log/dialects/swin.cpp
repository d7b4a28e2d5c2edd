// Swin Transformer, SimMIM and others with their loop: "Train: [3/300][370/1251]  eta 0:08:57 lr 0.000166  time 0.6068
// (0.6098)  loss 6.3568 (6.1324)  grad_norm 2.0382 (inf)  loss_scale 32768.0000 (37236.3636)  mem 11818MB", the present
// value and the mean of the epoch: microsoft/Swin-Transformer main.py (train_one_epoch). DeiT, BEiT and others with its
// MetricLogger: "Epoch: [115]  [1298/1299]  eta: 0:00:00  loss: 6.5993 (6.5971)  loss_scale: 8192.0000 (8646.0600)
// grad_norm: 0.3922 (nan)", the median of the last 20 and the mean: microsoft/unilm beit/utils.py (SmoothedValue). Both count
// from 0. Lines of imagenet.cpp begin as those of DeiT do: its row comes first.
#include <array>
#include <cmath>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::array fields{
    line_field{"loss", &scale_record::loss},
    line_field{"grad_norm", &scale_record::grad_norm},
    line_field{"loss_scale", &scale_record::after},
    line_field{"lr", &scale_record::learning_rate},
};

record_match read_line(const record_text& text, std::size_t at, bool medians) {
  const auto epoch = counter_at(text, at);
  const auto iteration = epoch ? counter_at(text, epoch->end) : std::nullopt;
  if (!iteration) return no_record();
  scale_record r{.what = kind::reached, .is_mean = medians};
  r.step = step_in_epochs(epoch->number, iteration->number, iteration->total);
  const std::size_t end = text.line_end(at);
  if (r.step < 0 || put_values(text, iteration->end, end, fields, r) == 0) return no_record();
  r.is_applied = !medians && std::isfinite(r.grad_norm);
  return whole_record(r, end);
}

record_match read_train(const record_text& text, std::size_t at, bool) { return read_line(text, at, false); }
record_match read_epoch(const record_text& text, std::size_t at, bool) { return read_line(text, at, true); }

constexpr std::array starts{
    record_start{"Train:", read_train},
    record_start{"Epoch:", read_epoch},
};

}  // namespace

log_dialect swin_dialect() { return {.name = "Swin or DeiT", .starts = starts}; }

}  // namespace ulp::io
