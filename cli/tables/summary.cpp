#include "summary.hpp"

#include <fmt/format.h>

#include <ulp/io/bytes/printable.hpp>

#include "output.hpp"

namespace ulp::cli {

void print_text(const summary& lines) {
  for (const summary_line& line : lines)
    if (!line.text.empty()) print_sentences(fmt::format("{:<12} ", line.title), printable(line.text));
}

void print_json(std::string_view what, const summary& lines, std::string_view key, const table& t) {
  named_values all;
  for (const summary_line& line : lines) all.all.insert(all.all.end(), line.values.begin(), line.values.end());
  fmt::print("{}", to_json(all, key, t, schema_of(what), told()));
}

}  // namespace ulp::cli
