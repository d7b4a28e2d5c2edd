#include "networks/network.hpp"

#include <algorithm>
#include <cmath>

#include <ulp/formats/random_bits.hpp>

#include "arithmetic/functions.hpp"

namespace ulp::train {

template <typename Real>
Real network<Real>::loss(const batch& examples, const pass<Real>& in) {
  softmax_ = predict(examples, in);
  targets_ = targets_of(examples);
  Real sum = 0;
  for (std::size_t i = 0; i < softmax_.rows(); ++i) {
    const std::span<Real> row = softmax_.row(i);
    const Real most = *std::ranges::max_element(row);
    const Real of_target = row[targets_[i]];
    Real all = 0;
    for (Real& x : row) all += x = static_cast<Real>(exponential(static_cast<double>(x) - static_cast<double>(most)));
    for (Real& x : row) x /= all;
    sum += static_cast<Real>(logarithm(all)) - (of_target - most);
  }
  return sum / static_cast<Real>(softmax_.rows());
}

template <typename Real>
void network<Real>::backward(Real scale, const pass<Real>& in) {
  const Real of_each = scale / static_cast<Real>(softmax_.rows());
  for (std::size_t i = 0; i < softmax_.rows(); ++i) {
    softmax_(i, targets_[i]) -= 1;
    for (Real& x : softmax_.row(i)) x *= of_each;
  }
  go_back(std::move(softmax_), in);
}

template <typename Real>
parameter<Real>& network<Real>::add(const std::string& name, std::size_t rows, std::size_t columns, std::size_t inputs,
                                    std::uint64_t seed) {
  auto made = std::make_unique<parameter<Real>>();
  made->name = name;
  made->value = made->gradient = made->of_pass = matrix<Real>(rows, columns);
  const Real bound = inputs == 0 ? 0 : std::sqrt(Real{3} / static_cast<Real>(inputs));
  const std::uint64_t stream = stream_of(name, -1);
  std::uint64_t index = 0;
  for (Real& x : made->value.values()) {
    const auto drawn = static_cast<Real>(random_bits(seed, stream, index++, 23));
    x = inputs == 0 ? 1 : ((2 * drawn + 1) / 0x1p23F - 1) * bound;
  }
  parameters_.push_back(std::move(made));
  return *parameters_.back();
}

template class network<float>;
template class network<double>;

}  // namespace ulp::train
