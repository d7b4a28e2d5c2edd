// The one error of everything that reads or writes.
#ifndef ULP_IO_BYTES_ERROR_HPP
#define ULP_IO_BYTES_ERROR_HPP

#include <stdexcept>
#include <string>

#include <ulp/io/bytes/printable.hpp>

namespace ulp {

// what() is one line, "FILE: PLACE: REASON": the file as given, the place inside it ("line 7", "tensor 'fc.weight'",
// "byte 120", "header"; left out when empty), and the reason with what to do about it. All three become printable.
class input_error : public std::runtime_error {
 public:
  input_error(const std::string& file, const std::string& place, const std::string& reason)
      : std::runtime_error(printable(file + ": " + (place.empty() ? "" : place + ": ") + reason)) {}
};

}  // namespace ulp

#endif
