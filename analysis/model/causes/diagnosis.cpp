#include <ulp/model/causes/diagnosis.hpp>

#include <algorithm>
#include <array>

#include "evidence.hpp"
#include "excerpt.hpp"

namespace ulp {
namespace {

#define ULP_CAUSE_NAME(name) std::string_view{#name},
constexpr std::array names{ULP_CAUSES(ULP_CAUSE_NAME)};
#undef ULP_CAUSE_NAME
#define ULP_EXAMINE_CAUSE(name) examine_##name,
constexpr std::array examine_all{ULP_CAUSES(ULP_EXAMINE_CAUSE)};
#undef ULP_EXAMINE_CAUSE

bool ended_the_run(const cause& c) {
  const auto* const bad = std::get_if<bad_batch>(&c);
  const auto* const forward = std::get_if<forward_overflow>(&c);
  return (bad != nullptr && bad->ends_the_run) || (forward != nullptr && forward->ends_the_run);
}

}  // namespace

std::string name_of(const cause& of) { return std::string{names[of.index()]}; }
std::span<const std::string_view> cause_names() noexcept { return names; }

diagnosis diagnosis_of(const survey& run, const std::vector<tensor_info>& tensors) {
  diagnosis d;
  evidence e(run, tensors);
  d.told_steps = static_cast<std::uint64_t>(std::ranges::count_if(e.steps, tells_of_overflow));
  if (e.steps.empty()) return d;
  examine_recorded_wrongly(e, d.causes);
  if (!d.causes.empty()) return d;
  e.look();
  static_assert(names.front() == "recorded_wrongly");
  for (const auto examine : std::span{examine_all}.subspan(1)) examine(e, d.causes);
  std::ranges::stable_partition(d.causes, ended_the_run);
  if (e.died && e.healthy < e.steps.size()) d.died_at = e.steps[e.healthy].key.step;
  if (!e.died) {
    d.rise = lasting_rise_of(e.steps);
    d.excerpt = excerpt_of(e.steps, d.told_steps);
  }
  return d;
}

}  // namespace ulp
