// Largest magnitudes of tensors among the scalars of a TensorBoard event file.
#ifndef ULP_IO_TENSORBOARD_EVENT_STATISTICS_HPP
#define ULP_IO_TENSORBOARD_EVENT_STATISTICS_HPP

#include <optional>
#include <string>

#include <ulp/io/amax/amax_rows.hpp>

namespace ulp {

// Of scalars that have the names of statistics (read_statistics_log): "fc1_activation_amax", "fc1/amax". Of a step that is logged
// again the last counts. nullopt where the file is no event file, or has no amax among them. Throws input_error.
[[nodiscard]] std::optional<amax_rows> read_event_statistics(const std::string& path, const read_limits& limits = {});

}  // namespace ulp

#endif
