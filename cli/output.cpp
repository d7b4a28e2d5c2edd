#include "output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ulp/io/error.hpp>

#include "command.hpp"

namespace ulp::cli {

void add_output(CLI::App& command, output_options& options) {
  command.add_option("--csv", options.csv, "write CSV to this file; - for standard output")->type_name("FILE");
  command.add_flag("--json", options.json, "print JSON");
}

void write_table(const table& t, const output_options& options, bool text) {
  if (options.json && options.csv == "-") throw usage_error("--json and --csv - both want standard output");
  if (options.json) fmt::print("{}", to_json(t));
  if (options.csv == "-") {
    fmt::print("{}", to_csv(t));
  } else if (!options.csv.empty()) {
    csv_stream file(options.csv);
    file.write(t);
    file.finish();
  }
  if (text && !options.machine_stdout()) fmt::print("{}", to_text(t));
}

void keep_inputs(const output_options& options, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(input, ignored) && std::filesystem::equivalent(input, options.csv, ignored))
      throw usage_error(fmt::format("{} is read here and would be overwritten; give another file", options.csv));
  }
}

struct csv_stream::file {
  std::string path;
  std::string target;  // written beside, or in place where it is a pipe or a device
  std::ofstream out;
  bool has_header = false;
  bool finished = false;

  [[nodiscard]] bool in_place() const { return target == path; }
  [[noreturn]] void fail() {
    const std::string reason = std::strerror(errno);
    throw input_error(path, "", "cannot be written: " + reason);
  }
};

csv_stream::csv_stream(std::string path) : file_(std::make_unique<file>()) {
  std::error_code ignored;
  const bool special = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  file_->target = special ? path : path + ".part" + std::to_string(getpid());
  file_->path = std::move(path);
  file_->out.open(file_->target, std::ios::binary);
  if (!file_->out) file_->fail();
}

csv_stream::~csv_stream() {
  if (file_->finished || file_->in_place()) return;
  file_->out.close();
  std::remove(file_->target.c_str());
}

void csv_stream::write(const table& part) {
  const std::string text = to_csv(part);
  const std::size_t header = file_->has_header ? text.find('\n') + 1 : 0;
  file_->has_header = true;
  file_->out.write(text.data() + header, static_cast<std::streamsize>(text.size() - header));
  if (!file_->out) file_->fail();
}

void csv_stream::finish() {
  file_->out.close();
  if (!file_->out || (!file_->in_place() && std::rename(file_->target.c_str(), file_->path.c_str()) != 0))
    file_->fail();
  file_->finished = true;
}

std::size_t terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  constexpr std::size_t usual = 80;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void note(const std::string& message) { fmt::print(stderr, "ulp: note: {}\n", message); }

void warn(const std::string& message) { fmt::print(stderr, "ulp: warning: {}\n", message); }

}  // namespace ulp::cli
