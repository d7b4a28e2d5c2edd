#include "configured_formats.hpp"

#include <ulp/ask/questions/typed_values.hpp>

namespace ulp {

std::vector<std::string> formats_in_question(const std::vector<std::string>& typed,
                                             const std::optional<std::string>& said,
                                             const std::vector<std::string>& usual) {
  if (!typed.empty()) return typed;
  if (said && format_named(*said).width() < 32) return {*said};
  return usual;
}

}  // namespace ulp
