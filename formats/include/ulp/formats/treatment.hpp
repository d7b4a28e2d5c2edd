// What happens to a tensor's values: the format they are rounded to, how, and where the factor before the rounding comes
// from. One value, so that whatever asks "what becomes of these numbers" takes it and nothing else.
//
// The scale itself is not part of it: it changes from step to step and comes with the values, as a multiplier. Functions on
// values that are scaled already (thresholds, counts, kernels) do not read `scale`; a recipe's readers do. Constexpr; compared
// by value.
#ifndef ULP_FORMATS_TREATMENT_HPP
#define ULP_FORMATS_TREATMENT_HPP

#include <cstdint>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Where the factor comes from that multiplies values before they are rounded.
enum class scale_source : std::uint8_t {
  none,    // nowhere: values are rounded as they are
  run,     // one scale for all that is scaled (loss scaling)
  tensor,  // a scale for each tensor (scalers with a scale for each layer, FP8 policies)
};

struct treatment {
  ulp::format format;  // of the elements
  ulp::rounding rounding;
  scale_source scale = scale_source::none;

  friend constexpr bool operator==(const treatment&, const treatment&) = default;
};

}  // namespace ulp

#endif
