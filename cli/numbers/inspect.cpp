// ulp inspect: one number of a format, drawn.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <span>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include "command.hpp"
#include "number_text.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct inspect_arguments {
  std::string value;
  std::string format_name;
  rounding_text rounding;
  bool json = false;
};

std::uint64_t parse_code(const std::string& text, const format& f, const std::string& name) {
  std::uint64_t code = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 2, end, code, 16);
  if (error != std::errc{} || stop != end || text.size() == 2)
    throw usage_error(fmt::format("'{}' is not a hexadecimal code", text));
  if ((code & ~f.code_mask()) != 0)
    throw usage_error(fmt::format("{} does not fit the {} bits of {}", text, f.width(), name));
  return code;
}

std::string class_of(const unpacked& x) {
  switch (x.kind) {
    case number_class::zero: return "zero";
    case number_class::infinity: return "infinity";
    case number_class::nan: return x.signaling ? "signaling NaN" : "NaN";
    case number_class::finite: break;
  }
  return x.subnormal ? "subnormal" : "normal";
}

// result - given in units in the last place of the result's binade; NaN where one of them is not finite.
double error_in_ulp(const format& f, const unpacked& given, const unpacked& result) {
  // Far beyond the range the error says nothing.
  if (given.kind != number_class::finite || given.exponent > f.emax() + 1) return not_known;
  if (result.kind != number_class::finite && result.kind != number_class::zero) return not_known;
  const int unit = ulp_exponent(f, result.kind == number_class::finite ? result : given);
  const auto in_units = [&](const unpacked& x) {
    if (x.kind == number_class::zero) return 0.0L;
    return std::ldexp(static_cast<long double>(x.significand), x.exponent - 63 - unit);
  };
  return static_cast<double>(in_units(result) - in_units(given)) * (given.negative ? -1 : 1);
}

std::string error_text(double error, bool inexact) {
  if (!inexact) return "none";
  return std::abs(error) < 1e-6 ? "less than a millionth of an ulp" : fmt::format("{:+.4g} ulp", error);
}

// One field of a code: its bits from the highest to the lowest, and what they mean.
struct field {
  std::string name;
  int highest;
  int lowest;
  std::string meaning;
};

std::string meaning_of_exponent(const format& f, const unpacked& x, int biased) {
  switch (x.kind) {
    case number_class::zero: return "zero";
    case number_class::infinity: return "infinity";
    case number_class::nan:
      if (f.nan_is_negative_zero()) return "NaN, in place of -0";
      if (f.top == specials::nan_all_ones && f.fraction_bits > 0) return "NaN, all ones";
      return "NaN";
    case number_class::finite: break;
  }
  if (x.subnormal) return fmt::format("2^{}, subnormal", f.emin());
  return fmt::format("2^({}-{}) = 2^{}", biased, f.bias, biased - f.bias);
}

std::string meaning_of_fraction(const format& f, const unpacked& x, std::uint64_t fraction) {
  if (x.kind == number_class::finite)
    return fmt::format("{} + {}/{}", x.subnormal ? 0 : 1, fraction, std::uint64_t{1} << f.fraction_bits);
  if (x.kind != number_class::nan || f.top != specials::ieee) return "";
  return fmt::format("{}, payload 0x{:X}", x.signaling ? "signaling" : "quiet", fraction & ~f.quiet_bit());
}

std::vector<field> fields_of(const format& f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  std::vector<field> fields;
  const bool signless = !f.has_negative_zero() && x.kind == number_class::nan;  // the sign is part of that code
  if (f.has_sign)
    fields.push_back({"sign", f.width() - 1, f.width() - 1, signless ? "" : (code & f.sign_mask()) != 0 ? "-" : "+"});
  const auto biased = static_cast<int>((code >> f.fraction_bits) & f.exponent_field_mask());
  fields.push_back(
      {"exponent", f.fraction_bits + f.exponent_bits - 1, f.fraction_bits, meaning_of_exponent(f, x, biased)});
  if (f.fraction_bits > 0)
    fields.push_back({"fraction", f.fraction_bits - 1, 0, meaning_of_fraction(f, x, code & f.fraction_mask())});
  return fields;
}

