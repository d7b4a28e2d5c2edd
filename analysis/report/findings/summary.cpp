#include "summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <variant>

#include "loss.hpp"

namespace ulp {
namespace {

// The norm that 99 % of the finite steps do not exceed.
double usual_norm_of(const survey& run) {
  std::vector<double> norms;
  for (const step_survey& s : run.steps())
    if (std::isfinite(s.norm)) norms.push_back(s.norm);
  constexpr std::size_t few = 10;
  if (norms.size() < few || run.as_recorded()) return not_known;
  std::ranges::sort(norms);
  return norms[static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(norms.size()))) - 1];
}

// The scale that the run was trained with, as the middle of its steps has it; nullopt where it had none.
std::optional<double> scale_of_the_run(const survey& run) {
  std::vector<double> scales;
  for (const step_survey& s : run.steps())
    if (s.loss_scale > 0 && std::isfinite(s.loss_scale)) scales.push_back(s.loss_scale);
  if (scales.empty()) return std::nullopt;
  const auto middle = scales.begin() + static_cast<std::ptrdiff_t>(scales.size() / 2);
  std::ranges::nth_element(scales, middle);
  return *middle == 1 ? std::nullopt : std::optional{*middle};
}

// Whether it had a loss scale, as one in a 16-bit format has, or gradients that were rounded to one.
bool was_scaled(const survey& run) {
  return std::ranges::any_of(run.steps(), [](const step_survey& s) {
    return (s.loss_scale > 0 && s.loss_scale != 1) || (s.rounded_to && s.rounded_to->emax() <= float16.emax());
  });
}

// Why the configuration is not that of this run, as the scales of its steps show; empty where they do not.
std::string why_of_another_run(const survey& run, const own_configuration& own) {
  if (own.format.empty() || (own.is_scaled && !own.is_static)) return "";
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  for (const step_survey& s : run.steps())
    if (s.loss_scale > 0 && std::isfinite(s.loss_scale)) {
      least = std::min(least, s.loss_scale);
      greatest = std::max(greatest, s.loss_scale);
    }
  constexpr std::string_view other = "; the configuration is not that of all of this run: ";
  if (own.is_static && least < greatest)
    return fmt::format("{}it keeps the scale constant, but the run's scale went from {} to {}", other, as_power(least),
                       as_power(greatest));
  // A log may have rounded it.
  constexpr double rounded = 0.01;
  if (own.is_static && greatest > 0 && std::fabs(greatest - own.static_scale) > rounded * own.static_scale)
    return fmt::format("{}it keeps the scale at {}, and the run had {}", other, as_power(own.static_scale),
                       as_power(greatest));
  if (!own.is_scaled && greatest > 0 && (least != 1 || greatest != 1))
    return fmt::format("{}it has no loss scale, and the run had{}", other,
                       least == greatest ? " " + as_power(least)
                                         : fmt::format(" {} to {}", as_power(least), as_power(greatest)));
  return "";
}

// Where it is seen, as its numbers have it.
void take_place(finding& f) {
  for (const named_value& n : f.numbers) {
    if (const auto* const step = std::get_if<std::int64_t>(&n.value); step != nullptr && n.name == "first_step")
      f.step = *step;
    if (const auto* const name = std::get_if<std::string>(&n.value);
        name != nullptr && (n.name == "tensor" || n.name == "first_tensor" || n.name == "small_end"))
      f.tensor = *name;
  }
}

}  // namespace

