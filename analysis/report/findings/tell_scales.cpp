#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ulp/io/config/configuration_lines.hpp>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {
namespace {

const char* was(const step_span& s) { return s.steps == 1 ? "was" : "were"; }

// ", at the scale 1", ", at every scale from 2^16 down to 2^-3"; nothing where it is not known.
std::string scales_text(double first, double last, const step_span& of, bool is_at_most = false) {
  if (std::isnan(first) || std::isnan(last)) return "";
  if (first == last) return (is_at_most ? ", at a scale of at most " : ", at the scale ") + as_power(first);
  if (first < last) return fmt::format(", at scales between {} and {}", as_power(first), as_power(last));
  return fmt::format(", at {} from {} down to {}", is_gapless(of) ? "every scale" : "scales", as_power(first),
                     as_power(last));
}

// "in all 5 steps that overflowed (steps 2 to 6)", "in 4 of the 5 steps that overflowed (...)", "in step 2"
std::string share_text(std::uint64_t n, const step_span& of) {
  if (n != of.steps)
    return fmt::format("in {} of the {} that overflowed ({})", grouped(n), steps_text(of.steps), where(of));
  if (n > 2 && of.first != of.last)
    return fmt::format("in all {} that overflowed ({})", steps_text(of.steps), where(of));
  return "in " + span_text(of);
}

std::string end_of(const telling& about) {
  const bool is_part = about.options.unread > 0 || !about.options.doubts.empty();
  return about.is_replaced          ? "that attempt"
         : about.options.ends_early ? "the chosen steps"
         : is_part                  ? "what was read"
                                    : "the input";
}
std::string end_text(const telling& about) {
  return end_of(about) + (about.options.ends_early && !about.is_replaced ? " end" : " ends");
}

constexpr const char* find_operation =
    "find the operation whose result is infinite or NaN first (in PyTorch, torch.autograd.set_detect_anomaly(True) names "
    "it): a logarithm, root or division at 0, an exponential";

// What keeps a forward pass finite.
void advise_forward(told& t, const telling& about, const forward_overflow& f) {
  const bool nan_only = about.has_tensors && !f.has_infinities;
  t.change = "keep what overflows (softmax, attention scores, norms, the loss) in float32, or train in bfloat16";
  const bool has_range = is_wide(about.options.configured) || about.options.format_name == "bfloat16";
  if (!f.has_scaler || !f.is_narrow || has_range) {
    t.change = find_operation;
    if (!about.has_tensors && !has_range) t.change += "; if the forward pass runs in float16, train in bfloat16";
    constexpr std::uint64_t several = 4;
    if (f.ends_the_run && !f.starts_the_run && f.lost.steps >= several && std::isnan(f.first_scale))
      t.change += fmt::format(
          "; look at the data of step {}, too, and apply no gradients that are not finite: NaN stays", f.lost.first);
    return;
  }
  if (nan_only) t.change = std::string{find_operation} + "; or " + t.change;
  t.lines = lines_for(about, {.format = "bfloat16"});
}

}  // namespace

bool is_wide(const own_configuration& own) {
  return own.format == "bfloat16" || own.format == "float32" || own.format == "float64";
}

std::vector<std::string> lines_for(const telling& about, loss_scale_choice choice) {
  const own_configuration& own = about.options.configured;
  if (choice.format == own.format && choice.format == "bfloat16") return {};
  if (own.is_static && choice.init_scale) std::swap(choice.static_scale, choice.init_scale);
  const std::string& name = own.words.empty() ? own.framework : own.words;
  std::vector<std::string> lines = configuration_lines(name, choice);
  if (lines.empty() && !own.format.empty())
    lines = {fmt::format("# {}: no setting for {}{} is known here", name, choice.format,
                         choice.static_scale                           ? " with a constant loss scale"
                         : choice.init_scale || choice.growth_interval ? " with a loss scale"
                                                                       : "")};
  return lines;
}

