// Which rank of which run an input is, where it does not say so itself.
#ifndef ULP_CLI_RANK_OPTIONS_HPP
#define ULP_CLI_RANK_OPTIONS_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <ulp/io/source/source.hpp>

#include "command_line.hpp"

namespace ulp::cli {

struct rank_options {
  std::string run_id;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> world;
  std::string layout;
  std::string reduction;
};
void add_ranks(command& to, rank_options& options);

// The source as the options describe it; `appended_to` is the recording that its steps are added to, or empty. Throws
// usage_error where options are missing or contradict that recording.
[[nodiscard]] std::unique_ptr<source> with_ranks(std::unique_ptr<source> from, const rank_options& options,
                                                 const std::string& appended_to);

}  // namespace ulp::cli

#endif
