#include <ulp/formats/text.hpp>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>

#include <ulp/formats/catalog.hpp>

namespace ulp {
namespace {

using boost::multiprecision::cpp_int;

// Beyond this binary exponent every format overflows, or rounds as it does half of its smallest number.
constexpr int exponent_limit = 20000;
constexpr int decimal_exponent_limit = 6000;  // 10^6000 > 2^19900

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

// |x| = numerator / denominator, both positive, to 128 leading bits.
unpacked from_ratio(bool negative, const cpp_int& numerator, const cpp_int& denominator) {
  unpacked x{.kind = number_class::finite, .negative = negative};
  // A quotient of at least 129 bits.
  const int shift = std::max(0, 130 - static_cast<int>(msb(numerator)) + static_cast<int>(msb(denominator)));
  cpp_int quotient;
  cpp_int remainder;
  divide_qr(cpp_int{numerator << shift}, denominator, quotient, remainder);
  const auto top = static_cast<int>(msb(quotient));
  const int below = top - 127;
  x.significand = static_cast<std::uint64_t>(quotient >> (below + 64));
  x.low = static_cast<std::uint64_t>((quotient >> below) & ~std::uint64_t{0});
  x.sticky = !remainder.is_zero() || lsb(quotient) < static_cast<unsigned>(below);
  x.exponent = top - shift;
  return x;
}

// Stands for what is beyond every format.
unpacked out_of_range(bool negative, bool large) {
  return {.kind = number_class::finite,
          .negative = negative,
          .sticky = true,
          .exponent = large ? exponent_limit : -exponent_limit,
          .significand = std::uint64_t{1} << 63};
}

bool parse_integer(std::string_view text, long& value) {
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || (error != std::errc{} && error != std::errc::result_out_of_range)) return false;
  // Far beyond every exponent, and far from where adding to it overflows.
  constexpr long limit = 1000000000;
  if (error == std::errc::result_out_of_range) value = text.starts_with('-') ? -limit : limit;
  value = std::clamp(value, -limit, limit);
  return true;
}

// digits [. digits] at the start of a text.
struct digits_read {
  std::string digits;     // without leading zeros and without the point
  long after_point = 0;   // how many of them, leading zeros counted
  bool any = false;       // a digit, zeros counted
  std::string_view rest;  // of the text
};

template <class IsDigit>
digits_read read_digits(std::string_view text, IsDigit is_digit) {
  digits_read r;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '.' && !point) {
      point = true;
    } else if (is_digit(text[i])) {
      r.any = true;
      if (!r.digits.empty() || text[i] != '0') r.digits += text[i];
      if (point) ++r.after_point;
    } else {
      break;
    }
  }
  r.rest = text.substr(i);
  return r;
}

// integer * 2^exponent.
unpacked from_power(bool negative, const cpp_int& integer, long exponent) {
  const long top = static_cast<long>(msb(integer)) + exponent;
  if (top > exponent_limit || top < -exponent_limit) return out_of_range(negative, top > 0);
  unpacked x = from_ratio(negative, integer, 1);
  x.exponent = static_cast<int>(top);
  return x;
}

