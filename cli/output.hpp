// Where results go: a table for people on stdout, CSV to a file or stdout, JSON to stdout. Messages go to stderr.
#ifndef ULP_CLI_OUTPUT_HPP
#define ULP_CLI_OUTPUT_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <ulp/report/table.hpp>
#include <utility>
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

// A file that is whole or absent: written beside and renamed by finish. Throws input_error.
class whole_file {
 public:
  explicit whole_file(std::string path);
  ~whole_file();
  whole_file(const whole_file&) = delete;
  whole_file& operator=(const whole_file&) = delete;
  void write(std::string_view text);
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string target_;  // beside it, or itself where it is a pipe or a device
  std::ofstream out_;
  bool finished_ = false;
};

// A table that is too long to be held: its rows come in parts, each with the columns of the first.
class csv_stream {
 public:
  // "-" is standard output.
  explicit csv_stream(const std::string& path);
  void write(const table& part);
  void finish();

 private:
  std::optional<whole_file> file_;
  bool has_header_ = false;
};

// A line on stderr: "ulp: note: ...", "ulp: warning: ...".
void note(const std::string& message);
void warn(const std::string& message);

}  // namespace ulp::cli

#endif