namespace {

// From such a scale no scaler comes back.
told told_of_dead(const collapsed_scale& c, const telling& about) {
  told t;
  const bool is_zero = c.dead_scale == 0;
  t.numbers = {{{"dead_steps", integer(c.dead)},
                {"dead_lost", integer(c.dead_lost)},
                {"first_step", c.dead_from},
                {"scale", c.dead_scale}}};
  if (c.is_alive || c.loss_moves || (c.comes_back && c.dead_lost == 0)) {
    const step_span dead{c.dead_from, c.dead_to, c.dead};
    t.happened = fmt::format("the loss scale is logged as 0 in {}{}{}: that is not the scale these gradients had",
                             span_text(dead),
                             c.is_alive     ? ", while the gradient norm is finite and not 0"
                             : c.loss_moves ? ", while the loss goes on rising or falling"
                                            : "",
                             c.comes_back ? ", and is back after that" : "");
    if (c.dead_lost > 0)
      t.happened += fmt::format("; gradients are not finite in {} of these steps", grouped(c.dead_lost));
    t.change = fmt::format(
        "see what sets or logs the scale in {}: a scaler that was disabled or made anew there, or a default of the logger",
        dead.steps == 1 ? "this step" : "these steps");
    t.sure =
        c.is_alive
            ? "very sure: a loss that is multiplied by 0 has gradients of 0, or NaN; which scale they had, the input does not say"
        : c.loss_moves && !c.comes_back
            ? "fairly sure: a loss that is multiplied by 0 has gradients of 0, and moves by chance alone; which scale these steps had, the input does not say"
            : "very sure: no scaler comes back from 0; which scale these steps had, the input does not say";
    return t;
  }
  if (is_zero && c.dead_lost > 0) {
    t.happened = fmt::format(
        "the loss scale is {} in {} (from step {} on), and gradients are not finite in {} of them: what is multiplied by 0 and divided by 0 "
        "is NaN{}",
        c.was_never_other ? "never logged as anything but 0," : "logged as 0", steps_text(c.dead), c.dead_from,
        c.dead_lost == c.dead ? "any" : grouped(c.dead_lost), c.comes_back ? "; then the scale is back" : "");
    t.change = fmt::format(
        "{}see what sets the scale: a scaler that is disabled or was made or loaded wrongly",
        c.was_never_other || c.comes_back ? "" : fmt::format("go on from a checkpoint before step {}; ", c.dead_from));
    t.sure =
        "fairly sure: a scale of 0 alone does that; whether NaN arises in the backward pass, too, cannot be seen behind it";
    return t;
  }
  if (is_zero && c.was_never_other) {
    t.happened = fmt::format(
        "the loss scale is logged as 0 in {} (from step {} on), and never as anything else: with it no gradient is left, and nothing tells "
        "whether it was in use",
        steps_text(c.dead), c.dead_from);
    t.change =
        "log the norm of the gradients; see what sets or logs the scale: a scaler that is disabled, or a default of the logger";
    t.sure = "not sure: what is logged of the loss does not tell whether the weights move";
    return t;
  }
  t.happened = fmt::format("the loss scale is logged as {} in {} (from step {} on): {}", is_zero ? "0" : "infinite",
                           steps_text(c.dead), c.dead_from,
                           is_zero ? "no gradient is left there, and halving or doubling brings no other scale back"
                                   : "no gradient is finite there");
  advise_forward(t, about, {.has_scaler = true, .has_infinities = true});
  t.change = fmt::format("go on from a checkpoint before step {}; {}", c.dead_from, t.change);
  t.sure = is_zero ? "certain of the scale, as far as it is printed; what made it fall is open"
                   : "certain of the scale; what made it so is open";
  return t;
}

}  // namespace

told told_of(const collapsed_scale& c, const telling& about) {
  told t;
  if (c.dead > 0) return told_of_dead(c, about);
  t.happened = fmt::format(
      "the loss scale collapsed from {}: {} overflow at scales below 1, down to {}, where loss scaling has no effect",
      as_power(c.greatest), span_text(c.lost), as_power(c.least));
  if (!std::isnan(c.loss)) t.happened += fmt::format(" (the loss there is {})", loss_number(c.loss));
  advise_forward(t, about, {.has_scaler = true, .has_infinities = true});
  t.change += "; if the loss rose before that, lower the learning rate first";
  t.sure =
      "very sure that the loss scale is not the cause: what overflows below 1 overflows without one; whether the forward pass or "
      "a divergence is behind it is open";
  t.numbers = numbers_of(c.lost);
  t.numbers.all.push_back({"greatest", c.greatest});
  t.numbers.all.push_back({"least", c.least});
  t.numbers.all.push_back({"loss", c.loss});
  return t;
}

