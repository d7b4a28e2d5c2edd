// The dialects of training logs that are read: here, and as rows of data in layouts.cpp. The row of NAME is made by
// NAME_dialect() in NAME.cpp (own_epochs beside own_lines), whose head says where the layouts are printed. Where several have a record that begins at a
// place, the first that can read it does: frameworks before the rows of data, the numbers of scripts last.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_ROWS_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_ROWS_HPP

#include "record.hpp"

// clang-format off
#define ULP_LOG_DIALECTS(ROW) \
  ROW(megatron) \
  ROW(deepspeed) \
  ROW(apex) \
  ROW(fairseq) \
  ROW(colossal) \
  ROW(trainer) \
  ROW(metered_bar) \
  ROW(bar) \
  ROW(own_lines) \
  ROW(own_epochs) \
  ROW(script)
// clang-format on

namespace ulp::io {

#define ULP_DECLARE_DIALECT(NAME) [[nodiscard]] log_dialect NAME##_dialect();
ULP_LOG_DIALECTS(ULP_DECLARE_DIALECT)
#undef ULP_DECLARE_DIALECT

}  // namespace ulp::io

#endif
