// Names of formats that differ by upper and lower case alone: "e4m3" and OCP's "E4M3".
#ifndef ULP_FORMATS_AMBIGUOUS_NAMES_HPP
#define ULP_FORMATS_AMBIGUOUS_NAMES_HPP

#include <string>
#include <string_view>

namespace ulp {

// Is called with OCP's entry of the catalogue and what note_on_name (names.hpp) says whenever parse_format reads such a
// name, from any thread.
using ambiguous_name_listener = void (*)(std::string_view entry, const std::string& note);

// For programs that tell their users; nullptr ends it.
void listen_for_ambiguous_names(ambiguous_name_listener tell) noexcept;

}  // namespace ulp

#endif
