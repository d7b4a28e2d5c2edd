// The file of one metric in MLflow's file store: mlflow/store/tracking/file_store.py, _log_run_metric.
#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "read_table.hpp"

namespace ulp::io {
namespace {

struct entry {
  std::string_view time;
  std::string_view value;
  std::string_view step;
};

// Three words, or more: newer versions add the data set. Empty where there are fewer.
entry entry_of(std::string_view line) noexcept {
  entry e;
  for (std::string_view* const into : {&e.time, &e.value, &e.step}) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) return {};
    line.remove_prefix(first);
    *into = line.substr(0, line.find(' '));
    line.remove_prefix(into->size());
  }
  return e;
}

bool are_digits(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool begins_mlflow_metric(std::string_view line) noexcept {
  constexpr std::size_t digits_of_milliseconds = 13;
  const entry e = entry_of(line);
  return e.time.size() == digits_of_milliseconds && are_digits(e.time) && are_digits(e.step) &&
         value_of(e.value).what == cell_value::kind::number;
}

run_table read_mlflow_metric(line_reader lines, const told_columns& told, const read_limits& limits) {
  table_builder table(lines.path(), "metric of MLflow", told, limits);
  const std::uint32_t step = table.column("step");
  const std::uint32_t value = table.column(metric_of_path(lines.path()));
  for (std::string line; lines.next(line, "metric of MLflow");) {
    const entry e = entry_of(line);
    if (e.step.empty() && line.empty()) continue;
    if (e.step.empty() && !lines.ended()) {
      table.add_note("the last row was cut short: left out");
      break;
    }
    if (!are_digits(e.step)) lines.fail(in_quotes(line) + " is not time, value and step, as MLflow writes them");
    table.begin(lines.number());
    table.put(step, e.step);
    table.put(value, e.value);
    table.end();
  }
  return table.take();
}

}  // namespace ulp::io
