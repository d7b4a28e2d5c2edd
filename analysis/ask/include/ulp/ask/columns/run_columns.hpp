// What pictures of a run show, as numbers: computed once, drawn by the page and by the viewer. Steps are put into columns, at
// most `most_columns`, each of as many steps as the run needs; memory does not grow with the run.
#ifndef ULP_ASK_COLUMNS_RUN_COLUMNS_HPP
#define ULP_ASK_COLUMNS_RUN_COLUMNS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/tensor_choice.hpp>
#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

inline constexpr std::size_t most_columns = 240;

// Equally many steps, the last column perhaps fewer.
struct column_span {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::uint64_t steps = 0;  // or blocks of steps, where these were put in
};

// Columns of T that T::merge joins two by two when they become more than `most`; at first of `width` steps each.
template <typename T>
class columns_of {
 public:
  columns_of() = default;
  columns_of(std::size_t most, std::uint64_t width) : most_(most), width_(width) {}

  // The column of the next step, or of the next block of them.
  T& at_step(std::int64_t step) { return at_block(step, step); }
  T& at_block(std::int64_t first, std::int64_t last) {
    if (spans_.empty() || spans_.back().steps == width_) {
      if (spans_.size() == most_) join();
      if (spans_.empty() || spans_.back().steps == width_) {
        spans_.push_back({.first_step = first});
        columns_.emplace_back();
      }
    }
    spans_.back().last_step = last;
    ++spans_.back().steps;
    return columns_.back();
  }

  [[nodiscard]] const std::vector<column_span>& spans() const noexcept { return spans_; }
  [[nodiscard]] const std::vector<T>& columns() const noexcept { return columns_; }

 private:
  void join() {
    std::size_t to = 0;
    for (std::size_t from = 0; from < columns_.size(); from += 2, ++to) {
      if (from != to) {
        columns_[to] = std::move(columns_[from]);
        spans_[to] = spans_[from];
      }
      if (from + 1 == columns_.size()) continue;
      columns_[to].merge(columns_[from + 1]);
      spans_[to].last_step = spans_[from + 1].last_step;
      spans_[to].steps += spans_[from + 1].steps;
    }
    columns_.resize(to);
    spans_.resize(to);
    width_ *= 2;
  }

  std::size_t most_ = most_columns;
  std::uint64_t width_ = 1;
  std::vector<column_span> spans_;
  std::vector<T> columns_;
};

// How many gradients there are in each binade of the true gradient: values of [2^k, 2^(k+1)) by k. Where a factor is no power
// of two they are counted in the binade of their upper end. The values of a bucket are spread evenly in log2 over the
// binades that it covers; those of a bucket that may hold zeros are in no binade.
struct binade_counts {
  std::map<int, double> by_exponent;
  double zeros = 0;
  double maybe_zeros = 0;  // zero, or anything up to the reach of their buckets
  double nonfinite = 0;
  void merge(const binade_counts& other);
  void add(const cell_table& table, double factor);
};

// The share of nonzero values that underflow, by tensor.
struct tensor_losses {
  struct loss {
    double underflow = 0;  // of a range the middle
    double nonzero = 0;
  };
  std::vector<loss> by_tensor;
  void merge(const tensor_losses& other);
  void add(const tensor_outcome& of);
};

// What was logged of the steps of a column; infinite and NaN values are left out.
struct logged_values {
  struct range {
    double least = not_known;
    double greatest = not_known;
    double sum = 0;
    std::uint64_t steps = 0;
    [[nodiscard]] double mean() const noexcept { return sum / static_cast<double>(steps); }  // NaN where there is none
    void merge(const range& other);
    void add(double value);
  };
  range loss;
  range learning_rate;
  range norm;                     // of the gradients
  range log2_scale;               // of the run itself
  std::uint64_t losses_lost = 0;  // steps whose loss was infinite or NaN
  std::uint64_t overflowed = 0;   // steps of the run itself
  void merge(const logged_values& other);
};

// The scales used in the steps of a column, and what became of the steps.
struct scale_extremes {
  double least = not_known;
  double greatest = not_known;
  double critical = not_known;  // least critical scale that is known
  bool critical_certain = true;
  double norm = not_known;  // greatest finite one
  std::uint64_t skipped = 0;
  std::uint64_t clipped = 0;
  void merge(const scale_extremes& other);
  void add(const trajectory_row& row);
};

// The limits of a format as log2 of magnitudes, at the scale 1: where nonzero results begin, normal ones, overflow. Of
// stochastic rounding those of rounding to nearest.
struct format_limits {
  double nonzero = 0;
  double normal = 0;
  double overflow = 0;
};
[[nodiscard]] format_limits limits_of(const treatment& how);

}  // namespace ulp

#endif
