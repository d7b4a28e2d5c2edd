// Dumps as a source: each step of a run is one file, or several.
#ifndef ULP_IO_DUMPS_DUMPS_HPP
#define ULP_IO_DUMPS_DUMPS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/source/source.hpp>

#include "dump_reader.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

// One file of a run, opened again whenever its turn comes.
struct dump_file {
  std::string path;
  std::unique_ptr<dump_reader> (*open)(const std::string& path, const read_limits& limits) = nullptr;
  std::optional<std::uint32_t> rank;  // whose tensors it has: those of one name are counted together
  bool one_of_many = false;           // by the layout of its folder: that a step has several needs no telling
};
// The files of one step, ascending by rank: together its tensors.
struct dump_step {
  std::int64_t number = 0;
  std::vector<dump_file> files;
};

// Steps in ascending order of their numbers. Every header is checked here.
[[nodiscard]] std::unique_ptr<source> open_dumps(std::vector<dump_step> steps, const std::string& description,
                                                 const source_options& options, const scalar_table& scalars);

}  // namespace ulp::io

#endif
