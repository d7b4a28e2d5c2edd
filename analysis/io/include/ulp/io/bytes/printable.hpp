// Text of strangers - names in files, paths, values of keys - as it may go to a terminal, a page or a window.
#ifndef ULP_IO_BYTES_PRINTABLE_HPP
#define ULP_IO_BYTES_PRINTABLE_HPP

#include <string>
#include <string_view>

namespace ulp {

// The text on one line, of characters that are seen and stay where they are: controls (C0, DEL, C1) and bytes that are no
// UTF-8 become \xNN; line and paragraph separators, bidirectional controls, noncharacters and all that Unicode calls
// default ignorable (joiners, fillers, variation selectors, tags) become \u{NNNN}. Everything else stays, so that applying
// it twice changes nothing.
[[nodiscard]] std::string printable(std::string_view text);

// JSON text with the same characters as \uNNNN: the values are those of `json`, exactly. Line breaks between values stay.
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace ulp

#endif
