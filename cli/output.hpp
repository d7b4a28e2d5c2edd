// Where results go: a table for people on stdout, CSV to a file or stdout, JSON to stdout. Messages go to stderr.
#ifndef ULP_CLI_OUTPUT_HPP
#define ULP_CLI_OUTPUT_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/report/tables/table.hpp>
#include <vector>

#include "command_line.hpp"

namespace ulp::cli {

struct output_options {
  bool json = false;
  std::string csv;  // a file, "-" for stdout, empty for none

  // Whether stdout belongs to a machine: then nothing else is printed there.
  [[nodiscard]] bool machine_stdout() const { return json || csv == "-"; }
};

void add_output(command& to, output_options& options);

// Writes `t` as the options ask, JSON after all notes; as text when there is no form for machines and `text` is set.
// `what` names the schema of its rows: the command, or what of it.
void write_table(std::string_view what, const table& t, const output_options& options, bool text = true);

// "ulp.outcomes/1": raised where a key goes or comes to mean something else.
[[nodiscard]] std::string schema_of(std::string_view what);

// Throws usage_error where the file for CSV is one of those that are read, and where two want standard output.
void refuse_overwriting_inputs(const output_options& options, const std::vector<std::string>& inputs);

// Throws usage_error where two of these outputs, option and file, would be one file; of those with a value.
void refuse_one_output(const std::vector<std::pair<std::string_view, std::string>>& outputs);

// Columns of the terminal that stdout is; 0 where it is none.
[[nodiscard]] std::size_t terminal_columns();

// A line of sentences on stdout, `lead` before them; see wrapped(). On a terminal in lines of at most 100 columns.
void print_sentences(std::string_view lead, std::string_view text);

// An empty line, the title, and below it the lines; nothing where there are none.
void print_titled_lines(std::string_view title, std::string_view lines);

// A table that is too long to be held: its rows come in parts, each with the columns of the first.
class csv_stream {
 public:
  // "-" is standard output.
  explicit csv_stream(const std::string& path);
  void write(const table& part);
  void finish();

 private:
  std::optional<atomic_file> file_;
  bool has_header_ = false;
};

// --quiet: from now on notes are kept for pages and JSON alone, and no progress is shown.
void be_quiet() noexcept;
[[nodiscard]] bool is_quiet() noexcept;

// A line on stderr: "ulp: note: ...", "ulp: warning: ...", "ulp: ...".
void note(const std::string& message);
void warn(const std::string& message);
void tell(const std::string& message);

// All that these told of the input and the result, in order, each once: for pages and JSON.
[[nodiscard]] const std::vector<std::string>& told();

// On stdout. What was told is in the first row, see to_json: so it comes after all notes.
void print_json(std::string_view what, const table& t);

// Writes what is left for stdout. Throws where that, or anything before, failed.
void finish_output();
[[nodiscard]] bool output_failed() noexcept;
// Whether stdout is a pipe that nobody reads any more.
[[nodiscard]] bool output_is_unread() noexcept;
// One line and bad_input; where stdout is a pipe that nobody reads any more, ends as SIGPIPE does, without a word, unless
// that signal is ignored.
[[nodiscard]] int end_without_output() noexcept;

}  // namespace ulp::cli

#endif