summary_of::summary_of(const survey& whole, const survey& judged, const std::vector<tensor_info>& tensors,
                       const advice_options& options, const diagnosis& found, const window& w,
                       const std::vector<weights_told>& weights)
    : judged_(judged),
      tensors_(tensors),
      options_(options),
      window_(w),
      all_steps_(whole.steps().size()),
      told_steps_(found.told_steps),
      rise_(found.rise),
      excerpt_(found.excerpt),
      about_{tensors, options, told_steps_, all_steps_, !tensors.empty(), w.largest_safe(), usual_norm_of(judged)} {
  not_of_this_run_ = why_of_another_run(whole, options.configured);
  if (const auto ill = std::ranges::find_if(weights, [](const weights_told& of) { return !of.happened.empty(); });
      ill != weights.end())
    weights_ = *ill;
  for (const weights_told& of : weights)
    if (of.happened.empty()) open_of_weights_ = of.sure;
  bool has_collapsed = false;
  for (const cause& c : found.causes) {
    told t = tell(c, about_);
    const auto* const handled = std::get_if<gradient_overflow>(&c);
    const bool is_handled = handled != nullptr;
    // Of what overflowed, the causes before it have their part; but those below the scale 1 are among all.
    if (is_handled && !causes_.empty()) t.happened = (has_collapsed ? "in all, " : "besides, ") + t.happened;
    has_collapsed = has_collapsed || std::holds_alternative<collapsed_scale>(c);
    finding f{.topic = name_of(c),
              .question = causes_.empty() ? "What happened?" : "What else happened?",
              .conclusion = t.happened,
              .evidence = t.evidence,
              .limits = {},
              .numbers = t.numbers.all};
    if (is_handled) f.question = "What did the scaler handle?";
    f.grade = !is_handled ? finding_grade::trouble
              : skips_often(handled->skipped.steps, handled->is_placed ? told_steps_ : all_steps_)
                  ? finding_grade::notable
                  : finding_grade::fine;
    take_place(f);
    // Of the first cause the summary says it.
    if (first_ && !is_handled) {
      f.evidence.push_back("to do: " + t.change);
      for (const std::string& line : t.lines) f.evidence.push_back("  " + line);
      f.evidence.push_back("how sure: " + t.sure);
    }
    causes_.push_back(std::move(f));
    if (is_handled) {
      handled_ = t.happened;
      skipped_ = handled->skipped.steps;
      if (!handled->is_placed) skipped_of_ = all_steps_;
      may_end_ = handled->may_end;
      may_end_of_ = handled->may_end_of;
      fell_from_ = handled->fell_from;
      fell_to_ = handled->fell_to;
      stayed_there_ = handled->stayed_there;
    } else if (!first_) {
      first_name_ = name_of(c);
      first_ = std::move(t);
    }
  }
}

advice_summary summary_of::summary(const std::optional<best_trial>& best,
                                   const std::optional<fp8_choice_told>& recipe) const {
  advice_summary s;
  if (first_) {
    s = {first_name_, first_->happened, first_->change, first_->lines, first_->sure, finding_grade::trouble, {}};
  } else {
    s = without_cause(best, recipe);
    say_what_stands_out(s);
    say_what_stands_still(s);
    say_what_follows_the_scale(s);
    if (weights_)
      take_weights(s);
    else if (!open_of_weights_.empty())
      s.sure += "; of the weights: " + open_of_weights_;
  }
  if (options_.ended_at_scale && (!first_ || first_name_ == "open_overflow")) say_how_it_ended(s);
  if (options_.unread > 0 || !options_.lost_elsewhere.empty()) say_what_was_not_read(s);
  say_the_doubts(s);
  s.sure += not_of_this_run_;
  return s;
}

// A log of which a part was not understood, or is of steps that are not among those that were read, is not healthy.
void summary_of::say_what_was_not_read(advice_summary& s) const {
  if (s.cause == "healthy") s.cause = "unknown";
  s.happened = "in what was read: " + s.happened;
  if (s.grade == finding_grade::fine) s.grade = finding_grade::notable;
  if (options_.lost_elsewhere.empty()) return;
  s.happened = fmt::format("{}; {}", fmt::join(options_.lost_elsewhere, "; "), s.happened);
  constexpr std::string_view look =
      "look at these lines: what was not finite there is in none of the steps that are judged";
  constexpr std::string_view nothing = "nothing";
  s.change = s.change.starts_with(nothing) ? std::string{look} : fmt::format("{}; {}", s.change, look);
}

// Nothing is certain then.
void summary_of::say_the_doubts(advice_summary& s) const {
  std::vector<std::string> since;
  if (options_.unread > 0)
    since.push_back(
        fmt::format("{} like records of steps and could not be read",
                    options_.unread == 1 ? std::string{"1 line looks"} : grouped(options_.unread) + " lines look"));
  if (!options_.lost_elsewhere.empty())
    since.emplace_back("the steps that were read do not show all that was not finite");
  since.insert(since.end(), options_.doubts.begin(), options_.doubts.end());
  if (constexpr std::string_view well = "no fault found in the log: "; !options_.doubts.empty()) {
    if (const auto at = s.happened.find(well); at != std::string::npos) {
      s.happened.replace(at, well.size(), "no fault is seen, but the log does not tell all: ");
      if (s.cause == "healthy") s.cause = "unknown";
      if (s.grade == finding_grade::fine) s.grade = finding_grade::notable;
    }
  }
  if (!since.empty()) s.sure = hedged(s.sure, fmt::format("{}", fmt::join(since, ", and ")));
}

