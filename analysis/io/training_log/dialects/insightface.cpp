// InsightFace's ArcFace: "Speed 2178.40 samples/sec   Loss nan   LearningRate 0.001000   Epoch: 0   Global Step: 20
// Fp16 Grad Scale:  0   Required: 194 hours", the loss a mean: deepinsight/insightface
// recognition/arcface_torch/utils/utils_callbacks.py (CallBackLogging).
#include <array>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::array fields{
    line_field{"Loss", &scale_record::loss},
    line_field{"LearningRate", &scale_record::learning_rate},
    line_field{"Fp16GradScale", &scale_record::after},
};

record_match read_step(const record_text& text, std::size_t at, bool) {
  const auto n = at < text.size() ? text.number_at(at, "F") : std::nullopt;
  const std::size_t end = text.line_end(at - 1);
  if (!n || step_of(*n) < 0 || !text.view().substr(n->end).starts_with("Fp16GradScale")) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*n), .is_mean = true};
  // "samples/sec" stands before the loss.
  std::size_t begin = text.line_begin(at - 1);
  constexpr std::string_view speed = "samples/sec";
  const std::size_t behind = text.view().substr(begin, at - begin).rfind(speed);
  if (behind != std::string_view::npos) begin += behind + speed.size();
  put_values(text, begin, end, fields, r);
  return whole_record(r, end);
}

constexpr std::array starts{record_start{"GlobalStep:", read_step}};

}  // namespace

log_dialect insightface_dialect() { return {.name = "InsightFace", .starts = starts}; }

}  // namespace ulp::io
