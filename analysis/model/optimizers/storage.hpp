// Numbers of a format in float32 arrays, and states as they are kept between steps.
#ifndef ULP_MODEL_OPTIMIZERS_STORAGE_HPP
#define ULP_MODEL_OPTIMIZERS_STORAGE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

namespace ulp::optimizers {

using numbers = std::span<float>;
using const_numbers = std::span<const float>;

// Rounds to a format, nearest even. As in PyTorch, bfloat16 has one NaN, 0x7FC0.
class storage_rounder {
 public:
  explicit storage_rounder(const format& to);
  void operator()(numbers x) const;
  [[nodiscard]] float operator()(float x) const;
  // A double as PyTorch makes it a number of the format: by way of float32.
  [[nodiscard]] float scalar(double x) const { return (*this)(static_cast<float>(x)); }
  // Whether anything is rounded at all.
  [[nodiscard]] bool is_low() const noexcept { return way_ != way::none; }
  [[nodiscard]] const format& to() const noexcept { return to_; }

 private:
  enum class way : std::uint8_t { none, bfloat16, any };
  format to_;
  way way_;
};

// How a state is kept: float32, codes of a format, or blocks with a scale each.
struct blocks_of_codes {
  block_codec codec;
  std::size_t block_size;
};
using storage = std::variant<format, blocks_of_codes>;

class stored_state {
 public:
  // All zero: codes 0, scales 0.
  stored_state(std::string name, std::size_t size, storage how);

  // Elements first .. first + out.size(); of blocks `first` and the end are ends of blocks.
  void load(std::size_t first, numbers out) const;
  // What is not a number of the format is rounded to nearest even.
  void store(std::size_t first, const_numbers x);

  void append_to(std::vector<optimizer_state>& all) const;

  // Precondition: blocks.
  [[nodiscard]] block_array& blocks() { return blocks_.value(); }

 private:
  std::string name_;
  std::string codes_name_;
  std::string absmax_name_;
  std::optional<block_array> blocks_;
  format of_;  // else
  std::vector<float> floats_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint16_t> words_;
  std::vector<std::uint32_t> long_words_;
};

// torch26_nofma, torch26_fma or correctly_rounded. Throws parameter_error.
[[nodiscard]] map_arithmetic map_named(std::string_view name);
// Elements of a block, from a parameter. Throws parameter_error for 0 and what is no size of a block.
[[nodiscard]] std::size_t block_size_of(std::int64_t value);

// "float32", another format's name, or a quantizer's: with its own map for this state, signed or not, and blocks of
// `block_size`; "ao_4bit" is the quantizer ao with a map of 16. Throws parameter_error that names the parameter.
[[nodiscard]] storage storage_named(std::string_view parameter, std::string_view name, bool is_signed,
                                    std::size_t block_size, map_arithmetic map);

}  // namespace ulp::optimizers

#endif
