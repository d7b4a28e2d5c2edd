#include "scalar_table.hpp"

#include <algorithm>

namespace ulp::io {

const step_scalars* logged_at(const scalar_table& scalars, std::int64_t step) {
  const auto found = std::ranges::lower_bound(scalars, step, {}, &scalar_table::value_type::first);
  return found == scalars.end() || found->first != step ? nullptr : &found->second;
}

}  // namespace ulp::io
