// Which array of a dump an operand is.
#ifndef ULP_ASK_PRECISION_OPERAND_ARRAYS_HPP
#define ULP_ASK_PRECISION_OPERAND_ARRAYS_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include <ulp/io/inputs/number_file.hpp>

namespace ulp {

// Of operands and results together: what one command may hold in memory.
inline constexpr std::uint64_t most_elements = std::uint64_t{1} << 28;

// Its index, of the name that the option gives; where that is empty the one at `else_at`, of one or two. Throws
// std::invalid_argument, which names the arrays that there are.
[[nodiscard]] std::size_t operand_array(const number_file& file, const std::string& name, const std::string& option,
                                        std::size_t else_at);

}  // namespace ulp

#endif
