// Text of strangers: how it is printed in errors, and what names of tensors may be.
#ifndef ULP_IO_BYTES_TEXT_HPP
#define ULP_IO_BYTES_TEXT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// 'text' in quotes, printable, long texts cut.
[[nodiscard]] std::string in_quotes(std::string_view text);

// With U+FFFD for each byte that is in no UTF-8 sequence.
[[nodiscard]] std::string as_utf8(std::string_view text);

// The shortest decimal number that is read as x.
[[nodiscard]] std::string decimal_text(double x);

// "1 row", "12 rows".
[[nodiscard]] std::string count_text(std::uint64_t n, const std::string& what);

// "a, b, c and 12 more", printable.
[[nodiscard]] std::string joined(const std::vector<std::string>& items);

// Names go to terminals, CSV, JSON and regular expressions: throws input_error unless `name` is UTF-8 of at most 1024 bytes
// without characters that act on other text: controls, bidirectional controls, separators of lines. Invisible ones, like
// joiners, are letters' companions in some scripts: they are kept, and printed escaped.
void check_name(const std::string& file, const std::string& place, std::string_view name);

// Refuses what check_name refuses, in any text that is printed; `what` names it.
void check_text(const std::string& file, const std::string& place, const std::string& what, std::string_view text);

// By a leading "wgrad/", "agrad/", "weight/", "update/" or "activation/"; "__" stands for "/" in npz members.
[[nodiscard]] tensor_kind kind_of_name(std::string_view name) noexcept;
// The name without that, and its kind.
[[nodiscard]] std::pair<std::string_view, tensor_kind> without_prefix(std::string_view name) noexcept;

}  // namespace ulp::io

#endif
