#ifndef ULP_IO_CONFIG_SHELL_ARITHMETIC_HPP
#define ULP_IO_CONFIG_SHELL_ARITHMETIC_HPP

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulp::io {

// The value of "$((2**12))" as bash has it: integers, + - * / % **, << >> and brackets. nullopt for anything else, and where it leaves
// 64 bits.
[[nodiscard]] std::optional<std::int64_t> constant_arithmetic(std::string_view word);

}  // namespace ulp::io

#endif
