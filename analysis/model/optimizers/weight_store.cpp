#include "weight_store.hpp"

#include <algorithm>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/random_bits.hpp>

namespace ulp::optimizers {

weight_store::weight_store(const optimizer_setup& setup)
    : to_(setup.weights), how_(setup.rounding), seed_(setup.seed), tensor_(setup.tensor) {
  if (how_ == weight_rounding::kahan) compensation_.emplace("kahan", setup.size, setup.weights);
}

void weight_store::begin(std::int64_t step) { stream_ = stream_of(tensor_, step); }

std::span<const std::uint16_t> weight_store::bits(std::size_t first, std::size_t size,
                                                  std::span<const std::uint16_t> given) {
  if (!given.empty()) return given;
  drawn_.resize(std::max(drawn_.size(), size));
  bits_.resize(drawn_.size());
  fill_random_bits({.seed = seed_, .stream = stream_, .first = first}, 16, std::span{drawn_}.first(size));
  for (std::size_t i = 0; i < size; ++i) bits_[i] = static_cast<std::uint16_t>(drawn_[i]);
  return std::span{bits_}.first(size);
}

void weight_store::store(std::size_t first, const_numbers exact, numbers weights,
                         std::span<const std::uint16_t> random) {
  const std::size_t n = weights.size();
  if (how_ == weight_rounding::stochastic && to_.is_low()) {
    constexpr rounding mode{.direction = direction::stochastic, .random_bits = 16};
    const std::span<const std::uint16_t> drawn = bits(first, n, random);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t code = encode(to_.to(), exact[i], mode, std::uint32_t{drawn[i]}).code;
      weights[i] = to_float(to_.to(), code);
    }
    return;
  }
  if (how_ == weight_rounding::kahan) {
    scratch_.resize(std::max(scratch_.size(), 2 * n));
    const numbers lost = numbers{scratch_}.first(n);
    const numbers update = numbers{scratch_}.subspan(n, n);
    compensation_->load(first, lost);
    for (std::size_t i = 0; i < n; ++i) update[i] = (exact[i] - weights[i]) + lost[i];
    std::copy(weights.begin(), weights.end(), lost.begin());
    for (std::size_t i = 0; i < n; ++i) weights[i] += update[i];
    to_(weights);
    for (std::size_t i = 0; i < n; ++i) update[i] -= weights[i] - lost[i];
    compensation_->store(first, update);
    return;
  }
  std::copy(exact.begin(), exact.end(), weights.begin());
  to_(weights);
}

void weight_store::append_to(std::vector<optimizer_state>& all) const {
  if (compensation_) compensation_->append_to(all);
}

}  // namespace ulp::optimizers
