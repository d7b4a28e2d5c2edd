// Values as people type them, and what somebody meant who typed a name that does not exist. What refuses a value throws
// std::invalid_argument whose text, one line, says what is wrong and names the option where it is given one.
#ifndef ULP_ASK_QUESTIONS_TYPED_VALUES_HPP
#define ULP_ASK_QUESTIONS_TYPED_VALUES_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/io/bytes/regex.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>
#include <ulp/model/machines/scaler.hpp>

namespace ulp {

[[nodiscard]] const scaler_entry& scaler_named(const std::string& name);
[[nodiscard]] const fp8_scaler_entry& fp8_scaler_named(const std::string& name);

[[nodiscard]] format format_named(const std::string& name);
// The same for a format that values are rounded to: not E8M0, whose codes are the scales of blocks.
[[nodiscard]] format value_format_named(const std::string& name);

// The names of a list that was split at commas: what contains '=' is an option of the name before it.
[[nodiscard]] std::vector<std::string> joined_names(const std::vector<std::string>& parts);

// "key=value" as its two parts.
[[nodiscard]] std::pair<std::string, std::string> key_and_value(const std::string& text, const std::string& option);

// A positive finite number, "2^15" too.
[[nodiscard]] double positive_number(const std::string& text, const std::string& option);

[[nodiscard]] regex regex_of(const std::string& text, const std::string& option);

// Of the names of formats those typed; else the one that a configuration says, a name of the catalogue; else, as where it
// says one of 32 bits or more, which asks nothing, the usual ones.
[[nodiscard]] std::vector<std::string> formats_in_question(const std::vector<std::string>& typed,
                                                           const std::optional<std::string>& said,
                                                           const std::vector<std::string>& usual);

// Those that the typed name may stand for: that begin with it or contain it, or are few letters away; the nearest first.
[[nodiscard]] std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names,
                                                  std::size_t most = 3);
// "; did you mean 'replay'?", or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace ulp

#endif
