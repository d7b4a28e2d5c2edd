// What a value of a table is for machines: one plain value, or several of which each has a key of its own.
#ifndef ULP_REPORT_TABLES_PLAIN_VALUES_HPP
#define ULP_REPORT_TABLES_PLAIN_VALUES_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include <ulp/report/tables/table.hpp>

namespace ulp {

// Nothing, a flag, an integer, a real (which may be NaN or infinite), text, or values under names.
using plain_value = std::variant<std::monostate, bool, std::int64_t, double, std::string_view,
                                 const named_values*>;  // of the table_value

// Calls put(suffix, value) for each key that it has, KEY followed by the suffix: "" for what is decided, nothing where it is
// not; with `ranged` "_low" and "_high" as well, and of a drawn count "_mean". These are what the JSON of a table has.
void for_each_plain(const table_value& value, bool ranged,
                    const std::function<void(std::string_view suffix, const plain_value& value)>& put);

// Whether a value under a name, which is in no column, has the keys of a range.
[[nodiscard]] bool is_ranged(const table_value& value);

}  // namespace ulp

#endif
