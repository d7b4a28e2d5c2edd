// What lies in a folder that commands read: for those who do not know yet what to ask.
#ifndef ULP_ASK_READING_FOLDER_CONTENT_HPP
#define ULP_ASK_READING_FOLDER_CONTENT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ulp {

struct found_files {
  enum kinds : std::uint8_t { recording, events, text, dumps, configuration };
  kinds kind = recording;
  std::string what;  // "recording", "safetensors", "DeepSpeed configuration"
  // Files as a shell names them: quoted where it needs that; of several dumps a pattern that these match.
  std::string words;
  std::size_t count = 1;
  // Of dumps: the expression that --steps-from takes where a number in their names is not taken for the step without, else empty; and
  // the name of a recording that is not there yet.
  std::string steps_from{};
  std::string record_as{};
};

struct folder_content {
  std::vector<found_files> found;  // by kind, then by name
  bool all_seen = true;            // false: there are more files than were looked at
};

// Looks at the files in the folder itself, at thousands at most, and into the beginning of each; of folders within, not deep, at the names
// of TensorBoard's files. Names that begin with a point are left out. Reads texts whole that are not long, and never writes. Empty
// where the folder cannot be read.
[[nodiscard]] folder_content look_into(const std::string& folder);

}  // namespace ulp

#endif
