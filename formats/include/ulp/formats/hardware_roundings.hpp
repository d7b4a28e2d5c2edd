// Roundings under the names of the hardware that does them, for the conversions whose random bits are documented.
#ifndef ULP_FORMATS_HARDWARE_ROUNDINGS_HPP
#define ULP_FORMATS_HARDWARE_ROUNDINGS_HPP

#include <span>
#include <string_view>

#include <ulp/formats/format.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/parsed.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

// Stochastic rounding of float32 to one format.
struct rounding_preset {
  std::string_view name;     // of the hardware
  std::string_view to_name;  // the result's format, its name in the catalogue
  ulp::format to;
  ulp::rounding rounding;
  std::string_view source;
};

// All of them, those of one name together.
[[nodiscard]] std::span<const rounding_preset> rounding_presets() noexcept;

// A rounding for results in the format `to`: as parse_rounding(text) reads it, or the name of a preset. A preset is
// an error for formats it is not documented for. Allocates.
[[nodiscard]] parsed<rounding> parse_rounding(std::string_view text, const format& to);

}  // namespace ulp

#endif
