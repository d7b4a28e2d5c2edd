#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ulp/io/config/configuration_lines.hpp>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {

named_values numbers_of(const step_span& s) {
  return {
      {{"steps", integer(s.steps)}, {"first_step", s.first}, {"last_step", s.last}, {"places_certain", !s.is_assumed}}};
}

bool is_gapless(const step_span& s) { return s.steps == static_cast<std::uint64_t>(s.last - s.first) + 1; }

std::string where(const step_span& s) {
  if (s.is_within && s.first != s.last) return fmt::format("within steps {} to {}", s.first, s.last);
  const std::string about = s.is_assumed ? "about " : "";
  return is_gapless(s) || s.first == s.last ? about + places_text(s.first, s.last)
                                            : fmt::format("between {}steps {} and {}", about, s.first, s.last);
}

std::string span_text(const step_span& s) {
  if (s.first != s.last) return fmt::format("{} ({})", steps_text(s.steps), where(s));
  if (s.steps == 1)
    return s.is_assumed ? fmt::format("1 step (about step {})", s.first) : fmt::format("step {}", s.first);
  return s.is_assumed ? fmt::format("{} attempts (about step {})", s.steps, s.first)
                      : fmt::format("{} attempts at step {}", s.steps, s.first);
}

std::string listed(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t most = 8;
  const std::size_t n = std::min(steps.size(), most);
  const std::vector<std::int64_t> shown(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(n));
  return fmt::format("step{} {}{}", steps.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                     steps.size() > n ? fmt::format(" and {} more", steps.size() - n) : "");
}

std::string multiple_text(double times) {
  constexpr double many = 1e5;
  if (!std::isfinite(times)) return "more than 10^308 times";
  if (times >= 1000 && times < many) return grouped(static_cast<std::uint64_t>(std::round(times))) + " times";
  return times < many ? fmt::format("{:.3g} times", times)
                      : fmt::format("10^{} times", static_cast<int>(std::floor(std::log10(times))));
}

std::string times_text(double times) {
  std::string text = multiple_text(times);
  return text.replace(text.find(" times"), 6, "-fold");
}

std::string finite_norms_text(std::uint64_t finite, std::uint64_t of) {
  if (finite == 0) return "";
  return finite == of ? ", while the gradient norm is finite"
                      : fmt::format(", while the gradient norm is finite in {} of them", grouped(finite));
}

std::string loss_number(double loss) {
  constexpr double large = 1000;
  constexpr double huge = 1e6;
  return loss >= large && loss < huge ? grouped(static_cast<std::uint64_t>(std::round(loss)))
                                      : fmt::format("{:.3g}", loss);
}

std::string clipping_text(const telling& about) {
  if (!std::isfinite(about.usual_norm) || !(about.usual_norm > 0)) return "";
  return fmt::format("clip the norm near {:.2g}, which 99 % of the steps before did not exceed", about.usual_norm);
}

told told_of(const recorded_wrongly& r, const telling&) {
  told t;
  t.happened = r.why;
  t.change = "record once more, or say what was recorded as named above: nothing below holds until then";
  t.sure = "certain: a float16 run cannot have such values";
  return t;
}

told told_of(const recorded_clipped& r, const telling&) {
  told t;
  t.happened = fmt::format(
      "the gradients were clipped before they were recorded: their norm is about {:.3g} in {} of {} and never more",
      r.limit, grouped(r.at_limit), steps_text(r.of));
  t.change =
      "record before clip_grad_norm_: call step() between backward() and clipping; what follows is of the clipped gradients, and "
      "neither a scale nor a norm to clip at is advised from them";
  t.sure =
      "very sure: norms that nothing limits do not pile up at their largest; a normalization of the gradients does the same";
  t.numbers = {{{"limit", r.limit}, {"steps", integer(r.at_limit)}, {"of", integer(r.of)}}};
  return t;
}

