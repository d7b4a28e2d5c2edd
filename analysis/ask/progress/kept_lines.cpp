#include <ulp/ask/progress/kept_lines.hpp>

namespace ulp {

void kept_lines::configured(const configuration& by) {
  for (const std::string& line : configuration_notes(by)) note(line);
}

}  // namespace ulp
