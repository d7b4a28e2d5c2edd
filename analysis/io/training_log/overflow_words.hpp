// What a line outside of known records says in words of an overflow.
#ifndef ULP_IO_TRAINING_LOG_OVERFLOW_WORDS_HPP
#define ULP_IO_TRAINING_LOG_OVERFLOW_WORDS_HPP

#include <string_view>

namespace ulp::io {

// That something was not finite, a step was skipped, the loss scale was lowered or stood at its least, or the training diverged. Not what
// denies it ("no overflow", "found_inf: 0"), sets something ("skip_nan_batches=True"), or is of an evaluation, a path or a prompt.
[[nodiscard]] bool says_nonfinite(std::string_view line);
// Likewise of a field in a table of steps, whose column need not say what is meant: "overflow", "skipped", "grad_overflow".
[[nodiscard]] bool field_says_nonfinite(std::string_view column, std::string_view text);

}  // namespace ulp::io

#endif
