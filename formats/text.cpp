#include <ulp/formats/text.hpp>

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <charconv>

namespace ulp {
namespace {

using boost::multiprecision::cpp_int;

// Beyond this binary exponent every format overflows, or rounds as it does half of its smallest number.
constexpr int exponent_limit = 20000;
constexpr int decimal_exponent_limit = 6000;  // 10^6000 > 2^19900

std::string lower(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

// |x| = numerator / denominator, both positive, to 64 leading bits.
unpacked from_ratio(bool negative, const cpp_int& numerator, const cpp_int& denominator) {
  unpacked x{.kind = number_class::finite, .negative = negative};
  // A quotient of at least 65 bits.
  const int shift = std::max(0, 66 - static_cast<int>(msb(numerator)) + static_cast<int>(msb(denominator)));
  cpp_int quotient;
  cpp_int remainder;
  divide_qr(cpp_int{numerator << shift}, denominator, quotient, remainder);
  const auto top = static_cast<int>(msb(quotient));
  const int below = top - 63;
  x.significand = static_cast<std::uint64_t>(quotient >> below);
  x.sticky = !remainder.is_zero() || lsb(quotient) < static_cast<unsigned>(below);
  x.exponent = top - shift;
  return x;
}

bool parse_integer(std::string_view text, long& value) {
  if (text.starts_with('+') && !text.substr(1).starts_with('-')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    value = text.starts_with('-') ? -1000000000L : 1000000000L;
    return true;
  }
  return error == std::errc{} && stop == end;
}

}  // namespace

std::optional<unpacked> parse_number(std::string_view text) {
  unpacked x;
  if (text.starts_with('-') || text.starts_with('+')) {
    x.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const std::string word = lower(text);
  if (word == "inf" || word == "infinity") {
    x.kind = number_class::infinity;
    return x;
  }
  if (word == "nan") {
    x.kind = number_class::nan;
    return x;
  }
  long exponent = 0;
  if (text.starts_with("2^")) {
    if (!parse_integer(text.substr(2), exponent)) return std::nullopt;
    x.kind = number_class::finite;
    x.exponent = static_cast<int>(std::clamp<long>(exponent, -exponent_limit, exponent_limit));
    x.significand = std::uint64_t{1} << 63;
    return x;
  }

  // digits [. digits] [e exponent]
  std::string digits;
  long point = 0;  // digits after the point
  bool after_point = false;
  std::size_t i = 0;
  bool any_digit = false;
  for (; i < word.size(); ++i) {
    if (word[i] == '.' && !after_point) {
      after_point = true;
    } else if (word[i] >= '0' && word[i] <= '9') {
      any_digit = true;
      if (!digits.empty() || word[i] != '0') digits += word[i];
      if (after_point) ++point;
    } else {
      break;
    }
  }
  if (!any_digit) return std::nullopt;
  if (i < word.size() && (word[i] != 'e' || !parse_integer(std::string_view{word}.substr(i + 1), exponent)))
    return std::nullopt;
  if (digits.empty()) return x;

  // 0.d1d2d3... * 10^magnitude decides whether the value is out of every format's range.
  const long magnitude = static_cast<long>(digits.size()) - point + exponent;
  if (magnitude > decimal_exponent_limit || magnitude < -decimal_exponent_limit) {
    x.kind = number_class::finite;
    x.exponent = magnitude > 0 ? exponent_limit : -exponent_limit;
    x.significand = std::uint64_t{1} << 63;
    x.sticky = true;
    return x;
  }
  const long power = exponent - point;
  const cpp_int scale = pow(cpp_int{10}, static_cast<unsigned>(std::abs(power)));
  const cpp_int integer{digits};
  return power >= 0 ? from_ratio(x.negative, integer * scale, 1) : from_ratio(x.negative, integer, scale);
}

std::string exact_decimal(const unpacked& x) {
  const std::string sign = x.negative ? "-" : "";
  switch (x.kind) {
    case number_class::zero: return sign + "0";
    case number_class::infinity: return sign + "inf";
    case number_class::nan: return "nan";
    case number_class::finite: break;
  }
  const int trailing = std::countr_zero(x.significand);
  const int exponent = x.exponent - 63 + trailing;  // of the odd integer below
  cpp_int integer{x.significand >> trailing};
  if (exponent >= 0) return sign + cpp_int{integer << exponent}.str();
  // n / 2^k = n 5^k / 10^k
  const auto places = static_cast<std::size_t>(-exponent);
  integer *= pow(cpp_int{5}, static_cast<unsigned>(places));
  std::string digits = integer.str();
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  return sign + digits.substr(0, digits.size() - places) + "." + digits.substr(digits.size() - places);
}

std::string shortest_decimal(const format& in, std::uint64_t code) {
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
    const auto y = parse_number(text);
    return y && encode(in, *y).code == (code & in.code_mask());
  };

  for (std::size_t n = 1; n < digits.size(); ++n) {
    // Rounded down and up to n digits, the nearer one first.
    const std::string down = digits.substr(0, n);
    std::string up = cpp_int{cpp_int{down} + 1}.str();
    const long up_magnitude = magnitude + static_cast<long>(up.size() - n);
    up.erase(up.find_last_not_of('0') + 1);
    const bool up_is_nearer = digits[n] >= '5';
    const std::string first = up_is_nearer ? written(up, up_magnitude) : written(down, magnitude);
    const std::string second = up_is_nearer ? written(down, magnitude) : written(up, up_magnitude);
    if (reads_back(first)) return first;
    if (reads_back(second)) return second;
  }
  return written(digits, magnitude);
}

}  // namespace ulp
