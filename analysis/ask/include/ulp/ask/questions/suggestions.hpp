// What somebody meant who typed a name that does not exist.
#ifndef ULP_ASK_QUESTIONS_SUGGESTIONS_HPP
#define ULP_ASK_QUESTIONS_SUGGESTIONS_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// Those that the typed name may stand for: that begin with it or contain it, or are few letters away; the nearest first.
[[nodiscard]] std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names,
                                                  std::size_t most = 3);

// "; did you mean 'replay'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace ulp

#endif
