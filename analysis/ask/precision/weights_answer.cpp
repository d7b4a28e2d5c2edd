#include <ulp/ask/precision/weights_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>

#include "dump_files.hpp"

namespace ulp {
namespace {

std::vector<typed_treatment> cases_of(const weights_question& asked, const std::optional<configuration>& config) {
  rounding_text typed = asked.rounding;
  std::optional<std::string> said;
  if (config) said = config->said.weights_kept_in;
  if (config && config->said.weights_stochastic && asked.formats.empty() && typed.direction.empty())
    typed.direction = "stochastic";
  std::vector<typed_treatment> cases;
  for (const std::string& name : formats_in_question(asked.formats, said, usual_weight_formats))
    cases.push_back(treatment_of(name, typed));
  return cases;
}

[[noreturn]] void refuse_learning_rate(const std::string& path) {
  throw std::invalid_argument(
      fmt::format("--lr: the updates of {} were computed when it was recorded, with the learning rate of then: leave "
                  "--lr out, record anew with ulp record --joint --lr X, or give the dumps",
                  path));
}

// The joint tables of a recording hold updates as they were computed when it was made.
void refuse_what_was_recorded(const weights_question& asked) {
  const std::string& path = asked.run.inputs.front();
  for (const auto& [option, text] : {std::pair{"--factor", asked.run.factor}, {"--scalars", asked.run.scalars}})
    if (!text.empty())
      throw std::invalid_argument(
          fmt::format("{0}: the updates of {1} were computed when it was recorded: leave {0} out, record anew with ulp "
                      "record --joint {0} ..., or give the dumps",
                      option, path));
  // The stall radius takes one.
  if (!asked.learning_rate.empty() && asked.curvature.empty()) refuse_learning_rate(path);
}

}  // namespace

weights_answer weights_over(const weights_question& asked, listener& to,
                            const std::function<void(const weights_answer&)>& look) {
  weights_answer answer{.layout = {.by = asked.by, .named = asked.run.named_groups(), .curvature = {}}};
  weights_layout& layout = answer.layout;
  if (layout.is_by("group") != !layout.named.empty())
    throw std::invalid_argument(layout.is_by("group") ? "--by group: say which groups by --group NAME=REGEX"
                                                      : "--group: is used with --by group");
  double learning_rate = not_known;
  if (!asked.learning_rate.empty()) learning_rate = positive_number(asked.learning_rate, "--lr");
  if (!asked.curvature.empty()) layout.curvature = positive_number(asked.curvature, "--curvature");
  // What a file leaves open ("auto") is decided by the one format that is asked for.
  const scenario_text given{.format = asked.formats.size() == 1 ? asked.formats.front() : ""};
  const std::optional<configuration> config = configuration_of(asked.config, given, asked.run);
  if (config) to.configured(*config);
  if (config) answer.said = config->said;
  answer.counted.cases = cases_of(asked, config);
  if (look) look(answer);

  run_text run = asked.run;
  run.inputs = files_of(run.inputs, "a dump of each step");
  const bool is_recording = !are_dumps(run.inputs, run.how_to_read());
  if (is_recording) refuse_what_was_recorded(asked);
  answer.counted = count_weights(run, answer.counted.cases, learning_rate, to);
  const bool of_gradients = std::ranges::any_of(
      answer.counted.items, [](const weights_item& i) { return i.origin == update_origin::gradient; });
  if (is_recording && of_gradients && !asked.learning_rate.empty()) refuse_learning_rate(run.inputs.front());
  if (const double decided = decided_share(answer.counted); decided < 1)
    to.note(fmt::format("{:.4g} % of the updates are decided; the others are in ranges [low, high]", 100 * decided));
  return answer;
}

}  // namespace ulp
