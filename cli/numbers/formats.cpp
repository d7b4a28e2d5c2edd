// ulp formats: the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ulp/formats/block_formats.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "block_words.hpp"
#include "command.hpp"
#include "number_text.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct formats_arguments {
  std::vector<std::string> names;
  bool blocks = false;
  output_options output;
};

// Few digits for the table: the exact value where it is short, else "~" and six digits.
std::string brief(const format& f, std::uint64_t code) {
  const std::string exact = exact_decimal(decode(f, code));
  return exact.size() <= 12 ? exact : fmt::format("~{:.6g}", to_double(f, code));
}

std::string layout(const format& f) {
  return fmt::format("{}-{}-{}", f.has_sign ? 1 : 0, f.exponent_bits, f.fraction_bits);
}

// The smallest normal number, as a power where it is one.
std::string least_normal_text(const format& f) {
  const unpacked x = decode(f, f.min_normal_code());
  return x.significand << 1 == 0 ? fmt::format("2^{}", x.exponent) : brief(f, f.min_normal_code());
}

struct named_format {
  std::string name;
  ulp::format format;
};

// The catalogue's row of a format, or where it has a largest number of its own, of the whole one.
const catalog_entry* entry_of(const named_format& named) {
  if (const catalog_entry* const entry = find_entry(named.name)) return entry;
  format whole = named.format;
  if (whole.withheld == 0) return nullptr;
  whole.withheld = 0;
  return find_entry(to_string(whole));
}

// For machines exact values instead of short ones.
table overview(const std::vector<named_format>& formats, bool exact) {
  using row = named_format;
  constexpr auto right = alignment::right;
  const auto yes_or_no = [](bool yes) { return std::string{yes ? "yes" : "no"}; };
  const auto largest = [=](const row& r) {
    const std::uint64_t code = r.format.max_finite_code();
    return exact ? exact_decimal(decode(r.format, code)) : brief(r.format, code);
  };
  const auto least_subnormal = [](const row& r) {
    return value_if(r.format.has_subnormals(), fmt::format("2^{}", r.format.min_quantum_exponent()));
  };
  const auto source_of = [](const row& r) {
    const catalog_entry* const entry = entry_of(r);
    return entry != nullptr ? std::string{entry->source} : "by its name";
  };
  const std::vector<column<row>> columns = {
      {"format", "format", &row::name},
      {"bits", "bits", [](const row& r) { return std::int64_t{r.format.width()}; }},
      {"layout", "layout", [](const row& r) { return layout(r.format); }},
      {"bias", "bias", [](const row& r) { return std::int64_t{r.format.bias}; }},
      {"max", "largest", largest, {}, right},
      {"min_normal", "least normal", [](const row& r) { return least_normal_text(r.format); }, {}, right},
      {"min_subnormal", "subnormal", least_subnormal, {}, right},
      {"epsilon", "epsilon", [](const row& r) { return fmt::format("2^{}", -r.format.fraction_bits); }, {}, right},
      {"infinity", "inf", [=](const row& r) { return yes_or_no(r.format.has_infinity()); }},
      {"nan", "NaN", [=](const row& r) { return yes_or_no(r.format.has_nan()); }},
      {"source", "source", source_of},
  };
  return table_of(columns, formats);
}

std::string nan_text(const format& f) {
  const std::string code = hex(f, f.nan_code());
  switch (f.top) {
    case specials::ieee: return "above infinity; quiet " + code;
    case specials::nan_all_ones:
      return f.has_sign ? fmt::format("{} and {} only", code, hex(f, f.nan_code() | f.sign_mask())) : code + " only";
    case specials::nan_negative_zero:
    case specials::nan_negative_zero_and_infinity: return code + " only, in place of -0";
    case specials::none: break;
  }
  return "none";
}

// "x < 2^-24 = 0.000000059604644775390625".
std::string bound(std::string_view comparison, const threshold& t) {
  const unpacked at{.kind = number_class::finite,
                    .exponent = t.at.exponent,
                    .significand = (std::uint64_t{1} << 63) | (t.at.fraction >> 1)};
  const std::string value = decimal_on_screen(at);
  return fmt::format("|x| {} {}{}", comparison, t.at.fraction == 0 ? fmt::format("2^{} = ", t.at.exponent) : "", value);
}

