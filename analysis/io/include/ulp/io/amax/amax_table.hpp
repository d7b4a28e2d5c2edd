// Largest magnitudes (amax) of tensors, step by step, with nothing else known of them: a table with the columns step, tensor and
// amax, in any order, others being passed over, and parted by commas, semicolons or tabs; lines before the header that begin with #
// are passed over, too. Without these names, others that people give them count (iteration, name, absmax, ...), where one column
// alone has one.
// Numbers are decimal or as C prints them in hexadecimal (0x1.8p+1), inf or nan; they are rounded to float32.
#ifndef ULP_IO_AMAX_AMAX_TABLE_HPP
#define ULP_IO_AMAX_AMAX_TABLE_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ulp/io/amax/amax_row.hpp>
#include <ulp/io/bytes/limits.hpp>

namespace ulp {

// Read row by row: the steps of each tensor ascend, tensors may take turns in any way. Throws input_error.
class amax_table {
 public:
  // "-" is standard input. nullptr where the text is no such table: its header lacks one of the columns. `told`: see parse_columns;
  // of the meanings step, key (the tensor) and value (its amax).
  [[nodiscard]] static std::unique_ptr<amax_table> open(
      const std::string& path, const read_limits& limits = {},
      const std::vector<std::pair<std::string, std::string>>& told = {});
  ~amax_table();
  amax_table(const amax_table&) = delete;
  amax_table& operator=(const amax_table&) = delete;

  // The next row; false at the end.
  [[nodiscard]] bool next(amax_row& into);

 private:
  struct reading;
  explicit amax_table(std::unique_ptr<reading> from);
  std::unique_ptr<reading> from_;
};

}  // namespace ulp

#endif
