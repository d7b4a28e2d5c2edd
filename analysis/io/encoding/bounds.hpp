// The column max_abs of a recording as text: "nan", or bounds on the largest gradient, "low..high", with a "~" before
// them where they are not certain. docs/recording-format.md is the law.
#ifndef ULP_IO_ENCODING_BOUNDS_HPP
#define ULP_IO_ENCODING_BOUNDS_HPP

#include <string>
#include <string_view>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Numbers as shortest round-trip decimals, an infinite upper bound as "inf".
[[nodiscard]] std::string to_text(const max_abs_bounds& bounds);

// Sets max_abs or bounds of the step. Throws payload_error unless the text is one of the three forms, with
// 0 <= low < high and `low` finite.
void read_max_abs(std::string_view text, step& into);

}  // namespace ulp::io

#endif
