// Codes and values as they are printed to people.
#ifndef ULP_CLI_NUMBER_TEXT_HPP
#define ULP_CLI_NUMBER_TEXT_HPP

#include <cstdint>
#include <string>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>

namespace ulp::cli {

// "0x3C01", padded to the format's width.
[[nodiscard]] std::string hex(const format& f, std::uint64_t code);

// The exact decimal where it fits a line beside other things; of longer ones the first digits and how many there are.
[[nodiscard]] std::string decimal_on_screen(const unpacked& x);

}  // namespace ulp::cli

#endif
