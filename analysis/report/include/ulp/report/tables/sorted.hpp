// The rows of a table in another order, and fewer of them.
#ifndef ULP_REPORT_TABLES_SORTED_HPP
#define ULP_REPORT_TABLES_SORTED_HPP

#include <cstdint>
#include <string>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

struct row_order {
  // A key of the table: the worst number first, which is the largest (of a range by its upper end), but of SQNR and cosine the least;
  // rows without one last, equal ones as they come. Empty: as they come.
  std::string sort;
  std::uint64_t top = 0;  // rows; 0: all
};

// Throws std::invalid_argument where no column has the key.
void check_order(const table& of, const row_order& order);

// Tells of rows that are left out. Throws std::invalid_argument where it cannot be sorted so.
void arrange(table& of, const row_order& order, listener& to);

}  // namespace ulp

#endif
