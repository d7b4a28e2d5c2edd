// The arguments that several subcommands share, and how they become what the libraries take.
#ifndef ULP_CLI_OPTIONS_HPP
#define ULP_CLI_OPTIONS_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>
#include <ulp/io/regex.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/scenario.hpp>
#include <ulp/model/tensor_choice.hpp>

#include "command_line.hpp"

namespace ulp::cli {

// Throws usage_error that says what is wrong with the name.
[[nodiscard]] format format_named(const std::string& name);

// The same for a format that values are rounded to: not E8M0, whose codes are the scales of blocks.
[[nodiscard]] format value_format_named(const std::string& name);

// The names of a list that was split at commas: what contains '=' is an option of the name before it.
[[nodiscard]] std::vector<std::string> joined_names(const std::vector<std::string>& parts);

// "key=value" as its two parts; `option` names it in the error.
[[nodiscard]] std::pair<std::string, std::string> key_and_value(const std::string& text, const std::string& option);

// A positive finite number, "2^15" too; `option` names it in the error.
[[nodiscard]] double positive_number(const std::string& text, const std::string& option);

// Throws usage_error that names the option and says what is wrong.
[[nodiscard]] regex regex_of(const std::string& text, const std::string& option);

struct rounding_options {
  std::string direction;  // a name or a preset; empty: the format's own
  bool saturate = false;
  bool daz = false;
  std::string flush;
  std::string tininess = "after";
  std::uint64_t seed = 0;

  // For results in that format. Throws usage_error.
  [[nodiscard]] rounding value(const format& to) const;
  // Whether any of them was asked for.
  [[nodiscard]] bool given() const {
    return !direction.empty() || saturate || daz || !flush.empty() || tininess != "after" || seed != 0;
  }
  // Whether the direction is that of some hardware's conversion.
  [[nodiscard]] bool is_preset() const;
  // It in words: "nearest-even", "nvidia (stochastic:A,bits=13)".
  [[nodiscard]] std::string text(const format& to) const;
};
void add_rounding(command& to, rounding_options& options);
void add_rounding_details(command& to, rounding_options& options);  // all but the direction

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
  std::vector<std::string> groups;  // NAME=REGEX
  bool allow_empty = false;
  std::vector<std::string> limits;  // NAME=VALUE

  [[nodiscard]] std::vector<tensor_group> named_groups() const;
  [[nodiscard]] selection selected() const;
  [[nodiscard]] source_options how_to_read() const;
  [[nodiscard]] bool selects() const;                    // less than everything
  [[nodiscard]] std::vector<std::string> files() const;  // all that are read
};
void add_run(command& to, run_options& options);
void add_groups(command& to, run_options& options);  // where groups are told apart

// Opens the inputs and tells what a user should know about them.
[[nodiscard]] std::unique_ptr<source> open_run(const run_options& options);
// The same, as how_to_read() and more says.
[[nodiscard]] std::unique_ptr<source> open_run(const run_options& options, const source_options& how);

// The same for a replay of these scenarios: with the edges of value clipping, and merged where nothing tells tensors apart,
// see source_options::merged.
[[nodiscard]] std::unique_ptr<source> open_run_for(const run_options& options, std::span<const scenario> scenarios,
                                                   bool per_tensor = false);

// Throws usage_error where there was no step to look at.
void check_steps_counted(std::uint64_t steps, const run_options& options);
// Throws usage_error where --check is given for an input without tensors.
void check_tensors_exist(const std::string& check, const source& from);
// Throws usage_error where --tensor, --kind and --role leave no tensor.
void check_tensors_counted(const tensor_choice& choice, const source& from);

}  // namespace ulp::cli

#endif
