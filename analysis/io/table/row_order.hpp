// Tables whose rows stand in no order.
#ifndef ULP_IO_TABLE_ROW_ORDER_HPP
#define ULP_IO_TABLE_ROW_ORDER_HPP

#include "run_table.hpp"

namespace ulp::io {

// Sorts the rows by the step that they are of, with a note, where no step comes twice and they go back so often that no run which was
// started again does, or are sorted as text: 1, 10, 100, 2. Steps that all descend are left as they are.
void sort_shuffled(run_table& table);

}  // namespace ulp::io

#endif
