// Tables for people (text) and for machines (CSV, JSON), from one description.
#ifndef ULP_REPORT_TABLES_TABLE_HPP
#define ULP_REPORT_TABLES_TABLE_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

struct named_value;

// An object in JSON; elsewhere its JSON as text.
struct named_values {
  std::vector<named_value> all;
};

// Nothing, a flag, an integer, a real (NaN is nothing), text, a count or a real that may be a range, a count that is
// drawn, or values under names.
using table_value = std::variant<std::monostate, bool, std::int64_t, double, std::string, count_range, value_range,
                                 expected_count, named_values>;

struct named_value {
  std::string name;
  table_value value;
};

enum class alignment {
  by_value,  // text to the left, numbers to the right
  right      // text too, as numbers are
};

// A value that an input may leave undecided has, beside its KEY, KEY_low and KEY_high.
enum class range_keys {
  none,
  where_open,  // in JSON; in CSV these two take the place of KEY where some row of the column is undecided
  both         // in CSV too these two, in the place of KEY
};

struct table_column {
  std::string key;    // in CSV and JSON; a column without key is left out there
  std::string title;  // for people; a column without title is left out of the text
  alignment align = alignment::by_value;
  range_keys range = range_keys::none;
};

struct table {
  std::vector<table_column> columns;
  std::vector<std::vector<table_value>> rows;  // each as long as columns
};

// A column, and what stands in it of one of the things that the rows are about.
template <typename Thing>
struct column {
  std::string key;
  std::string title;
  std::function<table_value(const Thing&)> value;
  range_keys range = range_keys::none;
  alignment align = alignment::by_value;
};

// A row of each.
template <typename Thing, typename Things>
[[nodiscard]] table table_of(const std::vector<column<Thing>>& columns, const Things& things) {
  table t;
  for (const column<Thing>& c : columns) t.columns.push_back({c.key, c.title, c.align, c.range});
  for (const Thing& thing : things) {
    std::vector<table_value>& row = t.rows.emplace_back();
    for (const column<Thing>& c : columns) row.push_back(c.value(thing));
  }
  return t;
}

// The only row of a table for machines.
[[nodiscard]] table table_of_one(const std::vector<named_value>& values);

// `value` where it is known, else nothing.
[[nodiscard]] table_value value_if(bool known, table_value value);
[[nodiscard]] table_value integer(std::uint64_t n);
// The same, with thousands separators for people.
[[nodiscard]] count_range exactly(std::uint64_t n);

// "[low, high]", and one of them where they read alike.
[[nodiscard]] std::string ends_text(const std::string& low, const std::string& high);
// "10": a share in three digits, in more where these would read "100" and it is less.
[[nodiscard]] std::string percent_number(double share);
// "10 %", "[9.99, 10] %"
[[nodiscard]] std::string percent_text(const value_range& share);

// Aligned columns with a header line: text to the left, numbers to the right; counts with thousands separators, ranges as
// "[low, high]", drawn counts as "mean ± deviation"; a column with nothing in it is left out; text is printable; ends
// with a newline.
[[nodiscard]] std::string to_text(const table& t);

// One value as in the text.
[[nodiscard]] std::string to_cell(const table_value& value);

// RFC 4180 with "\n" line ends and a header of keys. Flags are 0 and 1, nothing is an empty field, reals are shortest
// round-trip decimals; a drawn count is bounds of its mean.
[[nodiscard]] std::string to_csv(const table& t);

// JSON has integers, reals, null for nothing and NaN, "inf" and "-inf". KEY of a range is null where the input does not
// decide it, KEY_low and KEY_high bound it; of a drawn count they bound its mean, which is KEY_mean where it is known.
// `schema` names the keys and what they mean; without it there is none. `notes` are what a reader should know.

// An array of objects, one a line, each with the schema. Notes are in the first, and absent where there are none; where
// there is no row, they are in an object of their own.
[[nodiscard]] std::string to_json(const table& t, std::string_view schema, const std::vector<std::string>& notes = {});

// One object: schema, summary, notes, and under `key` the rows as an array.
[[nodiscard]] std::string to_json(const named_values& summary, std::string_view key, const table& t,
                                  std::string_view schema, const std::vector<std::string>& notes);

// "2^16" where x is a power of two with |exponent| > 3, else shortest(x).
[[nodiscard]] std::string as_power(double x);
// "2^16.50" of a mean of log2 of scales; "0" and "inf" where it is infinite, "-" where it is NaN.
[[nodiscard]] std::string power_text(double log2);
// "2^24.86" of a scale, rounded down, so that what is safe stays so; "0", "inf", "nan".
[[nodiscard]] std::string log2_text(double scale);

}  // namespace ulp

#endif
