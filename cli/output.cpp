#include "output.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/output/program.hpp>

#include "command.hpp"
#include "wrapped.hpp"

namespace ulp::cli {

void add_output(command& to, output_options& options) {
  to.add("--csv", &options.csv, "write the rows as CSV to this file instead of printing them; - for standard output",
         {.type = "FILE", .check = a_name});
  to.add("--json", &options.json, "print JSON");
}

void write_table(std::string_view what, const table& t, const output_options& options, bool text) {
  if (options.json) print_json(what, t);
  if (!options.csv.empty()) {
    csv_stream csv(options.csv);
    csv.write(t);
    csv.finish();
  }
  if (text && !options.json && options.csv.empty()) fmt::print("{}", to_text(t));
}

std::string schema_of(std::string_view what) { return fmt::format("ulp.{}/1", what); }

void refuse_overwriting_inputs(const output_options& options, const std::vector<std::string>& inputs) {
  if (options.json && options.csv == "-") throw usage_error("--json and --csv - both write to standard output");
  if (is_one_of(options.csv, inputs))
    throw usage_error(fmt::format("{} is an input and would be overwritten; name another file", options.csv));
}

void refuse_one_output(const std::vector<std::pair<std::string_view, std::string>>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = i + 1; j < outputs.size(); ++j)
      if (is_one_output(outputs[i].second, outputs[j].second))
        throw usage_error(fmt::format("{} and {} both write to {}; name another file", outputs[i].first,
                                      outputs[j].first, outputs[i].second));
}

csv_stream::csv_stream(const std::string& path) {
  if (path != "-") file_.emplace(path);
}

void csv_stream::write(const table& part) {
  const std::string all = to_csv(part);
  const std::string_view text = std::string_view{all}.substr(has_header_ ? all.find('\n') + 1 : 0);
  has_header_ = true;
  if (file_)
    file_->write(text);
  else
    fmt::print("{}", text);
}

void csv_stream::finish() {
  if (file_) file_->finish();
}

namespace {

std::size_t columns_of(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  constexpr std::size_t usual = 80;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

// Longer lines are hard to read, however wide the terminal is.
std::string sentences(std::string_view lead, std::string_view text, int descriptor) {
  constexpr std::size_t widest = 100;
  return wrapped(lead, text, std::min(columns_of(descriptor), widest)) + '\n';
}

}  // namespace

std::size_t terminal_columns() { return columns_of(STDOUT_FILENO); }

void print_sentences(std::string_view lead, std::string_view text) {
  fmt::print("{}", sentences(lead, text, STDOUT_FILENO));
}

void print_titled_lines(std::string_view title, std::string_view lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    fmt::print("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

namespace {

std::vector<std::string>& all_told() {
  static std::vector<std::string> all;
  return all;
}

void keep(const std::string& message) {
  if (std::ranges::find(all_told(), message) == all_told().end()) all_told().push_back(message);
}

void tell(const char* prefix, const std::string& any) {
  const std::string message = printable(any);
  keep(message);
  print_error(sentences("ulp: ", prefix + message, STDERR_FILENO));
}

bool quiet = false;

}  // namespace

void be_quiet() noexcept { quiet = true; }

bool is_quiet() noexcept { return quiet; }

void note(const std::string& message) {
  if (quiet)
    keep(printable(message));
  else
    tell("note: ", message);
}

void warn(const std::string& message) { tell("warning: ", message); }

void tell(const std::string& message) { tell("", message); }

const std::vector<std::string>& told() { return all_told(); }

void print_json(std::string_view what, const table& t) { fmt::print("{}", to_json(t, schema_of(what), told())); }

void finish_output() {
  if (std::fflush(stdout) != 0 || output_failed()) throw std::runtime_error("standard output: cannot be written");
}

bool output_failed() noexcept { return std::ferror(stdout) != 0; }

bool output_is_unread() noexcept {
  pollfd reader{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
}

int end_without_output() noexcept {
  struct sigaction now {};
  if (output_is_unread() && sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) end_by_signal(SIGPIPE);
  print_error("ulp: standard output: cannot be written\n");
  return bad_input;
}

}  // namespace ulp::cli
