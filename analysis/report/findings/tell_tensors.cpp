#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {

told told_of(const nan_source& n, const telling& about) {
  told t;
  const std::string& name = about.tensors[n.tensor].name;
  t.happened =
      fmt::format("NaN begins in {} in step {}{}: {} of {} tensors hold NaN there and none an infinity", name,
                  n.lost.first, n.ends_the_run ? " and stays to the end" : "", grouped(n.with_nan), grouped(n.tensors));
  if (n.neighbour)
    t.happened +=
        fmt::format(", and {}, which backward reaches before it, is finite", about.tensors[*n.neighbour].name);
  t.change = n.neighbour
                 ? fmt::format("look at what is computed between {} and {}", name, about.tensors[*n.neighbour].name)
                 : fmt::format("look at what is computed after {}", name);
  t.change +=
      ": a division, root, norm or logarithm at 0 (in PyTorch, torch.autograd.set_detect_anomaly(True) names it)";
  t.sure = "very sure that no scale cures it: overflow would leave infinities, and end as the scale falls";
  t.numbers = numbers_of(n.lost);
  t.numbers.all.push_back({"tensor", name});
  t.numbers.all.push_back({"neighbour", n.neighbour ? table_value{about.tensors[*n.neighbour].name} : table_value{}});
  t.numbers.all.push_back({"with_nan", std::int64_t{n.with_nan}});
  return t;
}

told told_of(const zero_gradients& z, const telling& about) {
  told t;
  t.happened = z.starts_the_run ? fmt::format("every gradient is zero in {}{}", z.zero.steps > 1 ? "all " : "",
                                              z.zero.steps > 1 ? steps_text(z.zero.steps) : span_text(z.zero))
                                : fmt::format("every gradient is zero from step {} to the end ({})", z.zero.first,
                                              steps_text(z.zero.steps));
  if (z.loss_is_zero) t.happened += ", and the loss is logged as 0";
  t.change = z.starts_the_run
                 ? std::string{"raise the loss scale if they went through a 16-bit format; else make sure that they "
                               "are recorded before zero_grad(), and that the loss reaches the parameters"}
                 : fmt::format("look at step {}: units that died, a loss that no longer depends on the parameters, or, "
                               "in 16 bits, underflow, which a higher loss scale cures",
                               z.zero.first);
  if (z.loss_is_zero && about.has_tensors && !z.starts_the_run)
    t.change = fmt::format(
        "nothing, if the loss is meant to reach 0; else look at step {}: what makes the loss 0 there", z.zero.first);
  if (z.loss_is_zero && !about.has_tensors)
    t.change += "; a loss of exactly 0 may stand for NaN (Hugging Face: logging_nan_inf_filter=False shows it)";
  t.sure = z.overflowed ? fmt::format(
                              "certain that they are zero; step {} overflowed, as zeros cannot: these are not the "
                              "gradients that the run had",
                              *z.overflowed)
           : about.has_tensors ? "certain that they are zero; why is not told by zeros"
                               : "as sure as the log, which may round a small norm to 0; why is not told by zeros";
  if (z.overflowed) t.change = "record before zero_grad(): nothing else is told by zeros";
  t.numbers = numbers_of(z.zero);
  t.numbers.all.push_back({"loss_is_zero", z.loss_is_zero});
  return t;
}

double safe_scale(const telling& about) {
  constexpr int usual = 16;
  return std::ldexp(1.0, about.safe_log2.value_or(usual));
}

void advise_against_underflow(std::string& change, std::vector<std::string>& lines, const telling& about, double scale,
                              bool safe_scale_does) {
  const double safe = safe_scale(about);
  const own_configuration& own = about.options.configured;
  const bool raises = safe > scale && safe_scale_does;
  if (is_wide(own) && own.format != about.options.format_name) {
    change = fmt::format("nothing if it trains in {}, as the configuration says; for {}, ", own.format,
                         about.options.format_name);
    change += raises ? fmt::format("a scale of {}, up to which no finite step overflows", as_power(safe))
                     : "no scale that does not overflow keeps these gradients";
    if (raises) lines = lines_for(about, {.format = about.options.format_name, .init_scale = safe});
  } else if (raises) {
    change = fmt::format("raise the scale to {}, up to which no finite step overflows", as_power(safe));
    lines = lines_for(about, {.format = about.options.format_name, .init_scale = safe});
  } else {
    change = "train in bfloat16: no scale that does not overflow keeps these gradients";
    lines = lines_for(about, {.format = "bfloat16"});
  }
}

