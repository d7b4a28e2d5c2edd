// What the Trainer of Cerebras/modelzoo does on GPUs: @f1fd1e09 src/cerebras/modelzoo/trainer/callbacks/precision.py,
// with torch.amp.GradScaler below (pytorch/pytorch @0202916b torch/amp/grad_scaler.py). The parameters are the
// Trainer's.
// Reproduced: the floor and the ceiling are ignored; a number as loss_scaling_factor is not static: the scale never
// grows, its growth interval being 2^63 - 1, but every overflow still halves it.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct cerebras_gpu {
  parameter_value loss_scaling_factor = std::string{"dynamic"};
  std::optional<double> initial_loss_scale;
  std::int64_t steps_per_increase = 2000;
  std::optional<double> min_loss_scale;
  std::optional<double> max_loss_scale;

  using machine = gradscaler_machine;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("loss_scaling_factor", loss_scaling_factor,
      "dynamic, or a number: the scale of the first step, which then only falls (the Trainer's own default is 1)");
    v("initial_loss_scale", initial_loss_scale, "scale of the first step where dynamic; none: 65536");
    v("steps_per_increase", steps_per_increase, "good steps in a row before the scale doubles, where dynamic");
    v("min_loss_scale", min_loss_scale, "ignored on GPUs");
    v("max_loss_scale", max_loss_scale, "ignored on GPUs");
  }

  [[nodiscard]] const double* number() const { return std::get_if<double>(&loss_scaling_factor); }
  [[nodiscard]] std::string refused() const {
    if (number() == nullptr && loss_scaling_factor != parameter_value{std::string{"dynamic"}})
      return "loss_scaling_factor must be a number or dynamic, not '" + to_string(loss_scaling_factor) + "'";
    return {};
  }
  [[nodiscard]] settings values() const {
    const double* const constant = number();
    return {.start = constant != nullptr ? *constant : initial_loss_scale.value_or(65536),
            .window = constant != nullptr ? 0x1p63 : static_cast<double>(steps_per_increase)};
  }
  template <typename State, typename Visitor>
  static void state_fields(State& s, Visitor&& v) {
    gradscaler_arguments::state_fields(s, v);
  }
};

}  // namespace

registration cerebras_gpu_row() {
  return ruled_row<cerebras_gpu>(
      {.family = "A",
       .summary = "the Trainer of Cerebras Model Zoo on GPUs: torch.amp.GradScaler",
       .overflow_test = "element of the scaled gradients",
       .floor = "none; 0 stays",
       .ceiling = "kept finite",
       .window = "steps_per_increase",
       .rules = "overflow: skip, scale /= 2, tracker = 0\n"
                "good step: tracker += 1; when it equals steps_per_increase: scale *= 2, tracker = 0\n"
                "with a number as loss_scaling_factor the scale never grows",
       .quirks = "min_loss_scale and max_loss_scale are ignored, ApplianceNanError is never raised\n"
                 "starts at 65536 where the wafer starts at 2^15 or 2^31, and doubles one good step earlier\n"
                 "a number as loss_scaling_factor still halves at every overflow, and never recovers\n"
                 "cbfloat16 becomes bfloat16",
       .source = "Cerebras/modelzoo src/cerebras/modelzoo/trainer/callbacks/precision.py @f1fd1e09"});
}

}  // namespace ulp::scalers
