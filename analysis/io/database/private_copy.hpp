// Copies of recordings that cannot be read where they lie, in the folder for temporary files. They have no name any more when
// these return.
#ifndef ULP_IO_DATABASE_PRIVATE_COPY_HPP
#define ULP_IO_DATABASE_PRIVATE_COPY_HPP

#include <string>

#include "sqlite.hpp"

namespace ulp::io {

// With what its killed writer had begun taken back, by the journal beside it. Throws input_error.
[[nodiscard]] database played_back(const std::string& shown, const std::string& resolved);

// As it is now, while somebody writes to it. Throws input_error.
[[nodiscard]] database snapshot(const std::string& shown, const database& of);

}  // namespace ulp::io

#endif
