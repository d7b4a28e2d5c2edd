// A recording read while it is being written.
#ifndef ULP_IO_RECORDING_FOLLOWING_HPP
#define ULP_IO_RECORDING_FOLLOWING_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <ulp/io/source/source.hpp>

namespace ulp {

// What is known of who writes a recording that is followed.
enum class recording_writer_state : std::uint8_t {
  awaited,  // there is no recording yet, or none with a step
  at_work,
  gone,  // without having closed it
  done   // closed
};

// Called when all that there is was read: waits, and returns whether to look again. May throw.
using wait_for_steps = std::function<bool(recording_writer_state)>;

namespace io {

// Whether there is a file with something in it.
[[nodiscard]] bool holds_something(const std::string& path);

// What follow_recording gives (<ulp/io/inputs/open.hpp>), before labels. Of the options it takes `merged` and `attempts`. What
// the file holds, if there is one, must be a recording.
[[nodiscard]] std::unique_ptr<source> open_following(const std::string& path, const source_options& options,
                                                     wait_for_steps wait);

}  // namespace io
}  // namespace ulp

#endif
