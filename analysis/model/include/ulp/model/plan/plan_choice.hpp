// Which treatment each tensor gets: the pure choice, on bits and shares that are known.
//
// Some of what is chosen holds for the whole run: its 16-bit format and its loss scale. Each such setting is a table
// of what every treatment then costs each tensor. For one setting tensors are chosen one by one, which is exact; and
// settings are few, so the best of all of them is the best there is. tests/model/plan compares with all combinations.
#ifndef ULP_MODEL_PLAN_PLAN_CHOICE_HPP
#define ULP_MODEL_PLAN_PLAN_CHOICE_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace ulp {

// What a treatment costs a tensor.
struct plan_cost {
  std::uint64_t bits = 0;  // of all its elements, and of their scales
  // Of its energy, in the worst step at most: infinite where it saturates, may do so, or nothing is known.
  double share = std::numeric_limits<double>::infinity();
};

// By tensor, then by treatment; all tensors have as many.
using plan_costs = std::vector<std::vector<plan_cost>>;

struct plan_choice {
  std::size_t setting = 0;
  std::vector<std::size_t> treatments;  // of each tensor
  std::uint64_t bits = 0;               // of all
  double share = 0;                     // of the tensor that loses most

  friend bool operator==(const plan_choice&, const plan_choice&) = default;
};

// The fewest bits that lose at most that share of any tensor. Among equal ones the setting, and the treatments, that
// come first. nullopt where some tensor has no such treatment in any setting.
[[nodiscard]] std::optional<plan_choice> cheapest_plan(const std::vector<plan_costs>& settings, double most);

// The least share, of the tensor that loses most, that fits into so many bits; of that share the fewest bits. So it is
// the cheapest plan of its own share. nullopt where nothing fits.
[[nodiscard]] std::optional<plan_choice> finest_plan(const std::vector<plan_costs>& settings, std::uint64_t budget);

// The fewest bits of any plan, whatever it loses: nullopt where some tensor has no treatment of a known share.
[[nodiscard]] std::optional<std::uint64_t> least_bits(const std::vector<plan_costs>& settings);

}  // namespace ulp

#endif
