// A joint table, and of what it is: how recordings keep it and analyses read it.
#ifndef ULP_MODEL_UPDATES_JOINT_ROW_HPP
#define ULP_MODEL_UPDATES_JOINT_ROW_HPP

#include <cstdint>
#include <string>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/updates/joint_table.hpp>

namespace ulp {

// Where updates are known from: they were recorded themselves, follow from a gradient, or from the weights of a later step.
enum class update_origin : std::uint8_t { recorded, gradient, next_weights };

// Of the weights of one tensor and their updates in one step.
struct joint_row {
  std::string tensor;  // the weights', as the recording calls them
  dtype weight_type = dtype::unknown;
  update_origin origin = update_origin::recorded;
  std::uint64_t steps_ahead = 1;  // of next_weights: how many steps later the other weights are; else 1
  joint_table table;
};

}  // namespace ulp

#endif
