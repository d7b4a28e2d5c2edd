// Files of torch.save that have more in them than tensors.
#ifndef ULP_IO_DUMPS_PT_HPP
#define ULP_IO_DUMPS_PT_HPP

#include <memory>
#include <string>

#include <ulp/io/bytes/limits.hpp>

#include "dump_reader.hpp"

namespace ulp::io {

// As any .pt is opened, but objects of other classes are no reason to refuse the file: nothing is made of them, and
// ignored() names them with what would have made them.
[[nodiscard]] std::unique_ptr<dump_reader> open_pt_with_objects(const std::string& path, const read_limits& limits);

}  // namespace ulp::io

#endif
