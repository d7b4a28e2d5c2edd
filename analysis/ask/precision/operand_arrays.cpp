#include "precision/operand_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include <ulp/ask/questions/number_text.hpp>

namespace ulp {

std::size_t operand_array(const number_file& file, const std::string& name, const std::string& option,
                          std::size_t else_at) {
  const auto& arrays = file.arrays();
  if (name.empty()) {
    if (else_at < arrays.size() && arrays.size() <= 2) return else_at;
    throw std::invalid_argument(
        fmt::format("{}: holds {}; name one with {}", file.path(), count_text(arrays.size(), "array"), option));
  }
  const auto found = std::ranges::find(arrays, name, &number_array::name);
  if (found != arrays.end()) return static_cast<std::size_t>(found - arrays.begin());
  file.refuse_without_numbers(name);
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(arrays.size(), 8); ++i)
    names += (i == 0 ? "" : ", ") + arrays[i].name;
  throw std::invalid_argument(fmt::format("{} {}: {} has no array of this name; it has {}{}", option, name, file.path(),
                                          names.empty() ? "none" : names, arrays.size() > 8 ? " and others" : ""));
}

}  // namespace ulp
