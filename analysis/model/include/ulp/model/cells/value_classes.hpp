// What the largest values of a tensor tell of the format it was computed in, where nobody recorded it.
//
// A gradient that was rounded to float16 has a significand of at most 11 bits, one that was rounded to bfloat16 of 8; a
// float32 value has so few by chance once in 2^13. So over many steps the largest value of each tells. Sums of rounded
// parts, of micro-batches or of the uses of a shared parameter, are float16 numbers now and then: in 10 to 41 % of the
// steps of accumulated gradients of real runs. Where underflow leaves a few units of the least float16 number, all are
// bfloat16 numbers too; but then the least of them are small multiples of that number, as bfloat16 numbers are by chance once
// in 2^5 or less.
#ifndef ULP_MODEL_CELLS_VALUE_CLASSES_HPP
#define ULP_MODEL_CELLS_VALUE_CLASSES_HPP

#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

enum class value_class : std::uint8_t {
  unknown,   // too few steps with a finite value that is not 0
  float16,   // all are float16 numbers, not all bfloat16 numbers
  bfloat16,  // all are bfloat16 numbers
  float32,   // at most 1 % are float16 numbers
  sum        // of parts that were rounded to float16
};

class value_classes {
 public:
  // Steps of any order; single micro-batches are left out. Values are looked at as they were scaled, where the loss scale
  // and the factor are known, else by their significands alone.
  void see(const step& now);

  [[nodiscard]] value_class operator[](std::size_t tensor) const noexcept;

  // Fewer steps tell nothing.
  static constexpr std::uint64_t least_steps = 30;

 private:
  struct tally {
    std::uint64_t steps = 0;
    std::uint64_t float16 = 0;     // how many of them
    std::uint64_t bfloat16 = 0;    // likewise
    std::uint64_t near_least = 0;  // steps whose least value is a few times the least number of float16
  };
  std::vector<tally> tensors_;
};

}  // namespace ulp

#endif