told told_of(const initial_scale& h, const telling& about) {
  told t;
  const bool is_jump = !std::isnan(h.scale_before);
  const std::string lost =
      fmt::format("{}{} {} lost", is_gapless(h.skipped) ? "" : "at least ", span_text(h.skipped), was(h.skipped));
  const std::string first = std::isnan(h.first_scale) ? "" : (h.is_at_most ? "at most " : "") + as_power(h.first_scale);
  const bool is_fitting = !std::isnan(h.fitting_scale);
  if (is_jump)
    t.happened =
        fmt::format("the loss scale jumped from {} to {} in step {}: {} until {} fitted", as_power(h.scale_before),
                    first, h.skipped.first, lost, is_fitting ? as_power(h.fitting_scale) : "a lower one");
  else
    t.happened = fmt::format(
        "the initial loss scale{} was too high: {} to the search for one that fits",
        std::isnan(h.first_scale) ? "" : (h.is_at_most ? ", " : " ") + first + (h.is_at_most ? "," : ""), lost);
  if (is_jump)
    t.change =
        "save and load the state of the scaler with the checkpoint (scaler.state_dict()): a resumed run then goes on "
        "with its scale";
  else if (is_fitting)
    t.change = fmt::format("start at {}, the first scale that fitted", as_power(h.fitting_scale));
  else
    t.change = std::isnan(h.last_scale)
                   ? "start below the last scale that overflowed; the input does not hold it"
                   : fmt::format(
                         "start with a loss scale below {}: that is the last one that overflowed, and the input does "
                         "not hold the one that fitted",
                         as_power(h.last_scale));
  if (!is_jump && is_fitting)
    t.lines = lines_for(about, {.format = about.options.format_name, .init_scale = h.fitting_scale});
  t.sure = is_jump ? fmt::format("very sure: only a scaler with a growth factor of {:.6g} or more does that by itself",
                                 h.first_scale / h.scale_before)
           : h.fits_later ? "very sure: a falling scale alone ended it; that is the first one that is known to fit"
           : is_fitting   ? "certain: a falling scale alone ended it"
                          : "fairly sure: it ended by itself, but the input does not hold the scale that ended it";
  t.numbers = numbers_of(h.skipped);
  t.numbers.all.push_back({"first_scale", h.first_scale});
  t.numbers.all.push_back({"last_scale", h.last_scale});
  t.numbers.all.push_back({"fitting_scale", h.fitting_scale});
  t.numbers.all.push_back({"scale_before", h.scale_before});
  return t;
}

told told_of(const gradient_overflow& h, const telling& about) {
  told t;
  const bool is_one = h.skipped.steps == 1;
  // Where only a fall of the scale tells of them, steps that are open are no others than those around.
  const bool is_part = !h.is_placed && about.all_steps > about.steps;
  t.happened = about.all_steps == 1
                   ? fmt::format("the one recorded step overflowed ({}) and was skipped", h.skipped.first)
                   : fmt::format("{}{} of {} overflowed ({}) and {} skipped", is_part ? "at least " : "",
                                 grouped(h.skipped.steps), steps_text(is_part ? about.all_steps : about.steps),
                                 where(h.skipped), was(h.skipped));
  if (!h.is_said && about.all_steps > 1)
    t.happened = fmt::format("{} of {} {} not finite ({}), and presumably skipped", grouped(h.skipped.steps),
                             steps_text(about.steps), h.skipped.steps == 1 ? "is" : "are", where(h.skipped));
  if (h.at_end > 0 && about.all_steps > 1)
    t.happened += is_one ? fmt::format("; {} with it", end_text(about))
                         : fmt::format("; {} with {} of them", end_text(about), grouped(h.at_end));
  else if (h.at_end == 0 && h.fell)
    t.happened += is_one ? "; a later step at a lower scale did not overflow"
                         : "; each time, a later step at a lower scale did not overflow";
  t.change = "nothing: that is how a dynamic loss scale works";
  t.sure = h.is_placed ? "certain for these steps" : "certain of their number; the input does not show which they were";
  if (h.is_placed && about.all_steps > about.steps)
    t.evidence = {fmt::format("at least {} in a row; of steps that are open nothing is known", steps_text(h.longest))};
  else if (h.is_placed)
    t.evidence = {fmt::format("in {}, {} long at most", count_text(h.places, "place"), steps_text(h.longest))};
  else
    t.evidence = {"which steps of their intervals they were is assumed: how many came in a row is not known"};
  t.numbers = numbers_of(h.skipped);
  t.numbers.all.push_back({"places", h.is_placed ? integer(h.places) : table_value{}});
  t.numbers.all.push_back({"longest", h.is_placed ? integer(h.longest) : table_value{}});
  return t;
}

