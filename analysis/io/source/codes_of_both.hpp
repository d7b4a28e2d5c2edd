// The code histogram of two rows of one tensor together.
#ifndef ULP_IO_SOURCE_CODES_OF_BOTH_HPP
#define ULP_IO_SOURCE_CODES_OF_BOTH_HPP

#include <algorithm>
#include <iterator>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Empty where one does not have it.
[[nodiscard]] inline std::vector<code_count> codes_of_both(const tensor_row& a, const tensor_row& b) {
  if (a.table.numel == 0) return b.codes;
  if (b.table.numel == 0) return a.codes;
  std::vector<code_count> all;
  if (a.codes.empty() || b.codes.empty()) return all;
  std::ranges::merge(a.codes, b.codes, std::back_inserter(all), {}, &code_count::code, &code_count::code);
  std::vector<code_count> sums;
  for (const code_count& c : all)
    if (!sums.empty() && sums.back().code == c.code)
      sums.back().count += c.count;
    else
      sums.push_back(c);
  return sums;
}

}  // namespace ulp::io

#endif
