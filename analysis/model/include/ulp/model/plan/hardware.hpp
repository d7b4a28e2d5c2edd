// What hardware multiplies with: the treatments that its matrix units take, as data with their sources.
#ifndef ULP_MODEL_PLAN_HARDWARE_HPP
#define ULP_MODEL_PLAN_HARDWARE_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// What shares a scale.
enum class plan_scale : std::uint8_t {
  none,    // nothing: the format has float32's range, or nearly
  run,     // all gradients: a loss scale; weights and activations have none
  tensor,  // the tensor, found in the step itself
  block    // blocks, or rows
};

struct plan_treatment {
  std::string_view name;         // as plans say it
  std::string_view format_name;  // of the elements, as the catalogue has it
  plan_scale scale = plan_scale::none;
  std::string_view row = {};  // of block formats, where the scale is of blocks
  std::string_view in_words;

  [[nodiscard]] format elements() const;
  // nullptr where its scale is not of blocks.
  [[nodiscard]] const block_format* blocks() const;
  // Of 8 bits and fewer: for what products read, so not for vectors, which no product reads.
  [[nodiscard]] bool is_narrow() const;
  // Of 16 bits: one of these holds for the whole run.
  [[nodiscard]] bool is_half() const;
  // Of a tensor's elements and their scales. A shape that is not known is that of one row.
  [[nodiscard]] std::uint64_t bits(std::uint64_t numel, std::span<const std::uint64_t> shape) const;
};

// In the order in which they are preferred where they take as many bits.
[[nodiscard]] std::span<const plan_treatment> plan_treatments();

struct plan_hardware {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string_view> treatments;  // names, in the order of plan_treatments
  // How products are summed: of 16 bits and more, and of fewer.
  std::string_view sums;
  std::string_view narrow_sums;
  std::string_view source;

  // Its treatments. float32, which every hardware has, is the last.
  [[nodiscard]] std::vector<plan_treatment> rows() const;
};

[[nodiscard]] std::span<const plan_hardware> plan_hardware_catalog();
[[nodiscard]] std::vector<std::string> plan_hardware_names();
// Throws std::invalid_argument.
[[nodiscard]] const plan_hardware& plan_hardware_named(std::string_view name);

// Whether FP8 and narrower formats are an option for it: a vector, such as a bias, or a number is no operand of a
// product.
[[nodiscard]] bool may_be_narrow(const tensor_info& t) noexcept;

}  // namespace ulp

#endif
