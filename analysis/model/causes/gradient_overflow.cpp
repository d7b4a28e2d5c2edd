#include "evidence.hpp"

namespace ulp {

void examine_gradient_overflow(const evidence& e, std::vector<cause>& found) {
  if (e.handled.places > 0) found.emplace_back(e.handled);
}

}  // namespace ulp
