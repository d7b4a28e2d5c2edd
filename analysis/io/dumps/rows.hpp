// The dumps that are read, in the order in which a file's first bytes are compared with them: here and nowhere else. The row
// of NAME is made by NAME_kind() in NAME.cpp.
#ifndef ULP_IO_DUMPS_ROWS_HPP
#define ULP_IO_DUMPS_ROWS_HPP

#include "inputs/file_kind.hpp"

// clang-format off
#define ULP_DUMPS(ROW) \
  ROW(npy) \
  ROW(pt) \
  ROW(npz) \
  ROW(safetensors)
// clang-format on

namespace ulp::io {

#define ULP_DECLARE_KIND(NAME) [[nodiscard]] file_kind NAME##_kind();
ULP_DUMPS(ULP_DECLARE_KIND)
#undef ULP_DECLARE_KIND

}  // namespace ulp::io

#endif
