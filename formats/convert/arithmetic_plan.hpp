// Which loops do an operation: those of floats, those of doubles, or none.
#ifndef ULP_FORMATS_CONVERT_ARITHMETIC_PLAN_HPP
#define ULP_FORMATS_CONVERT_ARITHMETIC_PLAN_HPP

#include <array>
#include <optional>
#include <span>

#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/rounding.hpp>

#include "arithmetic_loops.hpp"

namespace ulp::detail {

// In numbers of the format `lanes`, binary32 or binary64, which hold those of all operands. nullopt where the result
// rounded to odd is not one of `to`'s after a second rounding, or a loop would leave out too much.
[[nodiscard]] std::optional<lane_operation> plan_operation(const format& lanes, operation op, const format& to,
                                                           std::span<const format> operands, const rounding& mode);

// Where the fields of a code of 16 bits are as a float. nullopt where the loops do not read such codes.
[[nodiscard]] std::optional<field_layout> plan_fields(const format& from);

}  // namespace ulp::detail

#endif
