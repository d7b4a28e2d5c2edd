// Modules whose gradients are exact zeros throughout.
#include <algorithm>
#include <map>
#include <string_view>

#include "evidence.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t few_steps = 20;

bool is_all_zero(const tensor_survey& t, std::int64_t last) {
  const auto parts = parts_until(t, last);
  return !parts.empty() && std::ranges::all_of(parts, [](const auto& p) { return p.zeros == p.numel && p.numel > 0; });
}

// By what the steps up to `last` hold, after which the run was lost.
std::optional<dead_layer> dead_layer_of(const survey& run, const std::vector<tensor_info>& tensors, std::int64_t last) {
  // A bias alone may have none by its mathematics, as that of keys in attention: a module is dead where all it has is.
  std::map<std::string_view, bool> module_lives;
  const auto is_meant = [&](std::size_t i) {
    return has_values(run.tensors()[i]) && is_weight_gradient(tensors[i]) &&
           !parts_until(run.tensors()[i], last).empty();
  };
  for (std::size_t i = 0; i < run.tensors().size(); ++i)
    if (is_meant(i) && !is_all_zero(run.tensors()[i], last)) module_lives[module_of(tensors[i].name)] = true;
  dead_layer dead;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    if (!is_meant(i)) continue;
    const bool is_dead = is_all_zero(run.tensors()[i], last) && run.tensors()[i].numel > 0;
    const std::string_view module = module_of(tensors[i].name);
    if (is_dead && (module.empty() || !module_lives[module])) {
      dead.tensors.push_back(i);
      dead.living.reset();
      std::uint64_t finite = 0;
      for (const tensor_history::part& p : parts_until(run.tensors()[i], last)) finite += p.steps;
      dead.steps.steps = std::max(dead.steps.steps, finite);
    } else if (!is_dead && !dead.living && !dead.tensors.empty()) {
      dead.living = i;
    }
  }
  const bool something_lives = std::ranges::any_of(module_lives, [](const auto& m) { return m.second; });
  if (dead.tensors.empty() || !something_lives || dead.steps.steps < few_steps) return std::nullopt;
  dead.steps.first = run.steps().front().key.step;
  dead.steps.last = std::min(run.steps().back().key.step, last);
  return dead;
}

}  // namespace

void examine_dead_layer(const evidence& e, std::vector<cause>& found) {
  if (has<vanished_in_depth>(found) || has<underflow>(found)) return;
  if (const auto dead = dead_layer_of(e.run, e.tensors, e.last)) found.emplace_back(*dead);
}

}  // namespace ulp
