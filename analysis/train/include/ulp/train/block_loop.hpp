// What a float32 training foretells of a training in blocks that share a scale.
//
// Two trainings for each seed: the closed loop, in which the operands of linear layers' products are quantized, and its
// float32 twin. In both each tensor is asked what share of its energy it loses; of the twin that is what a recording of it
// would say.
#ifndef ULP_TRAIN_BLOCK_LOOP_HPP
#define ULP_TRAIN_BLOCK_LOOP_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/train/training.hpp>

namespace ulp {

struct block_loop_options {
  training_options training;  // of one micro-batch
  block_format row;
  std::int64_t steps = 500;
  std::int64_t judged = 50;  // the last steps, whose mean loss is compared
};

// The share of its energy that a tensor loses, quantized along its rows: mean over the steps.
struct block_loop_tensor {
  std::string name;
  tensor_kind kind = tensor_kind::unknown;
  double closed = 0;
  double open = 0;
};

struct block_loop_result {
  std::uint64_t seed = 0;
  std::vector<block_loop_tensor> tensors;
  double rank_correlation = not_known;  // of the tensors, by what they lose in both
  double loss = not_known;              // mean of the judged steps; infinity where one is not finite
  double float32_loss = not_known;
  std::optional<std::int64_t> lost_from;  // the step from which on no loss is finite: then shares say nothing
  std::optional<std::int64_t> float32_lost_from;
};

// Trains twice. `after_step` is called after each step of either. Throws as `training` does, and std::invalid_argument for several
// micro-batches, for judged steps that are not some of all, and for rows that transform what they quantize.
[[nodiscard]] block_loop_result run_block_loop(const block_loop_options& options,
                                               const std::function<void()>& after_step = {});

}  // namespace ulp

#endif
