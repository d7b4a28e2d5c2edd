// Detectron2: "eta: 5:41:49  iter: 379  total_loss: 1.707  loss_cls: ...  lr: 0.003796", medians of the last 20, and
// "FloatingPointError: Loss became infinite or NaN at iteration=27!": facebookresearch/detectron2
// detectron2/utils/events.py (CommonMetricPrinter) and detectron2/engine/train_loop.py (write_metrics).
#include <array>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::array fields{
    line_field{"total_loss", &scale_record::loss},
    line_field{"lr", &scale_record::learning_rate},
};

record_match read_iteration(const record_text& text, std::size_t at, bool) {
  const auto n = at < text.size() ? text.number_at(at, "t") : std::nullopt;
  const std::size_t end = text.line_end(at - 1);
  if (!n || n->end >= end || !text.view().substr(n->end).starts_with("total_loss")) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*n), .is_mean = true};
  if (r.step < 0 || put_values(text, n->end, end, fields, r) == 0) return no_record();
  return whole_record(r, end);
}

record_match read_nonfinite(const record_text& text, std::size_t at, bool) {
  const auto n = at < text.size() ? text.number_at(at, "!") : std::nullopt;
  if (!n || step_of(*n) < 0) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*n)};
  r.put(&scale_record::loss, not_known);
  return whole_record(r, n->end);
}

constexpr std::array starts{
    record_start{"iter:", read_iteration},
    record_start{"LossbecameinfiniteorNaNatiteration=", read_nonfinite},
};

}  // namespace

log_dialect detectron_dialect() { return {.name = "Detectron2", .starts = starts}; }

}  // namespace ulp::io
