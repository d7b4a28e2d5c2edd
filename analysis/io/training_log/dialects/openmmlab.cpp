// MMDetection and all others on MMCV or MMEngine: means of the steps since the line before. "Epoch [1][50/5808]  lr:
// 1.000e-02, eta: 5:02:49, time: 0.784, ..., loss: nan, grad_norm: nan", and "Iter [50/80000]  lr: ...": open-mmlab/mmcv
// mmcv/runner/hooks/logger/text.py; "Epoch(train)  [1][ 500/2931]  lr: 2.0000e-02  eta: 0:39:15  ...  loss: nan":
// open-mmlab/mmengine mmengine/runner/log_processor.py.
#include <array>

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

// From the bracket of the first counter, where one is.
record_match read_line(const record_text& text, std::size_t at, bool by_epoch) {
  const auto first = counter_at(text, at);
  const auto second = first && by_epoch ? counter_at(text, first->end) : first;
  if (!second || second->total < 1) return no_record();
  scale_record r{.what = kind::reached, .is_mean = true};
  r.step = by_epoch ? step_in_epochs(first->number - 1, second->number, second->total) : second->number;
  const std::size_t end = text.line_end(at);
  if (r.step < 0 || put_values(text, second->end, end, fields, r) == 0) return no_record();
  return whole_record(r, end);
}

template <bool by_epoch>
record_match read_at_bracket(const record_text& text, std::size_t at, bool) {
  return read_line(text, at - 1, by_epoch);
}

constexpr std::array starts{
    record_start{"Epoch[", read_at_bracket<true>},
    record_start{"Epoch(train)[", read_at_bracket<true>},
    record_start{"Iter[", read_at_bracket<false>},
    record_start{"Iter(train)[", read_at_bracket<false>},
};

}  // namespace

log_dialect openmmlab_dialect() { return {.name = "OpenMMLab", .starts = starts, .means_are_of_all = true}; }

}  // namespace ulp::io
