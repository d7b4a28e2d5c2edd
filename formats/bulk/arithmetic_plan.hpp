// Which loops do an operation: those of floats, those of doubles, or none.
#ifndef ULP_FORMATS_BULK_ARITHMETIC_PLAN_HPP
#define ULP_FORMATS_BULK_ARITHMETIC_PLAN_HPP

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

// The same for floats that the processor rounds, whose bits are the codes of the result. nullopt where it rounds otherwise.
[[nodiscard]] std::optional<lane_operation> plan_native_operation(operation op, const format& to, const rounding& mode);

// Codes of 16 bits as floats, for results in the format of the operands. nullopt where there are no loops for it.
[[nodiscard]] std::optional<code_grid> plan_grid(const format& in, const rounding& mode);

}  // namespace ulp::detail

#endif
