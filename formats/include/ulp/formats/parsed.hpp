// The result of parsing user input.
#ifndef ULP_FORMATS_PARSED_HPP
#define ULP_FORMATS_PARSED_HPP

#include <optional>
#include <string>

namespace ulp {

// A value, or in words what is wrong with the text it should have come from.
template <class T>
struct parsed {
  std::optional<T> value;
  std::string error;  // one line without a full stop, empty where there is a value
};

}  // namespace ulp

#endif
