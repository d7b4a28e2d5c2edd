#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/usual_formats.hpp>
#include <utility>

#include "findings.hpp"
#include "static_scales.hpp"

namespace ulp {
namespace {

std::optional<int> least_scale_of(const survey& run, const tensor_set& of, const advice_options& o) {
  return least_scale([&](double scale) { return magnitude_loss_of(run, of, o.how, scale).high <= o.epsilon; });
}

// In the order of preference: as many fraction bits as possible.
std::vector<std::string> formats_to_try() {
  std::vector<std::string> names;
  for (const char* const name : usual_formats(format_room::few)) names.emplace_back(name);
  std::ranges::stable_sort(names, std::greater{}, [](const std::string& f) { return find_format(f)->fraction_bits; });
  return names;
}

// Whether too much may have underflowed before it was recorded.
bool is_cut_off(const survey& run, const tensor_set& of, double epsilon) {
  return run.censored_magnitude(of) > epsilon * run.magnitudes(of).low;
}

// What one kind of tensors answers.
struct kind_answer {
  std::string sufficient;  // of 16 bits
  std::string on_gpus;     // likewise, of those that GPUs compute with
  std::string perhaps;     // where the input leaves it open
  bool unknown = false;    // too much may have underflowed before it was recorded
  named_values formats;
  std::vector<finding_bar> bars;
  [[nodiscard]] table_value value() const {
    return unknown || sufficient.empty() ? table_value{} : table_value{sufficient};
  }
};

std::string answer_text(const kind_answer& a) {
  if (a.unknown) return "unknown, since zeros were rounded to a narrow format before they were recorded";
  std::string sure = a.sufficient.empty() ? "none of 16 bits" : a.sufficient;
  if (!a.on_gpus.empty() && a.on_gpus != a.sufficient) sure += fmt::format(" (on GPUs {})", a.on_gpus);
  return a.perhaps.empty() || a.perhaps == a.sufficient
             ? sure
             : fmt::format("{} (perhaps {}: the input leaves that open)", sure, a.perhaps);
}

kind_answer formats_for(const survey& run, std::span<const step_survey> steps, const named_kind& kind,
                        const advice_options& o, finding& f) {
  kind_answer a;
  a.unknown = is_cut_off(run, kind.set, o.epsilon);
  for (const std::string& name : formats_to_try()) {
    const format to = *find_format(name);
    const rounding mode = o.typed.value(to);
    const window w = window_of(steps, {to, mode});
    const std::uint64_t overflowing = w.overflowing(1);
    const range_loss loss = loss_of(run, kind.set, {to, mode}, 1);
    f.evidence.push_back(fmt::format("{:<14} {}, overflow in {}", name, loss_text(loss), overflow_text(w, 1)));
    named_values numbers = numbers_of(loss);
    numbers.all.push_back({"overflow_steps", integer(overflowing)});
    numbers.all.push_back({"undecided_steps", integer(w.undecided(1))});
    a.formats.all.push_back({name, numbers});
    const bool holds = loss.is_within(o.epsilon) && overflowing == 0;
    a.bars.push_back({name, loss.magnitude,
                      overflowing > 0 ? "overflows in " + steps_text(overflowing)
                      : holds         ? "holds"
                                      : "loses " + magnitude_text(loss.magnitude),
                      holds ? finding_grade::fine : finding_grade::notable});
    if (to.width() != 16 || overflowing > 0) continue;
    if (a.sufficient.empty() && loss.is_within(o.epsilon)) a.sufficient = name;
    const bool has_gpu = to == float16 || to == bfloat16;
    if (has_gpu && a.on_gpus.empty() && loss.is_within(o.epsilon)) a.on_gpus = name;
    if (a.perhaps.empty() && loss.magnitude.low <= o.epsilon) a.perhaps = name;
  }
  return a;
}

}  // namespace

finding which_format(const survey& run, std::span<const step_survey> steps, const std::vector<named_kind>& kinds,
                     const advice_options& o) {
  finding f{.topic = "format", .question = "Which format holds these gradients without a loss scale?"};
  std::vector<std::string> answers;
  kind_answer first;
  std::vector<finding_bar> worst;  // of all kinds
  named_values others;
  for (const named_kind& kind : kinds) {
    const bool is_first = &kind == &kinds.front();
    if (kinds.size() > 1) f.evidence.push_back(kind.noun + ":");
    const kind_answer a = formats_for(run, steps, kind, o, f);
    answers.push_back((kinds.size() > 1 ? kind.noun + ": " : "") + answer_text(a));
    if (a.sufficient.empty() && !a.unknown) f.grade = finding_grade::notable;
    for (std::size_t i = 0; i < a.bars.size(); ++i) {
      const finding_bar& bar = a.bars[i];
      if (is_first)
        worst.push_back(bar);
      else if (std::tuple(bar.grade, -bar.share.high) < std::tuple(worst[i].grade, -worst[i].share.high))
        worst[i] = bar;
    }
    if (is_first)
      first = a;
    else
      others.all.push_back({kind.key, named_values{{{"format", a.value()}, {"formats", a.formats}}}});
  }
  const std::uint64_t censored = run.censored();
  const bool is_rounded = censored > 0;
  f.conclusion = fmt::format("{}", fmt::join(answers, "; "));
  f.bars = std::move(worst);
  f.numbers = {{"format", first.value()},
               {"epsilon", o.epsilon},
               {"formats", first.formats},
               {"other_kinds", others},
               {"censored_zeros", integer(censored)}};
  f.limits =
      fmt::format(
          "Named is the most precise format of 16 bits that loses at most {} of the magnitude to underflow and "
          "overflows in no finite step. ",
          percent(o.epsilon)) +
      "Over all tensors of a kind: single ones may lose more (see which lose most). Range only: gradients do not "
      "show how much precision training needs, and accumulation is not examined." +
      left_out_text(o);
  if (is_rounded)
    f.limits += fmt::format(
        " {} rounded to a narrow format before recording; what had underflowed by then is not counted here.",
        were(censored, "zero"));
  return f;
}

finding which_scale(const survey& run, const std::vector<named_kind>& kinds, const std::vector<tensor_set>& single,
                    const window& w, const advice_options& o, bool has_values) {
  finding f{.topic = "static_scale", .question = fmt::format("Which static loss scales will do in {}?", o.format_name)};
  const std::optional<int> most = w.largest_safe();
  const std::string top = most ? "no finite step overflows up to " + power(*most) : "no scale overflows";
  f.limits =
      "This holds for this run; later gradients may be larger. Overflow in the forward pass is not visible here." +
      left_out_text(o);
  if (w.undecided(std::numeric_limits<double>::denorm_min()) > 0)
    f.limits +=
        " What overflowed at the scale of the run is not decided at smaller ones: gradients that were recorded in "
        "float32 would tell.";
  const std::optional<window::outliers> held = w.held_down_by();
  f.numbers = {{"epsilon", o.epsilon},
               {"lowest_log2", {}},
               {"highest_log2", integer(most)},
               {"outlier_steps", integer(held ? held->steps : 0)},
               {"highest_log2_without_outliers", held ? integer(held->without) : integer(most)}};
  if (held)
    f.evidence.push_back(fmt::format(
        "{} of {} hold it down: no other finite step overflows up to {}; above it a dynamic scaler would skip these",
        held->steps, steps_text(held->of), power(held->without)));
  if (!has_values || kinds.empty()) {
    f.conclusion = top;
    f.evidence.push_back("a step log does not show what underflows");
    return f;
  }
  // The kind that asks for the highest scale decides: weight gradients are made of activation gradients.
  const demanding_kind demanding =
      most_demanding(kinds.size(), [&](std::size_t i) { return least_scale_of(run, kinds[i].set, o); });
  const named_kind* const judged = &kinds[demanding.index];
  const static_scales good{demanding.least, most};
  const std::optional<int>& least = good.least;
  if (!is_cut_off(run, judged->set, o.epsilon)) f.numbers[1].value = integer(least);
  const auto loses = [&](int k) {
    return magnitude_text(magnitude_loss_of(run, judged->set, o.how, std::ldexp(1.0, k))) + " of the " + judged->noun;
  };
  const std::string at_most = fmt::format("at most {} of the magnitude of the {}", percent(o.epsilon), judged->noun);
  // "2^-5 to 2^14 lose at most ..."
  const auto losing_little = [&](const std::optional<int>& up_to) {
    const bool is_one = up_to && *least == *up_to;
    return fmt::format("{} lose{} {}",
                       is_one ? power(*least) + " alone" : power(*least) + " to " + (up_to ? power(*up_to) : "any"),
                       is_one ? "s" : "", at_most);
  };
  if (is_cut_off(run, judged->set, o.epsilon))
    f.conclusion = fmt::format(
        "{}; how low it may be is unknown, since zeros of the {} were rounded to a narrow format before they were "
        "recorded",
        top, judged->noun);
  else if (good.needs_none())
    f.conclusion = fmt::format("none needed: without one {} is lost, and {}", loses(0), top);
  else if (good.any())
    f.conclusion = fmt::format("{}, and {}", losing_little(most), top);
  else if (static_scales{least, w.largest_likely_safe()}.any())
    f.conclusion = fmt::format("not decided: {}, and by estimate no finite step overflows there{}",
                               losing_little(w.largest_likely_safe()),
                               most ? fmt::format("; above {} the input does not decide it", power(*most)) : "");
  else if (held && static_scales{least, held->without}.any())
    f.conclusion = fmt::format(
        "{}, but {} there: no scale serves all, and a scaler skips what overflows", losing_little(held->without),
        held->steps == 1 ? fmt::format("1 of {} overflows", steps_text(held->of))
                         : fmt::format("up to {} of {} overflow", held->steps, steps_text(held->of)));
  else if (most)
    f.conclusion = fmt::format("no scale does both: {}, where it loses {}{}", top, loses(*most),
                               least ? fmt::format("; {} would take {}", at_most, power(*least)) : "");
  else
    f.conclusion = fmt::format("none: even at {} it loses {}", power(greatest_tried), loses(greatest_tried));
  const bool some_do = least && (!most || *least <= *most);
  if (some_do && !single.empty() && !is_cut_off(run, judged->set, o.epsilon)) {
    // Of all together little may be lost, where one tensor loses most of its own.
    const int scale = good.needs_none() ? 0 : *least;
    const auto lost_at = [&](const tensor_set& set, double at) { return magnitude_loss_of(run, set, o.how, at).low; };
    const auto lost = [&](const tensor_set& set) { return lost_at(set, std::ldexp(1.0, scale)); };
    const tensor_set& worst = *std::ranges::max_element(single, {}, lost);
    if (const double share = lost(worst); share >= much_of_a_tensor) {
      const std::optional<int> none_loses = least_scale([&](double at) {
        return std::ranges::all_of(single, [&](const tensor_set& set) { return lost_at(set, at) < much_of_a_tensor; });
      });
      const bool is_in_range = none_loses && (!most || *none_loses <= *most);
      f.conclusion += fmt::format(
          "; but {} loses {} of its own {}, {}", worst.name, percent(share),
          good.needs_none() ? "without one" : "at " + power(scale),
          is_in_range ? fmt::format("and no tensor loses {} of its own from {} on", percent(much_of_a_tensor),
                                    power(*none_loses))
          : most      ? fmt::format("and still {} at {}", percent(lost_at(worst, std::ldexp(1.0, *most))), power(*most))
                      : fmt::format("and no scale keeps each tensor from losing {}", percent(much_of_a_tensor)));
      f.grade = finding_grade::notable;
      f.tensor = worst.name;
    }
  }
  if (!some_do && !is_cut_off(run, judged->set, o.epsilon)) f.grade = finding_grade::notable;
  std::vector<int> shown{0, 8, 16};
  if (least) shown.push_back(*least);
  if (most) shown.insert(shown.end(), {*most, *most + 1});
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  std::erase_if(shown, [](int k) { return std::abs(k) > greatest_tried; });
  named_values scales;
  for (const named_kind& kind : kinds) {
    if (kinds.size() > 1) f.evidence.push_back(kind.noun + ":");
    named_values of_kind;
    for (const int k : shown) {
      const double scale = std::ldexp(1.0, k);
      const range_loss loss = loss_of(run, kind.set, o.how, scale);
      f.evidence.push_back(fmt::format("{:<6} {}, overflow in {}", power(k), loss_text(loss), overflow_text(w, scale)));
      named_values numbers = numbers_of(loss);
      numbers.all.push_back({"overflow_steps", integer(w.overflowing(scale))});
      numbers.all.push_back({"undecided_steps", integer(w.undecided(scale))});
      of_kind.all.push_back({power(k), numbers});
      if (&kind != judged) continue;
      const bool overflows = w.overflowing(scale) > 0;
      f.bars.push_back({power(k), loss.magnitude,
                        overflows ? "overflow in " + steps_text(w.overflowing(scale)) : magnitude_text(loss.magnitude),
                        overflows || !loss.is_within(o.epsilon) ? finding_grade::notable : finding_grade::fine});
    }
    if (&kind == &kinds.front())
      f.numbers.push_back({"scales", of_kind});
    else
      scales.all.push_back({kind.key, named_values{{{"scales", of_kind}}}});
  }
  f.numbers.push_back({"other_kinds", scales});
  return f;
}

}  // namespace ulp
