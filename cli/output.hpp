// Where results go: a table for people on stdout, CSV to a file or stdout, JSON to stdout. Messages go to stderr.
#ifndef ULP_CLI_OUTPUT_HPP
#define ULP_CLI_OUTPUT_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
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

// Whole or absent: written beside and renamed. Throws input_error.
void write_whole_file(const std::string& path, std::string_view content);

// Columns of the terminal that stdout is; 0 where it is none.
[[nodiscard]] std::size_t terminal_columns();

// A line on stderr: "ulp: note: ...", "ulp: warning: ...".
void note(const std::string& message);
void warn(const std::string& message);

}  // namespace ulp::cli

#endif
