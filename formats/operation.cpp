#include <ulp/formats/operation.hpp>

#include <algorithm>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 8> names{"add", "sub", "mul", "div", "sqrt", "fma", "rem", "convert"};

constexpr unpacked not_a_number{.kind = number_class::nan};

constexpr unpacked of_class(number_class kind, bool negative) { return {.kind = kind, .negative = negative}; }

unpacked sum_of(const unpacked& x, const unpacked& y) {
  if (detail::is_nan(x) || detail::is_nan(y)) return not_a_number;
  if (detail::is_infinite(x) && detail::is_infinite(y) && x.negative != y.negative) return not_a_number;
  if (detail::is_infinite(x) || detail::is_infinite(y)) return detail::is_infinite(x) ? x : y;
  if (detail::is_zero(x) && detail::is_zero(y)) return of_class(number_class::zero, x.negative && y.negative);
  if (detail::is_zero(x) || detail::is_zero(y)) return detail::is_zero(x) ? y : x;
  unpacked sum = detail::exact_sum<detail::uint128>(x, y, false);
  sum.sticky = !detail::is_zero(sum) && !detail::fits_128_bits(x, y);
  return sum;
}

unpacked product_of(const unpacked& x, const unpacked& y) {
  const bool negative = x.negative != y.negative;
  if (detail::is_nan(x) || detail::is_nan(y)) return not_a_number;
  const bool zero = detail::is_zero(x) || detail::is_zero(y);
  if (detail::is_infinite(x) || detail::is_infinite(y))
    return zero ? not_a_number : of_class(number_class::infinity, negative);
  return zero ? of_class(number_class::zero, negative) : detail::exact_product(x, y);
}

unpacked quotient_of(const unpacked& x, const unpacked& y) {
  const bool negative = x.negative != y.negative;
  if (detail::is_nan(x) || detail::is_nan(y) || (detail::is_infinite(x) && detail::is_infinite(y)) ||
      (detail::is_zero(x) && detail::is_zero(y)))
    return not_a_number;
  if (detail::is_infinite(x) || detail::is_zero(y)) return of_class(number_class::infinity, negative);
  if (detail::is_zero(x) || detail::is_infinite(y)) return of_class(number_class::zero, negative);
  unpacked quotient = detail::exact_quotient(x, y, binary64.precision());
  quotient.negative = negative;
  return quotient;
}

unpacked remainder_of(const unpacked& x, const unpacked& y) {
  if (detail::is_nan(x) || detail::is_nan(y) || detail::is_infinite(x) || detail::is_zero(y)) return not_a_number;
  return detail::is_zero(x) || detail::is_infinite(y) ? x : detail::exact_remainder(x, y);
}

unpacked root_of(const unpacked& x) {
  if (detail::is_nan(x) || detail::is_zero(x)) return x;
  if (x.negative) return not_a_number;
  return detail::is_infinite(x) ? x : detail::exact_root(x, binary64.precision());
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
    x[i] = decode(from, operands[i]);
    if (daz) x[i] = detail::without_subnormal(x[i]);
  }
  switch (op) {
    case operation::add: return sum_of(x[0], x[1]);
    case operation::sub: x[1].negative = !x[1].negative; return sum_of(x[0], x[1]);
    case operation::mul: return product_of(x[0], x[1]);
    case operation::div: return quotient_of(x[0], x[1]);
    case operation::rem: return remainder_of(x[0], x[1]);
    case operation::fma: return sum_of(product_of(x[0], x[1]), x[2]);
    case operation::sqrt: return root_of(x[0]);
    case operation::convert: break;
  }
  return x[0];
}

}  // namespace ulp