// The log says that the run ended by it, whatever a scaler could have made of the overflow at a lower scale.
void summary_of::say_how_it_ended(advice_summary& s) const {
  for (const std::string_view well : {"no fault found in the log: ", "no fault found, but the run skips often: ",
                                      "no fault found: ", "it is not known how the run ended: "})
    if (s.happened.starts_with(well)) s.happened.erase(0, well.size());
  const double scale = *options_.ended_at_scale;
  const bool is_high = scale > 1;
  s.cause = "open_overflow";
  s.happened = fmt::format("the run ended as a step overflowed at the least loss scale that is allowed{}; in all, {}",
                           std::isnan(scale) ? "" : " (" + as_power(scale) + ")", s.happened);
  s.change = fmt::format("{}look at the last batch, the forward pass, and the loss before the end",
                         is_high ? "lower the least loss scale of the configuration; if it overflows at the scale 1 "
                                   "too, no scale helps: "
                                 : "");
  s.lines.clear();
  s.sure = is_high ? "certain that it ended so, as the log says; whether a lower scale would have fitted is open"
                   : "certain that it ended so, as the log says; why the last step overflowed is open";
  s.grade = finding_grade::trouble;
}

// What else was told keeps its place behind it.
void summary_of::take_weights(advice_summary& s) const {
  const bool is_clear = s.cause == "healthy" || s.cause == "unknown" || s.cause == "too_short";
  if (is_clear) {
    s.cause = weights_->about.topic;
    s.happened = weights_->happened + "; " + s.happened;
    s.change = weights_->change + (s.change == "nothing" ? "" : (rise_ ? "; of the loss: " : "; ") + s.change);
    s.sure = weights_->sure + "; of the gradients: " + s.sure;
  } else {
    s.happened += "; besides, " + weights_->happened;
    s.change += "; besides, " + weights_->change;
    s.sure += "; of the weights: " + weights_->sure;
  }
  s.grade = std::min(s.grade, weights_->about.grade);
}

// The stages of a run without a cause: what was not judged, what overflowed, whether the loss rose, what underflows, and what
// would be better.
advice_summary summary_of::without_cause(const std::optional<best_trial>& best,
                                         const std::optional<fp8_choice_told>& recipe) const {
  if (const auto s = not_judged()) return *s;
  advice_summary s{.cause = "healthy"};
  const bool has_values = std::ranges::any_of(judged_.tensors(), [](const tensor_survey& t) { return t.max_abs > 0; });
  say_what_overflowed(s, has_values);
  if (rise_) {
    say_the_loss_rose(s);
    return s;
  }
  if (excerpt_) say_it_is_short(s, has_values);
  const scaling_kind scaling = options_.scaling();
  const bool has_scale_of_run = scaling == scaling_kind::run || scaling == scaling_kind::none;
  if (!has_values || (has_scale_of_run && say_what_underflows(s))) return s;
  if (scaling != scaling_kind::block) say_what_would_underflow(s, has_scale_of_run);
  if (judged_.censored() > 0) s.sure += "; values rounded to zero before recording are unknown";
  if (judged_.as_recorded() && !options_.in_blocks) {
    s.sure += "; their factor is unknown, so scales are not judged";
  } else if (recipe) {
    const std::string before = s.change == "nothing" && options_.in_blocks ? "" : s.change + "; ";
    s.change = fmt::format("{}for training in {}: {}", before, options_.in_blocks ? options_.format_name : "FP8",
                           recipe->change);
    s.lines = recipe->lines;
    s.sure += "; what a format holds is exact or a range, what training makes of it these values do not show";
  } else if (scaling == scaling_kind::block) {
    s.change = options_.in_blocks
                   ? fmt::format("nothing that follows from {}: it was not judged", options_.format_name)
                   : fmt::format("nothing; {} is trained in blocks with a scale each: ask with --format {}",
                                 options_.format_name, options_.how.format.width() == 6 ? "mxfp6" : "mxfp4 or nvfp4");
  } else if (scaling == scaling_kind::none) {
    recommend_no_scale(s);
  } else if (best && (!weights_ || skips_often(skipped_, skipped_of_))) {
    recommend(s, *best);
  }
  return s;
}

