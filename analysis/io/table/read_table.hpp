// Readers of the tables that people's tools write.
#ifndef ULP_IO_TABLE_READ_TABLE_HPP
#define ULP_IO_TABLE_READ_TABLE_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bytes/lines.hpp"
#include "csv/csv.hpp"
#include "run_table.hpp"

namespace ulp::io {

// What parts the fields of a first line that may name columns: ',', ';', a tab or '|'; 0 where it is none of these. ' ' parts
// words, which separator_of never gives: too many lines have them.
[[nodiscard]] char separator_of(std::string_view header) noexcept;
// The names of columns in such a line, as far as they need no reader.
[[nodiscard]] std::vector<std::string> names_in(std::string_view header, char separator);
// Whether these are columns of a run: a metric, and what counts it. TensorBoard's "Wall time,Step,Value" are.
[[nodiscard]] bool is_header_of_run(std::string_view header, char separator);

// From the header on. A last row that was cut short is left out, with a note; of a metric that has no name but "Value" it is
// the file's name that says what it is. Throws input_error.
[[nodiscard]] run_table read_csv_table(csv_reader rows, char separator, const told_columns& told,
                                       const read_limits& limits);

// Whether a text may be JSON, by its first line.
[[nodiscard]] bool begins_json(std::string_view line) noexcept;
// An object in each line; or a document: a list of objects, an object with such a list or lists in it, or TensorBoard's
// lists of time, step and value. Throws input_error where it is none of these.
[[nodiscard]] run_table read_json_table(line_reader lines, const told_columns& told, const read_limits& limits);

// A metric of MLflow: "1700000000000 2.5 12", time, value, step.
[[nodiscard]] bool begins_mlflow_metric(std::string_view line) noexcept;
[[nodiscard]] run_table read_mlflow_metric(line_reader lines, const told_columns& told, const read_limits& limits);

// What a file of one metric is called by its path: .../metrics/train/loss, run-a-tag-train_loss.csv.
[[nodiscard]] std::string metric_of_path(const std::string& path);

}  // namespace ulp::io

#endif