// "1.8p-3", what follows 0x.
std::optional<unpacked> parse_hexadecimal(bool negative, std::string_view text) {
  const digits_read r = read_digits(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  long exponent = 0;
  if (!r.any || !r.rest.starts_with('p') || !parse_integer(r.rest.substr(1), exponent)) return std::nullopt;
  if (r.digits.empty()) return unpacked{.negative = negative};
  return from_power(negative, cpp_int{"0x" + r.digits}, exponent - 4 * r.after_point);
}

// "1.0101b*2^-14"; nullopt also for decimals.
std::optional<unpacked> parse_binary(bool negative, std::string_view text) {
  const digits_read r = read_digits(text, [](char c) { return c == '0' || c == '1'; });
  long exponent = 0;
  if (!r.any || !r.rest.starts_with('b')) return std::nullopt;
  const std::string_view factor = r.rest.substr(1);
  if (!factor.empty() && (!factor.starts_with("*2^") || !parse_integer(factor.substr(3), exponent)))
    return std::nullopt;
  if (r.digits.empty()) return unpacked{.negative = negative};
  std::string digits((4 - r.digits.size() % 4) % 4, '0');
  digits += r.digits;
  std::string hexadecimal_digits = "0x";
  for (std::size_t i = 0; i < digits.size(); i += 4)
    hexadecimal_digits += "0123456789abcdef"[(digits[i] - '0') * 8 + (digits[i + 1] - '0') * 4 +
                                             (digits[i + 2] - '0') * 2 + (digits[i + 3] - '0')];
  return from_power(negative, cpp_int{hexadecimal_digits}, exponent - r.after_point);
}

std::optional<unpacked> parse_decimal(bool negative, std::string_view text) {
  const digits_read r = read_digits(text, [](char c) { return c >= '0' && c <= '9'; });
  long exponent = 0;
  if (!r.any) return std::nullopt;
  if (!r.rest.empty() && (r.rest.front() != 'e' || !parse_integer(r.rest.substr(1), exponent))) return std::nullopt;
  if (r.digits.empty()) return unpacked{.negative = negative};
  // 0.d1d2d3... * 10^magnitude decides whether the value is out of every format's range.
  const long magnitude = static_cast<long>(r.digits.size()) - r.after_point + exponent;
  if (magnitude > decimal_exponent_limit || magnitude < -decimal_exponent_limit)
    return out_of_range(negative, magnitude > 0);
  const long power = exponent - r.after_point;
  const cpp_int scale = pow(cpp_int{10}, static_cast<unsigned>(std::abs(power)));
  const cpp_int integer{r.digits};
  return power >= 0 ? from_ratio(negative, integer * scale, 1) : from_ratio(negative, integer, scale);
}

// The text of what is no finite number; empty for those.
std::string special_text(const unpacked& x) {
  switch (x.kind) {
    case number_class::infinity: return x.negative ? "-inf" : "inf";
    case number_class::nan: return "nan";
    case number_class::zero:
    case number_class::finite: break;
  }
  return "";
}

// The digits of x after its first bit, `bits` in each (1 or 4), without trailing zeros.
std::string fraction_digits(const unpacked& x, int bits) {
  std::uint64_t high = (x.significand << 1) | (x.low >> 63);
  std::uint64_t low = x.low << 1;
  std::string digits;
  while ((high | low) != 0) {
    digits += "0123456789abcdef"[high >> (64 - bits)];
    high = (high << bits) | (low >> (64 - bits));
    low <<= bits;
  }
  return digits;
}

}  // namespace

std::optional<unpacked> parse_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::string word = lower_case(text);
  const std::string_view view = word;
  if (view == "inf" || view == "infinity") return unpacked{.kind = number_class::infinity, .negative = negative};
  if (view == "nan") return unpacked{.kind = number_class::nan, .negative = negative};
  if (view.starts_with("2^")) {
    long exponent = 0;
    if (!parse_integer(view.substr(2), exponent)) return std::nullopt;
    return from_power(negative, 1, exponent);
  }
  if (view.starts_with("0x")) return parse_hexadecimal(negative, view.substr(2));
  if (view.find('b') != std::string_view::npos) return parse_binary(negative, view);
  return parse_decimal(negative, view);
}

std::optional<encoded> parse(const format& to, std::string_view text, const rounding& mode, random_input random) {
  const auto x = parse_number(text);
  if (!x) return std::nullopt;
  return encode(to, *x, mode, random);
}

std::optional<encoded> parse(const format& to, std::string_view text) {
  return parse(to, text, {.direction = default_direction(to)});
}

std::string hexadecimal(const unpacked& x) {
  if (const std::string special = special_text(x); !special.empty()) return special;
  const std::string sign = x.negative ? "-" : "";
  if (x.kind == number_class::zero) return sign + "0x0p+0";
  const std::string digits = fraction_digits(x, 4);
  return sign + "0x1" + (digits.empty() ? "" : "." + digits) + (x.exponent < 0 ? "p" : "p+") +
         std::to_string(x.exponent);
}

