// The least and the greatest value of any stretch of a long series, so that a line of a million steps is drawn in the time
// of one as wide as the screen.
#ifndef ULP_REPORT_PICTURES_SERIES_EXTREMES_HPP
#define ULP_REPORT_PICTURES_SERIES_EXTREMES_HPP

#include <cmath>
#include <cstddef>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// NaN where the stretch holds nothing else.
struct extremes {
  double least = not_known;
  double greatest = not_known;
  void add(double value) {
    least = std::fmin(least, value);
    greatest = std::fmax(greatest, value);
  }
  void merge(const extremes& other) {
    least = std::fmin(least, other.least);
    greatest = std::fmax(greatest, other.greatest);
  }
};

// Keeps the extremes of blocks of 16 values, of 16 such blocks and so on: 16/15 pairs for each 16 values. The values
// themselves stay where they are; `of(i)` gives them, NaN for none, always the same.
class series_extremes {
 public:
  series_extremes() = default;
  template <typename Of>
  series_extremes(std::size_t size, Of of) {
    if (size == 0) return;
    std::vector<extremes>& lowest = levels_.emplace_back((size + base - 1) / base);
    for (std::size_t i = 0; i < size; ++i) lowest[i / base].add(of(i));
    while (levels_.back().size() > 1) {
      const std::vector<extremes>& below = levels_.back();
      std::vector<extremes> above((below.size() + base - 1) / base);
      for (std::size_t i = 0; i < below.size(); ++i) above[i / base].merge(below[i]);
      levels_.push_back(std::move(above));
    }
  }

  // Of the values first <= i < last, within the series; a logarithmic number of steps.
  template <typename Of>
  [[nodiscard]] extremes between(std::size_t first, std::size_t last, Of of) const {
    extremes all;
    while (first < last && first % base != 0) all.add(of(first++));
    while (first < last && last % base != 0) all.add(of(--last));
    // What is left are whole blocks, level by level.
    for (std::size_t level = 0; first < last; ++level) {
      first /= base;
      last /= base;
      while (first < last && first % base != 0) all.merge(levels_[level][first++]);
      while (first < last && last % base != 0) all.merge(levels_[level][--last]);
    }
    return all;
  }

 private:
  static constexpr std::size_t base = 16;
  std::vector<std::vector<extremes>> levels_;
};

}  // namespace ulp

#endif