std::optional<advice_summary> summary_of::not_judged() const {
  advice_summary s{.cause = "unknown", .sure = "nothing was judged", .grade = finding_grade::notable};
  const bool known = std::ranges::any_of(judged_.steps(), [](const step_survey& step) {
    return step.known || step.found_inf || !std::isnan(step.loss) || !std::isnan(step.logged_norm);
  });
  if (!known) {
    s.happened = fmt::format("the input {}: it has neither gradients nor overflow flags, loss or norm",
                             weights_ ? "says nothing else" : "does not say");
    s.change = "record gradients (see ulp record), or give the log of the loss scale";
    return s;
  }
  const bool is_logged = std::ranges::any_of(judged_.steps(), [](const step_survey& of) {
    return of.found_inf || !std::isnan(of.loss) || !std::isnan(of.logged_norm);
  });
  const bool is_empty = std::ranges::all_of(judged_.tensors(), [](const tensor_survey& t) { return t.numel == 0; });
  if (tensors_.empty() || is_logged || !is_empty) return std::nullopt;
  s.happened = "the recorded tensors have no elements";
  s.change = "record the gradients of parameters that have elements (see ulp record)";
  return s;
}

void summary_of::say_what_overflowed(advice_summary& s, bool has_values) const {
  const std::uint64_t open = all_steps_ - told_steps_;
  const bool is_clear = !weights_ && !excerpt_;
  const bool often = skips_often(skipped_, skipped_of_);
  const bool may_end = may_end_ > 0 && is_clear;
  const bool fell_far = !std::isnan(fell_to_) && !may_end;
  if (judged_.as_recorded() && handled_.empty() && has_values)
    s.happened = told_steps_ == 1 ? "the one recorded step is finite"
                                  : fmt::format("all {} are finite as recorded", steps_text(told_steps_));
  else if (told_steps_ == 1 && handled_.empty())
    s.happened = fmt::format("{}the one recorded step did not overflow", is_clear ? "no fault found: " : "");
  else if (told_steps_ == 0)
    s.happened = "the loss is finite wherever it was logged";
  else
    s.happened =
        (fell_far     ? fmt::format("the loss scale fell from {} to {}{} and did not come back: ", as_power(fell_from_),
                                stayed_there_ ? "" : "below ", as_power(fell_to_))
         : !is_clear  ? ""
         : may_end    ? "it is not known how the run ended: "
         : often      ? "no fault found, but the run skips often: "
         : has_values ? "no fault found: "
                      : "no fault found in the log: ") +
        (handled_.empty() ? fmt::format("none of {} overflowed as recorded", steps_text(told_steps_)) : handled_);
  if (open > 0)
    s.happened += fmt::format("; of {} the input does not say whether {} overflowed", steps_text(open),
                              open == 1 ? "it" : "they");
  // Which of several steps overflowed may be open too.
  const bool in_part = open > 0 || std::ranges::any_of(judged_.steps(), [](const step_survey& of) {
                         return !of.bound_is_certain && of.found_inf.has_value();
                       });
  s.sure = has_values ? "the recorded steps are certain"
           : in_part  ? "the log describes its steps only in part; without gradients, underflow is unknown"
                      : "the logged steps are certain; without gradients, underflow is unknown";
  s.change = "nothing";
  if (may_end)
    s.change = fmt::format("log every step: {} of the last {} overflowed, and may be its last ones", grouped(may_end_),
                           steps_text(may_end_of_));
  if (fell_far) {
    if (s.cause == "healthy") s.cause = "unknown";
    s.change =
        "look whether the loss and the norm of the gradients rise: then lower the learning rate, or clip; below the scale 1 "
        "loss scaling has no effect";
  }
  if (often || may_end || fell_far) s.grade = finding_grade::notable;
}

