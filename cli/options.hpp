// The arguments that several subcommands share, and how they become what the libraries take.
#ifndef ULP_CLI_OPTIONS_HPP
#define ULP_CLI_OPTIONS_HPP

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/scenario.hpp>

namespace ulp::cli {

// Throws usage_error with the nearest names.
[[nodiscard]] format format_named(const std::string& name);

// A positive finite number, "2^15" too; `option` names it in the error.
[[nodiscard]] double positive_number(const std::string& text, const std::string& option);

// Throws usage_error that names the option and the place of the mistake.
[[nodiscard]] std::regex regex_of(const std::string& text, const std::string& option);

struct rounding_options {
  std::string direction = "nearest-even";
  bool saturate = false;
  bool daz = false;
  std::string flush;
  std::string tininess = "after";
  std::uint64_t seed = 0;

  [[nodiscard]] rounding value() const;
};
void add_rounding(CLI::App& command, rounding_options& options);

// Which run, what the inputs do not say themselves, and which part of it is used.
struct run_options {
  std::vector<std::string> inputs;
  std::string tensor;
  std::vector<std::string> kinds;  // KIND selects, REGEX=KIND says what tensors are
  std::vector<std::string> roles;  // likewise
  std::string steps;
  std::int64_t every = 1;
  std::string steps_from;
  std::string scalars;
  std::string factor;

  [[nodiscard]] selection selected() const;
  [[nodiscard]] source_options how_to_read() const;
  [[nodiscard]] bool selects() const;  // less than everything
};
void add_run(CLI::App& command, run_options& options);

// Opens the inputs and tells what a user should know about them.
[[nodiscard]] std::unique_ptr<source> open_run(const run_options& options, bool with_sums = true);

}  // namespace ulp::cli

#endif
