#include "output.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ulp/io/error.hpp>
#include <ulp/io/printable.hpp>

#include "command.hpp"

namespace ulp::cli {

void add_output(CLI::App& command, output_options& options) {
  command.add_option("--csv", options.csv, "write CSV to this file; - for standard output")->type_name("FILE");
  command.add_flag("--json", options.json, "print JSON");
}

void write_table(const table& t, const output_options& options, bool text) {
  if (options.json && options.csv == "-") throw usage_error("--json and --csv - both want standard output");
  if (options.json) fmt::print("{}", to_json(t));
  if (!options.csv.empty()) {
    csv_stream csv(options.csv);
    csv.write(t);
    csv.finish();
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

whole_file::whole_file(std::string path) : path_(std::move(path)) {
  std::error_code ignored;
  const bool special = std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored);
  target_ = special ? path_ : path_ + ".part" + std::to_string(getpid());
  out_.open(target_, std::ios::binary);
  if (!out_) fail();
}

whole_file::~whole_file() {
  if (finished_ || target_ == path_) return;
  out_.close();
  std::remove(target_.c_str());
}

void whole_file::write(std::string_view text) {
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out_) fail();
}

void whole_file::finish() {
  out_.close();
  if (!out_ || (target_ != path_ && std::rename(target_.c_str(), path_.c_str()) != 0)) fail();
  finished_ = true;
}

void whole_file::fail() const {
  const std::string reason = std::strerror(errno);
  throw input_error(path_, "", "cannot be written: " + reason);
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

std::size_t terminal_columns() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  constexpr std::size_t usual = 80;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

void note(const std::string& message) { fmt::print(stderr, "ulp: note: {}\n", printable(message)); }

void warn(const std::string& message) { fmt::print(stderr, "ulp: warning: {}\n", printable(message)); }

}  // namespace ulp::cli