// From where on results are zero, and overflow, in the format's own rounding.
void print_thresholds(const format& f) {
  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<18}{}\n", what, value); };
  const rounding mode{.direction = default_direction(f)};
  const std::string delivered = f.has_infinity() ? "infinity" : f.has_nan() ? "NaN" : "the largest number";
  if (!f.has_zero() || !f.has_sign) {  // E8M0
    line("x < 0", "becomes NaN");
    line("0 <= x < least", "becomes the least");
    line("overflows", fmt::format("x >= 1.5 * 2^{}, becomes {} ({})", f.emax(), delivered, to_string(mode)));
    return;
  }
  const outcome_thresholds t = thresholds_of({f, mode}, false);
  line("underflows to 0", fmt::format("{} ({})", bound(t.nonzero.closed ? "<" : "<=", t.nonzero), to_string(mode)));
  line("overflows", fmt::format("{}, becomes {}", bound(t.overflow.closed ? ">=" : ">", t.overflow), delivered));
}

void print_card(const named_format& named) {
  const auto& [name, f] = named;
  const catalog_entry* const entry = entry_of(named);
  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<18}{}\n", what, value); };
  const auto number = [&](std::string_view what, std::uint64_t code) {
    const unpacked x = decode(f, code);
    const std::string power = x.significand << 1 == 0 ? fmt::format("2^{} = ", x.exponent) : "";
    line(what, fmt::format("{}  {}{}", hex(f, code), power, decimal_on_screen(x)));
  };
  fmt::print("{}", name);
  if (entry != nullptr && f.withheld == 0) {
    if (name != entry->name) fmt::print(" = {}", entry->name);
    std::string aliases;
    for (const auto alias : entry->aliases)
      if (alias != name) aliases += fmt::format("{}{}", aliases.empty() ? "" : ", ", alias);
    if (!aliases.empty()) fmt::print(" (also {})", aliases);
  }
  fmt::print("\n");
  line("bits", fmt::format("{}: {} sign, {} exponent, {} fraction; bias {}", f.width(), f.has_sign ? "1" : "no",
                           f.exponent_bits, f.fraction_bits, f.bias));
  number("largest", f.max_finite_code());
  if (f.withheld != 0)
    line("above it", fmt::format("{} {}: read as numbers, never a result",
                                 f.withheld == 1 ? "one code, up to" : fmt::format("{} codes, up to", f.withheld),
                                 brief(f, f.last_number_code())));
  number(f.has_zero() ? "least normal" : "least", f.min_normal_code());
  if (f.has_subnormals())
    number("least subnormal", 1);
  else
    line("subnormals", "none");
  if (!f.has_zero())
    line("zero", "none");
  else if (!f.has_negative_zero())
    line("zero", hex(f, 0) + " only");
  const unpacked epsilon{
      .kind = number_class::finite, .exponent = -f.fraction_bits, .significand = std::uint64_t{1} << 63};
  line("epsilon", fmt::format("2^{} = {}", -f.fraction_bits, decimal_on_screen(epsilon)));
  line("infinity", f.has_infinity() ? hex(f, f.infinity_code()) : "none");
  line("NaN", nan_text(f));
  print_thresholds(f);
  if (entry != nullptr) {
    line("source", std::string{entry->source});
    if (!entry->note.empty() && f.withheld == 0) line("note", std::string{entry->note});
  }
}

