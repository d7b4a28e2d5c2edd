// How far the open loop of optimizers can be trusted: trainings with narrow states and weights, beside what the gradients
// of a float32 training say of them.
//
// For each mode (an optimizer, and what weights are kept in) and seed. Twin: the network is trained in float32, without
// any rounding. Open loop: the twin's gradients are stepped by the mode's optimizer (optimizer_drift.hpp), which is what a
// user does who asks what 8-bit states would have done. Closed loop: the network is trained with the mode's optimizer,
// passes rounded as PyTorch's autocast does, on the same batches.
#ifndef ULP_TRAIN_OPTIMIZER_LOOP_HPP
#define ULP_TRAIN_OPTIMIZER_LOOP_HPP

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/model/optimizers/optimizer_drift.hpp>
#include <ulp/train/closed_loop.hpp>
#include <ulp/train/training.hpp>

namespace ulp {

struct optimizer_loop_options {
  training_options training;            // its recipe and scaler are not used
  std::vector<optimizer_recipe> modes;  // their lr is that of the training
  format passes = bfloat16;             // what is low is rounded to this in the trainings of modes
  std::int64_t steps = 500;
  std::int64_t judged = 50;  // the last steps, whose mean loss is compared
};

// A layer in one seed.
struct layer_harm {
  std::string tensor;
  weight_drift open;
  double closed = not_known;  // rms of (w - twin's) over rms of the twin's movement, at the end; infinite as `open` is
};

struct mode_harm {
  double loss = not_known;  // mean of the judged steps; infinity where one is not finite
  double harm = not_known;  // above the twin's
  std::vector<layer_harm> layers;

  [[nodiscard]] weight_drift open() const;  // of all layers
};

struct optimizer_loop_result {
  std::uint64_t seed = 0;
  std::vector<double> twin_losses;  // of each mode's twin: modes of the same parameters have the same one
  std::vector<mode_harm> modes;     // in the order of the options
};

// Throws as `training` does. `after_step` is called after each step of any training.
[[nodiscard]] optimizer_loop_result run_optimizer_loop(const optimizer_loop_options& options,
                                                       const std::function<void()>& after_step = {});

// Spearman's: the correlation of ranks, equal values sharing the mean of theirs; not known for less than two pairs, where
// all values of one side are equal, and where one is NaN. Infinite values are the largest.
[[nodiscard]] double rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace ulp

#endif
