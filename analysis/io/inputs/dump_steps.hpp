// Which dumps are which steps of a run.
#ifndef ULP_IO_INPUTS_DUMP_STEPS_HPP
#define ULP_IO_INPUTS_DUMP_STEPS_HPP

#include <string>
#include <vector>

#include "source/reader.hpp"

namespace ulp::io {

struct dumped_steps {
  std::vector<dump_step> steps;  // ascending by number
  std::string description;       // "safetensors dump"
};

// By source_options::steps_from, else in the order given. Throws input_error, also for an input that is no dump.
[[nodiscard]] dumped_steps dump_steps_of(const std::vector<std::string>& inputs, const source_options& options);

}  // namespace ulp::io

#endif
