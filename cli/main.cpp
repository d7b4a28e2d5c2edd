#include <fmt/format.h>

#include <exception>
#include <new>
#include <string_view>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/program.hpp>

#include "command.hpp"
#include "completion/complete.hpp"
#include "folder.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace ulp::cli;
  const program all = {
      .name = "ulp",
      .help = "What 16 bits do to your gradients, exactly.",
      .version = "ulp " ULP_VERSION,
      .footer =
          "ulp COMMAND --help, or ulp help COMMAND, lists the options of a command, with an example.\n"
          "Examples name files of examples/: they work in the root of the source, and where it is installed in\n"
          "PREFIX/share/ulpscope (/usr/share/ulpscope; of pip in share/ulpscope of the environment). Pages of docs/ are\n"
          "installed in /usr/share/doc/ulp, and of pip beside these examples.\n"
          "Exit codes:\n"
          "  0    success\n"
          "  1    a check found differences\n"
          "  2    invalid input or usage, or a read or write error\n"
          "  130  interrupted by Ctrl-C\n"
          "Other signals, SIGPIPE among them, end the program as usual.",
      .commands = {formats_command(),   inspect_command(), convert_command(),  diff_command(),      eval_command(),
                   vectors_command(),   verify_command(),  record_command(),   info_command(),      check_command(),
                   merge_command(),     export_command(),  outcomes_command(), scalers_command(),   replay_command(),
                   sweep_command(),     advise_command(),  plan_command(),     precision_command(), report_command(),
                   selfcheck_command(), watch_command(),   compare_command(),  matmul_command(),    probe_command(),
                   view_command()}};
  if (argc == 1) return tell_folder();
  if (argc > 1 && std::string_view{argv[1]} == "complete") return complete(all, {argv + 2, argv + argc});
  return ulp::cli::run(all, argc, argv);
}

// Of the exception in flight, after the line that tells it.
int exit_code_of_error() {
  if (ulp::cli::progress::interrupted()) return ulp::cli::end_interrupted();
  if (ulp::cli::output_failed()) return ulp::cli::end_without_output();
  try {
    throw;
  } catch (const std::bad_alloc&) {
    ulp::print_error("ulp: out of memory\n");
  } catch (const std::exception& problem) {
    ulp::print_error(fmt::format("ulp: {}\n", ulp::printable(problem.what())));
  } catch (...) {
    ulp::print_error("ulp: internal error\n");
  }
  return ulp::cli::bad_input;
}

}  // namespace

int main(int argc, char** argv) {
  ulp::open_standard_descriptors();
  ulp::end_by_terminate_with("ulp", ulp::cli::bad_input);
  ulp::cli::catch_signals();
  try {
    const int code = run(argc, argv);
    ulp::cli::finish_output();
    return code;
  } catch (...) {
    return exit_code_of_error();
  }
}
