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

template <class Cause>
bool ends_by(const cause& c) {
  const auto* const found = std::get_if<Cause>(&c);
  return found != nullptr && found->ends_the_run;
}
// What is lost to the end comes before what training came back from.
bool ended_the_run(const cause& c) {
  return ends_by<bad_batch>(c) || ends_by<forward_overflow>(c) || ends_by<unhandled_overflow>(c) ||
         ends_by<nan_source>(c);
}
bool lasts_to_the_end(const cause& c) {
  return std::holds_alternative<collapsed_scale>(c) || std::holds_alternative<open_overflow>(c);
}
bool passed(const cause& c) { return std::holds_alternative<initial_scale>(c) || std::holds_alternative<bad_batch>(c); }

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
  if (std::ranges::any_of(d.causes, lasts_to_the_end))
    std::ranges::stable_partition(d.causes, [](const cause& c) { return !passed(c); });
  std::ranges::stable_partition(d.causes, ended_the_run);
  if (e.died && e.healthy < e.steps.size()) d.died_at = e.steps[e.healthy].key.step;
  if (!e.died) {
    d.rise = lasting_rise_of(e.steps);
    d.excerpt = excerpt_of(e.steps, d.told_steps);
  }
  return d;
}

}  // namespace ulp
