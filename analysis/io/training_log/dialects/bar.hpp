// Progress bars of tqdm: "378/2724 [13:58:09<86:18:35, 132.44s/it]" (tqdm/tqdm tqdm/std.py, format_meter).
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_BAR_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_BAR_HPP

#include <optional>

#include "record.hpp"

namespace ulp::io {

struct progress_bar {
  std::int64_t number = 0;
  std::int64_t length = 0;
  std::size_t begin = 0;  // of the number
};
// The bar of which a "<" ends at the offset.
[[nodiscard]] std::optional<progress_bar> bar_before(const record_text& text, std::size_t at);

}  // namespace ulp::io

#endif
