#include "code_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ulp::detail {
namespace {

using numbers = std::span<const float>;

// backends/default/ops.py: the midpoints that are below x.
int midpoints_below(numbers midpoints, float x) {
  return static_cast<int>(std::lower_bound(midpoints.begin(), midpoints.end(), x) - midpoints.begin());
}

// csrc/kernels.cu dQuantize: seven halvings from the middle, which end on an even code, then one midpoint.
int halvings_and_midpoint(numbers map, float x) {
  int pivot = 127;
  int upper = 255;
  int lower = 0;
  for (int step = 64; step > 0; step /= 2) {
    if (x > map[static_cast<std::size_t>(pivot)]) {
      lower = pivot;
      pivot += step;
    } else {
      upper = pivot;
      pivot -= step;
    }
  }
  const float at = map[static_cast<std::size_t>(pivot)];
  if (x > at) return x > (map[static_cast<std::size_t>(upper)] + at) * 0.5F ? upper : pivot;
  return x < (map[static_cast<std::size_t>(lower)] + at) * 0.5F ? lower : pivot;
}

// csrc/cpu_ops.cpp of 0.49.2: the right neighbour only where it is nearer, by distances in float32.
int right_if_nearer(numbers map, float x) {
  const auto right = std::lower_bound(map.begin(), map.end(), x);
  if (right == map.begin()) return 0;
  const auto left = right - 1;
  if (right == map.end()) return static_cast<int>(left - map.begin());
  return static_cast<int>((std::fabs(*right - x) < std::fabs(x - *left) ? right : left) - map.begin());
}

// backends/triton/kernels_optim.py: the first of the smallest distances.
int first_least_distance(numbers map, float x) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < map.size(); ++i)
    if (std::fabs(x - map[i]) < std::fabs(x - map[best])) best = i;
  return static_cast<int>(best);
}

// backends/triton/kernels_8bit_quant.py: a bracket of two entries, halved eight times.
int halved_bracket(numbers map, float x) {
  std::size_t lower = 0;
  std::size_t upper = map.size() - 1;
  for (int i = 0; i < 8; ++i) {
    const std::size_t pivot = (lower + upper) / 2;
    (x > map[pivot] ? lower : upper) = pivot;
  }
  return static_cast<int>(std::fabs(x - map[lower]) <= std::fabs(x - map[upper]) ? lower : upper);
}

// torchao quant_utils.py: the last entry not above x, and the next one from half of the way on.
int last_not_above(numbers map, float x) {
  const auto above = std::upper_bound(map.begin(), map.end(), x);
  const std::size_t down = above == map.begin() ? 0 : static_cast<std::size_t>(above - map.begin()) - 1;
  const std::size_t up = std::min(down + 1, map.size() - 1);
  return static_cast<int>(x - map[down] >= (map[up] - map[down]) * 0.5F ? up : down);
}

}  // namespace

code_rule::code_rule(code_search how, std::span<const float> map) : how_(how), map_(map.begin(), map.end()) {
  for (std::size_t i = 0; i + 1 < map_.size(); ++i) midpoints_.push_back((map_[i] + map_[i + 1]) * 0.5F);
  if (how != code_search::uniform_steps) return;
  for (int i = 0; i < 65536; ++i)
    uniform_codes_.push_back(
        static_cast<std::uint8_t>(midpoints_below(midpoints_, -1.0F + 2.0F * static_cast<float>(i) / 65535.0F)));
}

int code_rule::code_of(float x) const {
  switch (how_) {
    case code_search::midpoints_below: return midpoints_below(midpoints_, x);
    case code_search::first_least_distance: return first_least_distance(map_, std::clamp(x, -2.0F, 2.0F));
    case code_search::halved_bracket: return halved_bracket(map_, std::clamp(x, -1.0F, 1.0F));
    case code_search::uniform_steps: {
      const float from_zero = (std::clamp(x, -1.0F, 1.0F) + 1.0F) * 0.5F;
      return uniform_codes_[static_cast<std::size_t>(std::fma(from_zero, 65535.0F, 0.5F))];
    }
    case code_search::right_if_nearer: return right_if_nearer(map_, std::clamp(x, -1.0F, 1.0F));
    case code_search::halvings_and_midpoint: return halvings_and_midpoint(map_, x);
    case code_search::last_not_above: break;
  }
  return last_not_above(map_, x);
}

int code_rule::nan_code() const noexcept {
  return how_ == code_search::midpoints_below ? static_cast<int>(map_.size()) - 1 : 0;
}

}  // namespace ulp::detail
