#include "hindsight_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <ulp/report/table.hpp>
#include <ulp/report/typed_values.hpp>
#include <utility>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {

void refuse_hindsight_file(const std::string& path, const std::vector<std::string>& others) {
  if (path.empty()) return;
  if (path == "-" || is_one_of(path, others))
    throw usage_error(fmt::format("--hindsight: {} is an input or has the table; name a separate file", path));
}

void write_hindsight(const std::string& path, const sweep& all, const std::vector<scenario_text>& grid) {
  constexpr std::size_t in_a_part = 4096;
  csv_stream csv(path);
  table part;
  part.columns = {{"step", ""}, {"format", ""}, {"rounding", ""}, {"scale", ""}};
  std::set<std::pair<std::string, std::string>> written;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::string rounding = grid[i].rounding.text(value_format_named(grid[i].format));
    if (!written.emplace(grid[i].format, rounding).second) continue;
    const std::optional<best_trajectory> best = all.free_best(i);
    if (!best) {
      written.erase({grid[i].format, rounding});
      continue;
    }
    for (std::size_t t = 0; t < best->exponents.size(); ++t) {
      part.rows.push_back({all.step_number(t), grid[i].format, rounding, std::ldexp(1.0, best->exponents[t])});
      if (part.rows.size() < in_a_part) continue;
      csv.write(part);
      part.rows.clear();
    }
  }
  csv.write(part);
  csv.finish();
}

}  // namespace ulp::cli
