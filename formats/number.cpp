#include <istream>
#include <ostream>
#include <string>
#include <ulp/formats/number.hpp>
#include <ulp/formats/text.hpp>

namespace ulp::detail {

std::ostream& print(std::ostream& out, const format& in, std::uint64_t code) {
  return out << shortest_decimal(in, code);
}

std::istream& scan(std::istream& in, const format& to, std::uint64_t& code) {
  std::string word;
  if (!(in >> word)) return in;
  if (const auto x = parse_number(word))
    code = encode(to, *x, {.direction = default_direction(to)}).code;
  else
    in.setstate(std::ios::failbit);
  return in;
}

}  // namespace ulp::detail
