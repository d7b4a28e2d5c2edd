// The rows of a table in another order, and fewer of them.
#ifndef ULP_REPORT_TABLES_SORTED_HPP
#define ULP_REPORT_TABLES_SORTED_HPP

#include <cstdint>
#include <string>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Throws std::invalid_argument where no column has the key.
void check_key(const table& of, const std::string& key);

// The largest number of this key first, of a range by its upper end; rows without one last; equal ones stay as they are.
// Throws std::invalid_argument where the column holds no numbers.
void sort_rows(table& of, const std::string& key);

// Leaves the first `most`, all where that is 0; returns how many are gone.
std::uint64_t cut_rows(table& of, std::uint64_t most);

}  // namespace ulp

#endif
