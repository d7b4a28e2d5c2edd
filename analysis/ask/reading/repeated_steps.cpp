#include <ulp/ask/reading/repeated_steps.hpp>

#include <fmt/format.h>

#include <ulp/ask/questions/number_text.hpp>

namespace ulp {

void repeated_steps::see(const step_key& key, const step_scalars& logged) {
  if (!last_ || last_->step != key.step) {
    is_repeated_ = false;
  } else if (!is_repeated_ && !(was_skipped_ && !(logged.loss_scale >= scale_))) {
    is_repeated_ = true;
    ++count_;
  }
  last_ = key;
  scale_ = logged.loss_scale;
  was_skipped_ = logged.found_inf.value_or(false) || !logged.applied.value_or(true);
}

std::vector<std::string> repeated_steps::lines(const run_text& run) const {
  if (count_ == 0 || run.how_to_read().attempts != which_attempts::all) return {};
  return {
      fmt::format("{} recorded more than once, as a run that was resumed does: with --attempts all every attempt of "
                  "{} counts as a step of its own",
                  count_text(count_, "step") + (count_ == 1 ? " was" : " were"), count_ == 1 ? "it" : "them")};
}

}  // namespace ulp
