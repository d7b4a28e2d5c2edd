// TensorBoard's event files as a source: their histograms are tensors, some of their scalars those of the steps.
#ifndef ULP_IO_TENSORBOARD_TFEVENTS_HPP
#define ULP_IO_TENSORBOARD_TFEVENTS_HPP

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "table/run_table.hpp"

namespace ulp::io {

// The event files of one run, in any order: that whose first event is later counts where both have a value of one tag and
// step. All of them are read through here, so that mistakes show at once; memory holds where the histograms of each step
// stand, not what they hold. Throws input_error.
// Files without histograms are a table of the run, whose columns are the tags.
[[nodiscard]] std::unique_ptr<source> open_tfevents(const std::vector<std::string>& paths,
                                                    const read_limits& limits = {}, const told_columns& told = {});

}  // namespace ulp::io

#endif
