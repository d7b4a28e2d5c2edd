// Where results go: a table for people on stdout, CSV to a file or stdout, JSON to stdout. Messages go to stderr.
#ifndef ULP_CLI_OUTPUT_HPP
#define ULP_CLI_OUTPUT_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <ulp/report/table.hpp>
#include <vector>

namespace ulp::cli {

struct output_options {
  bool json = false;
  std::string csv;  // a file, "-" for stdout, empty for none

  // Whether stdout belongs to a machine: then nothing else is printed there.
  [[nodiscard]] bool machine_stdout() const { return json || csv == "-"; }
};

void add_output(CLI::App& command, output_options& options);

// Writes `t` as the options ask; as text when no form for machines goes to stdout and `text` is set.
void write_table(const table& t, const output_options& options, bool text = true);

// Throws usage_error where the file for CSV is one of those that are read.
void keep_inputs(const output_options& options, const std::vector<std::string>& inputs);

// Columns of the terminal that stdout is; 0 where it is none.
[[nodiscard]] std::size_t terminal_columns();

// A table that is too long to be held: its rows come in parts, each with the columns of the first. Whole or absent:
// written beside and renamed. Throws input_error.
class csv_stream {
 public:
  explicit csv_stream(std::string path);
  ~csv_stream();
  csv_stream(const csv_stream&) = delete;
  csv_stream& operator=(const csv_stream&) = delete;
  void write(const table& part);
  void finish();

 private:
  struct file;
  std::unique_ptr<file> file_;
};

// A line on stderr: "ulp: note: ...", "ulp: warning: ...".
void note(const std::string& message);
void warn(const std::string& message);

}  // namespace ulp::cli

#endif
