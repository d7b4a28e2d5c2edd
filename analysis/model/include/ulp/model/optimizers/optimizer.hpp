// Optimizers as the libraries run them: the order of operations, what is rounded where, how states are kept. One row a
// dialect, under the library's own parameter names.
//
//   ulp::optimizer adam = ulp::make_optimizer("bnb_cpu_default_adam8bit", {.size = weights.size(), .weights = ulp::bfloat16});
//   adam.step(gradients, weights);
//
// One object is one tensor. Weights and gradients are float32 spans that hold numbers of the weights' format; states are
// kept as the library keeps them (codes and absmax, 16-bit codes, float32, float64). Arithmetic is that of the library:
// IEEE float32 (or float64) in its order, no contraction but where a dialect has it (.avx2). Results depend on the
// arguments alone, not on the processor's rounding and flushing, and on the C library's pow and powf for the bias corrections.
// Sources are in the rows; the rules with their evidence: docs/optimizers.md.
#ifndef ULP_MODEL_OPTIMIZERS_OPTIMIZER_HPP
#define ULP_MODEL_OPTIMIZERS_OPTIMIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// Numbers, true or false, words; none where the library decides.
using optimizer_parameter = scaler_parameter;
using optimizer_settings = std::vector<std::pair<std::string, parameter_value>>;

// One dialect in the catalogue.
struct optimizer_entry {
  std::string_view name;
  std::vector<std::string_view> aliases;
  std::string_view family;   // whose it is: "PyTorch", "bitsandbytes"
  std::string_view summary;  // one line
  std::string_view rules;    // one step in formulas, some lines; R rounds to the storage format, fl to float32
  std::string_view quirks;   // what surprises, some lines, or empty
  std::string_view source;   // repository, commit, path
  std::string_view states;   // names of the arrays that it keeps, in words
  std::vector<optimizer_parameter> parameters;  // with the defaults
};
[[nodiscard]] bool has_parameter(const optimizer_entry& entry, std::string_view name) noexcept;

// How the new weights, computed in float32, are stored.
enum class weight_rounding : std::uint8_t {
  own,         // as the dialect does
  nearest,     // ties to even, NaN quiet
  stochastic,  // stochastic definition A of rounding.hpp with 16 random bits
  kahan        // nearest, and what was lost is added to the next update: state `kahan`, in the weights' format
};
[[nodiscard]] std::string_view to_string(weight_rounding how) noexcept;
// nullopt for anything else than the four names.
[[nodiscard]] std::optional<weight_rounding> parse_weight_rounding(std::string_view name) noexcept;

struct optimizer_setup {
  std::size_t size = 0;      // elements
  format weights = float32;  // any format whose numbers are float32's
  weight_rounding rounding = weight_rounding::own;
  // Where a step rounds stochastically and is given no bits: those of random_bits.hpp for this seed, the stream of this
  // tensor and the step, 16 an element.
  std::uint64_t seed = 0;
  std::string tensor = "weights";
  optimizer_settings parameters;  // what is not named has the dialect's default
};

// A view into a state, valid until the next step. Elements in order; of 4-bit codes two in a byte, the first in the high
// half.
struct optimizer_state {
  std::string name;  // "m", "v_codes", "v_absmax", "kahan"
  std::variant<std::span<const float>, std::span<const double>, std::span<const std::uint8_t>,
               std::span<const std::uint16_t>, std::span<const std::uint32_t>>
      values;
  std::optional<format> codes_of;  // where the values are codes of a format
  // Where they are codes of a map, as "m_codes" are: beside them is "m_absmax", one float32 for block_size elements.
  const block_codec* codec = nullptr;
  std::size_t block_size = 0;
};

class optimizer {
 public:
  // The type-erased dialect and its state; implemented by optimizers/dialect.hpp.
  class running_dialect;

  optimizer(const optimizer_entry& entry, std::unique_ptr<running_dialect> dialect);
  optimizer(const optimizer& other);
  optimizer(optimizer&&) noexcept;
  optimizer& operator=(optimizer other) noexcept;
  ~optimizer();

  [[nodiscard]] const optimizer_entry& entry() const noexcept { return *entry_; }
  [[nodiscard]] std::size_t size() const noexcept;
  // Steps done.
  [[nodiscard]] std::int64_t steps() const noexcept;
  // Gradients of a step: size() of each micro-batch, one after the other.
  [[nodiscard]] std::size_t micro_batches() const noexcept;

  // One step. Gradients are first rounded to the weights' format (nearest), the weights are read and written in place.
  // `random`: 16 bits an element where weights are rounded stochastically, or empty. Nothing is allocated in steps after
  // the first. Throws std::invalid_argument where sizes do not fit.
  void step(std::span<const float> gradients, std::span<float> weights, std::span<const std::uint16_t> random = {});

  // All parameters with their effective values.
  [[nodiscard]] std::vector<optimizer_parameter> parameters() const;
  // From the next step on; states stay. Throws parameter_error: no such parameter, a value that it cannot have, or one that
  // decides how states are kept.
  void set_parameter(std::string_view name, const parameter_value& value);

  [[nodiscard]] std::vector<optimizer_state> state() const;
  // L2 norm of the gradients of the last step, as the dialect computed it; 0 where it does not clip, NaN where it never
  // computes one.
  [[nodiscard]] double gradient_norm() const noexcept;

 private:
  const optimizer_entry* entry_;
  std::unique_ptr<running_dialect> dialect_;
};

// The numbers that a state stands for, one an element: `name` is "m", "v", "buf", "kahan" however the dialect keeps it.
// False, and nothing written, where it has no such state, or one of another size. `into` has of.size() elements; float64
// states are rounded.
[[nodiscard]] bool read_state(const optimizer& of, std::string_view name, std::span<float> into);

// Every dialect, in the order in which it is listed to people.
[[nodiscard]] std::span<const optimizer_entry> optimizer_catalog();

// By name or alias; nullptr where there is none.
[[nodiscard]] const optimizer_entry* find_optimizer(std::string_view name);

// All states zero, before the first step. Throws parameter_error (an unknown name says which is near), and
// std::invalid_argument for a weights' format that float32 does not hold, or a dialect that there is not.
[[nodiscard]] optimizer make_optimizer(const optimizer_entry& entry, const optimizer_setup& setup);
[[nodiscard]] optimizer make_optimizer(std::string_view name, const optimizer_setup& setup);

}  // namespace ulp

#endif
