// A small network in training, step by step, with a loss scaler in the loop or in plain float32.
//
// Deterministic on every machine: sums have a fixed order, transcendental functions are made of IEEE operations, random
// bits are Philox's, one thread computes, and the processor's rounding and flush modes are set for the time of a call. The
// text that is learned is made by a small grammar.
#ifndef ULP_TRAIN_TRAINING_HPP
#define ULP_TRAIN_TRAINING_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/optimizers/optimizer_recipe.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/model/updates/joint_table.hpp>
#include <ulp/train/rounding_hook.hpp>

namespace ulp {

enum class network_kind : std::uint8_t {
  mlp,         // a perceptron on the last 8 characters, three linear layers with biases
  transformer  // two layers, two heads, contexts of 16 characters, no biases
};

enum class optimizer_kind : std::uint8_t { sgd, adam };

// In which the products of linear layers add up their terms, each sum rounded to float32: what kernels differ in.
enum class sum_order : std::uint8_t {
  ascending,
  descending,
  split  // both halves ascending, then their sum, as split-K kernels do
};

struct training_options {
  network_kind network = network_kind::transformer;
  std::size_t width = 16;  // of a character in the network, even; hidden layers are four times as wide
  bool tied = false;       // the embedding is the head's weight too
  int microbatches = 1;    // whose gradients are added up, in float32, before each update; at least 1
  // PyTorch's: SGD with momentum 0.9, or Adam with betas 0.9 and 0.999 and eps 1e-8.
  optimizer_kind optimizer = optimizer_kind::adam;
  // Instead of that a dialect of the catalogue, as its library runs it; `optimizer` says whether it is SGD or Adam, for
  // the learning rate. Where its weights are not float32 there is no master copy: they are kept in that format from the
  // beginning on. Results then depend on the C library's pow and powf, too.
  std::optional<optimizer_recipe> recipe;
  // Constant; nullopt: that of the recipe's parameters, else 0.1 with SGD, 0.003 with Adam.
  std::optional<double> learning_rate;
  std::uint64_t seed = 1;  // of the initial weights and the batches
  sum_order sums = sum_order::ascending;
  bool activation_grads = false;  // low ones are recorded too
  bool joint = false;             // weights are recorded too, and what updates add to them: joint_table.hpp

  [[nodiscard]] double rate() const noexcept;
};

// The same training with a float32 optimizer, at the same learning rate.
[[nodiscard]] training_options in_float32(training_options of);

struct trained_step {
  // What a recorder would have seen: each weight gradient as the optimizer step found it, still scaled (`factor` is the
  // loss scale, 1 without a scaler), its exact cells and sums; the mean loss of the micro-batches. Without a scaler the
  // scale and found_inf are not known. Activation gradients, where asked for, are behind them: those of all micro-batches.
  step recorded;
  // What happened: keys, scales, found_inf, skipped, poisoned, the norm, error.
  trajectory_row row;
  // Of an applied step, where asked for: the master weights before it and what the optimizer added, in float32. The index is
  // that of the weight in tensors().
  std::vector<std::pair<std::uint32_t, joint_table>> joints;
  // Weight gradients of role low, part by part before they are rounded: those that are not zero, and those of them that
  // are afterwards.
  std::uint64_t nonzero = 0;
  std::uint64_t underflow = 0;
};

class training {
 public:
  // With a scaler the loss is multiplied by its scale, found_inf is whether any gradient holds infinity or NaN, and the
  // gradients are unscaled and applied, or skipped, as it says. `hook` must outlive the training. Throws
  // std::invalid_argument for microbatches below 1, a width that is odd or 0, a scaler with a scale per layer, a recipe that
  // make_optimizer refuses or that takes the gradients of several micro-batches, and for joint tables of a recipe whose
  // weights are not float32: what it adds to them is known after rounding alone.
  training(const training_options& options, rounding_hook& hook, std::optional<scaler> policy);
  ~training();
  training(const training&) = delete;
  training& operator=(const training&) = delete;

  // The weight gradients, in the order of the network; then the weights, and after the first step activation gradients,
  // where they are asked for.
  // `through` is the hook's where a part of a gradient is low; each row says of how many parts it is the sum.
  [[nodiscard]] const std::vector<tensor_info>& tensors() const noexcept;
  [[nodiscard]] std::uint64_t parameters() const noexcept;
  // Those whose gradient is tensors()[index], as they are now: what the optimizer keeps. Precondition: a weight gradient.
  [[nodiscard]] std::span<const float> weights(std::size_t index) const;

  // The next step, from 0 on. After a row with an error the training is over.
  [[nodiscard]] trained_step advance();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
