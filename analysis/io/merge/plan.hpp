// What a merge is going to do, found out from keys, ranks and headers alone: refused here, nothing has been written.
#ifndef ULP_IO_MERGE_PLAN_HPP
#define ULP_IO_MERGE_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <ulp/io/merge/merge.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp::io {

struct merge_part {
  std::string path;
  run_header header;
  std::size_t run = 0;  // those of one run have the same number; runs are numbered as the paths name them first
  bool empty = false;   // without steps
  step_key first;
  std::vector<std::uint32_t> first_ranks;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();  // steps from here on are left out
};

struct merge_plan {
  std::vector<merge_part> parts;  // in an order that does not depend on that of the paths
  run_header header;
  std::uint64_t rows = 0;
  std::vector<std::string> notes;
};

// Throws input_error.
[[nodiscard]] merge_plan plan_merge(const std::vector<std::string>& paths, const merge_options& options);

}  // namespace ulp::io

#endif
