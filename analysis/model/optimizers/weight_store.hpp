// The last operation of a step: float32 results become weights.
#ifndef ULP_MODEL_OPTIMIZERS_WEIGHT_STORE_HPP
#define ULP_MODEL_OPTIMIZERS_WEIGHT_STORE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "storage.hpp"

namespace ulp::optimizers {

class weight_store {
 public:
  explicit weight_store(const optimizer_setup& setup);

  // Of a step, from 1.
  void begin(std::int64_t step);
  // Elements from `first` on. `random` has 16 bits for each of them, or is empty: then they are counted. The numbers of
  // own rounding are rounded to nearest: a dialect that does otherwise hands over what it has rounded.
  void store(std::size_t first, const_numbers exact, numbers weights, std::span<const std::uint16_t> random);
  // 16 random bits for each of the elements from `first` on, given or counted.
  [[nodiscard]] std::span<const std::uint16_t> bits(std::size_t first, std::size_t size,
                                                    std::span<const std::uint16_t> given);
  void append_to(std::vector<optimizer_state>& all) const;

 private:
  storage_rounder to_;
  weight_rounding how_;
  std::uint64_t seed_;
  std::string tensor_;
  std::uint64_t stream_ = 0;
  std::optional<stored_state> compensation_;
  std::vector<float> scratch_;
  std::vector<std::uint32_t> drawn_;
  std::vector<std::uint16_t> bits_;
};

}  // namespace ulp::optimizers

#endif