told told_of(const unhandled_overflow& u, const telling& about) {
  told t;
  const bool is_static = u.has_scaler && !std::isnan(u.scale);
  t.happened = fmt::format("gradients are infinite or NaN in {} of {} ({})", grouped(u.lost.steps),
                           steps_text(about.steps), where(u.lost));
  if (is_static)
    t.happened += fmt::format(", at the scale {}, {}", as_power(u.scale),
                              u.is_held ? "at which the step after them is finite" : "which never fell");
  if (!u.has_scaler) t.happened += ", and no loss scale is in use";
  const bool is_next = u.ruined_at && u.lost_from == *u.ruined_at + 1;
  if (u.ruined_at)
    t.happened = fmt::format(
        "the gradients of step {} are infinite or NaN while its loss is finite, and the loss is NaN or infinite from {} on, "
        "to step {}: {}, and they were applied",
        *u.ruined_at, is_next ? "the next step" : fmt::format("the next line (step {})", u.lost_from), u.lost.last,
        is_static ? fmt::format("the loss scale {} never falls", as_power(u.scale)) : "no loss scale is in use");
  if (u.applied > 0)
    t.happened += fmt::format("; {} of these steps {} applied{}", grouped(u.applied), u.applied == 1 ? "was" : "were",
                              u.ends_the_run ? ", and the weights are NaN or infinite from there on" : "");
  t.change = std::string{"look at the data and the forward pass of these steps"} +
             (u.has_scaler ? "" : fmt::format("; {}", find_operation));
  t.sure = "these steps are certain; gradients alone do not show the cause";
  if (is_static && !about.safe_log2)
    t.change =
        u.scale > 1
            ? "lower the scale, or let it move; if these steps overflow at the scale 1 too, the forward pass does"
            : std::string{"the scale is not the cause: look at the data of these steps, and at the forward and the backward pass; "} +
                  find_operation;
  if (is_static && about.safe_log2) {
    const double safe = std::ldexp(1.0, *about.safe_log2);
    t.change =
        safe < u.scale
            ? fmt::format("lower the scale to {}, up to which no finite step overflows, or let it move", as_power(safe))
            : "let the scale move, or look at the data of these steps: those around them fit the scale";
    if (safe < u.scale) t.lines = lines_for(about, {.format = about.options.format_name, .static_scale = safe});
    t.sure = "certain that the scale stayed; the steps that overflowed may need a lower one still";
  }
  if (u.ruined_at) {
    t.change =
        fmt::format("go on from a checkpoint before step {}, and leave out updates whose gradients are not finite; {}",
                    *u.ruined_at, t.change);
    t.sure =
        "fairly sure: a step that a scaler skips leaves the weights as they were; why these gradients were not finite is open";
    if (!is_next) t.sure += "; what happened between the two lines is not told";
  }
  if (u.is_held) {
    t.change =
        "look at the data of these steps, and at the forward and the backward pass: the scale is not what they overflowed for";
    t.lines.clear();
    t.sure = "very sure of that: the next step fits the same scale; gradients alone do not show the cause";
  }
  t.numbers = numbers_of(u.lost);
  t.numbers.all.push_back({"applied", integer(u.applied)});
  t.numbers.all.push_back({"ruined_at", u.ruined_at ? table_value{*u.ruined_at} : table_value{}});
  t.numbers.all.push_back({"scale", u.scale});
  return t;
}

