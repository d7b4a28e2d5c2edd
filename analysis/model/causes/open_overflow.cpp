#include "evidence.hpp"

namespace ulp {

// What goes on down to scales below 1 is not open.
void examine_open_overflow(const evidence& e, std::vector<cause>& found) {
  const bool has_collapsed = std::ranges::any_of(found, [](const cause& c) {
    const auto* const collapsed = std::get_if<collapsed_scale>(&c);
    return collapsed != nullptr && !collapsed->is_alive;
  });
  if (e.open && !has_collapsed) found.emplace_back(*e.open);
}

}  // namespace ulp
