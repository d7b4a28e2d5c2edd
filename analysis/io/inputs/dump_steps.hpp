// Which dumps are which steps of a run.
#ifndef ULP_IO_INPUTS_DUMP_STEPS_HPP
#define ULP_IO_INPUTS_DUMP_STEPS_HPP

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "dumps/dumps.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

struct dumped_steps {
  std::vector<dump_step> steps;  // ascending by number
  std::string description;       // "safetensors dump"
};

// By source_options::steps_from, else in the order given. Throws input_error, also for an input that is no dump.
[[nodiscard]] dumped_steps dump_steps_of(const std::vector<std::string>& inputs, const source_options& options);

// These steps as a run. Throws input_error, also where none of the logged steps is one of them.
[[nodiscard]] std::unique_ptr<source> open_given_dumps(const std::vector<std::string>& inputs,
                                                       const source_options& options, const scalar_table& scalars);

}  // namespace ulp::io

#endif