namespace {

named_values numbers_of(const forward_overflow& f) {
  named_values all = numbers_of(f.lost);
  all.all.push_back({"losses_lost", integer(f.losses_lost)});
  all.all.push_back({"losses_finite", integer(f.losses_finite)});
  all.all.push_back({"finite_norms", integer(f.finite_norms)});
  all.all.push_back({"in_all_tensors", f.in_all_tensors});
  all.all.push_back({"before", integer(std::uint64_t{f.before.size()})});
  all.all.push_back({"first_scale", f.first_scale});
  all.all.push_back({"last_scale", f.last_scale});
  all.all.push_back({"loss_before", f.loss_before});
  all.all.push_back({"loss_after", f.loss_after});
  all.all.push_back({"outlier_step", f.outlier_at ? table_value{*f.outlier_at} : table_value{}});
  all.all.push_back({"outlier", f.outlier});
  return all;
}

// A loss that is lost while the norms that are logged beside it are finite.
told told_of_contradicted(const forward_overflow& f) {
  told t;
  t.happened = fmt::format(
      "the loss is NaN or infinite in {}{}: the loss of something else than what was trained on, one that is lost in its own sum or mean, or "
      "a forward pass that overflows or computes NaN",
      span_text(f.lost), finite_norms_text(f.finite_norms, f.lost.steps));
  t.change = fmt::format(
      "see what is logged as the loss, and of which step the norm is; if both are of training, look at the data (a mean over no labels is NaN) "
      "and at where the loss is added up; else {}",
      find_operation);
  t.sure = unsure_by_norms;
  t.numbers = numbers_of(f);
  return t;
}

}  // namespace