told told_of(const divergence& d, const telling& about) {
  const char* const size = d.of == gradient_size::largest ? "the largest gradient" : "the gradient norm";
  told t;
  std::vector<std::string> parts;
  if (d.jump)
    parts.push_back(fmt::format("the learning rate rose {} in step {} ({:.3g} to {:.3g})",
                                times_text(d.jump->after / d.jump->before), d.jump->step, d.jump->before,
                                d.jump->after));
  constexpr double noticed = 2;
  if (d.growth >= noticed)
    parts.push_back(fmt::format("{} grew {} in {}", size, times_text(d.growth), steps_text(d.growth_steps)) +
                    (d.lost_at ? fmt::format(" before the first step that is not finite ({})", *d.lost_at) : ""));
  if (d.rate_rises && !d.jump) parts.emplace_back("the learning rate was still rising");
  if (d.loss_after > d.loss_before)
    parts.push_back(fmt::format("the loss went from {} to {}", loss_number(d.loss_before), loss_number(d.loss_after)));
  t.happened =
      fmt::format("the training diverged from step {} on: {}; {}", d.growing.first, fmt::join(parts, ", "),
                  d.applied_lost == 0 ? "the number format is not the cause"
                                      : fmt::format("{} that overflowed {} applied all the same",
                                                    steps_text(d.applied_lost), d.applied_lost == 1 ? "was" : "were"));
  t.change =
      d.jump ? fmt::format("go back to a learning rate of {:.3g}, at which the training went well; {:.3g} is too high",
                           d.jump->before, d.jump->after)
      : d.rate_rises ? std::string{"lower the peak of the learning rate, or warm it up more slowly"}
                     : std::string{"lower the learning rate"};
  if (const std::string clipping = clipping_text(about); !clipping.empty()) t.change += ", and " + clipping;
  if (d.applied_lost > 0) t.change = "skip the steps that overflow (a scaler does), and " + t.change;
  constexpr double noticeably = 1.1;
  t.sure =
      d.applied_lost > 0
          ? "fairly sure: what infinities and NaN did to the weights is not told from what a rate that is too high does"
      : d.jump      ? "very sure: the learning rate rose first"
      : d.lost_at   ? "very sure: the growth came first, while every gradient was finite"
      : d.came_down ? "fairly sure: the gradients came down again, what they had thrown back did not"
      : !(d.loss_after > noticeably * d.loss_before) ? "fairly sure: the gradients grew, and did not come back"
      : std::isnan(d.growth)                         ? "fairly sure: the loss grew, and did not come back"
                             : "fairly sure: gradients and loss grew together, and did not come back";
  t.numbers = numbers_of(d.growing);
  t.numbers.all.push_back({"growth", d.growth});
  t.numbers.all.push_back({"growth_steps", integer(d.growth_steps)});
  t.numbers.all.push_back({"rate_rises", d.rate_rises});
  t.numbers.all.push_back({"lost_at", d.lost_at ? table_value{*d.lost_at} : table_value{}});
  t.numbers.all.push_back({"learning_rate_before", d.jump ? d.jump->before : not_known});
  t.numbers.all.push_back({"learning_rate_after", d.jump ? d.jump->after : not_known});
  t.numbers.all.push_back({"loss_before", d.loss_before});
  t.numbers.all.push_back({"loss_after", d.loss_after});
  return t;
}