table blocks_overview(const std::vector<const block_format*>& rows) {
  using row = const block_format*;
  const auto names = [](const row& r) {
    std::string all;
    for (const block_alias& alias : block_aliases())
      if (alias.stands_for == r->name) all += fmt::format("{}{}", all.empty() ? "" : ", ", alias.name);
    return all;
  };
  const std::vector<column<row>> columns = {
      {"format", "format of blocks", [](const row& r) { return std::string{r->name}; }},
      {"names", "here also", names},
      {"element", "element", [](const row& r) { return std::string{r->element.name}; }},
      {"block", "block", [](const row& r) { return text_of(r->block); }},
      {"scale", "scale", [](const row& r) { return std::string{text_of(r->scale)}; }},
      {"rule", "", [](const row& r) { return std::string{in_words(r->rule)}; }},
      {"rounding", "rounding", [](const row& r) { return to_string(rounding{.direction = r->rounding}); }},
      {"summary", "whose", [](const row& r) { return std::string{r->summary}; }},
      {"source", "", [](const row& r) { return std::string{r->source}; }},
  };
  return table_of(columns, rows);
}

void print_block_card(const std::string& name, const block_format& row) {
  const auto line = [](std::string_view what, const std::string& value) { fmt::print("  {:<18}{}\n", what, value); };
  fmt::print("{}{}\n", name, name == row.name ? "" : fmt::format(" = {}", row.name));
  line("whose", std::string{row.summary});
  line("elements",
       fmt::format("{}, {} bits, largest {:g}; {}{}", row.element.name, row.element.width, row.element.largest,
                   to_string(rounding{.direction = row.rounding}), row.saturates ? ", saturating" : ""));
  line("block", text_of(row.block));
  line("scale", fmt::format("{}{}", text_of(row.scale), row.power_of_two ? ", lowered to a power of two" : ""));
  line("rule", std::string{in_words(row.rule)});
  if (row.epsilon > 0) line("least amax", fmt::format("{:g}", row.epsilon));
  line("source", std::string{row.source});
}

int run_blocks(const formats_arguments& o) {
  std::vector<const block_format*> rows;
  for (const std::string& name : o.names) {
    const parsed<const block_format*> row = read_block_format(name);
    if (!row.value) throw usage_error(row.error + "; ulp formats --blocks lists them");
    rows.push_back(*row.value);
  }
  if (o.names.empty())
    for (const block_format& row : block_formats()) rows.push_back(&row);
  const bool cards = !o.names.empty() && !o.output.machine_stdout();
  write_table("blocks", blocks_overview(rows), o.output, !cards);
  for (std::size_t i = 0; cards && i < rows.size(); ++i) {
    if (i > 0) fmt::print("\n");
    print_block_card(o.names[i], *rows[i]);
  }
  return done;
}

int run(const formats_arguments& o) {
  const bool only_blocks = !o.names.empty() && std::ranges::all_of(o.names, [](const std::string& name) {
    return find_block_format(name) != nullptr;
  });
  if (o.blocks || only_blocks) return run_blocks(o);
  std::vector<named_format> formats;
  if (o.names.empty())
    for (const catalog_entry& entry : format_catalog()) formats.push_back({std::string{entry.name}, entry.format});
  for (const std::string& name : o.names) formats.push_back({name, format_named(name)});
  const bool cards = !o.names.empty() && !o.output.machine_stdout();
  write_table("formats", overview(formats, o.output.machine_stdout() || !o.output.csv.empty()), o.output, !cards);
  if (!cards) return done;
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if (i > 0) fmt::print("\n");
    print_card(formats[i]);
  }
  return done;
}

}  // namespace

command formats_command() {
  auto o = std::make_shared<formats_arguments>();
  command made{.name = "formats", .help = "list the number formats: layout, range, special codes, source"};
  made.add("NAME", &o->names,
           "formats to describe: names, aliases, or e<E>m<M> like e6m9, with options: e6m9,bias=30,specials=none "
           "(specials ieee, fn, fnuz, none or p3109; subnormals=no); any with a largest number of its own: "
           "e4m3fnuz,max=224; IEEE P3109's as binary8p3se, binary6p3sf");
  made.add("--blocks", &o->blocks,
           "list the formats of blocks instead: MX, NVFP4, FP8 with scales, a row for each dialect");
  add_output(made, o->output);
  made.footer =
      "Examples:\n  ulp formats cbfloat16 e4m3 e6m9,bias=30,specials=none\n"
      "  ulp formats e4m3fnuz,max=224 binary8p4se";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