std::string binary_scientific(const unpacked& x) {
  if (const std::string special = special_text(x); !special.empty()) return special;
  const std::string sign = x.negative ? "-" : "";
  if (x.kind == number_class::zero) return sign + "0.0b";
  const std::string digits = fraction_digits(x, 1);
  return sign + "1." + (digits.empty() ? "0" : digits) + "b*2^" + std::to_string(x.exponent);
}

std::string exact_decimal(const unpacked& x) {
  if (const std::string special = special_text(x); !special.empty()) return special;
  const std::string sign = x.negative ? "-" : "";
  if (x.kind == number_class::zero) return sign + "0";
  const int trailing = x.low != 0 ? std::countr_zero(x.low) : 64 + std::countr_zero(x.significand);
  const int exponent = x.exponent - 127 + trailing;  // of the odd integer below
  cpp_int integer = ((cpp_int{x.significand} << 64) | x.low) >> trailing;
  if (exponent >= 0) return sign + cpp_int{integer << exponent}.str();
  // n / 2^k = n 5^k / 10^k
  const auto places = static_cast<std::size_t>(-exponent);
  integer *= pow(cpp_int{5}, static_cast<unsigned>(places));
  std::string digits = integer.str();
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  return sign + digits.substr(0, digits.size() - places) + "." + digits.substr(digits.size() - places);
}

std::string shortest_decimal(const format& of_numbers, code of) {
  const std::uint64_t code = of;
  format in = of_numbers;
  in.withheld = 0;  // results end there, numbers do not
  const unpacked x = decode(in, code);
  const std::string exact = exact_decimal(x);
  if (x.kind != number_class::finite) return exact;

  // The exact digits d1d2d3... with the value 0.d1d2d3... * 10^magnitude.
  const bool negative = exact.front() == '-';
  std::string digits;
  long magnitude = 0;
  bool after_point = false;
  for (const char c : std::string_view{exact}.substr(negative ? 1 : 0)) {
    if (c == '.') {
      after_point = true;
    } else if (digits.empty() && c == '0') {
      if (after_point) --magnitude;
    } else {
      digits += c;
      if (!after_point) ++magnitude;
    }
  }
  const auto written = [&](const std::string& d, long m) {
    const std::string sign = negative ? "-" : "";
    const auto n = static_cast<long>(d.size());
    if (m > 16 || m < -3) return sign + d[0] + (n > 1 ? "." + d.substr(1) : "") + "e" + std::to_string(m - 1);
    if (m <= 0) return sign + "0." + std::string(static_cast<std::size_t>(-m), '0') + d;
    if (n <= m) return sign + d + std::string(static_cast<std::size_t>(m - n), '0');
    return sign + d.substr(0, static_cast<std::size_t>(m)) + "." + d.substr(static_cast<std::size_t>(m));
  };
  const auto reads_back = [&](const std::string& text) {
    const auto read = parse(in, text);
    return read && read->code == (code & in.code_mask()) && !any(read->flags, status::overflow);
  };

  for (std::size_t n = 1; n < digits.size(); ++n) {
    // Rounded down and up to n digits, the nearer one first; of two equally near ones that with an even last digit.
    const std::string down = digits.substr(0, n);
    std::string up = cpp_int{cpp_int{down} + 1}.str();
    const long up_magnitude = magnitude + static_cast<long>(up.size() - n);
    up.erase(up.find_last_not_of('0') + 1);
    const bool tie = digits[n] == '5' && n + 1 == digits.size();
    const bool up_is_nearer = tie ? (down.back() - '0') % 2 != 0 : digits[n] >= '5';
    const std::string first = up_is_nearer ? written(up, up_magnitude) : written(down, magnitude);
    const std::string second = up_is_nearer ? written(down, magnitude) : written(up, up_magnitude);
    if (reads_back(first)) return first;
    if (reads_back(second)) return second;
  }
  return written(digits, magnitude);
}

}  // namespace ulp
