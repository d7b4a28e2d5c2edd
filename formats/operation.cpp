#include <ulp/formats/operation.hpp>

#include <algorithm>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 8> names{"add", "sub", "mul", "div", "sqrt", "fma", "rem", "convert"};
static_assert(names.size() == static_cast<std::size_t>(operation::convert) + 1);

// The last bit of a sum stands for all that is below: here that is marked.
unpacked marked_sum_of(const unpacked& x, const unpacked& y) {
  unpacked sum = detail::sum_of(x, y, false);
  sum.sticky = detail::is_finite(x) && detail::is_finite(y) && detail::is_finite(sum) && !detail::fits_128_bits(x, y);
  return sum;
}

}  // namespace

std::span<const std::string_view> operation_names() noexcept { return names; }

std::string_view to_string(operation op) noexcept { return names[static_cast<std::size_t>(op)]; }

std::optional<operation> parse_operation(std::string_view name) noexcept {
  if (name == "mulAdd") return operation::fma;
  const auto* const found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<operation>(found - names.begin());
}

encoded evaluate(operation op, const format& to, const format& from, const operand_codes& operands,
                 const rounding& mode, random_input random) noexcept {
  const unpacked x = decode(from, operands[0]);
  switch (op) {
    case operation::add: return add(to, x, decode(from, operands[1]), mode, random);
    case operation::sub: return sub(to, x, decode(from, operands[1]), mode, random);
    case operation::mul: return mul(to, x, decode(from, operands[1]), mode, random);
    case operation::div: return div(to, x, decode(from, operands[1]), mode, random);
    case operation::rem: return rem(to, x, decode(from, operands[1]), mode, random);
    case operation::fma: return fma(to, x, decode(from, operands[1]), decode(from, operands[2]), mode, random);
    case operation::sqrt: return sqrt(to, x, mode, random);
    case operation::convert: break;
  }
  return encode(to, x, mode, random);
}

unpacked exact_result(operation op, const format& from, const operand_codes& operands, bool daz) noexcept {
  std::array<unpacked, 3> x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = detail::as_operand(decode(from, operands[i]), daz);
  }
  switch (op) {
    case operation::add: return marked_sum_of(x[0], x[1]);
    case operation::sub: x[1].negative = !x[1].negative; return marked_sum_of(x[0], x[1]);
    case operation::mul: return detail::product_of(x[0], x[1]);
    case operation::div: return detail::quotient_of(x[0], x[1], binary64.precision());
    case operation::rem: return detail::remainder_of(x[0], x[1]);
    case operation::fma: return marked_sum_of(detail::product_to_add(x[0], x[1], x[2]), x[2]);
    case operation::sqrt:
      if (detail::has_no_root(x[0])) return detail::invalid_result;
      return detail::is_finite(x[0]) ? detail::exact_root(x[0], binary64.precision()) : x[0];
    case operation::convert: break;
  }
  return x[0];
}

}  // namespace ulp
