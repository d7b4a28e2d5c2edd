#include "text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "csv/csv.hpp"
#include "csv/histogram_csv.hpp"
#include "csv/scalars.hpp"
#include "csv/step_log.hpp"
#include "training_log/scale_log.hpp"

namespace ulp::io {
namespace {

// Whether a line can be names of columns: what stands in most lines of logs is not in them.
bool names_columns(std::string_view line) {
  return line.find(',') != std::string_view::npos && line.find_first_of("=|:<>[]{}") == std::string_view::npos;
}

// A file is read twice: mistakes show before anything is written, and all tensors are known from the first step on.
std::unique_ptr<source> open_histograms(csv_reader rows, const read_limits& limits) {
  const std::string path = rows.path();
  auto once = open_histogram_csv(std::move(rows), {}, limits);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return once;
  step skipped;
  while (once->next(skipped)) {
  }
  return open_histogram_csv(csv_reader(path, limits), once->tensors(), limits);
}

// The first that has its columns counts.
struct csv_kind {
  bool (*has_columns)(const csv_reader& rows);
  std::unique_ptr<source> (*open)(csv_reader rows, const read_limits& limits);
};
constexpr std::array csv_kinds{
    csv_kind{is_histogram_csv, open_histograms},
    csv_kind{is_step_log, open_step_log},
};

}  // namespace

std::unique_ptr<source> open_text(const std::string& path, const read_limits& limits) {
  line_reader lines(path, limits);
  if (lines.at_end()) throw input_error(path, "", "is empty");
  if (!names_columns(lines.peek())) {
    if (auto log = open_scale_log(std::move(lines), "")) return log;
    throw input_error(
        path, "",
        "is neither a CSV of histograms or steps, whose line 1 names its columns, nor a training log with "
        "lines of a layout that is known: docs/inputs.md lists them");
  }
  csv_reader rows(std::move(lines));
  for (const csv_kind& kind : csv_kinds)
    if (kind.has_columns(rows)) return kind.open(std::move(rows), limits);
  const bool are_scalars = rows.find("step") && scalar_columns(rows).any();
  auto [rest, first_line] = std::move(rows).release();
  if (auto log = open_scale_log(std::move(rest), first_line)) return log;
  if (are_scalars)
    throw input_error(
        path, "line 1",
        "names what a training loop logs of each step, and no gradients: give it by --scalars, beside the "
        "dumps, the histogram CSV or the recording of the run");
  throw input_error(path, "line 1",
                    "names the columns of neither a histogram CSV (step, tensor, n, zero, nan, inf, max_abs, e_min, "
                    "counts) nor a step log (step and found_inf or maxabs)");
}

}  // namespace ulp::io