namespace {

// "the loss goes from 2.28 (step 3) to 11.1 (step 9)"
std::string course_text(std::string_view of, const short_course& c) {
  std::string text =
      fmt::format("{} goes from {} (step {}) to {}", of, loss_number(c.least), c.least_at, loss_number(c.last));
  if (c.largest > c.last) text += fmt::format(", with {} in step {}", loss_number(c.largest), c.largest_at);
  return text;
}

}  // namespace

// What rises is said; that the run is well is not.
void summary_of::say_it_is_short(advice_summary& s, bool has_values) const {
  std::vector<std::string> rising;
  if (excerpt_->loss) rising.push_back(course_text("the loss", *excerpt_->loss));
  if (excerpt_->norm) rising.push_back(course_text("the size of the gradients", *excerpt_->norm));
  const std::string few =
      all_steps_ > 2 * excerpt_->steps
          ? fmt::format("only {} of all steps tell how it went, too few to judge a run by", excerpt_->steps)
          : fmt::format("{} {} too few to judge a run by", count_text(excerpt_->steps, options_.row_unit),
                        excerpt_->steps == 1 ? "is" : "are");
  s.cause = "too_short";
  s.happened = rising.empty() ? fmt::format("{}; {}", s.happened, few)
                              : fmt::format("{}; {}; {}", fmt::join(rising, ", "), s.happened, few);
  s.change = !rising.empty()
                 ? "watch it: if that goes on, lower the learning rate, and go on from a checkpoint before it"
             : has_values ? s.change
                          : "nothing follows from so few steps: give more of the log";
  s.sure = has_values ? "the counts of these steps are exact; of the rest of the run they say nothing"
                      : "of the run nothing is sure; without gradients, underflow is unknown";
  if (!rising.empty() || !has_values) s.grade = finding_grade::notable;
}

void summary_of::say_the_loss_rose(advice_summary& s) const {
  constexpr double noticed = 3;
  const bool has_outlier = rise_->outlier >= noticed;
  s.grade = finding_grade::notable;
  if (rise_->is_back || has_outlier) s.cause = "loss_rise";
  s.happened = fmt::format(
      "the loss rose from {} to {} from step {} on and did not come back{}; {}", loss_number(rise_->before),
      loss_number(rise_->after), rise_->step,
      has_outlier
          ? fmt::format(
                ": there the gradients are {} those before, and after it as usual, and the loss falls as before",
                multiple_text(rise_->outlier))
          : "",
      skipped_ > 0       ? handled_
      : told_steps_ == 0 ? "it is finite wherever it was logged"
                         : fmt::format("none of {} overflowed as recorded", steps_text(told_steps_)));
  s.change = fmt::format(
      "nothing, if the task lets the loss rise (a curriculum, an adversary, a penalty that grows); else look at what "
      "changed by step {}: learning rate, data, labels, weight decay",
      rise_->step);
  s.sure = has_outlier
               ? "the loss is certain; whether the data changed there, or one update threw the training back, is open"
               : "the loss is certain; gradients do not show why it rose";
}

// Whether some tensor loses much at the scale of the run, or at the usual one.
bool summary_of::say_what_underflows(advice_summary& s) const {
  const std::optional<double> own = scale_of_the_run(judged_);
  constexpr int usual = 16;
  const bool is_scaled = options_.scaling() == scaling_kind::run;
  const double scale =
      own.value_or(is_scaled ? std::ldexp(1.0, std::min(window_.largest_safe().value_or(usual), usual)) : 1);
  const std::vector<tensor_set> judged_sets = sets_that_matter(judged_, tensors_);
  const auto losers_at = [&](double at) {
    std::vector<std::pair<double, std::string>> losers;
    for (const tensor_set& set : judged_sets)
      if (const double lost = magnitude_loss_of(judged_, set, options_.how, at).low; lost >= much_of_a_tensor)
        losers.emplace_back(lost, set.name);
    return losers;
  };
  const auto losers = losers_at(scale);
  if (losers.empty()) return false;
  const auto& worst = *std::ranges::max_element(losers);
  s.cause = "underflow";
  s.grade = finding_grade::trouble;
  s.happened =
      fmt::format("{} of {} tensors lose more than {} of their magnitude in {} at the scale {}{}, {} most ({})",
                  losers.size(), judged_sets.size(), percent(much_of_a_tensor), options_.format_name, as_power(scale),
                  own ? " of the run" : "", worst.second, percent(worst.first));
  advise_against_underflow(s.change, s.lines, about_, scale, losers_at(safe_scale(about_)).empty());
  s.sure = "certain for these gradients; their effect on training is unknown";
  return true;
}

