// Which entry of a map is nearest, as each implementation finds it, in its own steps. Every rule rises with the number: a
// larger one never has a smaller code, so that code_table.hpp can stand for it.
#ifndef ULP_FORMATS_BLOCKS_CODE_RULES_HPP
#define ULP_FORMATS_BLOCKS_CODE_RULES_HPP

#include <cstdint>
#include <span>
#include <vector>

#include <ulp/formats/blocks.hpp>

namespace ulp::detail {

class code_rule {
 public:
  code_rule(code_search how, std::span<const float> map);

  // Precondition: x is not NaN.
  [[nodiscard]] int code_of(float x) const;
  // What NaN becomes.
  [[nodiscard]] int nan_code() const noexcept;

 private:
  code_search how_;
  std::vector<float> map_;
  std::vector<float> midpoints_;             // between an entry and the next
  std::vector<std::uint8_t> uniform_codes_;  // uniform_steps: of 65536 equal steps from -1 to 1
};

}  // namespace ulp::detail

#endif
