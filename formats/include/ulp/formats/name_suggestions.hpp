// The nearest known names to an unknown one.
#ifndef ULP_FORMATS_NAME_SUGGESTIONS_HPP
#define ULP_FORMATS_NAME_SUGGESTIONS_HPP

#include <cstddef>
#include <span>
#include <string_view>

namespace ulp {

// Levenshtein distance: the fewest insertions, deletions and substitutions that make one text the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate of the least distance, of equals the first; upper and lower case, '-' and '_' count as the same. Empty
// where there are none.
[[nodiscard]] std::string_view nearest_name(std::string_view typed, std::span<const std::string_view> candidates);

}  // namespace ulp

#endif
