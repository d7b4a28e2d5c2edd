#include <utility>

#include "evidence.hpp"

namespace ulp {

void examine_recorded_wrongly(const evidence& e, std::vector<cause>& found) {
  if (std::string why = e.run.doubts().gravest(); !why.empty()) found.emplace_back(recorded_wrongly{std::move(why)});
}

}  // namespace ulp
