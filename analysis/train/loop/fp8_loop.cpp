#include <ulp/train/fp8_loop.hpp>

#include <cmath>
#include <stdexcept>
#include <utility>

#include <ulp/model/replay/fp8_replay.hpp>

#include "arithmetic/fp8_casting.hpp"
#include "loop/judged_loss.hpp"

namespace ulp {
namespace {

using train::fp8_cast;
using train::fp8_casting;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool holds(const count_range& range, std::uint64_t n) { return range.low <= n && n <= range.high; }

bool is_replayed(const fp8_cast& was, const fp8_row& says) {
  return same(was.amax, says.amax) && same(was.scales.before, says.scales.before) &&
         same(was.scales.used, says.scales.used) && same(was.scales.after, says.scales.after) &&
         was.scales.held == says.scales.held && holds(says.counts.overflow, was.saturated) &&
         holds(says.counts.underflow, was.underflow) && says.saturates == (was.saturated > 0);
}

// A training, and the operands of its steps.
class recorded_training {
 public:
  recorded_training(const training_options& options, std::optional<fp8_recipe> recipe)
      : hook_(std::move(recipe)), training_(options, hook_, std::nullopt) {}

  const trained_step& advance() {
    hook_.start_step();
    now_ = training_.advance();
    now_.recorded.tensors = hook_.rows();
    return now_;
  }
  [[nodiscard]] const trained_step& now() const { return now_; }
  [[nodiscard]] const fp8_casting& hook() const { return hook_; }
  [[nodiscard]] double loss() const { return now_.recorded.scalars.loss; }

 private:
  fp8_casting hook_;
  training training_;
  trained_step now_;
};

class loop {
 public:
  loop(const fp8_loop_options& options, const closed_loop_watch& watch)
      : options_(options),
        watch_(watch),
        closed_(options.training, options.recipe),
        twin_(in_float32(options.training), std::nullopt),
        self_(options.recipe, {}, with_noise::no),
        open_(options.recipe, {}, with_noise::no),
        closed_loss_(options.steps, options.judged),
        twin_loss_(options.steps, options.judged) {
    made_.seed = options.training.seed;
  }

  // Both side by side, so that no step needs to be kept.
  fp8_loop_result run() {
    for (std::int64_t i = 0; i < options_.steps; ++i) {
      watch_.call(watch_.closed, closed_.advance(), closed_.hook().tensors());
      watch_.call(watch_.twin, twin_.advance(), twin_.hook().tensors());
      closed_loss_.see(i, closed_.loss());
      twin_loss_.see(i, twin_.loss());
      compare(i);
    }
    made_.loss = closed_loss_.mean();
    made_.float32_loss = twin_loss_.mean();
    return std::move(made_);
  }

 private:
  void compare(std::int64_t step) {
    const std::vector<tensor_info>& tensors = closed_.hook().tensors();
    const std::vector<fp8_cast>& casts = closed_.hook().casts();
    const std::vector<fp8_row> self = self_.advance(closed_.now().recorded, tensors);
    const std::vector<fp8_row> open = open_.advance(twin_.now().recorded, twin_.hook().tensors());
    for (std::size_t i = 0; i < casts.size(); ++i) {
      see_self(step, tensors[i], casts[i], self.at(i));
      see_open(made_.kinds[tensors[i].kind], casts[i], self.at(i), open.at(i));
    }
  }

  void see_self(std::int64_t step, const tensor_info& tensor, const fp8_cast& was, const fp8_row& says) {
    ++made_.replayed;
    made_.exact += says.counts.overflow.exact() && says.counts.underflow.exact() ? 1 : 0;
    if (is_replayed(was, says))
      ++made_.identical;
    else if (!made_.first_difference)
      made_.first_difference = {.step = step, .tensor = tensor.name};
  }

  static void see_open(fp8_kind_outcome& kind, const fp8_cast& was, const fp8_row& self, const fp8_row& open) {
    ++kind.steps;
    kind.closed += {.saturating = was.saturated > 0 ? 1U : 0U,
                    .nonzero = was.nonzero,
                    .saturated = {was.saturated, was.saturated},
                    .underflow = {was.underflow, was.underflow}};
    kind.open += {.saturating = open.saturates ? 1U : 0U,
                  .nonzero = open.counts.nonzero().high,
                  .saturated = open.counts.overflow,
                  .underflow = open.counts.underflow};
    const double apart = std::fabs(std::log2(open.multiplied_by / self.multiplied_by));
    if (std::isfinite(apart)) kind.binades_apart.push_back(apart);
  }

  const fp8_loop_options& options_;
  const closed_loop_watch& watch_;
  recorded_training closed_;
  recorded_training twin_;
  fp8_replayer self_;
  fp8_replayer open_;
  train::judged_loss closed_loss_;
  train::judged_loss twin_loss_;
  fp8_loop_result made_;
};

}  // namespace

value_range fp8_loop_side::underflow_share() const noexcept {
  if (nonzero == 0) return {};
  const auto all = static_cast<double>(nonzero);
  return {static_cast<double>(underflow.low) / all, static_cast<double>(underflow.high) / all};
}

fp8_loop_side& fp8_loop_side::operator+=(const fp8_loop_side& other) {
  saturating += other.saturating;
  nonzero += other.nonzero;
  saturated += other.saturated;
  underflow += other.underflow;
  return *this;
}

fp8_kind_outcome& fp8_kind_outcome::operator+=(const fp8_kind_outcome& other) {
  steps += other.steps;
  closed += other.closed;
  open += other.open;
  binades_apart.insert(binades_apart.end(), other.binades_apart.begin(), other.binades_apart.end());
  return *this;
}

fp8_loop_result run_fp8_loop(const fp8_loop_options& options, const closed_loop_watch& watch) {
  if (options.training.microbatches != 1) throw std::invalid_argument("under an FP8 recipe a step has one micro-batch");
  if (options.steps < 1 || options.judged < 1 || options.judged > options.steps)
    throw std::invalid_argument("the judged steps are some of all");
  return loop(options, watch).run();
}

}  // namespace ulp
