// Tables for people (text) and for machines (CSV, JSON), from one description.
#ifndef ULP_REPORT_TABLE_HPP
#define ULP_REPORT_TABLE_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ulp/model/expectation.hpp>
#include <ulp/model/outcome.hpp>

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

struct table_column {
  std::string key;      // in CSV and JSON; a column without key is left out there
  std::string title;    // for people; a column without title is left out of the text
  bool range = false;   // values that may be ranges: always two columns in CSV
  bool number = false;  // text in this column is aligned to the right, as numbers are
};

struct table {
  std::vector<table_column> columns;
  std::vector<std::vector<table_value>> rows;  // each as long as columns
};

// Aligned columns with a header line: text to the left, numbers to the right; counts with thousands
// separators, ranges as "[low, high]", drawn counts as "mean ± deviation"; a column with nothing in it is left out; text is printable;
// ends with a newline.
[[nodiscard]] std::string to_text(const table& t);

// One value as in the text.
[[nodiscard]] std::string to_cell(const table_value& value);

// RFC 4180 with "\n" line ends and a header of keys. A column of ranges becomes two, KEY_low and KEY_high; flags are 0
// and 1, nothing is an empty field, reals are shortest round-trip decimals; of a drawn count the mean.
[[nodiscard]] std::string to_csv(const table& t);

// An array of objects, one a line. Exact counts are integers, ranges [low, high], nothing is null,
// a drawn count is {"mean": m, "sd": s},
// infinities are "inf" and "-inf". What a reader should know of all rows is an array of strings under the key "notes" of
// the first row, which is absent where there is nothing to know; where there is no row, of an object of its own.
[[nodiscard]] std::string to_json(const table& t, const std::vector<std::string>& notes = {});

// Shortest round-trip decimal: "65536", "6.103515625e-05", "inf", "nan".
[[nodiscard]] std::string shortest(double x);
// "2^16" where x is a power of two with |exponent| > 3, else shortest(x).
[[nodiscard]] std::string as_power(double x);
// "2^16.50" of a mean of log2 of scales; "0" and "inf" where it is infinite, "-" where it is NaN.
[[nodiscard]] std::string power_text(double log2);
// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t n);
// "1 step", "1,234 steps".
[[nodiscard]] std::string count_text(std::uint64_t n, std::string_view noun);

}  // namespace ulp

#endif
