#include "judged_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

std::string short_share(double share) { return fmt::format("{:.2g}", share); }

bool is_one_number(const judged_treatment& j) { return j.worst.high <= 1.01 * j.worst.low || j.worst.high == 0; }

std::string share_text(const judged_treatment& j) {
  if (is_one_number(j)) return short_share(j.worst.high);
  if (!std::isfinite(j.worst.high)) return "not known";
  return fmt::format("~{}, up to {}", short_share(j.estimate), short_share(j.worst.high));
}

std::string lost_percent(const judged_treatment& j) {
  if (is_one_number(j)) return percent_number(j.worst.high) + " %";
  if (!std::isfinite(j.worst.high)) return "an unknown share";
  return fmt::format("about {} %, at most {} %", percent_number(j.estimate), percent_number(j.worst.high));
}

std::string in_steps(std::uint64_t n, std::int64_t first) {
  return n == 1 ? fmt::format("in step {}", first)
                : fmt::format("in {}, first in step {}", count_text(n, "step"), first);
}

std::string what_to_record(const block_format* blocks, const plan_doubts& d) {
  if (d.is_double) return "float64 values are not decided: give them as float32";
  if (d.needs_values) return "only the values decide it: give the dumps";
  if (d.no_maximum) return "record the values, not bins, which do not tell the largest";
  const bool tables_help = d.no_blocks && blocks != nullptr && blocks->block.rows > 0 && blocks->block.columns > 0;
  std::string options = tables_help ? blocks->block.rows == 1
                                          ? fmt::format(" --blocks {}", blocks->block.columns)
                                          : fmt::format(" --blocks {}x{}", blocks->block.rows, blocks->block.columns)
                                    : "";
  if (d.no_ladder) options += " --with-errors";
  return options.empty() ? "only the values decide it: give the dumps" : "record with" + options;
}

}  // namespace ulp
