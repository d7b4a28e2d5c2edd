#include <ulp/ask/answers/page_answer.hpp>

#include <memory>
#include <ulp/ask/answers/reading.hpp>

namespace ulp {

page_question page_about(const run_text& run, const scenario_text& what, const std::vector<std::string>& scalers,
                         const std::optional<configuration>& own, const std::string& epsilon) {
  const std::vector<std::string> usual{"pytorch_gradscaler"};
  page_question asked{.run = run, .policies = {}, .epsilon = epsilon, .configured = {}};
  asked.policies = under_each(what, scalers.empty() && !own ? usual : scalers, own);
  for (scenario_text& policy : asked.policies)
    if (policy.format.empty()) policy.format = "float16";
  if (own) asked.configured = own_configuration_of(own->said);
  return asked;
}

report_page page_over(const page_question& asked, listener& to) {
  page_maker maker(asked);
  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to);
  check_tensors_exist(asked.policies.front().check, *from);
  for_each_step(*from, maker.counted(), to, [&](const step& now) { maker.add(now, from->tensors()); });
  check_steps_counted(maker.seen().steps().size(), asked.run);
  check_tensors_counted(maker.seen().choice(), *from, asked.run);
  if (const std::unique_ptr<source> twice = open_run_again(asked.run))
    if (const std::optional<selection> less = maker.again(from->tensors()))
      for_each_step(*twice, *less, to, [&](const step& now) { maker.add_again(now, from->tensors()); });
  return maker.page(from->tensors());
}

}  // namespace ulp
