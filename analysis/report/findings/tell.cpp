#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ulp/io/configuration_lines.hpp>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {

named_values numbers_of(const step_span& s) {
  return {{{"steps", integer(s.steps)}, {"first_step", s.first}, {"last_step", s.last}}};
}

std::string times_text(double times) {
  constexpr double many = 1e5;
  return times < many ? fmt::format("{:.3g}-fold", times)
                      : fmt::format("10^{}-fold", static_cast<int>(std::floor(std::log10(times))));
}

namespace {

std::string steps_of(const step_span& s) { return places_text(s.first, s.last); }

// ", at the scale 1", ", at every scale from 2^16 down to 2^-3"; nothing where it is not known.
std::string scales_text(double first, double last) {
  if (std::isnan(first) || std::isnan(last)) return "";
  if (first == last) return ", at the scale " + as_power(first);
  return fmt::format(", at every scale from {} down to {}", as_power(first), as_power(last));
}

std::vector<std::string> lines_of(const telling& about, const loss_scale_choice& choice) {
  return configuration_lines(about.options.framework, choice);
}

told told_of(const recorded_wrongly& r, const telling&) {
  told t;
  t.happened = r.why;
  t.change = "record once more, or say what was recorded as named above: nothing below holds until then";
  t.sure = "certain: a float16 run cannot have such values";
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
  if (!std::isnan(d.growth))
    parts.push_back(fmt::format("{} grew {} in {}", size, times_text(d.growth), steps_text(d.growth_steps)) +
                    (d.lost_at ? fmt::format(" before the first step that is not finite ({})", *d.lost_at) : ""));
  if (d.rate_rises && !d.jump) parts.emplace_back("the learning rate was still rising");
  if (d.loss_after > d.loss_before)
    parts.push_back(fmt::format("the loss went from {:.3g} to {:.3g}", d.loss_before, d.loss_after));
  t.happened = fmt::format("the training diverged from step {} on: {}; that is not the format's doing", d.growing.first,
                           fmt::join(parts, ", "));
  t.change = d.jump ? fmt::format("keep the learning rate below {:.3g}; it was {:.3g} while the training went well",
                                  d.jump->after, d.jump->before)
             : d.rate_rises ? std::string{"lower the peak of the learning rate, or warm it up more slowly"}
                            : std::string{"lower the learning rate"};
  if (std::isfinite(about.usual_norm) && about.usual_norm > 0)
    t.change +=
        fmt::format(", and clip the norm near {:.2g}, which 99 % of the steps before did not exceed", about.usual_norm);
  t.sure = d.jump                     ? "very sure: the learning rate rose first"
           : d.lost_at                ? "very sure: the growth came first, while every gradient was finite"
           : std::isnan(d.loss_after) ? "fairly sure: the gradients grew, and did not come back"
                                      : "fairly sure: gradients and loss grew together, and did not come back";
  t.numbers = numbers_of(d.growing);
  t.numbers.all.push_back({"growth", d.growth});
  t.numbers.all.push_back({"lost_at", d.lost_at ? table_value{*d.lost_at} : table_value{}});
  t.numbers.all.push_back({"learning_rate_before", d.jump ? d.jump->before : not_known});
  t.numbers.all.push_back({"learning_rate_after", d.jump ? d.jump->after : not_known});
  t.numbers.all.push_back({"loss_before", d.loss_before});
  t.numbers.all.push_back({"loss_after", d.loss_after});
  return t;
}

told told_of(const high_initial_scale& h, const telling& about) {
  told t;
  t.happened = fmt::format("the initial loss scale{} was too high: {} ({}) {} lost to the search for one that fits",
                           std::isnan(h.first_scale) ? "" : " " + as_power(h.first_scale), steps_text(h.skipped.steps),
                           steps_of(h.skipped), h.skipped.steps == 1 ? "was" : "were");
  t.change = std::isnan(h.fitting_scale)
                 ? "start below the last scale that overflowed"
                 : fmt::format("start at {}, the first scale that fitted", as_power(h.fitting_scale));
  if (!std::isnan(h.fitting_scale))
    t.lines = lines_of(about, {.format = about.options.format_name, .init_scale = h.fitting_scale});
  t.sure = "certain: a falling scale alone ended it";
  t.numbers = numbers_of(h.skipped);
  t.numbers.all.push_back({"first_scale", h.first_scale});
  t.numbers.all.push_back({"fitting_scale", h.fitting_scale});
  return t;
}

told told_of(const bad_batches& b, const telling&) {
  told t;
  const std::size_t n = b.steps.size();
  constexpr std::size_t most = 8;
  const std::vector<std::int64_t> shown(b.steps.begin(),
                                        b.steps.begin() + static_cast<std::ptrdiff_t>(std::min(n, most)));
  const std::string where = fmt::format("step{} {}{}", n == 1 ? "" : "s", fmt::join(shown, ", "),
                                        n > most ? fmt::format(" and {} more", n - most) : "");
  const char* const alone = n == 1 ? "stands alone" : "stand alone";
  if (b.is_finite)
    t.happened = fmt::format("{} {}: the gradients are up to {:.0f} times those of the steps around: bad batches",
                             where, alone, b.outlier);
  else if (b.loss_is_lost)
    t.happened =
        fmt::format("{} {}: the loss is infinite or NaN there, and finite before and after: a bad batch", where, alone);
  else
    t.happened = fmt::format(
        "{} {}: gradients overflow there though those around are far from it at the same scale: a bad batch", where,
        alone);
  if (n == 1 && b.is_finite) t.happened.replace(t.happened.rfind("bad batches"), 11, "a bad batch");
  t.change =
      fmt::format("look at the data of {}; {}", n == 1 ? "this step" : "these steps",
                  b.is_finite ? "clipping the norm bounds what it does" : "a scaler that skips it loses nothing else");
  t.sure = b.loss_is_lost ? "very sure: the steps around them are healthy at the same scale"
                          : "fairly sure: the steps around them are healthy";
  t.numbers = {{{"steps", integer(std::uint64_t{n})},
                {"first_step", b.steps.front()},
                {"last_step", b.steps.back()},
                {"loss_is_lost", b.loss_is_lost},
                {"times", b.outlier}}};
  return t;
}

told told_of(const handled_overflow& h, const telling& about) {
  told t;
  const bool is_one = h.skipped.steps == 1;
  t.happened = fmt::format("{} of {} overflowed ({}) and {} skipped", grouped(h.skipped.steps), steps_text(about.steps),
                           steps_of(h.skipped), is_one ? "was" : "were");
  if (h.at_end > 0)
    t.happened +=
        is_one ? "; the input ends with it" : fmt::format("; the input ends with {} of them", grouped(h.at_end));
  else if (h.fell)
    t.happened += is_one ? "; a lower scale ended it" : "; a lower scale ended it every time";
  t.change = "nothing: that is how a dynamic loss scale works";
  t.sure = "certain for these steps";
  t.evidence = {fmt::format("in {}, {} long at most", count_text(h.places, "place"), steps_text(h.longest))};
  t.numbers = numbers_of(h.skipped);
  t.numbers.all.push_back({"places", integer(h.places)});
  t.numbers.all.push_back({"longest", integer(h.longest)});
  return t;
}

told told_of(const unhandled_overflow& u, const telling& about) {
  told t;
  const bool is_static = u.has_scaler && !std::isnan(u.scale);
  t.happened = fmt::format("gradients are infinite or NaN in {} of {} ({})", grouped(u.lost.steps),
                           steps_text(about.steps), steps_of(u.lost));
  if (is_static) t.happened += fmt::format(", at the scale {}, which never fell", as_power(u.scale));
  if (!u.has_scaler) t.happened += ", and no loss scale is at work";
  if (u.applied > 0)
    t.happened += fmt::format("; {} of these steps {} applied, and the weights are lost from there on",
                              grouped(u.applied), u.applied == 1 ? "was" : "were");
  t.change = "look at the data and the forward pass of these steps";
  t.sure = "certain of these steps; what caused it is not told by gradients alone";
  if (is_static && about.safe_log2) {
    const double safe = std::ldexp(1.0, *about.safe_log2);
    t.change =
        safe < u.scale
            ? fmt::format("lower the scale to {}, up to which no finite step overflows, or let it move", as_power(safe))
            : "let the scale move, or look at the data of these steps: those around them fit the scale";
    if (safe < u.scale) t.lines = lines_of(about, {.format = about.options.format_name, .static_scale = safe});
    t.sure = "certain that the scale stayed; the steps that overflowed may need a lower one still";
  }
  t.numbers = numbers_of(u.lost);
  t.numbers.all.push_back({"applied", integer(u.applied)});
  t.numbers.all.push_back({"scale", u.scale});
  return t;
}

told told_of(const forward_overflow& f, const telling& about) {
  told t;
  const std::string scales = scales_text(f.first_scale, f.last_scale);
  const std::string where = fmt::format("{} ({})", steps_text(f.lost.steps), steps_of(f.lost));
  if (f.losses_lost > 0) {
    t.happened =
        fmt::format("the forward pass overflows or computes NaN from step {} on: the loss is lost in {} of {}{}",
                    f.lost.first, grouped(f.losses_lost), where, scales);
    constexpr std::uint64_t few = 3;
    t.sure = f.ends_the_run && !f.starts_the_run && f.lost.steps <= few
                 ? "not sure: the input ends with it, so it may have been a single batch"
             : f.starts_the_run ? "certain that no loss scale cures it; what led there is not in the input"
                                : "certain: no loss scale reaches the forward pass";
  } else {
    t.happened = fmt::format("{} {} not finite{}, to the end of the run: that is no matter of the scale, but {}", where,
                             f.lost.steps == 1 ? "is" : "are", scales,
                             f.loss_is_logged ? "NaN that arises in the backward pass, or the forward pass"
                                              : "overflow or NaN in the forward pass");
    t.sure = f.loss_is_logged ? "fairly sure: the loss stays finite, so look at the backward pass first"
                              : "fairly sure: the loss would tell, but was not logged, or was NaN (see --scalars)";
  }
  if (!f.before.empty())
    t.evidence.push_back(fmt::format("the loss was lost before, in step{} {}", f.before.size() == 1 ? "" : "s",
                                     fmt::join(f.before, ", ")));
  if (f.in_all_tensors)
    t.evidence.push_back(fmt::format("in step {} all recorded tensors are lost at once", f.lost.first));
  if (about.has_tensors && !f.has_infinities) t.evidence.emplace_back("NaN only, no infinity was recorded");
  t.change = "keep what overflows (softmax, attention scores, norms, the loss) in float32, or train in bfloat16";
  if (!f.loss_is_logged) t.change += "; if the loss grew before that, lower the learning rate first";
  t.lines = lines_of(about, {.format = "bfloat16"});
  t.numbers = numbers_of(f.lost);
  t.numbers.all.push_back({"losses_lost", integer(f.losses_lost)});
  t.numbers.all.push_back({"first_scale", f.first_scale});
  t.numbers.all.push_back({"last_scale", f.last_scale});
  return t;
}

told told_of(const open_overflow& o, const telling& about) {
  told t;
  const bool is_search = o.starts_the_run && !(o.last_scale < 0x1p16);
  t.happened = fmt::format("{} ({}) overflow{}{}, and the input ends with {}", steps_text(o.lost.steps),
                           steps_of(o.lost), o.lost.steps == 1 ? "s" : "", scales_text(o.first_scale, o.last_scale),
                           o.lost.steps == 1 ? "it" : "them");
  if (is_search && o.first_scale > 0x1p16) {
    t.happened += ": a search for the scale from far above the usual 2^16";
    t.change = "start at 2^16";
    t.lines = lines_of(about, {.format = about.options.format_name, .init_scale = 0x1p16});
    t.sure =
        "fairly sure: it should end within some steps; if it goes on below the scale 1, the forward pass overflows";
  } else {
    t.change =
        "let it run on until the scale is 1: if it overflows there too, the forward pass does, and no scale helps";
    t.sure = "not sure: the input ends before a lower scale could have ended it";
  }
  t.numbers = numbers_of(o.lost);
  t.numbers.all.push_back({"first_scale", o.first_scale});
  t.numbers.all.push_back({"last_scale", o.last_scale});
  return t;
}

told told_of(const scale_at_floor& s, const telling&) {
  told t;
  t.happened = fmt::format("the loss scale fell from {} to {} and was there in {} ({})", as_power(s.greatest),
                           as_power(s.floor), steps_text(s.at_floor.steps), steps_of(s.at_floor));
  t.change = "shorten the growth interval, so that it comes back, and look for what overflowed while it fell";
  t.sure = "certain that it fell; why, the steps that overflowed tell";
  t.numbers = numbers_of(s.at_floor);
  t.numbers.all.push_back({"floor", s.floor});
  t.numbers.all.push_back({"greatest", s.greatest});
  return t;
}

}  // namespace

told tell(const cause& c, const telling& about) {
  return std::visit([&](const auto& one) { return told_of(one, about); }, c);
}

}  // namespace ulp