// Of a run that did without a loss scale: what the format would make zero without a scale, and at the usual one.
void summary_of::say_what_would_underflow(advice_summary& s, bool has_scale_of_run) const {
  constexpr double noticeable = 0.01;
  constexpr std::size_t most = 3;
  if (scale_of_the_run(judged_) || judged_.censored() > 0 || judged_.as_recorded()) return;
  const auto zeros_at = [&](double scale, const tensor_set* of) {
    return underflow_share(of ? judged_.outcomes(*of, options_.how, scale) : judged_.outcomes(options_.how, scale)).low;
  };
  const double all = zeros_at(1, nullptr);
  if (all < noticeable) return;
  std::vector<std::pair<double, std::string>> worst;
  for (const tensor_set& set : sets_that_matter(judged_, tensors_))
    if (const double share = zeros_at(1, &set); share >= all) worst.emplace_back(share, set.name);
  std::ranges::sort(worst, std::greater{});
  std::vector<std::string> names;
  for (const auto& [share, name] : std::span(worst).first(std::min(worst.size(), most)))
    names.push_back(fmt::format("{} {}", name, percent(share)));
  constexpr int usual = 16;
  const int safe = std::min(window_.largest_safe().value_or(usual), usual);
  // It comes before what the recorded format shows, which had no such trouble.
  constexpr std::string_view healthy = "no fault found: ";
  const bool is_healthy = s.happened.starts_with(healthy);
  if (is_healthy) s.happened.erase(0, healthy.size());
  const double at_safe = zeros_at(std::ldexp(1.0, safe), nullptr);
  s.happened = fmt::format("without a {}scale {} would make {} of the nonzero gradients zero{}{}; {}",
                           has_scale_of_run ? "loss " : "", options_.format_name, percent(all),
                           names.empty() ? "" : fmt::format(" (most: {})", fmt::join(names, ", ")),
                           has_scale_of_run ? fmt::format(", at 2^{} {}", safe, percent(at_safe)) : "", s.happened);
  // Nobody trains in 8 bits without scales.
  if (is_healthy && !has_scale_of_run) s.happened.insert(0, healthy);
  if (has_scale_of_run && at_safe >= noticeable) s.grade = finding_grade::notable;
}

// A format that reaches as far as float32 needs no loss scale.
void summary_of::recommend_no_scale(advice_summary& s) const {
  const own_configuration& own = options_.configured;
  if (own.is_static) return;
  s.change = fmt::format("nothing; for a new run of this kind: {} without a loss scale", options_.format_name);
  s.lines = lines_for(about_, {.format = options_.format_name});
}

void summary_of::recommend(advice_summary& s, const best_trial& best) const {
  const own_configuration& own = options_.configured;
  const bool often = skips_often(skipped_, skipped_of_);
  if (own.is_static) {
    if (!often) return;
    s.change = fmt::format("skip less often: a constant scale of {}, up to which no finite step overflows",
                           as_power(safe_scale(about_)));
    s.lines = lines_for(about_, {.format = options_.format_name, .static_scale = safe_scale(about_)});
    return;
  }
  const bool is_other = is_wide(own) && own.format != options_.format_name;
  s.change = fmt::format(
      "{}: {}{} with {}", often ? "skip less often" : "nothing; for a new run of this kind", options_.format_name,
      is_other ? fmt::format(" instead of {}, which the configuration has,", own.format) : "", best.text);
  s.lines = lines_for(
      about_, {.format = options_.format_name, .init_scale = best.init_scale, .growth_interval = best.growth_interval});
  if (!best.is_decided) s.sure += "; the skips given are estimates, since the input does not decide every step";
  s.sure += "; skips of a new run are from a replay: expect a similar number, at other steps";
  if (!was_scaled(judged_))
    s.sure += fmt::format(
        "; the run had no loss scale, perhaps another format, and whether its forward pass fits {} gradients do not tell",
        options_.format_name);
}

}  // namespace ulp
