// What advice says of formats in which each tensor has a scale of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <ulp/model/replay/fp8_replay.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

constexpr std::string_view e4m3 = "float8_e4m3fn";
constexpr std::string_view e5m2 = "float8_e5m2";
// A tensor of which more of the nonzero values vanish under the best scale is not held.
constexpr double much_vanishes = 0.01;
// Between two formats this share of the nonzero values makes no difference.
constexpr double as_good = 0.001;

// Whether recipes of linear layers cast it.
bool is_cast(const tensor_info& t, const std::vector<tensor_info>& tensors) {
  return is_read_by_products(
      t, std::ranges::any_of(tensors, [](const tensor_info& one) { return one.kind == tensor_kind::activation_grad; }));
}

fp8_tensor_summary sum_of(const fp8_trial& trial, const std::vector<tensor_info>& tensors,
                          std::optional<tensor_kind> kind = {}) {
  fp8_tensor_summary all;
  for (const auto& [tensor, sum] : trial.by.summaries())
    if ((!kind || tensors[tensor].kind == *kind) && is_cast(tensors[tensor], tensors)) all += sum;
  return all;
}

double vanished_share(const fp8_tensor_summary& sum) { return underflow_share(sum.counts).high; }

named_values numbers_of(const fp8_tensor_summary& sum) {
  return {{{"sqnr_db", sum.noise.sqnr()}, {"underflow_share", underflow_share(sum.counts)}}};
}

std::string held_text(std::string_view name, const fp8_tensor_summary& sum) {
  return fmt::format("{} SQNR {:.1f} dB, {} of nonzero underflow", name, sum.noise.sqnr(),
                     percent_text(underflow_share(sum.counts)));
}

// Of one kind of tensors, each at the scale of its own step.
struct comparison {
  fp8_tensor_summary precise;  // E4M3
  fp8_tensor_summary wide;     // E5M2

  [[nodiscard]] bool any() const { return precise.counts.nonzero().high > 0; }
  [[nodiscard]] bool needs_range() const { return vanished_share(precise) > vanished_share(wide) + as_good; }
};

comparison compare(const fp8_trials& trials, const std::vector<tensor_info>& tensors, std::optional<tensor_kind> kind) {
  return {sum_of(*trials.find(e4m3, 0), tensors, kind), sum_of(*trials.find(e5m2, 0), tensors, kind)};
}

std::string left_out(const fp8_trials& trials) {
  return trials.not_finite == 0 ? ""
                                : fmt::format(" {} with infinities or NaN left out.", steps_text(trials.not_finite));
}

finding which_fp8_format(const fp8_trials& trials, const std::vector<tensor_info>& tensors) {
  finding f{.topic = "fp8_format", .question = "E4M3 or E5M2, with a scale for each tensor?"};
  std::vector<std::string> verdicts;
  named_values numbers;
  for (const kind_line& k : kind_lines) {
    const comparison c = compare(trials, tensors, k.kind);
    if (!c.any()) continue;
    verdicts.push_back(fmt::format("{}: {}", k.noun, c.needs_range() ? "E5M2 keeps more" : "E4M3"));
    f.evidence.push_back(fmt::format("{}: {}; {}", k.noun, held_text("E4M3", c.precise), held_text("E5M2", c.wide)));
    numbers.all.push_back({std::string{to_string(k.kind)},
                           named_values{{{"e4m3", numbers_of(c.precise)}, {"e5m2", numbers_of(c.wide)}}}});
  }
  f.conclusion = fmt::format("{}", fmt::join(verdicts, "; "));
  f.numbers.push_back({"kinds", std::move(numbers)});
  const bool stands_in =
      std::ranges::none_of(tensors, [](const tensor_info& t) { return t.kind == tensor_kind::activation_grad; });
  f.limits =
      "At the scale that takes each step's largest magnitude to the largest number (current scaling). E4M3 is named "
      "unless it makes 0.1 % more of the nonzero values zero than E5M2 does: it has a bit more of fraction. Whether "
      "training needs what vanishes, values do not show." +
      std::string{stands_in
                      ? " Gradients of activations, which FP8 casts, were not recorded: weight gradients stand in."
                      : ""} +
      left_out(trials);
  return f;
}

finding how_long_a_history(const fp8_trials& trials, const std::vector<tensor_info>& tensors) {
  finding f{.topic = "fp8_history", .question = "Delayed scaling, and with how long a history?"};
  std::vector<std::string> best;
  std::uint64_t least = 0;
  std::uint64_t run_steps = 0;
  for (const auto& [tensor, sum] : trials.all.front().by.summaries()) run_steps = std::max(run_steps, sum.steps);
  constexpr std::int64_t longest = 1024;
  named_values histories;
  for (const std::int64_t history : {longest, std::int64_t{16}, std::int64_t{1}}) {
    const fp8_tensor_summary sum = sum_of(*trials.find(e4m3, history), tensors);
    const std::string length = history == 1 ? "the step before" : fmt::format("{} steps", history);
    f.evidence.push_back(fmt::format(
        "{}: saturates in {} of {} steps of a tensor, its scale is off by more than a binade in {} %", length,
        grouped(sum.saturating), grouped(sum.steps),
        percent_number(sum.steps == 0 ? 0 : static_cast<double>(sum.stale) / static_cast<double>(sum.steps))));
    histories.all.push_back({std::to_string(history), named_values{{{"saturating_steps", integer(sum.saturating)},
                                                                    {"stale_steps", integer(sum.stale)},
                                                                    {"tensor_steps", integer(sum.steps)}}}});
    if (best.empty() || sum.saturating < least) {
      best.clear();
      least = sum.saturating;
    }
    if (sum.saturating == least) best.push_back(length);
  }
  f.numbers.push_back({"histories", std::move(histories)});
  f.conclusion = fmt::format("{} with {}; current scaling never saturates",
                             least == 0 ? "nothing saturates" : "least saturates", fmt::join(best, " or "));
  f.limits =
      "TransformerEngine's delayed scaling (te_delayed_bulk, E4M3, margin 0), from its start at scale 1. Open loop: "
      "what saturates would have changed the steps after it." +
      (run_steps < longest ? fmt::format(" The run has {}: every history that is as long, or longer, is the same.",
                                         steps_text(run_steps))
                           : "") +
      left_out(trials);
  return f;
}

