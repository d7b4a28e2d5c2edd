#include "arithmetic/matrix.hpp"

#include <algorithm>

namespace ulp::train {
namespace {

// Vector units take neighbouring columns, so the order of each sum stays. Four terms at a time stay in a register.
template <typename Real>
matrix<Real> ascending_product(const matrix<Real>& a, const matrix<Real>& b) {
  matrix<Real> c(a.rows(), b.columns());
  const std::size_t columns = b.columns();
  for (std::size_t i = 0; i < a.rows(); ++i) {
    Real* __restrict const to = c.row(i).data();
    const Real* const x = a.row(i).data();
    std::size_t k = 0;
    for (; k + 4 <= a.columns(); k += 4) {
      const Real* __restrict const y0 = b.row(k).data();
      const Real* __restrict const y1 = y0 + columns;
      const Real* __restrict const y2 = y1 + columns;
      const Real* __restrict const y3 = y2 + columns;
      for (std::size_t j = 0; j < columns; ++j)
        to[j] = (((to[j] + x[k] * y0[j]) + x[k + 1] * y1[j]) + x[k + 2] * y2[j]) + x[k + 3] * y3[j];
    }
    for (; k < a.columns(); ++k) {
      const Real* __restrict const y = b.row(k).data();
      for (std::size_t j = 0; j < columns; ++j) to[j] += x[k] * y[j];
    }
  }
  return c;
}

template <typename Real>
matrix<Real> rows_reversed(const matrix<Real>& a) {
  matrix<Real> r(a.rows(), a.columns());
  for (std::size_t i = 0; i < a.rows(); ++i) std::ranges::copy(a.row(a.rows() - 1 - i), r.row(i).begin());
  return r;
}

// Of terms whose number is `count`: what `sum(from, to)` gives of each half.
template <typename Sum>
auto sum_of_halves(std::size_t count, Sum sum) {
  auto all = sum(0, count / 2);
  all += sum(count / 2, count);
  return all;
}

}  // namespace

template <typename Real>
matrix<Real> product(const matrix<Real>& a, const matrix<Real>& b, sum_order order) {
  if (order == sum_order::ascending) return ascending_product(a, b);
  if (order == sum_order::descending)
    return ascending_product(transposed(rows_reversed(transposed(a))), rows_reversed(b));
  return sum_of_halves(a.columns(), [&](std::size_t from, std::size_t to) {
    return ascending_product(block(a, 0, from, a.rows(), to - from), block(b, from, 0, to - from, b.columns()));
  });
}

template <typename Real>
matrix<Real> transposed(const matrix<Real>& a) {
  matrix<Real> t(a.columns(), a.rows());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.columns(); ++j) t(j, i) = a(i, j);
  return t;
}

template <typename Real>
matrix<Real> column_sums(const matrix<Real>& a, sum_order order) {
  if (order == sum_order::descending) return column_sums(rows_reversed(a));
  if (order == sum_order::split)
    return sum_of_halves(a.rows(), [&](std::size_t from, std::size_t to) {
      return column_sums(block(a, from, 0, to - from, a.columns()));
    });
  matrix<Real> sums(1, a.columns());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t j = 0; j < a.columns(); ++j) sums(0, j) += a(i, j);
  return sums;
}

template <typename Real>
matrix<Real> block(const matrix<Real>& of, std::size_t row, std::size_t column, std::size_t rows, std::size_t columns) {
  matrix<Real> part(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    std::ranges::copy(of.row(row + i).subspan(column, columns), part.row(i).begin());
  return part;
}

template <typename Real>
void set_block(matrix<Real>& of, std::size_t row, std::size_t column, const matrix<Real>& values) {
  for (std::size_t i = 0; i < values.rows(); ++i)
    std::ranges::copy(values.row(i), of.row(row + i).subspan(column).begin());
}

#define ULP_INSTANTIATE(Real)                                                                           \
  template matrix<Real> product(const matrix<Real>&, const matrix<Real>&, sum_order);                   \
  template matrix<Real> transposed(const matrix<Real>&);                                                \
  template matrix<Real> column_sums(const matrix<Real>&, sum_order);                                    \
  template matrix<Real> block(const matrix<Real>&, std::size_t, std::size_t, std::size_t, std::size_t); \
  template void set_block(matrix<Real>&, std::size_t, std::size_t, const matrix<Real>&);
ULP_INSTANTIATE(float)
ULP_INSTANTIATE(double)
#undef ULP_INSTANTIATE

}  // namespace ulp::train
