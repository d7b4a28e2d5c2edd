#include <ulp/model/updates/joint_table.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

namespace ulp {
namespace {

constexpr std::uint64_t top = std::uint64_t{1} << 63;
constexpr int outermost = 12;  // intervals end at f = 2^-12 and 1 - 2^-12

// Whether (1 + fraction / 2^64) * 2^-shift, rounded to the nearest integer, is odd.
bool rounds_to_odd(std::uint64_t fraction, int shift) noexcept {
  if (shift > 1) return false;
  if (shift == 1) return fraction != 0;  // above 1/2: 1
  if (shift < -63) return false;         // doubles have no bits there
  const int bits = -shift;               // of the fraction, in the integer
  const std::uint64_t kept = bits == 0 ? 1 : fraction >> (64 - bits);
  const std::uint64_t rest = bits == 0 ? fraction : fraction << bits;
  const bool odd = (kept & 1) != 0;
  const bool up = rest > top || (rest == top && odd);
  return odd != up;
}

struct counted {
  std::uint64_t count = 0;
  uint128 significands = 0;
};

}  // namespace

joint_cell joint_cell::of_key(std::uint32_t key) noexcept {
  joint_cell cell;
  cell.form = static_cast<update_form>(key % 4);
  cell.update_exponent = static_cast<std::int16_t>(static_cast<int>(key / 4 % 4096) - 2048);
  const std::uint32_t weight = key / 4 / 4096;
  cell.place = static_cast<std::uint8_t>(weight % 32);
  cell.weight_exponent = static_cast<std::int16_t>(static_cast<int>(weight / 32 % 4096) - 2048);
  cell.shrinks = weight / 32 / 4096 != 0;
  return cell;
}

std::uint8_t place_of(std::uint64_t fraction) noexcept {
  if (fraction == 0) return 0;
  if (fraction < top) {
    // f in (2^-(j+1), 2^-j]
    const int j = std::min(std::countl_zero(fraction - 1), outermost);
    return static_cast<std::uint8_t>(j < 2 ? outermost : outermost + 1 - j);
  }
  const int ones = std::min(std::countl_one(fraction), outermost);
  return static_cast<std::uint8_t>(ones < 2 ? outermost : outermost - 1 + ones);
}

void joint_table::merge(const joint_table& other) {
  numel += other.numel;
  zero_updates += other.zero_updates;
  nonfinite += other.nonfinite;
  cut_significands += other.cut_significands;
  std::vector<joint_cell> all;
  all.reserve(cells.size() + other.cells.size());
  std::ranges::merge(cells, other.cells, std::back_inserter(all), {}, &joint_cell::key, &joint_cell::key);
  cells.clear();
  for (const joint_cell& c : all) {
    if (cells.empty() || cells.back().key() != c.key()) {
      cells.push_back(c);
      continue;
    }
    cells.back().count += c.count;
    cells.back().significands += c.significands;
  }
}

bool joint_table::is_consistent() const noexcept {
  std::uint64_t left = numel;
  const auto takes = [&](std::uint64_t n) {
    if (n > left) return false;
    left -= n;
    return true;
  };
  if (numel > max_numel || !takes(zero_updates) || !takes(nonfinite)) return false;
  const std::uint64_t updates = left;
  const joint_cell* before = nullptr;
  for (const joint_cell& c : cells) {
    const bool is_zero = c.weight_exponent == zero_weight;
    const bool in_range = c.weight_exponent >= zero_weight && c.weight_exponent < 1024 &&
                          c.update_exponent > zero_weight && c.update_exponent < 1024 && c.place < places_per_binade &&
                          c.form <= update_form::power_odd &&
                          !(is_zero && (c.shrinks || c.place != 0 || c.form == update_form::power_odd));
    if (!in_range || c.count == 0 || !takes(c.count)) return false;
    if (before != nullptr && before->key() >= c.key()) return false;
    const uint128 least = uint128{c.count} << 23;
    const bool is_power = c.form != update_form::general;
    if (c.significands < least || c.significands > uint128{c.count} * 0xFFFFFF) return false;
    if (is_power && c.significands != least) return false;
    before = &c;
  }
  return left == 0 && cut_significands <= updates;
}

bool has_weights_beyond(const joint_table& table, const format& of) noexcept {
  return std::ranges::any_of(table.cells, [&](const joint_cell& c) {
    if (c.weight_exponent == zero_weight) return false;
    if (c.weight_exponent < of.min_quantum_exponent() || c.weight_exponent > of.emax()) return true;
    const int bits = std::min(of.fraction_bits, c.weight_exponent - of.min_quantum_exponent());
    // Between a power of two and the next number of the format, and between the last one and the next power of two.
    const int zeros = c.place >= 1 && c.place < outermost ? outermost + 1 - c.place : 0;
    const int ones = c.place > outermost ? c.place - outermost + 1 : 0;
    return zeros >= bits + 1 || ones >= bits + 1;
  });
}

struct joint_counter::hashed {
  std::unordered_map<std::uint32_t, counted> cells;
  joint_table rest;
};

joint_counter::joint_counter() : hashed_(std::make_unique<hashed>()) {}
joint_counter::~joint_counter() = default;

void joint_counter::add(std::span<const double> weights, std::span<const double> updates) {
  if (weights.size() != updates.size()) throw std::invalid_argument("not as many updates as weights");
  joint_table& rest = hashed_->rest;
  rest.numel += weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = weights[i];
    const double update = updates[i];
    if (!std::isfinite(weight) || !std::isfinite(update)) {
      ++rest.nonfinite;
      continue;
    }
    if (update == 0) {
      ++rest.zero_updates;
      continue;
    }
    const magnitude d = magnitude_of(update);
    joint_cell cell;
    cell.update_exponent = static_cast<std::int16_t>(d.exponent);
    cell.weight_exponent = zero_weight;
    const bool is_power = d.fraction == 0;
    if (is_power) cell.form = update_form::power_even;
    if (weight != 0) {
      const magnitude w = magnitude_of(weight);
      cell.shrinks = std::signbit(weight) != std::signbit(update);
      cell.weight_exponent = static_cast<std::int16_t>(w.exponent);
      cell.place = place_of(w.fraction);
      if (is_power && rounds_to_odd(w.fraction, d.exponent + 1 - w.exponent)) cell.form = update_form::power_odd;
    }
    counted& of = hashed_->cells[cell.key()];
    ++of.count;
    of.significands += (std::uint64_t{1} << 23) | (d.fraction >> 41);
    if ((d.fraction << 23) != 0) ++rest.cut_significands;
  }
}

joint_table joint_counter::take() {
  joint_table table = std::move(hashed_->rest);
  hashed_->rest = {};
  table.cells.clear();
  for (const auto& [key, of] : hashed_->cells) {
    joint_cell& cell = table.cells.emplace_back(joint_cell::of_key(key));
    cell.count = of.count;
    cell.significands = of.significands;
  }
  hashed_->cells.clear();
  std::ranges::sort(table.cells, {}, &joint_cell::key);
  return table;
}

}  // namespace ulp
