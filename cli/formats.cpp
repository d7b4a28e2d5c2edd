// ulp formats: the catalogue.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/text.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  std::vector<std::string> names;
  output_options output;
};

std::string decimal(const format& f, std::uint64_t code) { return exact_decimal(decode(f, code)); }

// Few digits for the table: the exact value where it is short, else "~" and six digits.
std::string brief(const format& f, std::uint64_t code) {
  const std::string exact = decimal(f, code);
  return exact.size() <= 12 ? exact : fmt::format("~{:.6g}", to_double(f, code));
}

std::string layout(const format& f) { return fmt::format("1-{}-{}", f.exponent_bits, f.fraction_bits); }

table overview(const std::vector<std::pair<std::string, format>>& formats) {
  table t;
  t.columns = {{"format", "format"},
               {"bits", "bits"},
               {"layout", "layout"},
               {"bias", "bias", false, true},
               {"max", "largest", false, true},
               {"min_normal", "least normal", false, true},
               {"min_subnormal", "least subnormal", false, true},
               {"epsilon", "epsilon", false, true},
               {"infinity", "infinity"},
               {"source", "source"}};
  for (const auto& [name, f] : formats) {
    const catalog_entry* const entry = find_entry(name);
    t.rows.push_back({name, std::int64_t{f.width()}, layout(f), std::to_string(f.bias), brief(f, f.max_finite_code()),
                      fmt::format("2^{}", f.emin()), fmt::format("2^{}", f.min_subnormal_exponent()),
                      fmt::format("2^-{}", f.fraction_bits), std::string{f.has_infinity() ? "yes" : "no"},
                      entry != nullptr ? std::string{entry->source} : "IEEE-style by its name"});
  }
  return t;
}

void print_card(const std::string& name, const format& f) {
  const catalog_entry* const entry = find_entry(name);
  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<18}{}\n", what, value); };
  const auto number = [&](std::string_view what, std::uint64_t code) {
    line(what, fmt::format("0x{:0{}X}  {}", code, (f.width() + 3) / 4, decimal(f, code)));
  };
  fmt::print("{}", name);
  if (entry != nullptr) {
    if (name != entry->name) fmt::print(" = {}", entry->name);
    std::string aliases;
    for (const auto alias : entry->aliases) aliases += fmt::format("{}{}", aliases.empty() ? "" : ", ", alias);
    fmt::print(" (also {})", aliases);
  }
  fmt::print("\n");
  line("bits", fmt::format("{}: 1 sign, {} exponent, {} fraction; bias {}", f.width(), f.exponent_bits, f.fraction_bits,
                           f.bias));
  number("largest", f.max_finite_code());
  number("least normal", f.min_normal_code());
  line("", fmt::format("= 2^{}", f.emin()));
  number("least subnormal", 1);
  line("", fmt::format("= 2^{}", f.min_subnormal_exponent()));
  line("epsilon", fmt::format("2^-{} = {}", f.fraction_bits, exact_decimal(decode(std::ldexp(1.0, -f.fraction_bits)))));
  const int digits = (f.width() + 3) / 4;
  line("infinity", f.has_infinity() ? fmt::format("0x{:0{}X}", f.infinity_code(), digits) : "none");
  line("NaN", f.has_infinity() ? fmt::format("above that; quiet 0x{:0{}X}", f.nan_code(), digits)
                               : fmt::format("0x{:0{}X} and 0x{:0{}X} only", f.nan_code(), digits,
                                             f.nan_code() | f.sign_mask(), digits));
  line("underflows to 0", fmt::format("|x| <= 2^{} (nearest-even)", f.min_subnormal_exponent() - 1));
  if (entry == nullptr && find_entry(name + "fn") != nullptr)
    line("note", fmt::format("IEEE-style by its name, with infinities; OCP's format is {}fn", name));
  if (entry != nullptr) {
    line("source", std::string{entry->source});
    if (!entry->note.empty()) line("note", std::string{entry->note});
  }
}

int run(const options& o) {
  std::vector<std::pair<std::string, format>> formats;
  if (o.names.empty())
    for (const catalog_entry& entry : catalog()) formats.emplace_back(entry.name, entry.format);
  for (const std::string& name : o.names) formats.emplace_back(name, format_named(name));
  const bool cards = !o.names.empty() && !o.output.machine_stdout();
  write_table(overview(formats), o.output, !cards);
  if (!cards) return done;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) fmt::print("\n");
    print_card(formats[i].first, formats[i].second);
  }
  return done;
}

}  // namespace

void add_formats(CLI::App& program, action& chosen) {
  auto o = std::make_shared<options>();
  CLI::App& command = *program.add_subcommand("formats", "the number formats: layout, range, special codes, source");
  command.add_option("NAME", o->names, "formats to describe: names, aliases, or e<E>m<M> like e6m9");
  add_output(command, o->output);
  command.footer("Example:\n  ulp formats cbfloat16 e4m3");
  command.callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace ulp::cli
