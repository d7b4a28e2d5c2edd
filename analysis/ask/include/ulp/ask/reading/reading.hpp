// The inputs that a question names, opened and read; and the errors of questions that nothing answers.
#ifndef ULP_ASK_READING_READING_HPP
#define ULP_ASK_READING_READING_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/tensor_choice.hpp>

namespace ulp {

// Whether a small recording is checked wholly, see refuse_damaged. That takes as long as reading it: one that was checked when it
// was opened, or is watched while it grows, is not checked each time.
enum class first_look : bool { no, yes };

// Opens the inputs, as `how` says, and tells what a user should know about them, some of it when they are read to their
// end: `to` outlives the source. Throws input_error, std::invalid_argument.
[[nodiscard]] std::unique_ptr<source> open_run(const run_text& run, const source_options& how, listener& to,
                                               first_look look = first_look::yes);

enum class run_part : std::uint8_t { steps, tables };  // without and with tensors

// As open_run. Where the input is a recording, of which nothing is said that its steps do not say (no other kinds, roles, factors
// or scalars), it gives the steps between the first and the last that are selected, and with run_part::steps no tensors of
// theirs. Any other source gives all, and the caller selects. `to` outlives the source. Throws input_error, std::invalid_argument.
[[nodiscard]] std::unique_ptr<source> open_part_of(const run_text& run, run_part part, const source_options& how,
                                                   listener& to);

// The first of the files that can be read only once, standard input or a pipe; empty where there is none.
[[nodiscard]] std::string read_once_of(const run_text& run);
// The same inputs once more, which tells nothing; nullptr where they cannot be read twice, such as a pipe.
[[nodiscard]] std::unique_ptr<source> open_run_again(const run_text& run);
[[nodiscard]] std::unique_ptr<source> open_run_again(const run_text& run, const source_options& how);

// The loop that most answers are: the selected steps of a run, accumulated gradients only. Ends early where `act` returns
// false.
template <typename Act>
void for_each_step(source& from, const selection& selected, listener& to, Act act) {
  work reading(to, "steps", from.step_count());
  step now;
  while (from.next(now)) {
    reading.advance();
    if (!selected.takes(now.key.step) || now.key.microbatch != -1) continue;
    if constexpr (std::is_void_v<std::invoke_result_t<Act, const step&>>)
      act(now);
    else if (!act(now))
      return;
  }
}

// What hears of a recording that is being written; all three are called. Microbatches are steps here, unlike in for_each_step.
struct followed_steps {
  std::function<bool(step&, const std::vector<tensor_info>&)> see;  // the next step, which may be moved; false: no more
  std::function<void()> begin_again;  // steps are recorded again, as a run that was resumed does: the run begins anew
  std::function<bool()> is_stopped;   // by the user: an error that comes then is a read that was broken off
};

// Its selected steps as they come, until it is closed, `see` wants no more or the user stops it.
void follow_steps(source& from, const selection& selected, const followed_steps& hears);

// These throw std::invalid_argument, whose text is for people.

// Where there was no step to look at.
void check_steps_counted(std::uint64_t steps, const run_text& run);
// Where --check is given for an input without tensors.
void check_tensors_exist(const std::string& check, const source& from);
// Where --tensor, --kind and --role leave no tensor.
void check_tensors_counted(const tensor_choice& choice, const source& from, const run_text& run);

// "; near: conv1.weight, conv2.weight", the names that --tensor may have meant; where none is near, some of all.
[[nodiscard]] std::string near_tensors(const std::string& expression, const source& from);

// nullopt where no file is named. Throws input_error, std::invalid_argument, also where standard input is the run already.
[[nodiscard]] std::optional<configuration> configuration_of(const config_file& file, const scenario_text& given,
                                                            const run_text& run);

}  // namespace ulp

#endif
