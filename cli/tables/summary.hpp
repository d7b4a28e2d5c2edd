// What a command says above its table, from one description: lines for people, values under names for machines.
#ifndef ULP_CLI_SUMMARY_HPP
#define ULP_CLI_SUMMARY_HPP

#include <string_view>
#include <ulp/report/tables/replay_summary.hpp>
#include <vector>

namespace ulp::cli {

using summary = std::vector<summary_line>;

void print_text(const summary& lines);

// JSON of the summary, of what was told, and of `t` under `key`.
void print_json(std::string_view what, const summary& lines, std::string_view key, const table& t);

}  // namespace ulp::cli

#endif