told told_of(const forward_overflow& f, const telling& about) {
  if (f.is_contradicted()) return told_of_contradicted(f);
  told t;
  const std::string scales = scales_text(f.first_scale, f.last_scale, f.lost, f.scale_is_at_most);
  const bool nan_only = about.has_tensors && !f.has_infinities;
  if (f.losses_lost > 0) {
    const std::string share = share_text(f.losses_lost, f.lost);
    if (f.ends_the_run)
      t.happened =
          fmt::format("the forward pass overflows or computes NaN from {}step {} on: the loss is NaN or infinite {}{}",
                      f.lost.is_assumed ? "about " : "", f.lost.first, share, scales);
    else if (f.untold_after > 0)
      t.happened = fmt::format(
          "the forward pass overflowed or computed NaN: the loss is NaN or infinite {}{}; of the {} after the input says nothing",
          share, scales, steps_text(f.untold_after));
    else
      t.happened = fmt::format(
          "the forward pass overflowed or computed NaN, and came back: the loss is NaN or infinite {}{}, and the run goes on after them",
          share, scales);
    constexpr std::uint64_t few = 3;
    t.sure =
        f.ends_the_run && !f.starts_the_run && f.lost.steps <= few
            ? fmt::format("not sure: {} with it, so it may have been a single batch", end_text(about))
        : f.starts_the_run && f.lost.steps <= few ? "not sure: the input holds hardly more than these steps"
        : f.losses_zero == f.lost.steps && f.lost.is_assumed
            ? "fairly sure: a loss of 0 to the end, after losses far from 0, is what programs write for one that is "
              "not finite"
        : f.untold_after > 0
            ? "the first of these steps is proved, and no more: whether the loss came back the input does not say"
        : !f.ends_the_run && !(f.has_scaler && f.is_narrow)
            ? "these steps are as they were logged; whether they were skipped, and why the loss came back, the input does not say"
        : f.starts_the_run ? "very sure that no loss scale cures it; what led there is not in the input"
        : !f.is_narrow && !f.follows_finite
            ? "very sure: the loss is NaN or infinite from there on; whether a gradient that was not finite had been applied "
              "before, the input does not say"
        : f.losses_zero > 0 || f.first_was_applied || !f.has_scaler || (!f.follows_finite && !f.in_all_tensors)
            ? "very sure: no loss scale reaches the forward pass"
            : "certain: no loss scale reaches the forward pass";
  } else {
    const bool is_all = f.losses_finite == f.lost.steps;
    constexpr std::uint64_t several = 5;
    const bool stays_finite = is_all || f.losses_finite >= several;  // wherever it is told
    t.happened = fmt::format("{} {} not finite{}, to the end of {}: the loss scale is not the cause, but {}",
                             span_text(f.lost), f.lost.steps == 1 ? "is" : "are", scales, end_of(about),
                             stays_finite ? "NaN that arises in the backward pass, or the forward pass"
                                          : "overflow or NaN in the forward pass");
    t.sure = stays_finite ? fmt::format("fairly sure: the loss stays finite{}, so look at the backward pass first",
                                        is_all ? "" : " wherever it was logged")
                          : "fairly sure: the loss would tell, but was NaN or was not logged there (see --scalars)";
  }
  if (!f.before.empty()) t.evidence.push_back("the same was seen before, in " + listed(f.before));
  if (f.in_all_tensors)
    t.evidence.push_back(fmt::format("in step {} all recorded tensors are NaN or infinite at once", f.lost.first));
  if (f.losses_zero > 0)
    t.evidence.push_back(
        fmt::format("the loss is logged as 0 in {} of these steps, as programs write one that is not finite",
                    grouped(f.losses_zero)));
  if (nan_only) t.evidence.emplace_back("NaN only, no infinity was recorded");
  advise_forward(t, about, f);
  // An excerpt that is lost from its first step on does not show whether a divergence came before.
  if (f.starts_the_run && f.ends_the_run && f.lost.first > 1) {
    t.change = fmt::format(
        "look at what came before step {}: if loss, gradient norm or learning rate rose there, the training diverged and "
        "the format is not the cause; if not, {}",
        f.lost.first, t.change);
    t.lines.clear();
  }
  if (f.losses_lost > 0 && !f.ends_the_run) t.change = "look at the data of these steps; " + t.change;
  if (!std::isnan(f.loss_after)) {
    t.happened += fmt::format("; before that the loss rises from {} to {} (from step {} on)",
                              loss_number(f.loss_before), loss_number(f.loss_after), f.rises_from);
    t.change = fmt::format("lower the learning rate, and look at the data from step {} on; {}", f.rises_from, t.change);
    t.sure =
        "very sure that no loss scale reaches the forward pass; it comes after the loss rose, as where a learning rate is too high";
  }
  if (f.outlier_at) {
    const std::string times = multiple_text(f.outlier);
    t.happened +=
        f.outlier_is_alone
            ? fmt::format("; not long before, in step {}, the gradients are {} those before it", *f.outlier_at, times)
            : fmt::format("; in the last steps before, the gradients grow to {} what they were (step {})", times,
                          *f.outlier_at);
    t.change =
        fmt::format("look at the data {} step {}; {}", f.outlier_is_alone ? "of" : "before", *f.outlier_at, t.change);
    t.sure =
        fmt::format("very sure that no loss scale reaches the forward pass; {}",
                    f.outlier_is_alone
                        ? "whether that step led to it is open, since those between are as usual"
                        : "why the gradients grew before it is open: a learning rate that is too high looks the same");
  }
  if (f.first_was_applied)
    t.change += fmt::format(
        "; step {} was applied: check for infinities before the update, so that a bad batch is skipped", f.lost.first);
  if (f.losses_lost == 0 && f.losses_finite < f.lost.steps)
    t.change += "; if the loss grew before that, lower the learning rate first";
  if (f.finite_norms > 0)
    t.evidence.push_back(fmt::format("the gradient norm is finite in {} of these steps", grouped(f.finite_norms)));
  t.numbers = numbers_of(f);
  return t;
}

told told_of(const loss_overflow& l, const telling& about) {
  told t;
  t.happened = fmt::format("the loss is infinite in {} of {} ({}), where every gradient is finite",
                           grouped(l.lost.steps), steps_text(about.steps), where(l.lost));
  t.change =
      "sum the loss in float32, or take the mean: the loss itself is too large where it is added up (float16 ends at "
      "65504); the gradients do not suffer from it";
  t.sure = "very sure: gradients of a forward pass that overflowed would not be finite";
  t.numbers = numbers_of(l.lost);
  return t;
}

