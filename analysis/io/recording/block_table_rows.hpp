// The rows of `extra` that hold block tables, step by step.
#ifndef ULP_IO_RECORDING_BLOCK_TABLE_ROWS_HPP
#define ULP_IO_RECORDING_BLOCK_TABLE_ROWS_HPP

#include <optional>
#include <vector>

#include <ulp/model/cells/step.hpp>

#include "database/sqlite.hpp"

namespace ulp::io {

class block_table_rows {
 public:
  // Of a recording without any it has none. The database must outlive it.
  explicit block_table_rows(const database& db);

  // Gives each tensor of the step its tables, or none. Throws payload_error, input_error.
  void read(step& into, const std::vector<tensor_info>& tensors);

 private:
  const database& db_;
  std::optional<statement> rows_;
};

}  // namespace ulp::io

#endif
