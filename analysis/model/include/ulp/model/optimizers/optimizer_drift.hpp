// How far weights leave those of float32 under an optimizer that keeps states or weights in few bits.
//
// Open loop: both take the gradients that they are given, which do not react. Of each tensor: how far the weights are
// from float32's in the end, beside how far these moved; updates that were lost; second moments that were stored as zero
// while the first was not, after which a step is about lr m / eps; second moments that did not fall. Elements that are
// infinite or NaN in the twin as well are counted, and otherwise left out.
#ifndef ULP_MODEL_OPTIMIZERS_OPTIMIZER_DRIFT_HPP
#define ULP_MODEL_OPTIMIZERS_OPTIMIZER_DRIFT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/model/optimizers/optimizer_recipe.hpp>

namespace ulp {

struct weight_drift {
  std::uint64_t numel = 0;
  // Sums over the elements where all is finite: of (twin - w0)^2, of (w - twin)^2, and of what rounding to the recipe's
  // format does to the first weights, squared.
  double movement = 0;
  double deviation = 0;
  double first_rounding = 0;
  // What the deviation does to the loss, to first order: the sum of gradient times (w - twin), both as they were before
  // the step of the gradient, mean over the last tenth of the steps; of elements whose gradient and twin are finite.
  double loss_change = 0;
  // Of what is finite: the largest |w - its first value| at the end, that value as the recipe's format rounds it; and the
  // largest |twin - w0| after any step, since the twin may return.
  double largest_move = 0;
  double largest_twin_move = 0;
  // Elements that end further from their first value than the twin had moved any element of the tensor after any step, and
  // whose move ends further from the twin's than that, and than rounding the weights accounts for: six standard deviations of as many random roundings as there were steps, 3
  // sqrt(steps) spacings of the format. And those that are not finite where the twin's are.
  std::uint64_t runaway = 0;
  std::uint64_t nonfinite = 0;
  // Over all steps: elements that the twin moved; of these, elements that stayed as they were, and so did what Kahan's
  // summation keeps of them, or their float32 copy.
  std::uint64_t updates = 0;
  std::uint64_t lost = 0;
  // Elements whose second moment was stored as zero after some step while the first was not, and the first such step
  // (from 1; 0 where there is none).
  std::uint64_t zeroed = 0;
  std::int64_t first_zeroed = 0;
  // Over all steps: elements whose g^2 is below the stored second moment, which falls in exact arithmetic; of these,
  // elements where it stayed as it was.
  std::uint64_t falling = 0;
  std::uint64_t stuck = 0;
  // Second moments that are lower at the end than at the mark (see drifting_tensor::mark), here and in the twin.
  std::uint64_t fell = 0;
  std::uint64_t twin_fell = 0;
  std::uint64_t twin_nonfinite = 0;  // elements that are not finite in the twin: not judged
  // Over all steps: gradients that are infinite or NaN, and the first step that has one (from 1; 0 where there is none).
  std::uint64_t nonfinite_gradients = 0;
  std::int64_t first_nonfinite_gradient = 0;
  double median_ratio = not_known;  // of second moments, of those that the twin has not as zero; of one tensor only

  // sqrt(deviation / movement): 0 where nothing deviates, infinity where only the twin stands still or weights are not
  // finite where its are.
  [[nodiscard]] double relative() const noexcept;
  // Another tensor's; the median is no longer known.
  weight_drift& operator+=(const weight_drift& other) noexcept;
};

// One tensor, under a recipe and its twin. Memory: ten numbers an element, twelve with Kahan's summation, and the states.
class drifting_tensor {
 public:
  // The twin begins with these weights, the recipe with what its format makes of them. `parts`: sizes of what the tensor
  // is made of, counted apart; none: one part. Throws as make_optimizer does, and std::invalid_argument for a recipe that
  // takes the gradients of several micro-batches, and for parts that do not add up to the tensor.
  drifting_tensor(const optimizer_recipe& recipe, std::string name, std::span<const float> first_weights,
                  std::uint64_t seed, const std::vector<std::size_t>& parts = {});

  // One step of both. `random`: as optimizer::step takes it. Throws std::invalid_argument where a size does not fit.
  void step(std::span<const float> gradient, std::span<const std::uint16_t> random = {});
  // Second moments that fall are those that are lower at the end than now.
  void mark();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const optimizer& low() const noexcept { return low_; }
  [[nodiscard]] const optimizer& twin() const noexcept { return twin_; }
  [[nodiscard]] std::span<const float> weights() const noexcept { return w_; }
  [[nodiscard]] std::span<const float> twin_weights() const noexcept { return twin_w_; }

  // So far, of a part and of the whole.
  [[nodiscard]] std::size_t parts() const noexcept { return parts_.size(); }
  [[nodiscard]] weight_drift drift(std::size_t part) const;
  [[nodiscard]] weight_drift drift() const;
  // Appends second moment / twin's, where that is not zero.
  void append_ratios(std::vector<float>& to) const;

 private:
  struct part {
    std::size_t first = 0;
    std::size_t end = 0;
    weight_drift sum;                  // what is counted step by step
    std::vector<double> loss_changes;  // of each step
  };

  void see_moments(std::span<const float> gradient);
  void see_gradient(std::span<const float> gradient);
  void see_end(const part& of, weight_drift& into) const;
  [[nodiscard]] double rounding_reach(std::size_t i) const;
  void see_second_moments(const part& of, weight_drift& into) const;

  std::string name_;
  optimizer low_;
  optimizer twin_;
  format kept_in_;  // the recipe's weights
  std::vector<float> first_, w_, twin_w_;
  std::vector<float> twin_reach_;  // the largest |twin - w0| so far
  std::vector<float> m_, v_, before_, twin_before_;
  std::string kept_name_;  // the state that keeps what weights lose; empty: none
  std::vector<float> kept_, kept_before_;
  std::vector<float> marked_, twin_marked_;  // second moments at the mark; empty: none
  std::vector<bool> was_zeroed_;
  bool has_moments_ = false;
  std::vector<part> parts_;
};

// The middle one, of an even number the mean of two; not known of none. Reorders them.
[[nodiscard]] double median_of(std::span<float> values);

// How second moments of a format fall without gradients, v = R(v fl(beta2)) step by step.
struct second_moment_decay {
  double stuck = 0;  // share of the significands that stay as they are
  // Steps from 1 to 1/2 or below; nullopt: never.
  std::optional<std::uint64_t> half_life;
};
// Of a format of at most 12 fraction bits that float32 holds, whose 1 is a normal number; beta2 from 0 to 1 (excluded).
[[nodiscard]] second_moment_decay decay_of(const format& kept_in, double beta2);

}  // namespace ulp

#endif