finding what_no_scale_holds(const fp8_trials& trials, const std::vector<tensor_info>& tensors) {
  finding f{.topic = "fp8_tensors", .question = "Which tensors does a scale of their own not hold?"};
  struct loser {
    double share;
    std::string name;
    const fp8_tensor_summary* precise;
    const fp8_tensor_summary* wide;
  };
  std::vector<loser> losers;
  std::size_t judged = 0;
  const fp8_replayer& in_e5m2 = trials.find(e5m2, 0)->by;
  const fp8_replayer& in_e4m3 = trials.find(e4m3, 0)->by;
  for (const auto& [tensor, wide] : in_e5m2.summaries()) {
    if (!is_cast(tensors[tensor], tensors)) continue;
    ++judged;
    const fp8_tensor_summary& precise = in_e4m3.summaries().at(tensor);
    const double share = std::min(vanished_share(wide), vanished_share(precise));
    if (share > much_vanishes) losers.push_back({share, tensors[tensor].name, &precise, &wide});
  }
  std::ranges::sort(losers, [](const loser& a, const loser& b) { return b.share < a.share; });
  constexpr std::size_t most = 5;
  for (const loser& l : std::span(losers).first(std::min(losers.size(), most)))
    f.evidence.push_back(fmt::format("{}: {}; {}", l.name, held_text("E5M2", *l.wide), held_text("E4M3", *l.precise)));
  f.conclusion = losers.empty()
                     ? fmt::format("none: of every tensor at most {} of the nonzero values vanish, in E4M3 or in E5M2",
                                   percent(much_vanishes))
                     : fmt::format(
                           "{} of {}: more than {} of their nonzero values vanish in either format, at any scale "
                           "that does not saturate; blocks with a scale each, or 16 bits, hold them",
                           losers.size(), count_text(judged, "tensor"), percent(much_vanishes));
  f.numbers.push_back({"not_held", integer(losers.size())});
  if (!losers.empty()) {
    f.grade = finding_grade::notable;
    f.tensor = losers.front().name;
  }
  f.limits = "Summed over the run, each step at its own scale." + left_out(trials);
  return f;
}

bool has_steps(const fp8_trials& trials) { return !trials.all.empty() && !trials.all.front().by.summaries().empty(); }

}  // namespace

std::vector<finding> which_tensor_scales(const fp8_trials& trials, const std::vector<tensor_info>& tensors) {
  if (!has_steps(trials) && trials.not_finite > 0 && !trials.all.empty())
    return {{.topic = "fp8_format",
             .question = "E4M3 or E5M2, with a scale for each tensor?",
             .conclusion = "not answered: every step holds infinities or NaN",
             .grade = finding_grade::notable}};
  if (!has_steps(trials)) return {};
  return {which_fp8_format(trials, tensors), how_long_a_history(trials, tensors), what_no_scale_holds(trials, tensors)};
}

std::optional<fp8_choice_told> tell_recipe(const fp8_trials& trials, const std::vector<tensor_info>& tensors,
                                           std::string_view framework) {
  if (!has_steps(trials)) return std::nullopt;
  const auto need_range = [&](std::initializer_list<tensor_kind> kinds_of) {
    return std::ranges::any_of(kinds_of, [&](tensor_kind kind) {
      const comparison c = compare(trials, tensors, kind);
      return c.any() && c.needs_range();
    });
  };
  // No product takes E5M2 on both sides, and TransformerEngine refuses it: what goes forward is in E4M3.
  const bool forward_needs_range = need_range({tensor_kind::activation, tensor_kind::weight, tensor_kind::unknown});
  const bool is_hybrid = need_range({tensor_kind::activation_grad, tensor_kind::weight_grad});
  const std::string_view variant = is_hybrid ? "hybrid" : "e4m3";
  const std::string line = framework == "Megatron-LM"
                               ? fmt::format("--fp8-format {} --fp8-recipe tensorwise", variant)
                               : fmt::format("Float8CurrentScaling(fp8_format=Format.{})  # TransformerEngine",
                                             is_hybrid ? "HYBRID" : "E4M3");
  return fp8_choice_told{
      .change =
          fmt::format("a scale for each tensor (te_current:{}), not a loss scale: {}{}", variant,
                      is_hybrid ? "gradients in E5M2, the rest in E4M3" : "all in E4M3, gradients too",
                      forward_needs_range ? "; of what goes forward E4M3 makes more zero than E5M2, which products "
                                            "take on one side alone: blocks with a scale each keep it"
                                          : ""),
      .lines = {fmt::format("{}{} ulp replay --recipe te_current:{}", line, framework == "Megatron-LM" ? "  #" : ";",
                            variant)}};
}

}  // namespace ulp
