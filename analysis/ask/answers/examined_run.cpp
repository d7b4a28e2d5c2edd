#include <ulp/ask/answers/examined_run.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <utility>

namespace ulp {
namespace {

constexpr std::array<double, 5> trial_starts{0x1p8, 0x1p12, 0x1p16, 0x1p20, 0x1p24};
constexpr std::array<double, 7> trial_intervals{25, 50, 100, 200, 500, 1000, 2000};

// GradScaler with various starts and growth intervals, to be run over the same steps as the survey.
std::vector<scenario> scaler_trials(const advice_options& options, const selection& counted,
                                    const name_predicate& checked) {
  std::vector<scenario> all;
  for (const double start : trial_starts)
    for (const double interval : trial_intervals) {
      scenario s{
          make_scaler(*find_scaler("pytorch_gradscaler"), {{"init_scale", start}, {"growth_interval", interval}}),
          {options.format, options.rounding}};
      s.counted = counted;
      s.checked = checked;
      all.push_back(std::move(s));
    }
  return all;
}

}  // namespace

advice_options advice_options_of(const std::string& format, const rounding_text& rounding, const std::string& epsilon,
                                 const run_text& run) {
  advice_options o{.format_name = format, .format = value_format_named(format), .typed = rounding};
  o.rounding = rounding.value(o.format);
  if (o.rounding.direction == direction::stochastic)
    throw std::invalid_argument(
        "--rounding: advice and reports need a deterministic rounding; for stochastic rounding see ulp outcomes");
  o.epsilon = positive_number(epsilon, "--epsilon");
  if (!(o.epsilon < 1)) throw std::invalid_argument("--epsilon: a share below 1, such as 1e-5");
  o.groups = run.named_groups();
  return o;
}

bool examined_run::died_at_once() const { return found.died_at && *found.died_at == whole.steps().front().key.step; }

bool examined_run::has_values() const {
  return std::ranges::any_of(judged().tensors(), [](const tensor_survey& t) { return t.counted && t.max_abs > 0; });
}

bool examined_run::has_maxima() const {
  return std::ranges::any_of(judged().steps(),
                             [](const step_survey& s) { return std::isfinite(s.max_abs) && s.max_abs > 0; });
}

run_examination::run_examination(advice_options options, selection counted, name_predicate checked)
    : options_(std::move(options)),
      counted_(std::move(counted)),
      checked_(std::move(checked)),
      scenarios_(scaler_trials(options_, counted_, checked_)),
      whole_(counted_, checked_),
      trials_(std::in_place, scenarios_) {}

void run_examination::add(const step& now, const std::vector<tensor_info>& tensors) {
  whole_.add(now, tensors);
  trials_->add(now, tensors);
}

std::optional<selection> run_examination::again(const std::vector<tensor_info>& tensors) {
  found_ = diagnosis_of(whole_, tensors);
  if (!found_->died_at || *found_->died_at == whole_.steps().front().key.step) return std::nullopt;
  selection less = counted_;
  less.end_step = *found_->died_at;
  less_.emplace(less, checked_);
  trials_.emplace(scenarios_);
  return less;
}

void run_examination::add_again(const step& now, const std::vector<tensor_info>& tensors) {
  less_->add(now, tensors);
  trials_->add(now, tensors);
}

examined_run run_examination::result(const std::vector<tensor_info>& tensors, std::optional<kept_weights> weights) {
  if (!found_) found_ = diagnosis_of(whole_, tensors);
  examined_run all{.how = options_,
                   .tensors = tensors,
                   .whole = std::move(whole_),
                   .less = std::move(less_),
                   .found = std::move(*found_),
                   .trials = std::move(scenarios_),
                   .tried = {},
                   .weights = std::move(weights)};
  if (!all.died_at_once() && all.has_maxima()) all.tried = trials_->results();
  return all;
}

}  // namespace ulp
