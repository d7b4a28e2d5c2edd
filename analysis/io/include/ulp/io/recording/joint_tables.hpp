// The joint tables of weights and updates that a recording holds: docs/recording-format.md, "Joint tables".
#ifndef ULP_IO_RECORDING_JOINT_TABLES_HPP
#define ULP_IO_RECORDING_JOINT_TABLES_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/updates/joint_table.hpp>

namespace ulp {

// Of the weights of one tensor and their updates in one step.
struct joint_row {
  std::string tensor;  // the weights', as the recording calls them
  dtype weight_type = dtype::unknown;
  update_origin origin = update_origin::recorded;
  std::uint64_t steps_ahead = 1;  // of next_weights: how many steps later the other weights are; else 1
  joint_table table;
};

// Of those pairs of one step whose weights are taken, by the names that they have in their files. Throws input_error.
[[nodiscard]] std::vector<joint_row> joint_rows_of(const update_pairs& pairs, std::int64_t step,
                                                   const std::function<bool(const std::string& weight)>& takes);

// As the content of a row of `extra`.
[[nodiscard]] std::string joint_content(const joint_row& row);
// Throws input_error that names file and place; tensor is left empty.
[[nodiscard]] joint_row parse_joint_content(std::string_view content, const std::string& file,
                                            const std::string& place);

// Of accumulated gradients' rows (microbatch -1), ascending by step, attempt, tensor. A tensor that is not known, or a damaged
// table, is an error: input_error. `act` false ends the reading.
using take_joint_row = std::function<bool(const step_key& key, const step_scalars& scalars, joint_row row)>;
void read_joint_tables(const std::string& recording, which_attempts attempts, const take_joint_row& act);

// Whether it holds any. Throws input_error.
[[nodiscard]] bool has_joint_tables(const std::string& recording);

}  // namespace ulp

#endif
