// The dialects whose lines are rows of data.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_LAYOUTS_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_LAYOUTS_HPP

#include <span>

#include "record.hpp"

namespace ulp::io {

// Of frameworks, and of scripts; in the order in which a line is tried.
[[nodiscard]] std::span<const log_dialect> layout_dialects() noexcept;
[[nodiscard]] std::span<const log_dialect> script_layouts() noexcept;

}  // namespace ulp::io

#endif
