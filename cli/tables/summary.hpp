// What a command says above its table, from one description: lines for people, values under names for machines.
#ifndef ULP_CLI_SUMMARY_HPP
#define ULP_CLI_SUMMARY_HPP

#include <string>
#include <string_view>
#include <ulp/report/table.hpp>
#include <vector>

namespace ulp::cli {

struct summary_line {
  std::string title;
  std::string text;  // without it the line is for machines alone
  std::vector<named_value> values;
};

using summary = std::vector<summary_line>;

void print_text(const summary& lines);

// JSON of the summary, of what was told, and of `t` under `key`.
void print_json(std::string_view what, const summary& lines, std::string_view key, const table& t);

}  // namespace ulp::cli

#endif
