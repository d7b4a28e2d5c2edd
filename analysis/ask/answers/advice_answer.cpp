#include <ulp/ask/answers/advice_answer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/report/findings/weights_finding.hpp>
#include <ulp/report/tables/run_notes.hpp>
#include <utility>
#include <vector>

namespace ulp {

advice advice_over(const advice_question& asked, listener& to) {
  const scenario_text scaled{.format = asked.format, .rounding = asked.rounding};
  const std::optional<configuration> own = configuration_of(asked.config, scaled, asked.run);
  advice_options how = advice_options_of(asked.format, asked.rounding, asked.epsilon, asked.run);
  if (own) how.configured = own_configuration_of(own->said);
  const selection counted = asked.run.selected();
  name_predicate checked;
  if (!asked.check.empty()) checked = regex_of(asked.check, "--check");

  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to);
  const std::string logged = from->framework().substr(0, from->framework().find(" and "));
  if (!own && !configuration_lines(logged, {.format = "bfloat16"}).empty()) how.configured.framework = logged;
  check_tensors_exist(asked.check, *from);
  adviser adviser(how, counted, checked);
  adviser.expect(from->step_count());
  run_notes notes;
  for_each_step(*from, counted, to, [&](const step& now) {
    notes.see(now, from->tensors());
    adviser.add(now, from->tensors());
  });
  check_steps_counted(adviser.whole().steps().size(), asked.run);
  check_tensors_counted(adviser.whole().choice(), *from, asked.run);
  if (const std::unique_ptr<source> twice = open_run_again(asked.run))
    if (const std::optional<selection> less = adviser.again(from->tensors()))
      for_each_step(*twice, *less, to, [&](const step& now) { adviser.add_again(now, from->tensors()); });

  advice given = adviser.result(from->tensors(), weights_finding(asked.run, how.configured));
  for (const std::string& line : notes.lines(adviser.whole().choice())) to.note(line);
  for (const std::string& line : group_notes(sets_by_group(adviser.whole(), from->tensors(), how.groups)))
    to.note(line);
  if (adviser.whole().as_recorded()) to.note(factor_note);
  return given;
}

table advice_table(const advice& given) {
  std::vector<finding> findings{finding_of(given.first)};
  findings.insert(findings.end(), given.findings.begin(), given.findings.end());
  const std::vector<column<finding>> columns = {
      {"topic", "", &finding::topic},
      {"question", "", &finding::question},
      {"conclusion", "", &finding::conclusion},
      {"evidence", "", [](const finding& f) { return fmt::format("{}", fmt::join(f.evidence, "\n")); }},
      {"limits", "", &finding::limits},
      {"numbers", "", [](const finding& f) { return named_values{f.numbers}; }},
  };
  return table_of(columns, findings);
}

}  // namespace ulp
