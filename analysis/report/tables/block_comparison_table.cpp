#include <ulp/report/tables/block_comparison_table.hpp>

#include <fmt/format.h>

#include <optional>

#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/block_words.hpp>
#include <ulp/report/tables/usual_formats.hpp>
#include <variant>

namespace ulp {
namespace {

using thing = std::variant<const compared_format*, const compared_blocks*>;

struct counted_part {
  count_range count;
  std::uint64_t nonzero = 0;
};

// One column of either kind of row.
template <class OfFormat, class OfBlocks>
std::function<table_value(const thing&)> of_either(OfFormat of_format, OfBlocks of_blocks) {
  return [=](const thing& t) -> table_value {
    if (const auto* const format = std::get_if<const compared_format*>(&t)) return of_format(**format);
    return of_blocks(*std::get<const compared_blocks*>(t));
  };
}

double least_of(const format& f) { return to_double(f, 1); }

// Few digits where a number has many.
std::string brief(double x) {
  const std::string power = as_power(x);
  const bool is_short = power.starts_with("2^") || (x >= 1e-4 && x < 1e6);
  return is_short ? power : fmt::format("{:.3g}", x);
}

std::string numbers_text(double least, double largest) { return fmt::format("{} to {}", brief(least), brief(largest)); }

std::string summary_of(const compared_format& f) {
  const catalog_entry* const entry = find_entry(f.name);
  return entry != nullptr ? std::string{entry->source} : "by its name";
}

// Counts of one kind, for people with their share; under a key for machines.
void add_counts(std::vector<column<thing>>& to, const char* key, const char* title, count_range outcome_counts::*of,
                count_range block_outcomes::*of_blocks, bool has_bound) {
  const auto text = [](const count_range& n, std::uint64_t nonzero) -> std::string {
    const auto all = static_cast<double>(nonzero);
    if (nonzero == 0) return "-";
    return fmt::format("{} ({})", to_cell(n),
                       percent_text({static_cast<double>(n.low) / all, static_cast<double>(n.high) / all}));
  };
  const auto of_row = [=](const compared_blocks& b) -> std::optional<count_range> {
    if (b.has_outcomes) return b.outcomes.*of_blocks;
    if (has_bound && b.basis == block_basis::tensor_scale) return count_range{0, (b.outcomes.*of_blocks).high};
    return std::nullopt;
  };
  to.push_back({key, "",
                of_either([=](const compared_format& f) { return table_value{f.outcomes.*of}; },
                          [=](const compared_blocks& b) {
                            const auto n = of_row(b);
                            return n ? table_value{*n} : table_value{};
                          }),
                range_keys::both});
  to.push_back(
      {"",
       title,
       of_either([=](const compared_format& f) { return table_value{text(f.outcomes.*of, f.outcomes.nonzero().high)}; },
                 [=](const compared_blocks& b) {
                   const auto n = of_row(b);
                   return table_value{n ? text(*n, b.outcomes.nonzero()) : std::string{"?"}};
                 }),
       {},
       alignment::right});
}

}  // namespace

std::vector<compared_format> compared_formats(const tensor_tables& tables, const tensor_mask& shown, double scale) {
  std::vector<compared_format> all;
  for (const char* const name : usual_formats(format_room::all)) {
    treatment how{*find_format(name)};
    how.rounding = rounding_text{}.value(how.format);
    all.push_back({name, how.format, scale, tables.outcomes(shown, how, scale)});
  }
  return all;
}

table block_comparison_table(const std::vector<compared_format>& formats, const std::vector<compared_blocks>& blocks) {
  using f = compared_format;
  using b = compared_blocks;
  constexpr auto right = alignment::right;
  std::vector<column<thing>> columns{
      {"format", "format", of_either([](const f& x) { return x.name; }, [](const b& x) { return x.of.name; })},
      {"row", "",
       of_either([](const f&) { return table_value{}; }, [](const b& x) { return std::string{x.of.row->name}; })},
      {"bits",
       "bits",
       of_either([](const f& x) { return shortest(x.format.width()); },
                 [](const b& x) { return fmt::format("{:.4g}", bits_of_value(*x.of.row)); }),
       {},
       right}};
  columns.push_back({"nonzero", "",
                     of_either([](const f& x) { return table_value{x.outcomes.nonzero()}; },
                               [](const b& x) {
                                 return value_if(x.basis != block_basis::none && x.basis != block_basis::amax,
                                                 integer(x.outcomes.nonzero()));
                               }),
                     range_keys::both});
  add_counts(columns, "underflow", "lost to zero", &outcome_counts::underflow, &block_outcomes::underflow, true);
  add_counts(columns, "subnormal", "subnormal", &outcome_counts::subnormal, &block_outcomes::subnormal, false);
  add_counts(columns, "overflow", "beyond the largest", &outcome_counts::overflow, &block_outcomes::overflow, false);
  columns.insert(
      columns.end(),
      {column<thing>{"block", "a scale for",
                     of_either([](const f&) { return std::string{"all values"}; },
                               [](const b& x) { return text_of(x.of.row->block); })},
       {"", "scale",
        of_either([](const f& x) { return "loss scale " + as_power(x.scale); },
                  [](const b& x) { return fmt::format("{}, {}", text_of(x.of.row->scale), rule_name(*x.of.row)); })},
       {"elements", "elements",
        of_either([](const f& x) { return x.name; }, [](const b& x) { return std::string{x.of.row->element.name}; })},
       {"", "least to largest",
        of_either(
            [](const f& x) {
              return numbers_text(least_of(x.format), to_double(x.format, x.format.max_finite_code()));
            },
            [](const b& x) {
              return numbers_text(least_element(*x.of.row), static_cast<double>(x.of.row->element.largest));
            })},
       {"least", "",
        of_either([](const f& x) { return least_of(x.format); }, [](const b& x) { return least_element(*x.of.row); })},
       {"largest", "",
        of_either([](const f& x) { return to_double(x.format, x.format.max_finite_code()); },
                  [](const b& x) { return static_cast<double>(x.of.row->element.largest); })},
       {"scale", "",
        of_either([](const f& x) { return as_power(x.scale); },
                  [](const b& x) { return std::string{text_of(x.of.row->scale)}; })},
       {"rule", "",
        of_either([](const f&) { return std::string{"loss scale"}; },
                  [](const b& x) { return rule_name(*x.of.row); })}});
  columns.push_back({"open", "",
                     of_either([](const f&) { return table_value{}; },
                               [](const b& x) { return value_if(!x.why_open.empty(), x.why_open); })});
  columns.push_back(
      {"source", "source", of_either(summary_of, [](const b& x) { return std::string{x.of.row->source}; })});
  std::vector<thing> rows;
  for (const compared_format& x : formats) rows.emplace_back(&x);
  for (const compared_blocks& x : blocks) rows.emplace_back(&x);
  return table_of(columns, rows);
}

}  // namespace ulp
