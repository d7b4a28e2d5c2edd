#include <ulp/report/tables/compare_summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <ulp/ask/questions/number_text.hpp>

namespace ulp {
namespace {

using lines = std::vector<summary_line>;

std::string_view key_of(step_part part) {
  switch (part) {
    case step_part::learning_rate: return "learning_rate";
    case step_part::loss_scale: return "loss_scale";
    case step_part::weight: return "weight";
    case step_part::activation: return "activation";
    case step_part::loss: return "loss";
    case step_part::activation_grad: return "activation_grad";
    case step_part::weight_grad: return "weight_grad";
    case step_part::grad_norm: return "grad_norm";
    case step_part::overflow: return "overflow";
    case step_part::update: return "update";
    case step_part::other: return "other";
  }
  return "";
}

std::string_view key_of(bound_source by) {
  switch (by) {
    case bound_source::format: return "format";
    case bound_source::history: return "history";
    case bound_source::repeats: return "repeats";
  }
  return "";
}

std::string_view key_of(end_of_judgement::reason why) {
  switch (why) {
    case end_of_judgement::reason::drifted: return "drifted";
    case end_of_judgement::reason::near_overflow: return "near_overflow";
    case end_of_judgement::reason::other_scale: return "other_scale";
  }
  return "";
}

// A change of 1 or more is the logarithm of a factor.
std::string percent_change(double change) {
  if (change >= 1) return std::isinf(change) ? "all" : fmt::format("a factor {:.2g}", std::exp(change));
  return fmt::format("{:.2g} %", 100 * change);
}

// "the gradient of layers.1.up.weight".
std::string thing_of(const part_change& p, const run_differences& d) {
  const std::string name = p.tensor ? d.tensors[*p.tensor].name : "";
  switch (p.part) {
    case step_part::learning_rate: return "the learning rate";
    case step_part::loss_scale: return "the loss scale";
    case step_part::loss: return "the loss";
    case step_part::grad_norm: return "the logged gradient norm";
    case step_part::weight: return "the weights " + name;
    case step_part::activation: return "the activation " + name;
    case step_part::activation_grad:
    case step_part::weight_grad: return "the gradient of " + name;
    case step_part::update: return "the update of " + name;
    case step_part::overflow: return p.tensor ? "infinities or NaN in " + name : "an overflow";
    case step_part::other: return name;
  }
  return name;
}

std::string bound_text(const drift_bound& bound, const run_differences& d) {
  switch (bound.by) {
    case bound_source::format: return fmt::format("{} explains {}", d.format, percent_change(bound.value));
    case bound_source::history:
      return fmt::format("what the pair drifted before explains {}", percent_change(bound.value));
    case bound_source::repeats: return fmt::format("the repeats explain {}", percent_change(bound.value));
  }
  return "";
}

// "a factor 3.1"
std::string factor_text(double log) { return std::isinf(log) ? "all" : fmt::format("a factor {:.3g}", std::exp(log)); }

// By loss.
bool is_zero_alone(const part_change& p) {
  return std::isinf(p.change) && (p.a == 0) != (p.b == 0) && std::isfinite(p.a) && std::isfinite(p.b);
}

std::string change_text(const part_change& p, const run_differences& d) {
  const std::string values = fmt::format("{:.6g} in A, {:.6g} in B", p.a, p.b);
  if (is_zero_alone(p))
    return std::isnan(p.usual_ratio)
               ? fmt::format("zero in one run alone, so far in {} pairs ({})", usual_ratio::enough, values)
               : fmt::format("zero in one run alone ({}), where B's usually is {:.3g} times A's", values,
                             p.usual_ratio);
  if (!std::isnan(p.usual_ratio) && !p.is_narrower)
    return fmt::format("norm {}: {} off the {:.3g} times A's that B's usually is; the pairs before explain {}", values,
                       factor_text(p.change), p.usual_ratio, factor_text(p.bound.value));
  switch (p.part) {
    case step_part::learning_rate:
    case step_part::loss_scale: return fmt::format("{} in A, {} in B", as_power(p.a), as_power(p.b));
    case step_part::overflow: return "in one run alone";
    case step_part::loss:
    case step_part::grad_norm:
      if (std::isinf(p.change)) return fmt::format("not finite in one run alone ({})", values);
      return fmt::format("{} apart ({}); {}", percent_change(p.change), values, bound_text(p.bound, d));
    default: break;
  }
  // Of an estimate nothing is said to be the least.
  const bool is_estimated = p.tensor && d.tensors[*p.tensor].estimated;
  const std::string norms = (is_estimated ? "estimated norm " : "norm ") + values;
  const std::string change =
      p.change < 1 ? fmt::format("changes by {} {} of its norm ({}); {}", is_estimated ? "about" : "at least",
                                 percent_change(p.change), norms, bound_text(p.bound, d))
                   : fmt::format("{}; {}", norms, bound_text(p.bound, d));
  if (!p.is_narrower) return change;
  const auto& t = d.tensors[*p.tensor];
  return fmt::format(
      "the significands of one run are shorter ({} bits in A, {} in B at the first step): it is kept in a narrower "
      "format there, or adds up fewer parts; {}",
      t.bits_a.usual, t.bits_b.usual, change);
}

// The first tensor of a step, if it is not its first part.
const part_change* tensor_behind(const parted_step& s) {
  if (s.parts.front().tensor) return nullptr;
  const auto found = std::ranges::find_if(s.parts, [](const part_change& p) { return p.tensor.has_value(); });
  return found == s.parts.end() ? nullptr : &*found;
}

// Where most tensors are narrower in one run, none of them is a difference.
std::string formats_text(const run_differences& d) {
  if (!d.is_narrower_a && !d.is_narrower_b) return "no tensor is kept in a narrower format in one run";
  return fmt::format("{} keeps most tensors in a narrower format than {}", d.is_narrower_a ? "A" : "B",
                     d.is_narrower_a ? "B" : "A");
}

std::string others_text(const parted_step& s) {
  if (s.compared == 0) return "";
  return fmt::format(" {} of {} differ so in that step.", grouped(s.over), count_text(s.compared, "tensor"));
}

// "step 12", "step 12 of A and 30 of B, loss 0.612"
std::string place_of(const parted_step& s, const compare_answer& r) {
  const auto pair = std::ranges::find(r.pairs, s.step, &loss_pair::a);
  return pair == r.pairs.end() ? fmt::format("step {}", s.step)
                               : fmt::format("step {} of A and {} of B, loss {:.4g}", s.step, pair->b, pair->level_a);
}

std::string headline(const parted_step& s, const compare_answer& r) {
  const run_differences& d = r.found;
  const part_change& p = s.parts.front();
  std::string text = fmt::format("{}, {}: {}.", place_of(s, r), thing_of(p, d), change_text(p, d));
  if (const part_change* const tensor = tensor_behind(s))
    text += fmt::format(" First of its tensors is {}: {}.", thing_of(*tensor, d), change_text(*tensor, d));
  if (s.over > 0) text += others_text(s);
  return text;
}

// What a difference of this shape comes from.
std::string origin_text(const parted_step& s, const run_differences& d) {
  const part_change& p = s.parts.front();
  if (is_zero_alone(p)) return "a gradient that does not arrive, or that is frozen, in one run alone";
  if (!std::isnan(p.usual_ratio) && !p.is_narrower)
    return s.is_everywhere() ? "all that was compared leaves its usual size at the same loss: a scale that was not "
                               "divided out, another schedule, or other data from here on"
                             : "this part of the network is not trained as in the other run: its learning rate, its "
                               "decay, or what is done to its gradient";
  if (p.part == step_part::learning_rate) return "another learning rate, or another schedule of it";
  if (p.part == step_part::loss_scale)
    return s.is_first ? "another initial loss scale"
                      : "another rule or interval of the loss scaler, or another state of it";
  if (p.part == step_part::overflow)
    return s.loss_agrees
               ? "an overflow in the backward pass of one run alone; rounding does not bring the other near it"
               : "an overflow in one run alone; rounding does not bring the other near it";
  if (std::isinf(p.change)) return "a value that is not finite in one run alone";
  if (p.is_narrower)
    return fmt::format("{}: another format of this tensor or its layer, or a sum that lacks parts",
                       d.tensors[*p.tensor].name);
  if (p.part == step_part::weight)
    return s.is_first ? "everything differs from the first step: another seed, initialization or checkpoint"
                      : fmt::format(
                            "the update of the step before: the optimizer, its settings (epsilon, betas, decay) or "
                            "the learning rate, if the gradients of that step agree{}",
                            s.is_everywhere() ? "" : "; it begins in this tensor");
  if (s.factor)
    return fmt::format(
        "the gradients of B are {:.4g} times those of A: a loss scale that was not divided out, a sum in place "
        "of a mean over "
        "ranks or micro-batches, or another batch size",
        *s.factor);
  if (s.is_everywhere() && s.is_first && s.loss_agrees)
    return "the losses agree, and nearly all gradients differ: another reduction over ranks or micro-batches, another "
           "backward pass, or other data of nearly the same loss";
  if (s.is_everywhere() && s.is_first)
    return "everything differs from the first step: another seed, other data or another initialization, or a "
           "forward pass "
           "that differs early in the network";
  const double typical = p.tensor ? p.change : s.loss.value_or(0);
  if (s.is_everywhere() && !s.loss_agrees)
    return fmt::format("the steps before agree: the update of the step before ({}), or other data from this step on",
                       typical < 0.05 ? "a small change: epsilon, decay, learning rate" : "optimizer, learning rate");
  if (s.is_everywhere())
    return "the steps before agree, and so do the losses: the update before it by little (epsilon, decay), or "
           "the reduction "
           "of the gradients in this step";
  if (p.part == step_part::loss) return "the forward pass, or what the loss is a mean over";
  if (s.loss_agrees && s.over == 1)
    return "one tensor alone, and the losses agree: its reduction over ranks or micro-batches, its layer's "
           "backward pass, or "
           "what was done to its gradient";
  if (s.loss_agrees)
    return "the losses agree: the backward pass from this tensor's layer on, or what was done to these gradients";
  return "";
}

std::string run_line(const compared_run& run) {
  std::string text = fmt::format("{}: {}, {}", run.name, run.description, count_text(run.steps, "step"));
  if (run.steps > 1) text += fmt::format(" from {} to {}", *run.first_step, run.last_step);
  if (run.alone > 0) text += fmt::format(", {} of them here alone", grouped(run.alone));
  return text;
}

void add_runs(lines& to, const compare_answer& r) {
  to.push_back({"A", run_line(r.a), {{"a", r.a.name}, {"steps_only_a", integer(r.a.alone)}}});
  to.push_back({"B", run_line(r.b), {{"b", r.b.name}, {"steps_only_b", integer(r.b.alone)}}});
  for (const compared_run& repeat : r.repeats) to.push_back({"repeat", run_line(repeat), {}});
}

bool has_tables(const compare_answer& r) {
  return std::ranges::any_of(r.found.tensors, [](const compared_tensor& t) { return t.steps > 0; });
}

void add_compared(lines& to, const compare_answer& r) {
  const run_differences& d = r.found;
  const bool by_loss = r.by == run_alignment::loss;
  std::vector<std::string> what;
  const auto tensors = static_cast<std::uint64_t>(
      std::ranges::count_if(d.tensors, [](const compared_tensor& t) { return t.steps > t.not_finite; }));
  const bool estimated = std::ranges::any_of(d.tensors, [](const compared_tensor& t) { return t.estimated; });
  if (tensors > 0)
    what.push_back(fmt::format("{} by {}norms{}", count_text(tensors, "tensor"), estimated ? "estimated " : "",
                               by_loss ? " and significands" : ", sums, largest values and zeros"));
  for (const auto& [name, scalar] : {std::pair{"loss", &d.loss},
                                     {"gradient norm", &d.grad_norm},
                                     {"learning rate", &d.learning_rate},
                                     {"loss scale", &d.loss_scale}})
    if (scalar->steps > 0)
      what.push_back(scalar->steps == d.steps ? std::string{name}
                                              : fmt::format("{} (in {})", name, count_text(scalar->steps, "step")));
  if (d.skips_known > 0) what.push_back("skipped steps");
  std::string text = by_loss
                         ? fmt::format("{}: ", count_text(d.steps, "pair"))
                         : fmt::format("{} from {} to {}: ", count_text(d.steps, "step"), d.first_step, d.last_step);
  for (std::size_t i = 0; i < what.size(); ++i) text += (i == 0 ? "" : ", ") + what[i];
  if (tensors == 0) text += "; no tensor, so that only what was logged is known to agree or not";
  to.push_back({"compared",
                text,
                {{"steps", integer(d.steps)},
                 {"compared_from", d.first_step},
                 {"compared_to", d.last_step},
                 {"tensors", integer(tensors)}}});
}

// At equal losses, which pairs of steps have.
void add_pairs(lines& to, const compare_answer& r) {
  to.push_back({"", "", {{"align", r.by == run_alignment::loss ? "loss" : "step"}}});
  if (r.pairs.empty()) return;
  const loss_pair& first = r.pairs.front();
  const loss_pair& last = r.pairs.back();
  const auto way = static_cast<double>(last.a - first.a);
  const double pace = way > 0 ? static_cast<double>(last.b - first.b) / way : not_known;
  std::string text = fmt::format(
      "by the least loss so far, a median of {}: {} within {:.0f} % of each other, from {:.4g} (step {} of A, {} of B) to "
      "{:.4g} (step {}, {})",
      r.loss_window, count_text(r.pairs.size(), "pair"), 100 * equal_losses, first.level_a, first.a, first.b,
      last.level_a, last.a, last.b);
  if (!std::isnan(pace)) text += fmt::format("; there B takes {:.3g} steps for each of A", pace);
  to.push_back({"aligned",
                text,
                {{"pairs", integer(r.pairs.size())},
                 {"loss_window", integer(r.loss_window)},
                 {"loss_from", first.level_a},
                 {"loss_to", last.level_a},
                 {"b_from", first.b},
                 {"b_to", last.b},
                 {"steps_of_b_per_step", value_if(!std::isnan(pace), pace)}}});
}

void add_bounds(lines& to, const compare_answer& r) {
  const run_differences& d = r.found;
  if (r.by == run_alignment::loss) {
    to.push_back(
        {"bounds",
         d.steps <= usual_ratio::enough
             ? fmt::format("none: {} {} not tell which ratio of two norms is usual, more than {} would",
                           count_text(d.steps, "pair"), d.steps == 1 ? "does" : "do", usual_ratio::enough)
             : fmt::format("by the pairs before, from the {}th on: how far the ratio of the norms was from its "
                           "median, four times, or the way that a norm went, three times; at least what {} explains",
                           usual_ratio::enough + 1, d.format),
         {{"bound_format", d.format}, {"bound_format_assumed", d.format_assumed}}});
    return;
  }
  std::string text;
  const double share = has_tables(r) ? 1 : 0.25;  // of the loss
  if (d.repeats > 0 && d.repeats_differ)
    text = fmt::format(
        "by {}: what they differ among themselves, {} of a usual tensor at the first step, {} at the last",
        count_text(d.repeats, "repeat"), percent_change(d.smallest_bound.value), percent_change(d.largest_bound.value));
  else
    text =
        fmt::format("by the roundoff of {}{}: {} of {} at the first step, {} at the last that was judged{}",
                    d.format_assumed ? "a format that is assumed, as nothing tells it, " : "", d.format,
                    percent_change(share * d.smallest_bound.value),
                    has_tables(r) ? "a usual tensor's norm" : "the loss", percent_change(share * d.largest_bound.value),
                    d.repeats > 0 ? "; the repeats are the same as A, and tell nothing of another order of sums" : "");
  if (d.kink)
    text += fmt::format(
        "; {} from step {} on, where the gradients of the first layers jumped by up to {} and the losses "
        "agree: as a ReLU or a "
        "maximum does at its kink (--smooth, if the network has none)",
        percent_change(kink_bound), d.kink->step, percent_change(d.kink->largest));
  if (d.is_narrower_a || d.is_narrower_b) text += "; " + formats_text(d);
  to.push_back({"bounds",
                text,
                {{"bound_format", d.format},
                 {"bound_format_assumed", d.format_assumed},
                 {"bounds_by_repeats", d.repeats > 0 && d.repeats_differ},
                 {"repeats", integer(d.repeats)},
                 {"kink_step", d.kink ? table_value{d.kink->step} : table_value{}},
                 {"kink_change", d.kink ? table_value{d.kink->largest} : table_value{}},
                 {"bound_at_first", d.smallest_bound.value},
                 {"bound_at_last", d.largest_bound.value},
                 {"narrower_run", d.is_narrower_a   ? table_value{std::string{"a"}}
                                  : d.is_narrower_b ? table_value{std::string{"b"}}
                                                    : table_value{}}}});
}

bool is_same(const run_differences& d) {
  const auto scalar = [](const compared_scalar& s) { return s.same == s.steps && s.only_a + s.only_b == 0; };
  return scalar(d.loss) && scalar(d.grad_norm) && scalar(d.learning_rate) && scalar(d.loss_scale) &&
         std::ranges::all_of(d.tensors, [](const compared_tensor& t) { return t.same == t.steps; });
}

std::string end_text(const end_of_judgement& end) {
  switch (end.why) {
    case end_of_judgement::reason::drifted:
      return fmt::format(
          "up to step {}: from there on rounding alone may have brought the runs as far apart as any change "
          "would; repeats of A (--repeat) tell more",
          end.step);
    case end_of_judgement::reason::near_overflow:
      return fmt::format(
          "up to step {}: one run skipped it, and the other came so near to an overflow that rounding may "
          "have decided; all later steps follow from that",
          end.step);
    case end_of_judgement::reason::other_scale:
      return fmt::format(
          "up to step {}: one run skipped it, whose loss scale is another, or the only one; all later steps "
          "follow from that",
          end.step);
  }
  return "";
}

std::string verdict_of(const run_differences& d) {
  if (d.first) return "differs";
  if (d.end) return "explained_until";
  return is_same(d) ? "same" : "explained";
}

// By loss, only what came before tells which ratio of norms is usual.
bool is_judged(const compared_tensor& t) { return t.ratios > usual_ratio::enough; }
bool judges_norms(const compare_answer& r) {
  return r.found.norm_ratios > usual_ratio::enough || std::ranges::any_of(r.found.tensors, is_judged);
}

// Tensors in steps, in which one of the runs has infinities or NaN.
std::uint64_t lost_rows(const run_differences& d) {
  std::uint64_t lost = 0;
  for (const compared_tensor& t : d.tensors) lost += t.not_finite;
  return lost;
}

std::string agreement_by_loss(const compare_answer& r) {
  const run_differences& d = r.found;
  const auto judged = static_cast<std::uint64_t>(std::ranges::count_if(d.tensors, is_judged));
  std::string text;
  if (judges_norms(r))
    text = fmt::format("none of what could be judged: at the same loss {} the usual ratio",
                       judged == 0 ? "the gradient norm that was logged keeps"
                                   : fmt::format("the norms of {} keep", count_text(judged, "tensor")));
  else if (d.grad_norm.steps == 0 && d.tensors.empty())
    text = "not judged: neither tensors nor gradient norms are in both runs";
  else
    text = fmt::format("not judged: too few pairs{} to tell which norms are usual",
                       d.steps > usual_ratio::enough ? " with norms that are finite and not zero" : "");
  if (!d.tensors.empty()) text += "; " + formats_text(d);
  if (judged > 0 && judged < d.tensors.size())
    text += fmt::format("; not judged: {}, in too few pairs with norms that are finite and not zero",
                        count_text(d.tensors.size() - judged, "tensor"));
  if (judges_norms(r) && d.grad_norm.steps > 0 && d.norm_ratios <= usual_ratio::enough)
    text += "; not judged: the gradient norm that was logged, zero or not finite in too many pairs";
  if (lost_rows(d) > 0) text += "; infinities and NaN of tensors are not judged";
  if (r.a.alone + r.b.alone > 0)
    text += fmt::format("; nor are steps of one run alone, {} of A and {} of B", r.a.alone, r.b.alone);
  return text;
}

std::string agreement_text(const compare_answer& r) {
  const run_differences& d = r.found;
  if (r.by == run_alignment::loss) return agreement_by_loss(r);
  if (is_same(d)) {
    if (!has_tables(r)) return "none: what both logged is the same";
    if (std::ranges::any_of(d.tensors, [](const compared_tensor& t) { return t.estimated; }))
      return "none: all that was compared is the same. Without exact sums that is how many values are in each cell, and "
             "the largest and the least: smaller changes are not seen (record with sums)";
    return "none: all that was compared is the same, counts and exact sums. Tables do not tell which value is whose, and "
           "what was not recorded was not compared";
  }
  return fmt::format(
      "none {}that is larger than {} explains{}{}", lost_rows(d) > 0 ? "of what could be compared " : "",
      d.repeats > 0 && d.repeats_differ ? "the spread of the repeats" : "rounding or another order of sums",
      d.end ? fmt::format(", up to step {}", d.end->step) : "",
      d.loss_scale.first_different ? fmt::format("; the loss scale differs at step {}", *d.loss_scale.first_different)
                                   : "");
}

void add_first(lines& to, const compare_answer& r) {
  const run_differences& d = r.found;
  const bool is_open = r.by == run_alignment::loss && !d.first && !judges_norms(r);
  std::vector<named_value> values{{"verdict", is_open ? "not_judged" : verdict_of(d)}};
  const auto add = [&](const std::string& lead, const std::optional<parted_step>& s) {
    const part_change* const p = s ? &s->parts.front() : nullptr;
    const part_change* tensor = p == nullptr ? nullptr : p->tensor ? p : tensor_behind(*s);
    values.push_back({lead + "_step", s ? table_value{s->step} : table_value{}});
    values.push_back({lead + "_step_b", s ? table_value{r.step_of_b(s->step)} : table_value{}});
    values.push_back({lead + "_part", p != nullptr ? table_value{std::string{key_of(p->part)}} : table_value{}});
    values.push_back(
        {lead + "_tensor", tensor != nullptr ? table_value{d.tensors[*tensor->tensor].name} : table_value{}});
    values.push_back({lead + "_change", p != nullptr ? table_value{p->change} : table_value{}});
    values.push_back(
        {lead + "_bound", p != nullptr && p->bound.value > 0 ? table_value{p->bound.value} : table_value{}});
    values.push_back({lead + "_bound_by", p != nullptr && p->bound.value > 0
                                              ? table_value{std::string{key_of(p->bound.by)}}
                                              : table_value{}});
    values.push_back({lead + "_usual_ratio",
                      p != nullptr && !std::isnan(p->usual_ratio) ? table_value{p->usual_ratio} : table_value{}});
    values.push_back({lead + "_narrower", p != nullptr ? table_value{p->is_narrower} : table_value{}});
    values.push_back({lead + "_tensors_over", s ? integer(s->over) : table_value{}});
    values.push_back({lead + "_tensors_compared", s ? integer(s->compared) : table_value{}});
    values.push_back({lead + "_everywhere", s ? table_value{s->is_everywhere()} : table_value{}});
    values.push_back({lead + "_loss_agrees", s && s->loss ? table_value{s->loss_agrees} : table_value{}});
    values.push_back({lead + "_factor", s && s->factor ? table_value{*s->factor} : table_value{}});
  };
  add("first", d.first);
  add("values", d.first_tensors);
  values.push_back({"judged_until", d.end ? table_value{d.end->step} : table_value{}});
  values.push_back({"judged_until_because", d.end ? table_value{std::string{key_of(d.end->why)}} : table_value{}});
  to.push_back({"first", d.first ? headline(*d.first, r) : agreement_text(r), std::move(values)});
  if (d.first) to.push_back({"looks like", origin_text(*d.first, d), {}});
  if (d.first_tensors && d.first_tensors->step != d.first->step) {
    to.push_back({"then", headline(*d.first_tensors, r), {}});
    to.push_back({"looks like", origin_text(*d.first_tensors, d), {}});
  } else if (d.first && !d.first_tensors) {
    to.push_back({"then",
                  fmt::format("no loss and no tensor differs by more than {} explains{}",
                              d.repeats > 0 && d.repeats_differ ? "the spread of the repeats" : "rounding",
                              d.end ? fmt::format(", up to step {}", d.end->step) : ""),
                  {}});
  }
  if (d.end && !d.first_tensors) to.push_back({"judged", end_text(*d.end), {}});
}

void add_scalar(lines& to, const std::string& title, const std::string& key, const compared_scalar& s,
                const std::function<std::string(double)>& text_of) {
  std::string text;
  if (s.steps > 0 && s.same == s.steps) text = fmt::format("the same in {}", count_text(s.steps, "step"));
  if (s.first_different)
    text = fmt::format("{} of {} the same, the first other one at step {}, {} apart at most; last {} in A, {} in B",
                       grouped(s.same), grouped(s.steps), *s.first_different, percent_change(s.largest),
                       text_of(s.last_a), text_of(s.last_b));
  if (s.only_a + s.only_b > 0)
    text += fmt::format("{}in {} known of {} alone", text.empty() ? "" : "; ", count_text(s.only_a + s.only_b, "step"),
                        s.only_b == 0   ? "A"
                        : s.only_a == 0 ? "B"
                                        : "one run");
  const auto or_nothing = [&](double x) { return value_if(s.steps > 0, x); };
  to.push_back({title,
                text,
                {{key + "_steps", integer(s.steps)},
                 {key + "_same", integer(s.same)},
                 {key + "_first_different", s.first_different ? table_value{*s.first_different} : table_value{}},
                 {key + "_largest_change", or_nothing(s.largest)},
                 {key + "_last_a", or_nothing(s.last_a)},
                 {key + "_last_b", or_nothing(s.last_b)}}});
}

// "is not finite from step 120 on"; empty of one that is well.
std::string loss_end_text(const compared_run& run) {
  std::vector<std::string> said;
  const lost_losses& lost = run.lost;
  if (const auto& from = lost.to_the_end_from) said.push_back(fmt::format("is not finite from step {} on", *from));
  if (lost.first && lost.first != lost.to_the_end_from)
    said.push_back(fmt::format("is not finite in {}{}, the first {}",
                               count_text(lost.steps - lost.steps_to_the_end, "step"),
                               lost.to_the_end_from ? " before" : "", *lost.first));
  if (run.rise)
    said.push_back(fmt::format("rises for good from step {} on, to {:.4g} from {:.4g} at least", run.rise->from,
                               run.rise->last, run.rise->least));
  return fmt::format("{}", fmt::join(said, " and "));
}

// At equal losses no pair is where a loss rises, or is none.
void add_loss_ends(lines& to, const compare_answer& r) {
  const std::string a = loss_end_text(r.a);
  const std::string b = loss_end_text(r.b);
  std::string text;
  if (!a.empty() && !b.empty()) text = fmt::format("in A the loss {}; in B it {}", a, b);
  if (a.empty() != b.empty()) text = fmt::format("in {} alone the loss {}", a.empty() ? "B" : "A", a.empty() ? b : a);
  if (!text.empty()) text += ": there are no pairs, and nothing there is judged";
  const auto lost = [](const compared_run& run) {
    return run.lost.first ? table_value{*run.lost.first} : table_value{};
  };
  const auto rises = [](const compared_run& run) { return run.rise ? table_value{run.rise->from} : table_value{}; };
  to.push_back({"losses",
                text,
                {{"loss_lost_a", lost(r.a)},
                 {"loss_lost_b", lost(r.b)},
                 {"loss_rises_a", rises(r.a)},
                 {"loss_rises_b", rises(r.b)}}});
}

void add_scalars(lines& to, const compare_answer& r) {
  const auto plain = [](double x) { return fmt::format("{:.6g}", x); };
  if (r.by == run_alignment::loss) return add_loss_ends(to, r);  // at other steps the others are others
  const run_differences& d = r.found;
  add_scalar(to, "losses", "loss", d.loss, plain);
  add_scalar(to, "norms", "grad_norm", d.grad_norm, plain);
  add_scalar(to, "rates", "learning_rate", d.learning_rate, plain);
  add_scalar(to, "scales", "loss_scale", d.loss_scale, as_power);
  const bool known = d.skips_known > 0;
  to.push_back({"skips",
                known ? fmt::format("{} in A, {} in B, of {}", grouped(d.skipped_a), grouped(d.skipped_b),
                                    count_text(d.skips_known, "step"))
                      : "",
                {{"skips_known", integer(d.skips_known)},
                 {"skipped_a", value_if(known, integer(d.skipped_a))},
                 {"skipped_b", value_if(known, integer(d.skipped_b))}}});
}

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void add_left_out(lines& to, const compare_answer& r) {
  const auto add = [&](const std::string& text) { to.push_back({"not compared", text, {}}); };
  for (const auto& [names, run] : {std::pair{&r.only_a, "A"}, std::pair{&r.only_b, "B"}})
    if (!names->empty())
      add(fmt::format("{} of {} alone: {}", count_text(names->size(), "tensor"), run, names_text(*names)));
  std::vector<std::string> sizes;
  for (const other_size& s : r.other_sizes)
    sizes.push_back(fmt::format("{} ({} in A, {} in B)", s.name, grouped(s.a), grouped(s.b)));
  if (!sizes.empty())
    add(fmt::format("{} of another size: {}: another network, or shards of it", count_text(sizes.size(), "tensor"),
                    names_text(sizes)));
  if (r.a.alone + r.b.alone > 0)
    add(fmt::format("steps of one run alone: {} of A, {} of B", grouped(r.a.alone), grouped(r.b.alone)));
  std::uint64_t rows = 0;
  std::vector<std::string> lost;
  for (const compared_tensor& t : r.found.tensors) {
    if (t.not_finite > 0) lost.push_back(fmt::format("{} in {}", t.name, count_text(t.not_finite, "step")));
    rows += t.only_a + t.only_b;
  }
  if (!lost.empty()) add(fmt::format("values beside infinities or NaN: {}", names_text(lost)));
  if (rows > 0) add(fmt::format("tensors that one run lacks in a step: {}", count_text(rows, "tensor-step")));
  if (r.unknown_factors > 0)
    add(fmt::format(
        "the true gradient of {}, whose factor one run alone tells: there values as recorded met true ones (see "
        "--factor)",
        count_text(r.unknown_factors, "tensor")));
  if (r.renamed > 0)
    to.push_back(
        {"names", fmt::format("{} paired without what wraps their modules", count_text(r.renamed, "tensor")), {}});
  to.push_back({"",
                "",
                {{"tensors_only_a", integer(r.only_a.size())},
                 {"tensors_only_b", integer(r.only_b.size())},
                 {"tensors_of_other_size", integer(r.other_sizes.size())},
                 {"tensors_renamed", integer(r.renamed)},
                 {"tensors_with_unknown_factor", integer(r.unknown_factors)}}});
}

}  // namespace

std::vector<summary_line> lines_of(const compare_answer& answer) {
  lines all;
  add_runs(all, answer);
  add_compared(all, answer);
  add_pairs(all, answer);
  add_bounds(all, answer);
  add_first(all, answer);
  add_scalars(all, answer);
  add_left_out(all, answer);
  return all;
}

std::optional<parting_mark> mark_of(const compare_answer& answer) {
  const run_differences& d = answer.found;
  if (!d.first) return std::nullopt;
  const part_change* const tensor = tensor_behind(*d.first);
  return parting_mark{d.first->step, answer.step_of_b(d.first->step),
                      thing_of(tensor != nullptr ? *tensor : d.first->parts.front(), d)};
}

std::vector<std::string> first_of(const compare_answer& answer) {
  std::vector<std::string> told;
  for (const summary_line& line : lines_of(answer))
    if ((line.title == "first" || line.title == "looks like" || line.title == "then" || line.title == "judged" ||
         (line.title == "losses" && answer.by == run_alignment::loss)) &&
        !line.text.empty())
      told.push_back((line.title == "first" ? "first difference" : line.title) + ": " + line.text);
  return told;
}

table compare_table(const compare_answer& answer) {
  using row = compared_tensor;
  constexpr auto right = alignment::right;
  const auto step_if = [](const std::optional<std::int64_t>& s) { return s ? table_value{*s} : table_value{}; };
  const auto bits = [](const significand_bits& b) { return value_if(b.usual > 0, std::int64_t{b.usual}); };
  const std::vector<column<row>> columns{
      {"tensor", "tensor", [](const row& t) { return t.name; }},
      {"tensor_b", "", [](const row& t) { return t.name_b; }},
      {"kind", "kind", [](const row& t) { return std::string{to_string(t.kind)}; }},
      {"steps", "steps", [](const row& t) { return exactly(t.steps); }},
      {"same", "same", [](const row& t) { return exactly(t.same); }},
      {"not_finite", "", [](const row& t) { return integer(t.not_finite); }},
      {"first_different", "first other", [=](const row& t) { return step_if(t.first_different); }},
      {"first_over", "first over bound", [=](const row& t) { return step_if(t.first_over); }},
      {"largest_change", "", [](const row& t) { return t.largest; }},
      {"", "largest change", [](const row& t) { return percent_change(t.largest); }, range_keys::none, right},
      {"largest_at", "at step", [](const row& t) { return value_if(t.largest > 0, t.largest_at); }},
      {"norm_ratio_log2", "", [](const row& t) { return value_if(t.ratios > 0, t.log2_ratio); }},
      {"", "norm B/A", [](const row& t) { return t.ratios > 0 ? fmt::format("{:.4g}", std::exp2(t.log2_ratio)) : "-"; },
       range_keys::none, right},
      {"values", "", [](const row& t) { return integer(t.values); }},
      {"zeros_a", "zeros A", [](const row& t) { return exactly(t.zeros_a); }},
      {"zeros_b", "zeros B", [](const row& t) { return exactly(t.zeros_b); }},
      {"bits_a", "bits A", [=](const row& t) { return bits(t.bits_a); }},
      {"bits_b", "bits B", [=](const row& t) { return bits(t.bits_b); }},
      {"estimated", "", [](const row& t) { return t.estimated; }},
  };
  std::vector<row> seen;
  std::ranges::copy_if(answer.found.tensors, std::back_inserter(seen),
                       [](const row& t) { return t.steps + t.only_a + t.only_b > 0; });
  return table_of(columns, seen);
}

}  // namespace ulp