told told_of(const open_overflow& o, const telling& about) {
  told t;
  const bool is_one = o.lost.steps == 1;
  const bool is_known = !std::isnan(o.first_scale);
  // An excerpt begins anywhere, and a step or two are no search.
  constexpr std::int64_t early = 100;
  constexpr std::uint64_t few = 3;
  const bool is_search = o.starts_the_run && o.lost.first <= early && !(o.last_scale < 0x1p16) &&
                         (o.lost.steps >= few || o.first_scale > 0x1p17);
  t.happened = fmt::format("{} overflow{}{}, and {} with {}", span_text(o.lost), is_one ? "s" : "",
                           scales_text(o.first_scale, o.last_scale, o.lost, o.lost.is_assumed), end_text(about),
                           is_one ? "it" : "them");
  if (is_search && o.first_scale > 0x1p16) {
    t.happened += ": a search for the scale from far above the usual 2^16";
    t.change = "start at 2^16";
    t.lines = lines_for(about, {.format = about.options.format_name, .init_scale = 0x1p16});
    t.sure =
        "fairly sure: it should end within some steps; if it goes on below the scale 1, the forward pass overflows";
  } else {
    t.change =
        is_known
            ? "let it run on until the scale is 1: if it overflows there too, the forward pass does, and no scale helps"
            : fmt::format(
                  "see whether a scaler skips these steps and its scale still falls; if no scaler is in use, go on "
                  "from a checkpoint before step {} with a lower learning rate",
                  o.lost.first);
    t.sure = is_known ? fmt::format("not sure: {} before a lower scale could have ended it", end_text(about))
                      : "not sure: the input has neither the loss scale nor more steps";
    if (o.last_scale <= 1) {
      t.change =
          "look at its batch and at the forward pass: that overflows at a scale of 1, where no usual loss scale helps";
      t.sure = fmt::format("not sure: {} with it, so it may have been a single batch", end_text(about));
    }
    if (o.may_grow_back && o.first_scale > 1) {
      t.happened = fmt::format(
          "{} overflow, each at the scale {}: it grew back between them and overflowed again, or it is constant",
          span_text(o.lost), as_power(o.first_scale));
      t.change =
          "nothing, if steps were applied between them: that is how a dynamic loss scale works, and a longer growth "
          "interval skips less; if the scale is constant, lower it";
      t.sure = "not sure: the input does not hold what lies between them";
    }
    if (about.options.ends_early) t.change = "look at the steps that --steps leaves out: " + t.change;
  }
  t.numbers = numbers_of(o.lost);
  t.numbers.all.push_back({"first_scale", o.first_scale});
  t.numbers.all.push_back({"last_scale", o.last_scale});
  return t;
}

told told_of(const scale_at_floor& s, const telling& about) {
  told t;
  const std::string floor = as_power(s.floor);
  if (s.is_too_high) {
    t.happened = fmt::format("the loss scale does not fall below {}, and {} of {} there overflow", floor,
                             grouped(s.lost), span_text(s.at_floor));
    const bool is_known = about.safe_log2 && std::ldexp(1.0, *about.safe_log2) < s.floor;
    if (s.floor <= 1) {
      t.change = fmt::format("keep what overflows in float32{}: no loss scale helps",
                             is_wide(about.options.configured) ? "" : ", or train in bfloat16");
      if (!is_wide(about.options.configured)) t.lines = lines_for(about, {.format = "bfloat16"});
    } else {
      t.change = is_known ? fmt::format("let it fall to {}, up to which no finite step overflows, or further",
                                        power(*about.safe_log2))
                          : "let it fall further: lower the least scale of the configuration";
    }
    t.sure = "certain that it stays there; the steps that overflowed may need a lower one still";
    if (s.floor <= 1) t.sure = "very sure: they overflow without a scale, or are NaN";
  } else {
    t.happened = fmt::format("the loss scale fell from {} to {} and was there in {}", as_power(s.greatest), floor,
                             span_text(s.at_floor));
    t.change = "shorten the growth interval, so that it comes back, and look for what overflowed while it fell";
    t.sure = "certain that it fell; the steps that overflowed show why";
    constexpr std::uint64_t many = 50;
    if (many * s.lost >= s.at_floor.steps) {
      t.happened += fmt::format(", of which {} {}", grouped(s.lost), s.lost == 1 ? "overflows" : "overflow");
      t.change = fmt::format(
          "look for what overflows at {}, too; once that ends a shorter growth interval brings the scale back", floor);
    }
  }
  t.numbers = numbers_of(s.at_floor);
  t.numbers.all.push_back({"overflows", integer(s.lost)});
  t.numbers.all.push_back({"floor", s.floor});
  t.numbers.all.push_back({"greatest", s.greatest});
  return t;
}

}  // namespace ulp
