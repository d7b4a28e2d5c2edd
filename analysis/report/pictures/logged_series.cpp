#include <ulp/report/pictures/logged_series.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ulp {
namespace {

struct logged {
  double value = not_known;
  bool is_nan = false;  // logged as NaN
  [[nodiscard]] bool is_there() const noexcept { return is_nan || !std::isnan(value); }
};

// The one place that asks the run for what it logged.
logged logged_at(const run_picture& run, std::size_t step, logged_value what) {
  const step_scalars& s = run.steps()[step].scalars;
  switch (what) {
    case logged_value::loss: return {s.loss, s.loss_is_nan};
    case logged_value::norm: return {s.grad_norm, s.grad_norm_is_nan};
    case logged_value::learning_rate: return {s.learning_rate};
    case logged_value::scale: return {s.loss_scale};
  }
  return {};
}

}  // namespace

logged_series::logged_series(std::shared_ptr<const run_picture> of, logged_value what)
    : of_(std::move(of)), what_(what) {
  for (std::size_t i = 0; i < of_->steps().size(); ++i) {
    const logged now = logged_at(*of_, i, what_);
    if (!now.is_there()) continue;
    at_.push_back(static_cast<std::uint32_t>(i));
    if (!std::isfinite(now.value)) lost_.push_back(step(at_.size() - 1));
  }
  known_ = series_extremes(size(), [this](std::size_t i) { return drawn(i); });
}

std::int64_t logged_series::step(std::size_t i) const { return of_->steps()[at_[i]].key.step; }

double logged_series::value(std::size_t i) const { return logged_at(*of_, at_[i], what_).value; }

double logged_series::drawn(std::size_t i) const {
  const double v = value(i);
  if (!std::isfinite(v)) return not_known;
  if (!is_log()) return v;
  return v > 0 ? std::log2(v) : not_known;
}

std::optional<std::size_t> logged_series::index_at(std::int64_t step) const {
  const auto after =
      std::ranges::upper_bound(at_, step, {}, [this](std::uint32_t i) { return of_->steps()[i].key.step; });
  if (after == at_.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - at_.begin()) - 1;
}

std::vector<logged_series> logged_in(const std::shared_ptr<const run_picture>& run) {
  std::vector<logged_series> all;
  for (const logged_value what :
       {logged_value::loss, logged_value::norm, logged_value::learning_rate, logged_value::scale}) {
    logged_series series(run, what);
    if (series.size() > 0) all.push_back(std::move(series));
  }
  return all;
}

}  // namespace ulp
