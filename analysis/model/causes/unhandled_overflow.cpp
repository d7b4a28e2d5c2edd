#include "evidence.hpp"

namespace ulp {

void examine_unhandled_overflow(const evidence& e, std::vector<cause>& found) {
  if (e.unhandled) found.emplace_back(*e.unhandled);
}

}  // namespace ulp
