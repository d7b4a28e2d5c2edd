#include <ulp/ask/runs/plan_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/repeated_steps.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/plan/plan_choice.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/replay/recording_doubts.hpp>
#include <utility>

#include "narrow_energies.hpp"
#include "plan_scales.hpp"

namespace ulp {
namespace {

// What all steps say of a tensor.
struct seen_tensor {
  std::uint32_t tensor = 0;
  std::uint64_t numel = 0;
  std::uint64_t left_out = 0;
  bool has_values = false;
  std::vector<std::vector<judged_treatment>> of;  // each treatment, under each loss scale that concerns it
};

// All rows of the steps that count, with their tensors and steps.
template <typename Act>
std::uint64_t for_each_row(source& from, const selection& selected, listener& to, Act act) {
  std::uint64_t steps = 0;
  for_each_step(from, selected, to, [&](const step& now) {
    ++steps;
    for (const tensor_row& row : now.tensors)
      if (const tensor_info& info = from.tensors()[row.tensor]; selected.takes(info)) act(now, row, info);
  });
  return steps;
}

class planning {
 public:
  planning(const plan_question& asked, listener& to)
      : asked_(asked), to_(to), selected_(asked.run.selected()), how_(asked.run.how_to_read()) {
    all_.hardware = &plan_hardware_named(asked.hardware);
    all_.treatments = all_.hardware->rows();
    read_limits();
    energies_.emplace(all_.treatments, how_);
  }

  plan_answer answer() {
    find_scales();
    judge();
    choose();
    ask_for_master_copies();
    return std::move(all_);
  }

 private:
  void read_limits();
  // First reading: which loss scales there are to try.
  void find_scales();
  // Second reading.
  void judge();
  void judge(seen_tensor& seen, const step& now, const tensor_row& row, const tensor_info& info);
  void choose();
  void ask_for_master_copies();

  // Loss scales that a treatment of a tensor has: all that are tried, or none but 1.
  [[nodiscard]] bool is_scaled(std::size_t treatment, const tensor_info& info) const {
    return all_.treatments[treatment].scale == plan_scale::run && ulp::is_scaled(info);
  }

  struct setting {
    std::optional<std::size_t> half;
    std::size_t scale = 0;  // an index of scales_
  };
  [[nodiscard]] std::vector<setting> settings() const;
  [[nodiscard]] const judged_treatment& judged(const seen_tensor& seen, std::size_t treatment,
                                               std::size_t scale) const {
    const std::vector<judged_treatment>& of = seen.of[treatment];
    return of[std::min(scale, of.size() - 1)];
  }
  [[nodiscard]] plan_costs costs_in(const setting& s) const;
  [[nodiscard]] plan_setting told(const setting& s, const plan_choice& plan, double most) const;
  [[nodiscard]] bool has_half(const plan_choice& plan, std::size_t half) const {
    return std::ranges::find(plan.treatments, half) != plan.treatments.end();
  }

