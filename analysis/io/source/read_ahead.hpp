// A source that is read one step ahead of whoever uses it.
#ifndef ULP_IO_SOURCE_READ_AHEAD_HPP
#define ULP_IO_SOURCE_READ_AHEAD_HPP

#include <memory>

#include <ulp/io/source/source.hpp>

namespace ulp::io {

// Reads `inner` in a thread of its own, from the first call of next() on. Its tensors and notes must not change while it is
// read. What it throws comes out of the call of next() that would have thrown it.
[[nodiscard]] std::unique_ptr<source> read_ahead(std::unique_ptr<source> inner);

}  // namespace ulp::io

#endif
