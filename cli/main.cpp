#include <fmt/format.h>

#include <exception>
#include <new>
#include <ulp/io/printable.hpp>
#include <ulp/io/program.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace {

int run(int argc, char** argv) {
  CLI::App program{"What 16 bits do to your gradients, exactly.", "ulp"};
  program.require_subcommand(1);
  program.set_version_flag("--version", "ulp " ULP_VERSION);
  program.footer(
      "ulp COMMAND --help tells more, with an example.\n"
      "Exit codes: 0 done, 1 a check found differences, 2 bad input or usage, or what was asked for cannot be read or "
      "written,\n"
      "130 ended by Ctrl-C. Another signal ends it as signals do; so does, without a word, standard output that nobody "
      "reads.");
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

// Of the exception in flight, after the line that tells it.
int exit_code_of_error() {
  if (ulp::cli::progress::interrupted()) return ulp::cli::end_interrupted();
  if (ulp::cli::output_failed()) return ulp::cli::end_without_output();
  try {
    throw;
  } catch (const std::bad_alloc&) {
    ulp::print_error("ulp: there is not enough memory\n");
  } catch (const std::exception& problem) {
    ulp::print_error(fmt::format("ulp: {}\n", ulp::printable(problem.what())));
  } catch (...) {
    ulp::print_error("ulp: ended by an error of its own\n");
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
