// A recording read while it is being written.
#ifndef ULP_IO_RECORDING_FOLLOWING_HPP
#define ULP_IO_RECORDING_FOLLOWING_HPP

#include <memory>
#include <string>

#include <ulp/io/source/source.hpp>

namespace ulp::io {

// What follow_recording gives, before labels. Of the options it takes `merged`, `attempts` and `limits`.
[[nodiscard]] std::unique_ptr<source> open_following(const std::string& path, const source_options& options,
                                                     wait_for_steps wait);

}  // namespace ulp::io

#endif
