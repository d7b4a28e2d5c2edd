#include "other_answers.hpp"

namespace ulp::gui {

plan_answer plan_of(const run_text& run, const plan_spec& choice, listener& to) {
  return plan_over({.run = run, .hardware = choice.hardware, .lose = choice.lose, .budget = {}}, to);
}

compare_answer comparison_of(const run_text& run, const std::string& other, bool by_loss, listener& to) {
  return compare_runs(
      {.run = run, .other = other, .repeats = {}, .by = by_loss ? run_alignment::loss : run_alignment::step}, to);
}

}  // namespace ulp::gui
