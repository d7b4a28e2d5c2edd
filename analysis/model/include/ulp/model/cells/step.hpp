// One step of a run as data: which tensors there are, and what was recorded of each. No files here.
#ifndef ULP_MODEL_CELLS_STEP_HPP
#define ULP_MODEL_CELLS_STEP_HPP

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/element_types.hpp>

namespace ulp {

struct block_table;         // <ulp/model/cells/block_table.hpp>
struct quantized_outcomes;  // <ulp/model/outcomes/quantized_outcomes.hpp>

// What a tensor is.
enum class tensor_kind : std::uint8_t { unknown, weight_grad, activation_grad, weight, update, activation };
// How the run's mixed-precision rules keep a tensor: in the 16-bit format, or in float32.
enum class tensor_role : std::uint8_t { unknown, low, float32 };

[[nodiscard]] std::string_view to_string(tensor_kind kind) noexcept;
[[nodiscard]] std::string_view to_string(tensor_role role) noexcept;
// By the names that to_string gives; parse_kind reads "wgrad" and "agrad" too. nullopt for anything else.
[[nodiscard]] std::optional<tensor_kind> parse_kind(std::string_view text) noexcept;
[[nodiscard]] std::optional<tensor_role> parse_role(std::string_view text) noexcept;

struct tensor_info {
  std::string name;  // the source's own, unmodified
  tensor_kind kind = tensor_kind::unknown;
  tensor_role role = tensor_role::unknown;
  std::string through;               // the format that values had been rounded to before recording; empty: none known
  std::vector<std::uint64_t> shape;  // empty where unknown or a scalar
  std::uint64_t numel = 0;           // in total, over all shards; 0 where unknown
  std::uint64_t stands_for = 1;      // tensors; more where a source gives them merged
  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

// A tensor's name without what says its kind: "wgrad/", "agrad/".
[[nodiscard]] std::string_view without_kind(std::string_view tensor) noexcept;

// microbatch -1 is the accumulated gradient; an attempt above 0 repeats an update.
struct step_key {
  std::int64_t step = 0;
  std::int32_t attempt = 0;
  std::int32_t microbatch = -1;
  friend auto operator<=>(const step_key&, const step_key&) = default;
};

// What the training loop logged; NaN or nullopt where it did not.
struct step_scalars {
  double loss = not_known;
  double grad_norm = not_known;
  double learning_rate = not_known;
  double loss_scale = not_known;
  std::optional<bool> found_inf;
  std::optional<bool> applied;
  // NaN was logged, and not nothing; a recording does not keep these.
  bool loss_is_nan = false;
  bool grad_norm_is_nan = false;
};

// What was added up to a gradient, in float32: the uses of a shared parameter, micro-batches, ranks. A sum may be finite
// beyond the largest number of the format that its parts were rounded to.
struct gradient_parts {
  std::uint8_t rounded = 0;  // to tensor_info::through before they were added; 255: as many or more
  std::uint8_t kept = 0;     // in float32; likewise

  [[nodiscard]] constexpr bool known() const noexcept { return rounded + kept > 0; }
  [[nodiscard]] constexpr bool is_sum() const noexcept { return rounded + kept > 1; }
  friend constexpr bool operator==(const gradient_parts&, const gradient_parts&) = default;
};

struct tensor_row {
  std::uint32_t tensor = 0;  // index into the source's tensors
  dtype type = dtype::unknown;
  double factor = not_known;  // recorded value = factor * true gradient; NaN where unknown
  cell_table table;
  std::vector<code_count> codes;  // of all elements, ascending; empty where the source does not keep them
  gradient_parts parts;
  // Of blocks of several extents, where they were asked for; shared, as rows are copied.
  std::shared_ptr<const std::vector<block_table>> blocks;
  // In each block format that was asked for.
  std::shared_ptr<const std::vector<quantized_outcomes>> quantized;

  // What the recorded values are divided by: 1, so that they stay as recorded, where the factor is not known.
  [[nodiscard]] double unit() const noexcept { return factor_known() ? factor : 1; }
  [[nodiscard]] bool factor_known() const noexcept { return !std::isnan(factor); }
};

// Sum of squares of the true gradient (of the recorded values where the factor is not known): NaN where one is NaN, else
// infinite where one is infinite.
[[nodiscard]] value_sum squares_of(const tensor_row& t);

// From here on magnitudes round to infinity in float16: the midpoint of its largest number and 2^16.
inline constexpr double float16_overflows_at = 65520;

// What a log of the loss scale tells of the largest |unscaled gradient| m of a step: low <= m < high. With an infinite
// `high`, m may be infinite or NaN as well.
struct max_abs_bounds {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  bool certain = true;  // false where the log does not tell whether this step was skipped or one near it
  // The largest loss scale at which an overflow proves `low`; infinite where it proves nothing.
  [[nodiscard]] double scale_at_most() const noexcept { return float16_overflows_at / low; }
  friend bool operator==(const max_abs_bounds&, const max_abs_bounds&) = default;
};

// What a step log says of one layer.
struct layer_row {
  std::string name;
  std::optional<bool> found_inf;
  std::optional<double> max_abs;  // of the unscaled gradients, NaN included
};

struct step {
  step_key key;
  step_scalars scalars;
  // Step logs without tensors: the largest |unscaled gradient| of the step, NaN included; nullopt elsewhere.
  std::optional<double> max_abs;
  std::optional<max_abs_bounds> bounds;  // logs of the loss scale: of the same, where max_abs is not known
  std::vector<layer_row> layers;         // step logs by layer; then neither max_abs nor scalars.found_inf are set
  std::vector<tensor_row> tensors;
  std::vector<std::uint32_t> ranks{0};  // whose data the row holds, ascending
};

}  // namespace ulp

#endif