std::string bits_of(const field& part, std::uint64_t code) {
  const int width = part.highest - part.lowest + 1;
  return fmt::format("{:0{}b}", (code >> part.lowest) & ((std::uint64_t{1} << width) - 1), width);
}

// The code, its fields apart.
std::string bits_by_field(const format& f, std::uint64_t code) {
  std::string text;
  for (const field& part : fields_of(f, code)) text += (text.empty() ? "" : " ") + bits_of(part, code);
  return text;
}

// The fields side by side: name and bit numbers, bits, meaning.
void print_fields(const format& f, std::uint64_t code) {
  std::array<std::string, 3> lines;
  for (const field& part : fields_of(f, code)) {
    const std::string place = part.highest == part.lowest ? fmt::format("[{}]", part.highest)
                                                          : fmt::format("[{}:{}]", part.highest, part.lowest);
    const std::array<std::string, 3> column{part.name + " " + place, bits_of(part, code), part.meaning};
    std::size_t width = 0;
    for (const std::string& text : column) width = std::max(width, text.size());
    for (std::size_t i = 0; i < lines.size(); ++i)
      lines[i] += fmt::format("{}{:<{}}", lines[i].empty() ? "  " : " | ", column[i], width);
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

// "0x3C02  0.501953125"; what there is instead where `code` is the last number.
std::string neighbour(const format& f, std::uint64_t code, std::uint64_t of, const char* last) {
  if (code == of) return fmt::format("none, this is the {}", last);
  return fmt::format("{}  {}", hex(f, code), decimal_on_screen(decode(f, code)));
}

std::string random_text(const rounding& mode, const std::vector<std::uint32_t>& words, int bits, std::uint64_t seed) {
  if (mode.random_bits != exact_probability)
    return fmt::format("R = {} of 0..{} (seed {})", words.front(), (std::uint64_t{1} << bits) - 1, seed);
  if (bits == 0) return "not needed: nothing is discarded";
  return fmt::format("{} bits (seed {})", bits, seed);
}

// How a number was rounded.
struct rounded {
  encoded result;
  std::string random;  // the random bits in words, empty where there are none
};

rounded round(const format& f, const unpacked& given, const inspect_arguments& o) {
  const rounding mode = o.rounding.value(f);
  if (mode.direction != direction::stochastic) return {encode(f, given, mode), ""};
  std::vector<std::uint32_t> words;
  int bits = mode.random_bits;
  if (bits != exact_probability) {
    words.push_back(random_bits(o.rounding.seed, 0, 0, bits));
    return {encode(f, given, mode, words.front()), random_text(mode, words, bits, o.rounding.seed)};
  }
  if (given.sticky)
    throw usage_error(fmt::format(
        "'{}' does not end within 128 bits: there are no random bits for all that is discarded; see bits=1..32",
        o.value));
  bits = discarded_bits(f, given);
  for (int i = 0; 32 * i < bits; ++i)
    words.push_back(random_word(o.rounding.seed, 0, 0, static_cast<std::uint64_t>(i)));
  return {encode(f, given, mode, random_input{std::span<const std::uint32_t>{words}}),
          random_text(mode, words, bits, o.rounding.seed)};
}

int run(const inspect_arguments& o) {
  const format f = format_named(o.format_name);
  (void)o.rounding.value(f);  // is wrong or right also where nothing is rounded
  // 0x1.8p-3 is a number.
  const bool is_code =
      (o.value.starts_with("0x") || o.value.starts_with("0X")) && o.value.find_first_of("pP") == std::string::npos;
  unpacked given;
  rounded rounding_of;
  encoded& result = rounding_of.result;
  if (is_code) {
    result.code = parse_code(o.value, f, o.format_name);
    given = decode(f, result.code);
  } else {
    const auto number = parse_number(o.value);
    if (!number)
      throw usage_error(fmt::format(
          "'{}' is neither a number (like -1.5e-7, 2^-24, 0x1.8p-3, 1.01b*2^3, inf, nan) nor a code like 0x3C01",
          o.value));
    given = *number;
    rounding_of = round(f, given, o);
  }
  const unpacked x = decode(f, result.code);
  const bool finite = x.kind == number_class::finite || x.kind == number_class::zero;
  const double error = is_code ? not_known : error_in_ulp(f, given, x);
  const int unit = ulp_exponent(f, x);

  if (is_code && o.rounding.given()) note("a code is shown as is; rounding options have no effect");
  if (o.json) {
    print_json("inspect", table_of_one({{"format", o.format_name},
                                        {"code", hex(f, result.code)},
                                        {"bits", bits_by_field(f, result.code)},
                                        {"value", shortest_decimal(f, result.code)},
                                        {"exact", exact_decimal(x)},
                                        {"hexadecimal", hexadecimal(x)},
                                        {"binary", binary_scientific(x)},
                                        {"class", class_of(x)},
                                        {"below", hex(f, next_down(f, result.code))},
                                        {"above", hex(f, next_up(f, result.code))},
                                        {"ulp_log2", value_if(finite, std::int64_t{unit})},
                                        {"error_ulp", error},
                                        {"flags", to_string(result.flags)},
                                        {"given", o.value},
                                        {"rounding", value_if(!is_code, o.rounding.text(f))},
                                        {"random_bits", value_if(!rounding_of.random.empty(), rounding_of.random)}}));
    return done;
  }

  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<11}  {}\n", what, value); };
  const std::string exact = decimal_on_screen(x);
  const bool short_enough = exact.size() <= 40 && !exact.ends_with("digits)");
  fmt::print("{} {} {} {}\n\n", o.format_name, hex(f, result.code), short_enough ? "=" : "~",
             short_enough ? exact : fmt::format("{:.6g}", to_double(f, result.code)));
  print_fields(f, result.code);
  fmt::print("\n");
  line("class", class_of(x));
  if (x.kind == number_class::finite) {
    line("exactly", exact + (exact.ends_with("digits)") ? ", all with --json" : ""));
    line("hexadecimal", hexadecimal(x));
    line("binary", binary_scientific(x));
    const bool is_result = (result.code & f.magnitude_mask()) <= f.max_finite_code();
    line("shortest", fmt::format("{} ({})", shortest_decimal(f, result.code),
                                 is_result ? "reads back as this number" : "never a result of this format"));
  }
  if (x.kind != number_class::nan) {
    line("below", neighbour(f, next_down(f, result.code), result.code, "smallest"));
    line("above", neighbour(f, next_up(f, result.code), result.code, "largest"));
  }
  if (finite && (x.kind == number_class::finite || f.has_subnormals())) {
    const unpacked one_ulp{.kind = number_class::finite, .exponent = unit, .significand = std::uint64_t{1} << 63};
    line("ulp", fmt::format("2^{} = {}", unit, decimal_on_screen(one_ulp)));
  }
  if (!is_code) {
    fmt::print("\n");
    line("given", o.value);
    line("rounding", o.rounding.text(f));
    if (!rounding_of.random.empty()) line("random bits", rounding_of.random);
    if (!std::isnan(error)) line("error", error_text(error, any(result.flags, status::inexact)));
    line("flags", to_string(result.flags));
  }
  return done;
}

}  // namespace

command inspect_command() {
  auto o = std::make_shared<inspect_arguments>();
  command made{.name = "inspect", .help = "show one number of a format: its bits, exact value, neighbours"};
  made.add("VALUE", &o->value, "a decimal, 2^N, 0x1.8p-3, 1.01b*2^3, inf, nan; or a code in hexadecimal, 0x3C01",
           {.required = true});
  made.add("--format", &o->format_name, "the format to round to, or to read the code in",
           {.type = "F", .required = true});
  made.add("--json", &o->json, "print JSON");
  add_rounding(made, o->rounding);
  made.footer = "Examples:\n  ulp inspect 0.1 --format cbfloat16\n  ulp inspect 0x3C01 --format float16";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
