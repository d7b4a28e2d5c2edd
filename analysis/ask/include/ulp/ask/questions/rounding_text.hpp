// A rounding as it is typed.
#ifndef ULP_ASK_QUESTIONS_ROUNDING_TEXT_HPP
#define ULP_ASK_QUESTIONS_ROUNDING_TEXT_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/questions/text_option.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/formats/treatment.hpp>

namespace ulp {

struct rounding_text {
  std::string direction;  // a name or a preset; empty: the format's own
  bool saturate = false;
  bool saturate_finite = false;  // where saturate is not set
  bool daz = false;
  std::string flush;  // before, after, result; empty: never
  std::string tininess = "after";
  std::uint64_t seed = 0;

  // For results in that format. Throws std::invalid_argument.
  [[nodiscard]] rounding value(const format& to) const;
  // Whether any of them was asked for.
  [[nodiscard]] bool given() const { return *this != rounding_text{}; }
  // Whether the direction is that of some hardware's conversion.
  [[nodiscard]] bool is_preset() const;
  // It in words: "nearest-even", "nvidia (stochastic:A,bits=13)".
  [[nodiscard]] std::string text(const format& to) const;
  // What is not the direction, after a comma each: ", saturating, daz". Never throws: texts that mean nothing are left out.
  [[nodiscard]] std::string switches() const;
  friend bool operator==(const rounding_text&, const rounding_text&) = default;
};

// What is done to values, and how it was typed.
struct typed_treatment {
  std::string format_name;
  treatment how;
  std::string rounding_name;  // of the direction; where none was typed, in words

  [[nodiscard]] bool is_drawn() const { return how.rounding.direction == direction::stochastic; }
};
// Throws std::invalid_argument.
[[nodiscard]] typed_treatment treatment_of(const std::string& format_name, const rounding_text& rounding);

// The first is the direction.
[[nodiscard]] std::vector<text_option> options_of(rounding_text& text);

}  // namespace ulp

#endif
