// A run as it is named on a command line: which inputs, what they do not say themselves, and which part is used.
#ifndef ULP_ASK_QUESTIONS_RUN_TEXT_HPP
#define ULP_ASK_QUESTIONS_RUN_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/questions/text_option.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

struct run_text {
  std::vector<std::string> inputs;
  std::string tensor;
  std::vector<std::string> kinds;  // KIND selects, REGEX=KIND says what tensors are
  std::vector<std::string> roles;  // likewise
  std::string steps;
  std::int64_t every = 1;
  std::string steps_from;
  std::string scalars;
  std::string columns;  // MEANING=NAME,...
  std::string factor;
  std::vector<std::string> groups;  // NAME=REGEX
  std::string attempts = "last";
  bool allow_empty = false;
  bool raw_codes = false;
  std::vector<std::string> limits;  // NAME=VALUE
  friend bool operator==(const run_text&, const run_text&) = default;

  // These throw std::invalid_argument, whose text names the option.
  [[nodiscard]] std::vector<tensor_group> named_groups() const;
  [[nodiscard]] selection selected() const;
  [[nodiscard]] source_options how_to_read() const;

  [[nodiscard]] bool selects() const;                    // less than everything
  [[nodiscard]] std::vector<std::string> files() const;  // all that are read
};

// What the inputs may be, in words.
[[nodiscard]] std::string inputs_help();
// All but the inputs and the groups.
[[nodiscard]] std::vector<text_option> options_of(run_text& text);
[[nodiscard]] text_option group_option(run_text& text);

// The inputs and options as words of a shell, without groups. `inputs_shown`: the others are counted only, and nobody can
// run that.
[[nodiscard]] std::string command_words(const run_text& text, std::size_t inputs_shown = static_cast<std::size_t>(-1));
// " --group ..." of all groups.
[[nodiscard]] std::string group_words(const run_text& text);

}  // namespace ulp

#endif
