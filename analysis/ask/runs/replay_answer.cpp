#include <ulp/ask/runs/replay_answer.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/reading/reading.hpp>

namespace ulp {

replay_question completed(replay_question asked, const config_file& file) {
  const std::optional<configuration> own = configuration_of(file, asked.what, asked.run);
  return completed(std::move(asked), own);
}

replay_question completed(replay_question asked, const std::optional<configuration>& own) {
  asked.own = own;
  if (asked.own) asked.what = with_configuration(asked.what, *asked.own);
  if (asked.what.scaler.empty())
    throw std::invalid_argument("--scaler, --recipe or --config is required (see ulp replay --help)");
  if (asked.what.format.empty()) throw std::invalid_argument("--format is required (see ulp replay --help)");
  return asked;
}

void replay_account::add(const trajectory_row& row) {
  critical_.push_back({row.key.step, row.critical_scale});
  if (row.clamped) clamped_ += *row.clamped;
  if (!std::isfinite(row.clipped_norm.high)) return;
  norm_ = std::fmax(norm_, row.clipped_norm.high);
  norm_exact_ = norm_exact_ && row.norm_exact && row.clipped_norm.exact();
}

trajectory_row replayed_run::add(const step& now, const std::vector<tensor_info>& tensors, const scenario& s,
                                 std::vector<tensor_outcome>* of_tensors) {
  notes_.see(now, tensors);
  end_.see(now);
  learning_rates_.push_back(now.scalars.learning_rate);
  trajectory_row row = by_.advance(now, tensors, of_tensors);
  if (row.lacks_input) throw std::invalid_argument(fmt::format("{}: {}", s.recipe.machine().entry().name, row.error));
  sum_.add(row);
  account_.add(row);
  watch_.add(row);
  return row;
}

void replayed_run::check(const source& from, const replay_question& asked) const {
  check_steps_counted(sum_.steps, asked.run);
  check_tensors_counted(by_.choice(), from, asked.run);
  if (by_.choice().rule() == check_rule::undecided || by_.checked_rows() > 0) return;
  const std::size_t others = from.tensors().size() - 1;
  throw std::invalid_argument(fmt::format("no overflow can be seen: {} no recorded tensor (there {} '{}'{})",
                                          asked.what.check.empty() ? "--tensor, --kind and --role match"
                                                                   : "--check '" + asked.what.check + "' matches",
                                          others == 0 ? "is" : "are", from.tensors().front().name,
                                          others == 0 ? "" : " and " + count_text(others, "other")));
}

void replayed_run::tell(const source& from, const replay_question& asked, const scenario& s, listener& to,
                        const std::vector<std::string>& late) const {
  if (!sum_.error.empty()) to.tell(fmt::format("{} ends the run: {}", s.recipe.machine().entry().name, sum_.error));
  if (asked.own) to.configured(*asked.own);
  for (const std::string& text : policy_notes(s, asked.what.format)) to.note(text);
  for (const std::string& text : group_notes(s.groups, from.tensors(), s.counted)) to.note(text);
  for (const std::string& text : late) to.note(text);
  for (const std::string& text : notes_.lines(by_.choice(), asked.run)) to.note(text);
  for (const std::string& text : end_.lines()) to.note(text);
  for (const std::string& text : watch_.warnings()) to.warn(text);
}

replayed_run replay_over(const replay_question& asked, const scenario& s, listener& to, const replay_hearers& hears) {
  source_options how = reading_for(asked.run, std::span{&s, 1});
  how.merged = how.merged && !hears.of_tensors;
  const std::unique_ptr<source> from = open_run(asked.run, how, to, asked.look);
  check_tensors_exist(asked.what.check, *from);
  if (hears.of_tensors && from->tensors().empty())
    throw std::invalid_argument("--per-tensor: the input has no tensors");
  replayed_run all(s);
  std::vector<tensor_outcome> outcomes;
  for_each_step(*from, s.counted, to, [&](const step& now) {
    outcomes.clear();
    const trajectory_row row = all.add(now, from->tensors(), s, hears.of_tensors ? &outcomes : nullptr);
    if (hears.of_rows) hears.of_rows(row);
    if (hears.of_tensors) hears.of_tensors(outcomes, from->tensors());
    return row.error.empty();
  });
  all.check(*from, asked);
  all.tell(*from, asked, s, to);
  return all;
}

}  // namespace ulp
