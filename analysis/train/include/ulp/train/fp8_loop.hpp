// How far replayed FP8 scales can be trusted: a training under a recipe, beside what replays say of it.
//
// Three things happen for each seed. Closed loop: the network is trained with the operands of linear layers' products cast
// as the recipe says. Self-replay: these operands, recorded before they are cast, are replayed under the recipe, which must
// give the scales bit for bit, and counts of saturation and underflow that hold the true ones. Open loop: the same network
// is trained in float32, and its operands are replayed under the recipe, which is what a user does who asks what FP8 would
// have done.
#ifndef ULP_TRAIN_FP8_LOOP_HPP
#define ULP_TRAIN_FP8_LOOP_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/train/closed_loop.hpp>
#include <ulp/train/training.hpp>

namespace ulp {

struct fp8_loop_options {
  training_options training;  // of one micro-batch; nothing but operands is recorded
  fp8_recipe recipe;
  std::int64_t steps = 500;
  std::int64_t judged = 50;  // the last steps, whose mean loss is compared
};

// Of the tensors of a kind in one loop.
struct fp8_loop_side {
  std::uint64_t saturating = 0;  // steps of tensors in which a finite value is beyond the largest number
  std::uint64_t nonzero = 0;     // values, over all steps
  count_range saturated;         // of these
  count_range underflow;         // likewise

  [[nodiscard]] value_range underflow_share() const noexcept;
  fp8_loop_side& operator+=(const fp8_loop_side& other);
};

struct fp8_kind_outcome {
  std::uint64_t steps = 0;  // of all its tensors, in each loop
  fp8_loop_side closed;
  fp8_loop_side open;
  // |log2 of the open loop's scale over the closed one's| in each step of each tensor where both are above 0 and finite.
  std::vector<double> binades_apart;

  fp8_kind_outcome& operator+=(const fp8_kind_outcome& other);
};

struct fp8_difference {
  std::int64_t step = 0;
  std::string tensor;
};

struct fp8_loop_result {
  std::uint64_t seed = 0;
  std::map<tensor_kind, fp8_kind_outcome> kinds;
  // Steps of tensors in the self-replay: all, those that are as they were, and those of all whose counts are no ranges.
  std::uint64_t replayed = 0;
  std::uint64_t identical = 0;
  std::uint64_t exact = 0;
  std::optional<fp8_difference> first_difference;
  double loss = not_known;  // mean of the judged steps; infinity where one is not finite
  double float32_loss = not_known;
};

// Trains twice. What looks on sees operands before they are cast in place of gradients. Throws as `training` does, and
// std::invalid_argument for several micro-batches and for judged steps that are not some of all.
[[nodiscard]] fp8_loop_result run_fp8_loop(const fp8_loop_options& options, const closed_loop_watch& watch = {});

}  // namespace ulp

#endif