told told_of(const underflow& u, const telling& about) {
  told t;
  const std::string& name = about.tensors[u.worst].name;
  const bool has_scale = !std::isnan(u.scale);
  t.happened = fmt::format(
      "gradients underflow{}: {} of {} tensors had been rounded near the least number of their format before they were "
      "recorded, {} most: {} zeros, and the others average {:.2g} times that number",
      has_scale ? " at the scale " + as_power(u.scale) : "", u.tensors, u.of, name, percent(u.zeros), u.mean_units);
  if (u.all_zero > 0)
    t.evidence.push_back(
        fmt::format("{} more {} zero throughout", count_text(u.all_zero, "tensor"), u.all_zero == 1 ? "is" : "are"));
  advise_against_underflow(t.change, t.lines, about, has_scale ? u.scale : 1, true);
  t.sure = "very sure that values were cut off; only gradients recorded in float32 would show how many";
  t.numbers = {{{"tensor", name},
                {"tensors", std::int64_t{u.tensors}},
                {"of", std::int64_t{u.of}},
                {"all_zero", std::int64_t{u.all_zero}},
                {"zero_share", u.zeros},
                {"mean_units", u.mean_units},
                {"scale", u.scale}}};
  return t;
}

told told_of(const vanished& v, const telling& about) {
  told t;
  const std::string& name = about.tensors[v.tensor].name;
  t.happened = fmt::format("gradients vanish at {}: its zeros rise from {} to {}, most of it by step {}", name,
                           percent(v.zeros_before), percent(v.zeros_after), v.mostly_to);
  if (!std::isnan(v.loss)) t.happened += fmt::format(", while the loss no longer falls ({:.3g})", v.loss);
  if (v.jump)
    t.happened += fmt::format(", after the learning rate rose {} in step {}",
                              times_text(v.jump->after / v.jump->before), v.jump->step);
  else if (!std::isnan(v.peak))
    t.happened += fmt::format(", {} the gradients peaked {} in step {}", v.peak_step < v.mostly_from ? "after" : "as",
                              times_text(v.peak), v.peak_step);
  if (v.tensors > 1) t.happened += fmt::format(" ({} in all)", count_text(v.tensors, "tensor"));
  t.change = v.jump ? fmt::format("lower the learning rate from step {} on, and ", v.jump->step)
             : !std::isnan(v.peak)
                 ? fmt::format("lower the learning rate, or clip what peaked in step {}, and ", v.peak_step)
                 : "";
  t.change +=
      "look for units that died (learning rate, initialisation, activation); where values were rounded to a "
      "16-bit format first, a higher loss scale tells whether they underflowed; nothing, if they were frozen there";
  t.sure = "fairly sure: the zeros are counted, their origin is inferred";
  t.evidence = {fmt::format("the largest gradient of {} is {:.3g} at the end", name, v.largest_after)};
  const std::string living = v.living ? about.tensors[*v.living].name : "";
  if (v.living) t.evidence.push_back(fmt::format("{} is the next that keeps its gradients", living));
  t.numbers = {{{"tensor", name},
                {"living", v.living ? table_value{living} : table_value{}},
                {"tensors", std::int64_t{v.tensors}},
                {"zero_share_before", v.zeros_before},
                {"zero_share_after", v.zeros_after},
                {"first_step", v.mostly_from},
                {"peak", v.peak},
                {"peak_step", std::isnan(v.peak) ? table_value{} : table_value{v.peak_step}},
                {"loss", v.loss}}};
  return t;
}

told told_of(const vanished_in_depth& v, const telling& about) {
  told t;
  const std::string& small = about.tensors[v.small_end].name;
  const std::string& large = about.tensors[v.large_end].name;
  t.happened =
      fmt::format("gradients vanish on their way: from {} to {} the largest gradient falls by a factor of {}2^{:.0f}",
                  large, small, v.all_zero > 0 ? "more than " : "", v.log2_ratio);
  if (v.all_zero > 0) t.happened += fmt::format(", and {} beyond it are all zero", count_text(v.all_zero, "layer"));
  t.change =
      "change the network (residual connections, normalisation, initialisation, gates): a loss scale moves all "
      "layers alike";
  t.sure = "certain for what was recorded; whether it matters depends on what these layers must learn";
  t.numbers = {{{"small_end", small},
                {"large_end", large},
                {"layers", std::int64_t{v.layers}},
                {"all_zero", std::int64_t{v.all_zero}},
                {"log2_ratio", v.log2_ratio}}};
  return t;
}

told told_of(const dead_layer& d, const telling& about) {
  told t;
  constexpr std::size_t most = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(d.tensors.size(), most); ++i) names.push_back(about.tensors[d.tensors[i]].name);
  const std::size_t more = d.tensors.size() - names.size();
  t.happened = fmt::format("no gradient reaches {}{}: exact zeros in all {} since the first", fmt::join(names, ", "),
                           more > 0 ? fmt::format(" and {} more", more) : "", steps_text(d.steps.steps));
  const std::string living = d.living ? about.tensors[*d.living].name : "";
  if (d.living) t.happened += fmt::format("; {} is the next that has one", living);
  t.change = fmt::format(
      "look for dead units{}: their bias, initialisation and input; or for tensors that the loss does "
      "not use",
      d.living ? " just before " + living : "");
  t.sure = "certain that they are zero; frozen or unused tensors look the same";
  t.numbers = numbers_of(d.steps);
  t.numbers.all.push_back({"tensors", integer(std::uint64_t{d.tensors.size()})});
  t.numbers.all.push_back({"first_tensor", names.front()});
  t.numbers.all.push_back({"living", d.living ? table_value{living} : table_value{}});
  return t;
}

}  // namespace ulp
