// The one place where a training run loses bits: every tensor that it keeps passes a rounding hook.
//
// A pass through the network follows the rules of PyTorch's autocast: operands and results of matrix products, and the
// gradients of both, are low; norms, softmax, loss, embeddings and the sums between layers are float32, and so are master
// weights and what the optimizer keeps of them. The hook is called for all of them and told which are which, so another
// one can keep other tensors low, or in blocks. Sums inside a matrix product are float32 and pass no hook.
#ifndef ULP_TRAIN_ROUNDING_HOOK_HPP
#define ULP_TRAIN_ROUNDING_HOOK_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

enum class site_kind : std::uint8_t {
  weight,           // a parameter as a pass uses it, cast from its master
  activation,       // what a layer takes or yields
  activation_grad,  // the gradient of one of these, times the loss scale
  weight_grad,      // what one use of a parameter adds to its gradient, times the loss scale
  accumulator,      // the gradient of a parameter after each micro-batch, times the loss scale
  optimizer_state,  // momentum and second moments, after their update
  update,           // what is added to a master weight
  master_weight,    // a parameter after its update
};

// A tensor at the moment at which it is kept. rows * columns values, row after row; a vector is one row.
struct site {
  site_kind kind = site_kind::weight;
  tensor_role role = tensor_role::float32;  // what autocast makes of it: low or float32
  std::string_view tensor;                  // "layers.0.up.weight", "layers.0.up.output", "head.weight/exp_avg"
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::int64_t step = 0;
  std::int32_t microbatch = 0;
};

class rounding_hook {
 public:
  rounding_hook() = default;
  rounding_hook(const rounding_hook&) = delete;
  rounding_hook& operator=(const rounding_hook&) = delete;
  virtual ~rounding_hook() = default;

  // Replaces the values by what is kept of them. Infinities and NaN may come in and may result. Called by one thread, in
  // the order of the computation.
  virtual void round(const site& at, std::span<float> values) = 0;
  // Called in its place for what a linear layer's products take: its input, its weight, the gradient of its output. Values
  // may stay multiplied by a scale: the layer multiplies sums of products by what this returns for both operands.
  virtual float round_operand(const site& at, std::span<float> values) {
    round(at, values);
    return 1;
  }
  // For the product that sums over the rows of an operand, after round_operand of the same values: they come as they came
  // there, and are replaced where that product takes others, as of blocks along its sums. Returns whether it does.
  virtual bool round_across(const site& /*at*/, std::span<float> /*values*/) { return false; }

  // The format that weight gradients of role low are rounded to (tensor_info::through); empty: none.
  [[nodiscard]] virtual std::string through() const { return {}; }
};

// float32 training.
class no_rounding final : public rounding_hook {
 public:
  void round(const site& at, std::span<float> values) override;
};

// Tensors of role low are rounded to a format, the others stay.
class low_rounding final : public rounding_hook {
 public:
  // The format has a sign and a zero, the rounding is valid. Under stochastic rounding the random bits are those of
  // (seed, stream_of("KIND/TENSOR", step * 2^20 + microbatch), index).
  low_rounding(const treatment& how, std::uint64_t seed);

  void round(const site& at, std::span<float> values) override;
  [[nodiscard]] std::string through() const override;

 private:
  treatment how_;
  std::uint64_t seed_;
};

// Each value x becomes decode(encode(to, x)) as a float: by the codec, or, to nearest even in IEEE-style formats within
// float32, by a few float operations that yield the same. `stream` matters under stochastic rounding alone.
void round_values(std::span<float> values, const treatment& how, std::uint64_t seed = 0, std::uint64_t stream = 0);

[[nodiscard]] std::string_view to_string(site_kind kind) noexcept;
// Of what round_operand is given: an input, a weight, or else the gradient of an output.
[[nodiscard]] tensor_kind operand_kind(site_kind kind) noexcept;

}  // namespace ulp

#endif
