// The histogram of one tensor's weights and their updates together, fine enough that lost updates are counted exactly.
//
// Exponents alone do not decide: an update shrinks or grows its weight, weights next to a power of two round to it, and half a
// place away lies a tie. A cell is therefore keyed by
//   - whether the update shrinks the weight (its sign is the other one; a zero weight grows);
//   - the weight's exponent, and its place in the binade: the points and intervals between f = 2^-12 ... 2^-2 (closed above), and
//     those between f = 1 - 2^-2 ... 1 - 2^-12 (closed below). They tell whether the weight rounds to either power of two;
//   - the update's exponent e, and whether it is 2^e; then also whether |w| / 2^(e+1), rounded to the nearest integer, is even or
//     odd: only the format with that spacing has a tie there, and this is the last bit of the weight in it.
// So the count is exact for every format of 1 to 11 fraction bits, rounding to nearest even, for float32 weights as for those that
// are in the format already; except in the highest binade of formats that reserve the code of all ones alone (float8_e4m3fn),
// where it is open which weights overflow. Elsewhere it is a range. Sums are exact integers, so the mean over stochastic
// roundings is too; with N random bits it is a range. docs/numerics.md, "Lost updates", has the argument.
#ifndef ULP_MODEL_UPDATES_JOINT_TABLE_HPP
#define ULP_MODEL_UPDATES_JOINT_TABLE_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/updates/lost_update.hpp>

namespace ulp {

// general: no power of two. The others are: 2^e, and the weight in units of 2^(e+1) rounds to an even or odd integer.
enum class update_form : std::uint8_t { general, power_even, power_odd };

inline constexpr int places_per_binade = 24;
inline constexpr std::int16_t zero_weight = -1075;  // as an exponent; its place is 0

struct joint_cell {
  bool shrinks = false;
  std::int16_t weight_exponent = 0;  // -1074..1023, or zero_weight
  std::uint8_t place = 0;            // 0..23, ascending with the magnitude
  std::int16_t update_exponent = 0;  // -1074..1023
  update_form form = update_form::general;
  std::uint64_t count = 0;
  uint128 significands = 0;  // exact sum of the updates' 24-bit significands, in units of 2^(update_exponent - 23)

  // The order of joint_table::cells.
  [[nodiscard]] constexpr std::uint32_t key() const noexcept {
    const auto weight = ((shrinks ? 4096U : 0U) + static_cast<std::uint32_t>(weight_exponent + 2048)) * 32 + place;
    return (weight * 4096 + static_cast<std::uint32_t>(update_exponent + 2048)) * 4 + static_cast<std::uint32_t>(form);
  }
  // The cell of that key, without count; its parts may be out of range.
  [[nodiscard]] static joint_cell of_key(std::uint32_t key) noexcept;
  friend constexpr bool operator==(const joint_cell&, const joint_cell&) = default;
};

// The place of a normalised fraction f = fraction / 2^64.
[[nodiscard]] std::uint8_t place_of(std::uint64_t fraction) noexcept;

struct joint_table {
  std::uint64_t numel = 0;
  std::uint64_t zero_updates = 0;      // of finite weights
  std::uint64_t nonfinite = 0;         // the weight or the update is infinite or NaN
  std::uint64_t cut_significands = 0;  // updates whose significand was cut to 24 bits for the sums
  std::vector<joint_cell> cells;       // ascending by key, counts above zero

  void merge(const joint_table& other);
  // Whether the parts add up: keys ascend and are in range, counts fit numel, sums fit counts.
  [[nodiscard]] bool is_consistent() const noexcept;
  friend bool operator==(const joint_table&, const joint_table&) = default;
};

// One object is reused for many tensors. Integer operations on the bits of the values.
class joint_counter {
 public:
  joint_counter();
  ~joint_counter();
  joint_counter(const joint_counter&) = delete;
  joint_counter& operator=(const joint_counter&) = delete;

  // As many weights as updates, else std::invalid_argument.
  void add(std::span<const double> weights, std::span<const double> updates);
  // The table of everything added since the last take.
  [[nodiscard]] joint_table take();

 private:
  struct hashed;
  std::unique_ptr<hashed> hashed_;
};

// Whether a joint table tells of this rounding to this format: nearest even or stochastic, without flushing, DAZ or
// saturation, in formats of at least one fraction bit with sign, zero, subnormals and NaN.
[[nodiscard]] bool tells_lost_updates(const treatment& how) noexcept;

// Precondition: tells_lost_updates(how).
[[nodiscard]] lost_updates count_lost_updates(const joint_table& table, const treatment& how);

// Whether some weight is certainly none of the format's numbers, so that it was not kept in the format. False where the
// table does not tell: it knows where weights lie, not every bit of them.
[[nodiscard]] bool has_weights_beyond(const joint_table& table, const format& of) noexcept;

}  // namespace ulp

#endif
