// What a subcommand is: a function that adds it to the program and, when it was chosen, sets what is to be run.
#ifndef ULP_CLI_COMMAND_HPP
#define ULP_CLI_COMMAND_HPP

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>
#include <string>
#include <ulp/model/scaler.hpp>

namespace ulp::cli {

// Exit codes: done; a check found differences; bad input or usage.
inline constexpr int done = 0;
inline constexpr int differences = 1;
inline constexpr int bad_input = 2;

// Runs the chosen subcommand; returns its exit code.
using action = std::function<int()>;

// A wrong argument: one line that says which and what to do.
class usage_error : public std::runtime_error {
  using runtime_error::runtime_error;
};

// Throws usage_error that lists the names.
[[nodiscard]] const scaler_entry& scaler_named(const std::string& name);

void add_advise(CLI::App& program, action& chosen);
void add_check(CLI::App& program, action& chosen);
void add_eval(CLI::App& program, action& chosen);
void add_export(CLI::App& program, action& chosen);
void add_formats(CLI::App& program, action& chosen);
void add_info(CLI::App& program, action& chosen);
void add_inspect(CLI::App& program, action& chosen);
void add_merge(CLI::App& program, action& chosen);
void add_outcomes(CLI::App& program, action& chosen);
void add_record(CLI::App& program, action& chosen);
void add_replay(CLI::App& program, action& chosen);
void add_report(CLI::App& program, action& chosen);
void add_view(CLI::App& program, action& chosen);
void add_scalers(CLI::App& program, action& chosen);
void add_sweep(CLI::App& program, action& chosen);
void add_vectors(CLI::App& program, action& chosen);
void add_verify(CLI::App& program, action& chosen);

}  // namespace ulp::cli

#endif
