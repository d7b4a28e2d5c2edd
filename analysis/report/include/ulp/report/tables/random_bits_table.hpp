// The tables of `ulp precision random-bits`.
#ifndef ULP_REPORT_TABLES_RANDOM_BITS_TABLE_HPP
#define ULP_REPORT_TABLES_RANDOM_BITS_TABLE_HPP

#include <ulp/ask/precision/random_bits_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// For each format and number of bits a row.
[[nodiscard]] table random_bits_table(const random_bits_answer& answer);

// For each format and tensor a row with the fewest bits.
[[nodiscard]] table random_bits_by_tensor(const random_bits_answer& answer);

}  // namespace ulp

#endif
