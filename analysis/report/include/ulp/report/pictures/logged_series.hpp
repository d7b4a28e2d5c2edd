// What a run logged, as series that are drawn over its steps: of a million steps as fast as of a screen's width.
#ifndef ULP_REPORT_PICTURES_LOGGED_SERIES_HPP
#define ULP_REPORT_PICTURES_LOGGED_SERIES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/report/pictures/series_extremes.hpp>

namespace ulp {

enum class logged_value : std::uint8_t { loss, norm, learning_rate, scale };

// One value over the steps that logged it.
class logged_series {
 public:
  logged_series(std::shared_ptr<const run_picture> of, logged_value what);

  [[nodiscard]] logged_value what() const noexcept { return what_; }
  // Whether it is drawn as its log2: norms and scales are.
  [[nodiscard]] bool is_log() const noexcept { return what_ == logged_value::norm || what_ == logged_value::scale; }
  [[nodiscard]] std::size_t size() const noexcept { return at_.size(); }
  [[nodiscard]] std::int64_t step(std::size_t i) const;
  [[nodiscard]] double value(std::size_t i) const;  // as it was logged
  // Its place in the picture, NaN where it has none.
  [[nodiscard]] double drawn(std::size_t i) const;
  [[nodiscard]] const series_extremes& known() const noexcept { return known_; }  // of drawn()
  // Steps whose value is infinite or NaN, ascending.
  [[nodiscard]] const std::vector<std::int64_t>& lost() const noexcept { return lost_; }
  // The last that was logged at the step or before it; nullopt before the first.
  [[nodiscard]] std::optional<std::size_t> index_at(std::int64_t step) const;

 private:
  std::shared_ptr<const run_picture> of_;
  logged_value what_;
  std::vector<std::uint32_t> at_;  // indices into the run's steps
  series_extremes known_;
  std::vector<std::int64_t> lost_;
};

// Those of which anything was logged.
[[nodiscard]] std::vector<logged_series> logged_in(const std::shared_ptr<const run_picture>& run);

}  // namespace ulp

#endif
