// What makes a replay, as it is typed: the one vocabulary of the command line, the page and the viewer.
#ifndef ULP_ASK_QUESTIONS_SCENARIO_TEXT_HPP
#define ULP_ASK_QUESTIONS_SCENARIO_TEXT_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/text_option.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

struct scenario_text {
  std::string scaler;
  std::vector<std::string> parameters;  // "key=value", those that were set
  std::vector<std::string> start;       // "key=value": parts of the scaler's state before the first step
  std::string format;
  rounding_text rounding;
  std::string check;       // a regular expression; empty: see check_rule
  std::string clip_norm;   // at most one of the two
  std::string clip_value;  // likewise
  std::string order;       // of unscaling, the overflow check and clipping; empty: unscale,check,clip
  friend bool operator==(const scenario_text&, const scenario_text&) = default;
};

[[nodiscard]] std::vector<text_option> options_of(scenario_text& text);

// In place of what was set, if anything.
void set_parameter(scenario_text& text, const std::string& key, const std::string& value);
// As it was set; nullopt: the policy's own.
[[nodiscard]] std::optional<std::string> parameter_of(const scenario_text& text, const std::string& key);

// The scaler in its start state. Throws parameter_error, std::invalid_argument.
[[nodiscard]] scaler scaler_of(const scenario_text& text);

// What the texts mean. Throws std::invalid_argument, whose text is for people, where they mean nothing.
[[nodiscard]] scenario scenario_of(const scenario_text& text, const run_text& run = {});

// "pytorch_gradscaler growth_interval=200, float16".
[[nodiscard]] std::string name_of(const scenario_text& text);

// The `ulp replay` line that does the same; command_words tells of `inputs_shown`.
[[nodiscard]] std::string command_of(const scenario_text& text, const run_text& run,
                                     std::size_t inputs_shown = static_cast<std::size_t>(-1));

// A framework's own configuration, and the file that it is of.
struct configuration {
  std::string file;
  imported_config said;
};
// A format that is given decides what the file leaves open. Throws input_error, std::invalid_argument.
[[nodiscard]] configuration read_configuration(const config_file& file, const scenario_text& given);

// What its keys mean and what else a user should know of it, a line each that names file and framework.
[[nodiscard]] std::vector<std::string> configuration_notes(const configuration& config);

// With what it says of scaler, parameters, format and clipping. Format and parameters that are given stay; clipping that is
// given too throws std::invalid_argument.
[[nodiscard]] scenario_text with_configuration(scenario_text given, const configuration& config);

// The same scenario under the policy of the configuration, if any, and under each of these: of parameters and start state
// each gets what it has; format and clipping of the configuration hold for all. Throws std::invalid_argument where no policy
// has one of the parameters.
[[nodiscard]] std::vector<scenario_text> under_each(const scenario_text& given, const std::vector<std::string>& scalers,
                                                    const std::optional<configuration>& own = {});

// Whether the totals of a step, merged over tensors of one kind, role and factor, give what single tensors would, see
// source_options::merged.
[[nodiscard]] bool totals_suffice(const scenario& s);

// How to read the run for replays of these scenarios: as totals where they suffice, and with the edges of value clipping.
[[nodiscard]] source_options reading_for(const run_text& run, std::span<const scenario> scenarios);

}  // namespace ulp

#endif