  const plan_question& asked_;
  listener& to_;
  selection selected_;
  source_options how_;
  std::optional<narrow_energies> energies_;
  std::vector<int> scales_{0};  // log2, descending
  std::vector<seen_tensor> seen_;
  bool as_recorded_ = false;  // the factor of some gradient is not known
  plan_answer all_;
};

void planning::read_limits() {
  if (!asked_.lose.empty() && !asked_.budget.empty())
    throw std::invalid_argument("--budget: --lose says what may be lost, and --budget finds it: give one of them");
  if (!asked_.lose.empty()) all_.most = positive_number(asked_.lose, "--lose");
  if (!(all_.most < 1)) throw std::invalid_argument("--lose: a share below 1, such as 1e-3");
  if (!asked_.budget.empty()) static_cast<void>(plan_budget(asked_.budget, 1));
}

void planning::find_scales() {
  std::vector<format> halves;
  for (const plan_treatment& t : all_.treatments)
    if (t.scale == plan_scale::run) halves.push_back(t.elements());
  source_options how = how_;
  how.with_sums = how.with_errors = how.with_blocks = false;
  how.quantized.clear();
  const std::unique_ptr<source> from = open_run(asked_.run, how, to_);
  repeated_steps repeated;
  recording_doubts doubts;
  std::vector<double> largest;
  all_.steps = 0;
  for_each_step(*from, selected_, to_, [&](const step& now) {
    ++all_.steps;
    repeated.see(now.key, now.scalars);
    doubts.see(now, from->tensors());
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      if (!selected_.takes(info) || !ulp::is_scaled(info) || row.table.nonfinite() > 0) continue;
      largest.resize(std::max<std::size_t>(largest.size(), row.tensor + 1));
      largest[row.tensor] = std::max(largest[row.tensor], row.table.largest_possible() / row.unit());
    }
  });
  check_steps_counted(all_.steps, asked_.run);
  for (const std::string& line : repeated.lines(asked_.run)) to_.note(line);
  for (const std::string& line : doubts.lines()) to_.note(line);
  if (const std::vector<int> found = scales_to_try(largest, halves); !found.empty()) scales_ = found;
}

void planning::judge(seen_tensor& seen, const step& now, const tensor_row& row, const tensor_info& info) {
  seen.numel = std::max(seen.numel, row.table.numel);
  if (row.table.nonfinite() > 0) {
    ++seen.left_out;
    return;
  }
  seen.has_values = seen.has_values || row.table.nonzero_finite() > 0;
  as_recorded_ = as_recorded_ || (!row.factor_known() && ulp::is_scaled(info));
  for (std::size_t i = 0; i < all_.treatments.size(); ++i) {
    const plan_treatment& t = all_.treatments[i];
    if (t.is_narrow()) {
      judged_treatment& of = seen.of[i].front();
      of.unfit = !may_be_narrow(info);
      if (!of.unfit) of.add(now.key.step, (*energies_)(i, row, of.doubts));
      continue;
    }
    const treatment how{.format = t.elements()};
    for (std::size_t s = 0; s < seen.of[i].size(); ++s) {
      judged_treatment& of = seen.of[i][s];
      const double scale = is_scaled(i, info) ? std::ldexp(1.0, scales_[s]) : 1;
      // float32 has every value of these types.
      const bool is_kept = how.format == binary32 && row.type != dtype::float64 && row.type != dtype::unknown;
      of.add(now.key.step, is_kept ? lost_energy{} : lost_energy_of(row, how, {.scale = scale, .factor = row.unit()}));
      of.doubts.no_ladder = of.doubts.no_ladder || !row.table.has_errors;
      of.doubts.no_maximum = of.doubts.no_maximum || std::isnan(row.table.max_abs);
      of.doubts.is_double = of.doubts.is_double || row.type == dtype::float64;
    }
  }
}

void planning::judge() {
  const std::unique_ptr<source> from = open_run_again(asked_.run, how_);
  if (from == nullptr)
    throw std::invalid_argument(printable(asked_.run.inputs.front()) +
                                ": a plan reads its input twice, and this cannot be: give a file");
  std::vector<std::optional<std::size_t>> at;
  for_each_row(*from, selected_, to_, [&](const step& now, const tensor_row& row, const tensor_info& info) {
    at.resize(std::max<std::size_t>(at.size(), row.tensor + 1));
    if (!at[row.tensor]) {
      at[row.tensor] = seen_.size();
      seen_tensor& made = seen_.emplace_back(seen_tensor{.tensor = row.tensor});
      for (std::size_t i = 0; i < all_.treatments.size(); ++i)
        made.of.emplace_back(is_scaled(i, info) ? scales_.size() : 1);
    }
    judge(seen_[*at[row.tensor]], now, row, info);
  });
  all_.info = from->tensors();
  all_.from_values = from->kind() == source_kind::dump;
  if (seen_.empty())
    throw std::invalid_argument(printable(asked_.run.inputs.front()) + ": has no values of the selected tensors" +
                                (all_.info.empty()
                                     ? ", which a plan is made of (a log has none): record them, or give dumps"
                                     : near_tensors(asked_.run.tensor, *from)));
  for (seen_tensor& seen : seen_) {
    all_.numel += seen.numel;
    for (std::size_t i = 0; i < all_.treatments.size(); ++i)
      for (judged_treatment& of : seen.of[i])
        of.bits = all_.treatments[i].bits(seen.numel, all_.info[seen.tensor].shape);
  }
}

std::vector<planning::setting> planning::settings() const {
  std::vector<setting> all;
  for (std::size_t i = 0; i < all_.treatments.size(); ++i) {
    if (!all_.treatments[i].is_half()) continue;
    const std::size_t scales = all_.treatments[i].scale == plan_scale::run ? scales_.size() : 1;
    for (std::size_t s = 0; s < scales; ++s) all.push_back({i, s});
  }
  return all;
}

plan_costs planning::costs_in(const setting& s) const {
  plan_costs costs;
  for (const seen_tensor& seen : seen_) {
    std::vector<plan_cost>& of = costs.emplace_back();
    for (std::size_t i = 0; i < all_.treatments.size(); ++i) {
      const judged_treatment& judged_here = judged(seen, i, s.scale);
      const bool is_other_half = all_.treatments[i].is_half() && s.half != i;
      const bool is_last = i + 1 == all_.treatments.size();
      // Of what was never seen nothing is known: it stays in float32.
      const bool is_known = is_last || (!is_other_half && seen.has_values);
      // float32 is always left, also where float64 values lose something in it.
      const bool is_allowed =
          is_last && (!seen.has_values || asked_.budget.empty() || !std::isfinite(judged_here.share()));
      of.push_back({judged_here.bits, is_allowed ? 0 : is_known ? judged_here.share() : no_bound});
    }
  }
  return costs;
}

plan_setting planning::told(const setting& s, const plan_choice& plan, double most) const {
  plan_setting made;
  if (!has_half(plan, *s.half)) return made;
  made.half = s.half;
  if (all_.treatments[*s.half].scale != plan_scale::run) return made;
  bool concerns_any = false;
  for (std::size_t t = 0; t < seen_.size(); ++t)
    concerns_any = concerns_any || (plan.treatments[t] == *s.half && ulp::is_scaled(all_.info[seen_[t].tensor]));
  if (!concerns_any) return made;
  // Around the scale that was found, those with as many bits; two binades are left above it where there is room.
  const auto is_as_good = [&](std::size_t scale) {
    const auto here = cheapest_plan({costs_in({s.half, scale})}, most);
    return here && here->bits == plan.bits;
  };
  std::size_t highest = s.scale;
  while (highest > 0 && is_as_good(highest - 1)) --highest;
  std::size_t lowest = s.scale;
  while (lowest + 1 < scales_.size() && is_as_good(lowest + 1)) ++lowest;
  constexpr std::size_t headroom = 2;
  made.scale = {.log2 = scales_[std::min(highest + headroom, lowest)],
                .lowest_log2 = scales_[lowest],
                .highest_log2 = scales_[highest],
                .may_be_lower = lowest + 1 == scales_.size()};
  return made;
}

void planning::choose() {
  const std::vector<setting> all_settings = settings();
  std::vector<plan_costs> costs;
  for (const setting& s : all_settings) costs.push_back(costs_in(s));
  std::optional<plan_choice> plan;
  if (asked_.budget.empty()) {
    plan = cheapest_plan(costs, all_.most);
  } else {
    all_.budget = plan_budget(asked_.budget, all_.numel);
    plan = finest_plan(costs, *all_.budget);
    if (!plan) {
      const std::optional<std::uint64_t> least = least_bits(costs);
      const std::uint64_t bits = least.value_or(0);
      throw std::invalid_argument(fmt::format(
          "--budget: {} bits are not enough: of treatments on {} that saturate nowhere and whose loss is known, "
          "the least take {} "
          "bits, {:.4g}/element",
          grouped(*all_.budget), all_.hardware->name, grouped(bits),
          static_cast<double>(bits) / static_cast<double>(std::max<std::uint64_t>(1, all_.numel))));
    }
    all_.most = plan->share;
  }
  setting chosen = all_settings[plan->setting];
  all_.setting = told(chosen, *plan, all_.most);
  if (all_.setting.scale) {
    chosen.scale = static_cast<std::size_t>(std::ranges::find(scales_, all_.setting.scale->log2) - scales_.begin());
    if (const auto again = cheapest_plan({costs_in(chosen)}, all_.most)) {
      const std::size_t setting_index = plan->setting;
      plan = again;
      plan->setting = setting_index;
    }
  }
  if (all_.setting.scale && as_recorded_) to_.note(factor_note);
  all_.bits = plan->bits;
  const auto told_before = [&](std::size_t half) {
    return half == *chosen.half ||
           std::ranges::any_of(all_.other_settings, [&](const plan_setting& s) { return s.half == half; });
  };
  for (std::size_t s = 0; s < all_settings.size(); ++s) {
    if (!all_.setting.half || told_before(*all_settings[s].half)) continue;
    const auto other = cheapest_plan({costs[s]}, all_.most);
    if (other && other->bits == all_.bits) all_.other_settings.push_back(told(all_settings[s], *other, all_.most));
  }
  for (std::size_t t = 0; t < seen_.size(); ++t) {
    planned_tensor& made = all_.tensors.emplace_back(
        planned_tensor{.tensor = seen_[t].tensor, .numel = seen_[t].numel, .left_out = seen_[t].left_out});
    made.nothing_seen = !seen_[t].has_values;
    made.chosen = plan->treatments[t];
    for (std::size_t i = 0; i < all_.treatments.size(); ++i) made.of.push_back(judged(seen_[t], i, chosen.scale));
    const judged_treatment& mine = made.of[made.chosen];
    if (!made.nothing_seen) all_.share = std::max(all_.share, mine.share());
    for (std::size_t i = 0; i < all_.treatments.size() && !made.nothing_seen; ++i) {
      const judged_treatment& of = made.of[i];
      if (i == made.chosen || of.unfit || (all_.treatments[i].is_half() && i != *chosen.half)) continue;
      if (of.bits == mine.bits && of.verdict(all_.most) == plan_verdict::holds) made.ties.push_back(i);
      if (of.bits >= mine.bits) continue;
      // In eighths of a binade: of what is as good as equal the first.
      const auto far = [this](const judged_treatment& j) {
        const auto size = [](double share) { return share > 0 ? std::round(8 * std::log2(share)) : -no_bound; };
        if (!std::isfinite(j.worst.high)) return std::pair{j.saturating > 0 ? 2 : 3, size(j.worst.low)};
        return j.verdict(all_.most) == plan_verdict::open ? std::pair{0, size(j.estimate)}
                                                          : std::pair{1, size(j.worst.low)};
      };
      if (!made.near_miss || far(of) < far(made.of[*made.near_miss])) made.near_miss = i;
    }
  }
  if (all_.hardware->name != "cs" || all_.budget) return;
  for (int level = 0; level < 3; ++level) {
    const double most = all_.most * (level == 0 ? 0.1 : level == 1 ? 1.0 : 10.0);
    const auto there = cheapest_plan(costs, most);
    if (!there) continue;
    all_.levels.push_back(
        {.level = level,
         .most = most,
         .setting = told(all_settings[there->setting], *there, most),
         .bits = there->bits,
         .in_float32 = static_cast<std::uint64_t>(std::ranges::count(there->treatments, all_.treatments.size() - 1))});
  }
}

void planning::ask_for_master_copies() {
  std::vector<typed_treatment> cases;
  for (planned_tensor& t : all_.tensors) {
    const plan_treatment& chosen = all_.treatments[t.chosen];
    if (all_.info[t.tensor].kind != tensor_kind::weight || chosen.elements().width() > 16) continue;
    t.master = master_copy::assumed;
    if (chosen.is_half() && cases.empty())
      cases.push_back({std::string{chosen.format_name}, {.format = chosen.elements()}, "nearest-even"});
  }
  if (cases.empty()) return;
  std::optional<counted_weights> counted;
  try {
    counted = count_weights(asked_.run, cases, not_known, nobody());
  } catch (const std::runtime_error&) {
    return;  // no updates beside the weights, nor what they follow from
  } catch (const std::invalid_argument&) {
    return;
  }
  for (planned_tensor& t : all_.tensors) {
    if (t.master != master_copy::assumed || !all_.treatments[t.chosen].is_half()) continue;
    for (const weights_item& item : counted->items) {
      if (item.weight != all_.info[t.tensor].name || !selected_.takes(item.step)) continue;
      const value_range lost = item.of.front().lost.lost_share();
      if (std::isnan(lost.high)) continue;
      t.lost_updates = {std::max(t.lost_updates.low, lost.low), std::max(t.lost_updates.high, lost.high)};
      t.master = t.lost_updates.low > all_.most    ? master_copy::needed
                 : t.lost_updates.high > all_.most ? master_copy::assumed
                                                   : master_copy::not_needed;
    }
  }
}

}  // namespace

std::uint64_t plan_budget(const std::string& text, std::uint64_t numel) {
  constexpr std::string_view each = "/element";
  const bool is_mean = text.ends_with(each);
  const double bits = positive_number(is_mean ? text.substr(0, text.size() - each.size()) : text, "--budget");
  const double all = is_mean ? bits * static_cast<double>(numel) : bits;
  if (!(all < 0x1p62)) throw std::invalid_argument("--budget: bits below 2^62, of all tensors, or as 8.5/element");
  return static_cast<std::uint64_t>(all);
}

plan_answer plan_over(const plan_question& asked, listener& to) { return planning(asked, to).answer(); }

}  // namespace ulp
