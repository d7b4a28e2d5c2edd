#include <ulp/formats/operation.hpp>

#include <algorithm>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/functions.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 24> names{
    "add",     "sub",     "mul",    "div",    "sqrt",      "fma",          "rem",      "convert",
    "mac",     "rint",    "eq",     "le",     "lt",        "eq_signaling", "le_quiet", "lt_quiet",
    "to_ui32", "to_ui64", "to_i32", "to_i64", "from_ui32", "from_ui64",    "from_i32", "from_i64"};
static_assert(names.size() == static_cast<std::size_t>(operation::from_i64) + 1);

// The last bit of a sum stands for all that is below: here that is marked.
unpacked marked_sum_of(const unpacked& x, const unpacked& y) {
  unpacked sum = detail::sum_of(x, y, false);
  sum.sticky = detail::is_finite(x) && detail::is_finite(y) && detail::is_finite(sum) && !detail::fits_128_bits(x, y);
  return sum;
}

template <class Int>
encoded integer_of(const format& from, std::uint64_t a, const rounding& mode, random_input random) {
  const auto rounded = to_integer<Int>(from, a, mode, random);
  return {static_cast<std::make_unsigned_t<Int>>(rounded.value), rounded.flags};
}

// The integer that a code of an operation from integers is, exactly.
unpacked value_of_integer(operation op, std::uint64_t code) {
  const integer_type type = integer_operand(op);
  if (type.bits == 32)
    code =
        type.has_sign ? static_cast<std::uint64_t>(static_cast<std::int32_t>(code)) : static_cast<std::uint32_t>(code);
  return type.has_sign ? detail::exact_integer(static_cast<std::int64_t>(code)) : detail::exact_integer(code);
}

bool holds(operation op, const comparison& c) {
  switch (op) {
    case operation::eq:
    case operation::eq_signaling: return c.order == 0;
    case operation::lt:
    case operation::lt_quiet: return c.order < 0;
    default: return c.order <= 0;
  }
}

encoded compare_codes(operation op, const format& in, const operand_codes& operands, bool daz) {
  const bool signaling = op == operation::eq_signaling || op == operation::le || op == operation::lt;
  const comparison c = signaling ? compare_signaling(in, operands[0], operands[1], daz)
                                 : compare_quiet(in, operands[0], operands[1], daz);
  return {holds(op, c) ? std::uint64_t{1} : 0, c.flags};
}

}  // namespace

std::span<const std::string_view> operation_names() noexcept { return names; }

std::string_view to_string(operation op) noexcept { return names[static_cast<std::size_t>(op)]; }

std::optional<operation> parse_operation(std::string_view name) noexcept {
  if (name == "mulAdd") return operation::fma;
  if (name == "roundToInt") return operation::rint;
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
    case operation::mac: return fma(to, x, decode(from, operands[1]), decode(to, operands[2]), mode, random);
    case operation::rint: return rint(to, operands[0], mode, random);
    case operation::eq:
    case operation::le:
    case operation::lt:
    case operation::eq_signaling:
    case operation::le_quiet:
    case operation::lt_quiet: return compare_codes(op, from, operands, mode.daz);
    case operation::to_ui32: return integer_of<std::uint32_t>(from, operands[0], mode, random);
    case operation::to_ui64: return integer_of<std::uint64_t>(from, operands[0], mode, random);
    case operation::to_i32: return integer_of<std::int32_t>(from, operands[0], mode, random);
    case operation::to_i64: return integer_of<std::int64_t>(from, operands[0], mode, random);
    case operation::from_ui32:
    case operation::from_ui64:
    case operation::from_i32:
    case operation::from_i64: return encode(to, value_of_integer(op, operands[0]), mode, random);
    case operation::convert: break;
  }
  return encode(to, x, mode, random);
}

unpacked exact_result(operation op, const format& to, const format& from, const operand_codes& operands,
                      bool daz) noexcept {
  if (integer_operand(op).bits != 0) return value_of_integer(op, operands[0]);
  std::array<unpacked, 3> x;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = detail::as_operand(decode(operand_format(op, to, from, static_cast<int>(i)), operands[i]), daz);
  switch (op) {
    case operation::add: return marked_sum_of(x[0], x[1]);
    case operation::sub: x[1].negative = !x[1].negative; return marked_sum_of(x[0], x[1]);
    case operation::mul: return detail::product_of(x[0], x[1]);
    case operation::div: return detail::quotient_of(x[0], x[1], binary64.precision());
    case operation::rem: return detail::remainder_of(x[0], x[1]);
    case operation::fma:
    case operation::mac: return marked_sum_of(detail::product_to_add(x[0], x[1], x[2]), x[2]);
    case operation::eq:
    case operation::le:
    case operation::lt:
    case operation::eq_signaling:
    case operation::le_quiet:
    case operation::lt_quiet: x[1].negative = !x[1].negative; return marked_sum_of(x[0], x[1]);
    case operation::sqrt:
      if (detail::has_no_root(x[0])) return detail::invalid_result;
      return detail::is_finite(x[0]) ? detail::exact_root(x[0], binary64.precision()) : x[0];
    default: break;
  }
  return x[0];
}

}  // namespace ulp
