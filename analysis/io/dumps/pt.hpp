// Files of torch.save that have more in them than tensors.
#ifndef ULP_IO_DUMPS_PT_HPP
#define ULP_IO_DUMPS_PT_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "dump_reader.hpp"
#include "pickle.hpp"

namespace ulp::io {

// As any .pt is opened, but objects of other classes are no reason to refuse the file: nothing is made of them, and
// ignored() names them with what would have made them.
[[nodiscard]] std::unique_ptr<dump_reader> open_pt_with_objects(const std::string& path, const read_limits& limits);

// The values of those uint8 tensors whose names have this end and that are not empty, and what io.BytesIOs of such names hold, by
// name. Throws input_error, also for a file that is no .pt.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::uint8_t>>> bytes_in_pt(const std::string& path,
                                                                                         std::string_view end,
                                                                                         const read_limits& limits);

// The tensors of a .pt that is held in memory, each with its storage, from whose first byte it counts. `path` and `place` are those of
// errors. Throws input_error.
struct held_tensor {
  pickled_tensor tensor;
  std::vector<std::uint8_t> storage;
};
[[nodiscard]] std::vector<held_tensor> tensors_in_pt(byte_span contents, const std::string& path,
                                                     const std::string& place, const read_limits& limits);

}  // namespace ulp::io

#endif
