// ulp inspect: one number of a format, drawn.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/neighbours.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/model/cell_table.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  std::string value;
  std::string format_name;
  rounding_options rounding;
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

std::string hex(const format& f, std::uint64_t code) { return fmt::format("0x{:0{}X}", code, (f.width() + 3) / 4); }

std::string binary(std::uint64_t bits, int width) { return fmt::format("{:0{}b}", bits, width); }

std::string class_of(const unpacked& x) {
  switch (x.kind) {
    case number_class::zero: return "zero";
    case number_class::infinity: return "infinity";
    case number_class::nan: return x.signaling ? "signaling NaN" : "NaN";
    case number_class::finite: break;
  }
  return x.subnormal ? "subnormal" : "normal";
}

std::string names_of(status flags) {
  std::string text;
  const auto add = [&](status flag, const char* name) {
    if (any(flags, flag)) text += (text.empty() ? "" : ", ") + std::string{name};
  };
  add(status::inexact, "inexact");
  add(status::underflow, "underflow");
  add(status::overflow, "overflow");
  add(status::divide_by_zero, "divide-by-zero");
  add(status::invalid, "invalid");
  return text.empty() ? "none" : text;
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

// "1.0101b*2^-14" without trailing zeros.
std::string scientific_binary(const format& f, std::uint64_t code) {
  const unpacked x = decode(f, code);
  std::string digits = binary(x.significand << 1 >> 1, 63);
  digits.erase(digits.find_last_not_of('0') + 1);
  return fmt::format("{}1.{}b*2^{}", x.negative ? "-" : "", digits.empty() ? "0" : digits, x.exponent);
}

std::string neighbour(const format& f, std::uint64_t code, std::uint64_t of) {
  if (code == of) return "none";
  return fmt::format("{:<10} {}", hex(f, code), exact_decimal(decode(f, code)));
}

void print_fields(const format& f, std::uint64_t code) {
  const auto field = static_cast<int>((code >> f.fraction_bits) & f.exponent_field_mask());
  const std::uint64_t fraction = code & f.fraction_mask();
  const unpacked x = decode(f, code);
  const bool finite = x.kind == number_class::finite || x.kind == number_class::zero;
  const std::string sign_bits = (code & f.sign_mask()) != 0 ? "1" : "0";
  const std::string exponent_bits = binary(static_cast<std::uint64_t>(field), f.exponent_bits);
  const std::string fraction_bits = binary(fraction, f.fraction_bits);
  const std::string sign_meaning = (code & f.sign_mask()) != 0 ? "-" : "+";
  const std::string exponent_meaning = !finite      ? class_of(x)
                                       : field == 0 ? fmt::format("2^{} (subnormal)", f.emin())
                                                    : fmt::format("2^({}-{}) = 2^{}", field, f.bias, field - f.bias);
  const std::string fraction_meaning =
      !finite ? "" : fmt::format("{} + {}/{}", field == 0 ? 0 : 1, fraction, std::uint64_t{1} << f.fraction_bits);
  const std::size_t e = std::max({exponent_bits.size(), exponent_meaning.size(), std::size_t{8}});
  fmt::print("  {:<4}  {:<{}}  {}\n", "sign", "exponent", e, "fraction");
  fmt::print("  {:<4}  {:<{}}  {}\n", sign_bits, exponent_bits, e, fraction_bits);
  fmt::print("  {:<4}  {:<{}}  {}\n", sign_meaning, exponent_meaning, e, fraction_meaning);
}

int run(const options& o) {
  const format f = format_named(o.format_name);
  const bool is_code = o.value.starts_with("0x") || o.value.starts_with("0X");
  unpacked given;
  encoded result;
  if (is_code) {
    result.code = parse_code(o.value, f, o.format_name);
    given = decode(f, result.code);
  } else {
    const auto parsed = parse_number(o.value);
    if (!parsed)
      throw usage_error(
          fmt::format("'{}' is neither a number (like -1.5e-7, 2^-24, inf, nan) nor a code like 0x3C01", o.value));
    given = *parsed;
    const rounding mode = o.rounding.value();
    result = encode(f, given, mode, random_bits(o.rounding.seed, 0, 0, mode.random_bits));
  }
  const unpacked x = decode(f, result.code);
  const bool finite = x.kind == number_class::finite || x.kind == number_class::zero;
  const double error = is_code ? not_known : error_in_ulp(f, given, x);
  const int unit = ulp_exponent(f, x);

  if (o.json) {
    table t;
    t.columns = {{"format", ""}, {"code", ""},  {"value", ""},    {"exact", ""},     {"class", ""},
                 {"below", ""},  {"above", ""}, {"ulp_log2", ""}, {"error_ulp", ""}, {"flags", ""}};
    t.rows.push_back({o.format_name, hex(f, result.code), shortest_decimal(f, result.code), exact_decimal(x),
                      class_of(x), hex(f, next_down(f, result.code)), hex(f, next_up(f, result.code)),
                      finite ? table_value{std::int64_t{unit}} : table_value{}, error, names_of(result.flags)});
    fmt::print("{}", to_json(t));
    return done;
  }

  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<9} {}\n", what, value); };
  const std::string exact = exact_decimal(x);
  const bool short_enough = exact.size() <= 16;
  fmt::print("{} {} {} {}\n\n", o.format_name, hex(f, result.code), short_enough ? "=" : "~",
             short_enough ? exact : fmt::format("{:.6g}", to_double(f, result.code)));
  print_fields(f, result.code);
  fmt::print("\n");
  line("class", class_of(x));
  if (x.kind == number_class::finite) {
    line("exactly", exact);
    line("", scientific_binary(f, result.code));
    line("shortest", fmt::format("{} (reads back as this number)", shortest_decimal(f, result.code)));
  }
  if (x.kind != number_class::nan) {
    line("below", neighbour(f, next_down(f, result.code), result.code));
    line("above", neighbour(f, next_up(f, result.code), result.code));
  }
  if (finite) line("ulp", fmt::format("2^{} = {:.6g}", unit, std::ldexp(1.0, unit)));
  if (!is_code) {
    fmt::print("\n");
    line("given", o.value);
    line("rounding", to_string(o.rounding.value()));
    if (!std::isnan(error)) line("error", error == 0 ? "none" : fmt::format("{:+.4g} ulp", error));
    line("flags", names_of(result.flags));
  }
  return done;
}

}  // namespace

void add_inspect(CLI::App& program, action& chosen) {
  auto o = std::make_shared<options>();
  CLI::App& command = *program.add_subcommand("inspect", "one number of a format: its bits, exact value, neighbours");
  command.add_option("VALUE", o->value, "a decimal, 2^N, inf, nan; or a code in hexadecimal, 0x...")->required();
  command.add_option("--format", o->format_name, "the format to round to, or to read the code in")
      ->type_name("F")
      ->required();
  command.add_flag("--json", o->json, "print JSON");
  add_rounding(command, o->rounding);
  command.footer("Examples:\n  ulp inspect 0.1 --format cbfloat16\n  ulp inspect 0x3C01 --format float16");
  command.callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace ulp::cli
