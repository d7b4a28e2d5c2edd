// PyTorch's and Apex's own training of ImageNet, and what was made of it: "Epoch: [0][10/5004] Time 0.311 (0.320) Loss 6.9413
// (6.8813) Prec@1 1.2 (0.9)", the present value and the mean: pytorch/examples imagenet/main.py (ProgressMeter), NVIDIA/apex
// examples/imagenet/main_amp.py. Counts from 0.
#include <array>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

constexpr std::array fields{line_field{"Loss", &scale_record::loss}};

record_match read_epoch(const record_text& text, std::size_t at, bool) {
  const auto epoch = counter_at(text, at);
  const auto iteration = epoch ? counter_at(text, epoch->end) : std::nullopt;
  if (!iteration) return no_record();
  scale_record r{.what = scale_record::kind::reached};
  r.step = step_in_epochs(epoch->number, iteration->number, iteration->total);
  const std::size_t end = text.line_end(at);
  if (r.step < 0 || put_values(text, iteration->end, end, fields, r) == 0) return no_record();
  return whole_record(r, end);
}

constexpr std::array starts{record_start{"Epoch:", read_epoch}};

}  // namespace

log_dialect imagenet_dialect() { return {.name = "PyTorch's ImageNet example", .starts = starts}; }

}  // namespace ulp::io
