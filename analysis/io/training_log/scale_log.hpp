// A training log as a source.
#ifndef ULP_IO_TRAINING_LOG_SCALE_LOG_HPP
#define ULP_IO_TRAINING_LOG_SCALE_LOG_HPP

#include <memory>
#include <string>

#include <ulp/io/source/source.hpp>

#include "bytes/lines.hpp"
#include "history.hpp"

namespace ulp::io {

// One that a known framework printed, from the line that was read already on; nullptr for any other text. Throws input_error
// for a log that does not tell its steps.
[[nodiscard]] std::unique_ptr<source> open_scale_log(line_reader lines, const std::string& first_line);

// The steps of a history that is not empty, and its notes with what bounds the largest gradient.
[[nodiscard]] std::unique_ptr<source> open_history(scale_history history);

}  // namespace ulp::io

#endif
