// Runs that are made up so that their cause is known.
#ifndef ULP_TESTS_MODEL_DIAGNOSIS_MADE_RUN_HPP
#define ULP_TESTS_MODEL_DIAGNOSIS_MADE_RUN_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <ulp/model/causes/diagnosis.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace ulp::test {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

// A run of named weight gradients, one value each, or of a log.
class made_run {
 public:
  explicit made_run(std::vector<std::string> names = {}, std::string through = {}) {
    for (std::string& name : names)
      tensors_.push_back({.name = std::move(name), .kind = tensor_kind::weight_grad, .through = through});
  }
  step_scalars scalars;    // of the next step
  std::int64_t every = 1;  // numbers of steps from one to the next

  void add(const std::vector<std::vector<float>>& values, gradient_parts parts = {}) {
    step s;
    s.key.step = every * number_++;
    s.scalars = scalars;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      tensor_row row{.tensor = i, .type = dtype::float32, .factor = 1, .parts = parts};
      row.table = count_cells(std::span{values[i]});
      s.tensors.push_back(std::move(row));
    }
    seen_.add(s, tensors_);
  }
  void add(float value) { add({{value, value / 2}}); }
  void log(bool overflow, double scale) {
    scalars.found_inf = overflow;
    scalars.loss_scale = scale;
    add(std::vector<std::vector<float>>{});
  }
  // A step of a log that was skipped at a scale of at most so much; which step it was may not be known.
  void log_bounded(bool overflow, double scale_at_most, bool is_certain = true) {
    step s;
    s.key.step = number_++;
    s.scalars.found_inf = overflow;
    s.scalars.applied = !overflow;
    s.bounds = max_abs_bounds{.low = float16_overflows_at / scale_at_most, .certain = is_certain};
    seen_.add(s, tensors_);
  }
  // A step of a log with the largest gradient.
  void add_largest(double max_abs) {
    step s;
    s.key.step = number_++;
    s.scalars = scalars;
    s.max_abs = max_abs;
    seen_.add(s, tensors_);
  }
  // Steps that were not recorded.
  void skip(int steps) { number_ += steps; }
  [[nodiscard]] diagnosis found() const { return diagnosis_of(seen_, tensors_); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const cause& c : found().causes) all.push_back(name_of(c));
    return all;
  }

 private:
  std::vector<tensor_info> tensors_;
  survey seen_{{}, {}};
  std::int64_t number_ = 0;
};

using names = std::vector<std::string>;

inline bool has_name(const made_run& run, const std::string& name) {
  const names all = run.names();
  return std::ranges::find(all, name) != all.end();
}

template <typename Cause>
Cause first_of(const made_run& run) {
  const diagnosis d = run.found();
  REQUIRE(!d.causes.empty());
  REQUIRE(std::holds_alternative<Cause>(d.causes.front()));
  return std::get<Cause>(d.causes.front());
}

}  // namespace ulp::test

#endif