namespace {

told told_of_ruin(const bad_batch& b, const telling& about) {
  told t;
  const std::int64_t step = b.steps.front();
  t.happened = fmt::format("the gradients of step {} are {} those before it, and {}: a bad batch that was applied",
                           step, multiple_text(b.outlier),
                           b.lost_at ? fmt::format("the loss is NaN or infinite from step {} on", *b.lost_at)
                                     : "the training did not come back");
  t.change = fmt::format("look at the data of step {}, and go on from a checkpoint before it", step);
  if (const std::string clipping = clipping_text(about); !clipping.empty()) t.change += "; " + clipping;
  t.sure =
      b.lost_at
          ? "fairly sure: the steps before are steady; whether its update made the loss NaN, or both have one cause, is open"
          : "fairly sure: the steps before are steady; a single update that was far too large, or data that changed there, would look the same";
  return t;
}

// Of ascending steps, two or more.
std::int64_t least_distance(const std::vector<std::int64_t>& steps) {
  std::int64_t least = steps[1] - steps[0];
  for (std::size_t i = 2; i < steps.size(); ++i) least = std::min(least, steps[i] - steps[i - 1]);
  return least;
}

told told_of_outliers(const bad_batch& b) {
  told t;
  const bool is_one = b.steps.size() == 1;
  const bool is_periodic = b.period > 0;
  const std::string batch =
      b.is_contradicted() && !is_periodic
          ? fmt::format("{}, or the loss of something else", is_one ? "a bad batch" : "bad batches")
      : is_one      ? "a bad batch"
      : is_periodic ? "a bad batch that comes in every pass over the data, or something else that is "
                      "done so often, such as a validation"
                    : "bad batches";
  const std::string every = is_periodic ? fmt::format(", every {} steps,", b.period) : "";
  const std::string alone = listed(b.steps) + every + (is_one ? " stands alone: " : " stand alone: ");
  if (b.is_finite)
    t.happened = fmt::format("{}the gradients are {}{} those of the steps around: {}", alone, is_one ? "" : "up to ",
                             multiple_text(b.outlier), batch);
  else if (b.loss_is_lost)
    t.happened = fmt::format("{}the loss is infinite or NaN there, and finite before and after{}: {}", alone,
                             finite_norms_text(b.finite_norms, b.steps.size()), batch);
  else
    t.happened = fmt::format("{}gradients are not finite there, though those around are: {}", alone, batch);
  const std::string scaler =
      is_one
          ? "a scaler that skips it loses nothing else"
          : fmt::format(
                "a scaler that skips them loses nothing else, if its scale grows back between them: they are {} apart "
                "at least, which its growth interval has to be below",
                count_text(static_cast<std::uint64_t>(least_distance(b.steps)), "step"));
  t.change = fmt::format("look at the data of {}; {}", is_one ? "this step" : "these steps",
                         b.is_finite ? "clipping the norm bounds what it does" : scaler);
  t.sure = fmt::format("{}: the steps around {} are healthy",
                       b.loss_is_lost && !is_periodic ? "very sure" : "fairly sure", is_one ? "it" : "them");
  if (!std::isnan(b.loss_after)) {
    t.happened += fmt::format("; the loss was {} before and is {} at the end", loss_number(b.loss_before),
                              loss_number(b.loss_after));
    t.sure = fmt::format("fairly sure of {}; whether the loss rose for {}, or for something else, is open",
                         is_one ? "this step" : "these steps", is_one ? "it" : "them");
  }
  if (b.is_contradicted()) {
    t.change = fmt::format(
        "see what is logged as the loss in {}, and of which step the norm is; if both are of training, look at the data: a mean over no "
        "labels is NaN",
        is_one ? "this step" : "these steps");
    t.sure = unsure_by_norms;
  }
  return t;
}

}  // namespace

told told_of(const bad_batch& b, const telling& about) {
  told t = b.ends_the_run ? told_of_ruin(b, about) : told_of_outliers(b);
  constexpr std::uint64_t few = 20;
  // Every loss is one to compare with.
  const std::uint64_t compared = b.loss_is_lost ? about.all_steps : about.steps;
  if (compared < few)
    t.sure =
        fmt::format("not sure: there {} but {} to compare with", compared == 1 ? "is" : "are", steps_text(compared));
  t.numbers = {{{"steps", integer(std::uint64_t{b.steps.size()})},
                {"first_step", b.steps.front()},
                {"last_step", b.steps.back()},
                {"loss_is_lost", b.loss_is_lost},
                {"ends_the_run", b.ends_the_run},
                {"times", b.outlier},
                {"lost_at", b.lost_at ? table_value{*b.lost_at} : table_value{}},
                {"loss_before", b.loss_before},
                {"loss_after", b.loss_after},
                {"finite_norms", integer(b.finite_norms)},
                {"period", value_if(b.period > 0, b.period)}}};
  return t;
}

told tell(const cause& c, const telling& about) {
  return std::visit([&](const auto& one) { return told_of(one, about); }, c);
}

}  // namespace ulp
