// What a block format makes of the elements of a block table, as counts. Nothing is modelled: an element is counted as one outcome
// only where every element that its cell can stand for has that outcome, under every scale that its block's class can stand
// for; else the count is a range. docs/block-tables.md has the argument, and what makes ranges.
#ifndef ULP_MODEL_OUTCOMES_BLOCK_OUTCOMES_HPP
#define ULP_MODEL_OUTCOMES_BLOCK_OUTCOMES_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/outcomes/block_exponents.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

struct block_outcomes {
  std::uint64_t numel = 0;
  std::uint64_t zero = 0;       // before
  std::uint64_t nonfinite = 0;  // infinite or NaN before
  // Of the others, which they are together.
  count_range underflow;  // rounded to zero
  count_range subnormal;  // nonzero result below the least normal number
  count_range normal;
  count_range overflow;  // the result with unbounded exponent is beyond the largest number, whatever is delivered
  count_range lost;      // in a block whose scale is NaN

  std::uint64_t blocks = 0;
  std::uint64_t zero_blocks = 0;
  std::uint64_t nonfinite_blocks = 0;  // with something infinite or NaN
  // Of the others: the scale is not what the rule gives elsewhere, but an end of its type, or the least that the row takes.
  count_range clamped_blocks;
  count_range nan_blocks;  // of the others: the scale is NaN

  [[nodiscard]] constexpr std::uint64_t nonzero() const noexcept { return numel - zero - nonfinite; }
  // Whether no count is a range.
  [[nodiscard]] bool exact() const noexcept;
  block_outcomes& operator+=(const block_outcomes& other) noexcept;
  friend bool operator==(const block_outcomes&, const block_outcomes&) = default;
};

// Where elements over their scale become nonzero, normal, overflow; of any row, in its own rounding.
[[nodiscard]] outcome_thresholds thresholds_of(const block_format& row, bool negative);

// Why a block table does not tell of this row, in this rounding of its elements (none: its own); empty where it does. It tells of
// scales that are powers of two and follow from the block alone, and of deterministic roundings.
[[nodiscard]] std::string why_block_tables_do_not_tell(const block_format& row,
                                                       const std::optional<rounding>& how = {});

// One row in one rounding, for many tables. Throws std::invalid_argument where tables do not tell.
class block_outcome_counter {
 public:
  explicit block_outcome_counter(const block_format& row, const std::optional<rounding>& how = {});
  ~block_outcome_counter();
  block_outcome_counter(block_outcome_counter&&) noexcept;
  block_outcome_counter& operator=(block_outcome_counter&&) noexcept;

  // Precondition: the table is consistent, and of blocks as the row has them, along either axis.
  [[nodiscard]] block_outcomes operator()(const block_table& table) const;
  // How far elements lie from their scales.
  [[nodiscard]] block_exponents exponents(const block_table& table) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
