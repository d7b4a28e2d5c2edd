// The joint tables of weights and updates that a recording holds: docs/recording-format.md, "Joint tables".
#ifndef ULP_IO_RECORDING_JOINT_TABLES_HPP
#define ULP_IO_RECORDING_JOINT_TABLES_HPP

#include <functional>
#include <string>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/updates/joint_row.hpp>

namespace ulp {

// Of accumulated gradients' rows (microbatch -1), ascending by step, attempt, tensor. A tensor that is not known, or a damaged
// table, is an error: input_error. `act` false ends the reading.
using take_joint_row = std::function<bool(const step_key& key, const step_scalars& scalars, joint_row row)>;
void read_joint_tables(const std::string& recording, which_attempts attempts, const take_joint_row& act);

// Whether it holds any. Throws input_error.
[[nodiscard]] bool has_joint_tables(const std::string& recording);

}  // namespace ulp

#endif
