// Matrices whose products are sums in one fixed order.
#ifndef ULP_TRAIN_MATRIX_HPP
#define ULP_TRAIN_MATRIX_HPP

#include <cstddef>
#include <span>
#include <vector>

#include <ulp/train/training.hpp>

namespace ulp::train {

// Row after row. Real is float, or double where a test compares gradients with differences.
template <typename Real>
class matrix {
 public:
  matrix() = default;
  matrix(std::size_t rows, std::size_t columns) : rows_(rows), columns_(columns), values_(rows * columns) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::span<Real> values() noexcept { return values_; }
  [[nodiscard]] std::span<const Real> values() const noexcept { return values_; }
  [[nodiscard]] std::span<Real> row(std::size_t r) noexcept { return values().subspan(r * columns_, columns_); }
  [[nodiscard]] std::span<const Real> row(std::size_t r) const noexcept {
    return values().subspan(r * columns_, columns_);
  }
  [[nodiscard]] Real& operator()(std::size_t r, std::size_t c) noexcept { return values_[r * columns_ + c]; }
  [[nodiscard]] Real operator()(std::size_t r, std::size_t c) const noexcept { return values_[r * columns_ + c]; }

  matrix& operator+=(const matrix& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
    return *this;
  }
  matrix& operator*=(Real by) {
    if (by == 1) return *this;
    for (Real& x : values_) x *= by;
    return *this;
  }

 private:
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::vector<Real> values_;
};

// Element (i, j) is the sum of a(i, k) * b(k, j) from 0 on, each operation rounded to Real.
template <typename Real>
[[nodiscard]] matrix<Real> product(const matrix<Real>& a, const matrix<Real>& b,
                                   sum_order order = sum_order::ascending);

template <typename Real>
[[nodiscard]] matrix<Real> transposed(const matrix<Real>& a);

// One row: the sums of the columns.
template <typename Real>
[[nodiscard]] matrix<Real> column_sums(const matrix<Real>& a, sum_order order = sum_order::ascending);

// `rows` by `columns` of it, from (row, column) on.
template <typename Real>
[[nodiscard]] matrix<Real> block(const matrix<Real>& of, std::size_t row, std::size_t column, std::size_t rows,
                                 std::size_t columns);

// The reverse: `values` into it.
template <typename Real>
void set_block(matrix<Real>& of, std::size_t row, std::size_t column, const matrix<Real>& values);

}  // namespace ulp::train

#endif
