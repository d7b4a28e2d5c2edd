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
    write_whole_file(options.csv, to_csv(t));
  }
  if (text && !options.machine_stdout()) fmt::print("{}", to_text(t));
}

void keep_inputs(const output_options& options, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(input, ignored) && std::filesystem::equivalent(input, options.csv, ignored))
      throw usage_error(fmt::format("--csv: {} is read here and would be overwritten; give another file", options.csv));
  }
}

void write_whole_file(const std::string& path, std::string_view content) {
  // Not a plain file (a pipe, /dev/stdout): there is nothing to rename.
  const std::string temporary = path + ".part" + std::to_string(getpid());
  const bool special = [&] {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  }();
  const std::string& target = special ? path : temporary;
  std::ofstream out(target, std::ios::binary);
  out << content;
  out.close();
  if (!out || (!special && std::rename(temporary.c_str(), path.c_str()) != 0)) {
    const std::string reason = std::strerror(errno);
    if (!special) std::remove(temporary.c_str());
    throw input_error(path, "", "cannot be written: " + reason);
  }
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
