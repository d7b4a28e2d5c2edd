// A table of a run as a source, and as what --scalars names.
#ifndef ULP_IO_TABLE_TABLE_SOURCE_HPP
#define ULP_IO_TABLE_TABLE_SOURCE_HPP

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "run_table.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

// As source_options::columns has them, which are checked already.
[[nodiscard]] told_columns told_by(const source_options& options);

// Throws input_error where the table has no column that tells anything, or its rows cannot be of one run.
[[nodiscard]] std::unique_ptr<source> open_run_table(const run_table& table, const told_columns& told);

// By step; which columns were taken, and what was left out, goes into the notes.
[[nodiscard]] scalar_table scalars_of(const run_table& table, const told_columns& told,
                                      std::vector<std::string>& notes);

}  // namespace ulp::io

#endif
