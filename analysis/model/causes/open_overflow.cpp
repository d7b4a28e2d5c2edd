#include "evidence.hpp"

namespace ulp {

void examine_open_overflow(const evidence& e, std::vector<cause>& found) {
  if (e.open) found.emplace_back(*e.open);
}

}  // namespace ulp
