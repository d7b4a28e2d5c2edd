#include "evidence.hpp"

namespace ulp {

// What goes on down to scales below 1 is not open.
void examine_open_overflow(const evidence& e, std::vector<cause>& found) {
  const auto has_it = [&](const cause& c) {
    const auto* const collapsed = std::get_if<collapsed_scale>(&c);
    return collapsed != nullptr && collapsed->dead == 0 && collapsed->lost.last >= e.open->lost.first;
  };
  if (e.open && !e.is_scale_dead && std::ranges::none_of(found, has_it)) found.emplace_back(*e.open);
}

}  // namespace ulp
