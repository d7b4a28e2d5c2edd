#include "hindsight_csv.hpp"

#include <fmt/format.h>

#include <ulp/report/tables/sweep_table.hpp>
#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {

void write_hindsight(const std::string& path, const sweep_answer& answer) {
  csv_stream csv(path);
  hindsight_table(answer, [&](const table& part) { csv.write(part); });
  csv.finish();
}

}  // namespace ulp::cli
