#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <ulp/io/printable.hpp>

#include "command.hpp"
#include "interrupt.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App program{"What 16 bits do to your gradients, exactly.", "ulp"};
  program.require_subcommand(1);
  program.set_version_flag("--version", "ulp " ULP_VERSION);
  program.footer(
      "ulp COMMAND --help tells more, with an example.\n"
      "Exit codes: 0 done, 1 a check found differences, 2 bad input or usage.");
  program.get_formatter()->column_width(34);
  ulp::cli::action chosen;
  ulp::cli::add_formats(program, chosen);
  ulp::cli::add_inspect(program, chosen);
  ulp::cli::add_eval(program, chosen);
  ulp::cli::add_vectors(program, chosen);
  ulp::cli::add_verify(program, chosen);
  ulp::cli::add_record(program, chosen);
  ulp::cli::add_info(program, chosen);
  ulp::cli::add_check(program, chosen);
  ulp::cli::add_merge(program, chosen);
  ulp::cli::add_export(program, chosen);
  ulp::cli::add_outcomes(program, chosen);
  ulp::cli::add_scalers(program, chosen);
  ulp::cli::add_replay(program, chosen);
  ulp::cli::add_sweep(program, chosen);
  ulp::cli::add_advise(program, chosen);
  ulp::cli::add_report(program, chosen);
  ulp::cli::add_view(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return program.exit(help);
  } catch (const CLI::ParseError& problem) {
    const auto subcommands = program.get_subcommands();
    if (subcommands.empty() && argc > 1 && argv[1][0] != '-')
      throw ulp::cli::usage_error(fmt::format("unknown command '{}' (see ulp --help)", argv[1]));
    const std::string name = subcommands.empty() ? "ulp" : "ulp " + subcommands.front()->get_name();
    throw ulp::cli::usage_error(std::string{problem.what()} + " (see " + name + " --help)");
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of writing like a full disk
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "ulp: standard output: cannot be written\n");
  } catch (const ulp::cli::interrupted_error&) {
    fmt::print(stderr, "ulp: interrupted\n");
    return 128 + SIGINT;
  } catch (const std::exception& problem) {
    if (ulp::cli::progress::interrupted()) {
      fmt::print(stderr, "ulp: interrupted\n");
      return 128 + SIGINT;
    }
    fmt::print(stderr, "ulp: {}\n", ulp::printable(problem.what()));
  }
  return ulp::cli::bad_input;
}
