#include <ulp/ask/answers/advice_answer.hpp>

#include <memory>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/answers/run_notes.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/io/source/source.hpp>
#include <vector>

namespace ulp {
namespace {

name_predicate checked_by(const advice_question& asked) {
  if (asked.check.empty()) return {};
  return regex_of(asked.check, "--check");
}

// The framework's words as far as nothing else says whose they are.
void take_framework(own_configuration& configured, const advice_question& asked, const source& from) {
  if (!asked.framework.empty()) {
    configured.framework = asked.framework;
    return;
  }
  const std::string logged = from.framework().substr(0, from.framework().find(" and "));
  if (!configuration_lines(logged, {.format = "bfloat16"}).empty()) configured.framework = logged;
}

}  // namespace

examined_run advice_over(const advice_question& asked, listener& to) {
  const scenario_text scaled{.format = asked.format, .rounding = asked.rounding};
  const std::optional<configuration> own = configuration_of(asked.config, scaled, asked.run);
  advice_options how = advice_options_of(asked.format, asked.rounding, asked.epsilon, asked.run);
  if (own) how.configured = own_configuration_of(own->said);
  const selection counted = asked.run.selected();
  const name_predicate checked = checked_by(asked);

  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to, asked.look);
  if (!own) take_framework(how.configured, asked, *from);
  check_tensors_exist(asked.check, *from);
  run_examination examination(how, counted, checked);
  examination.expect(from->step_count());
  run_notes notes;
  for_each_step(*from, counted, to, [&](const step& now) {
    notes.see(now, from->tensors());
    examination.add(now, from->tensors());
  });
  check_steps_counted(examination.whole().steps().size(), asked.run);
  check_tensors_counted(examination.whole().choice(), *from, asked.run);
  if (const std::unique_ptr<source> twice = open_run_again(asked.run))
    if (const std::optional<selection> less = examination.again(from->tensors()))
      for_each_step(*twice, *less, to, [&](const step& now) { examination.add_again(now, from->tensors()); });

  examined_run run = examination.result(from->tensors(), kept_weights_of(asked.run, how.configured));
  for (const std::string& line : notes.lines(run.whole.choice())) to.note(line);
  for (const std::string& line : group_notes(sets_by_group(run.whole, from->tensors(), how.groups))) to.note(line);
  if (run.whole.as_recorded()) to.note(factor_note);
  return run;
}

std::optional<std::int64_t> left_out_from(const advice_question& asked, listener& to) {
  const selection counted = asked.run.selected();
  survey all(counted, checked_by(asked));
  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to, asked.look);
  for_each_step(*from, counted, to, [&](const step& now) { all.add(now, from->tensors()); });
  check_steps_counted(all.steps().size(), asked.run);
  const std::optional<std::int64_t> died = diagnosis_of(all, from->tensors()).died_at;
  return died && *died != all.steps().front().key.step ? died : std::nullopt;
}

}  // namespace ulp
