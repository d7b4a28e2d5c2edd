// The state machine that most loss scalers are. A framework's row of rules says when the scale grows, how many
// overflows it takes to lower it, what clamps it and how it is rounded; with factor 2, equal windows and the clamps out
// of the way, scalers of one class (docs/scalers.md) give the same scales.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_ENGINE_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_ENGINE_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "numbers.hpp"
#include "policy.hpp"

namespace ulp::scalers {

// When a good step grows the scale. A tracker counts good steps and restarts after growth and after an overflow; the
// other frameworks number their steps and remember the last overflow.
enum class growth {
  tracker_equals,           // tracker + 1 == window
  tracker_reaches,          // tracker + 1 >= window
  tracker_wraps,            // tracker + 1 == window, and the tracker counts modulo window
  window_divides,           // (step - last overflow) mod window == 0
  window_divides_one_less,  // the same for step - last overflow - 1, if that is above 0
  window_reached,           // step - last overflow >= window; then growth counts as the last overflow too
};

// An overflow lowers the scale when the patience is spent.
enum class patience {
  none,         // at once
  down,         // a budget that each overflow takes from; spent at 0 and below
  down_to_one,  // the same, spent at 1 exactly, and taken from only before
  up,           // overflows are counted; spent when they reach the limit
  up_exactly,   // spent when they equal it
};

struct rules {
  growth grows = growth::tracker_equals;
  patience waits = patience::none;
  bool restarts_when_spent = false;  // counting up: lowering the scale starts the count again
  bool divides = false;              // the scale is lowered by a quotient, not a product
  bool stays_finite = false;         // growth to infinity keeps the scale
  bool grows_on_overflow = false;    // the tracker is compared after an overflow too: a window of 0 undoes the fall
  bool clamps_both_ways = false;     // floor and ceiling after each change, not floor below and ceiling above
  std::int64_t first_step = 0;       // its number; the last overflow counts as one before
};

struct settings {
  double start = 1;
  double growth = 2;
  double backoff = 0.5;
  double window = 1;
  std::int64_t limit = 1;         // of patience
  bool refilled_by_good = false;  // patience is whole again after any good step, not only after growth
  double floor = -std::numeric_limits<double>::infinity();
  double ceiling = std::numeric_limits<double>::infinity();
};

template <typename Number, rules R>
class engine {
 public:
  using value = typename Number::value;
  using factor = typename Number::factor;

  struct state {
    value scale{};
    std::int64_t tracker = 0;
    std::int64_t step = 0;
    std::int64_t last_overflow = 0;
    std::int64_t waited = 0;  // the budget left, or the overflows counted
  };

  explicit engine(const settings& s)
      : start_(s.start),
        growth_(static_cast<factor>(s.growth)),
        backoff_(static_cast<factor>(s.backoff)),
        window_(whole(s.window)),
        part_of_step_(counts_modulo && s.window != std::floor(s.window) ? s.window : 0),
        limit_(s.limit),
        refilled_by_good_(s.refilled_by_good),
        floor_(static_cast<value>(s.floor)),
        ceiling_(static_cast<value>(s.ceiling)) {}

  [[nodiscard]] state start() const {
    state s{.scale = static_cast<value>(start_), .step = R.first_step, .last_overflow = R.first_step - 1};
    refill(s);
    return s;
  }

  // What Python raises instead of `next`, or nothing.
  [[nodiscard]] std::string_view error_before(state s, bool overflow) const {
    const bool counts = R.grows == growth::window_divides || s.step - s.last_overflow > 1;
    if (counts_modulo && !overflow && window_ == 0 && part_of_step_ == 0 && counts)
      return "ZeroDivisionError: integer modulo by zero";
    if (R.divides && Number::raises_dividing_by_zero && overflow && backoff_ == 0 && spent(s))
      return "ZeroDivisionError: division by zero";
    return {};
  }

  [[nodiscard]] state next(state s, bool overflow) const {
    if (overflow) {
      if (spent(s)) s.scale = lowered(s.scale);
      s.tracker = 0;
      s.last_overflow = s.step;
      if (R.grows_on_overflow && window_ == 0) s.scale = grown(s.scale);
    } else {
      if (refilled_by_good_) refill(s);
      if (due(s)) {
        s.scale = grown(s.scale);
        refill(s);
      }
    }
    ++s.step;
    return s;
  }

 private:
  static constexpr bool counts_modulo = R.grows == growth::window_divides || R.grows == growth::window_divides_one_less;
  static constexpr bool counts_down = R.waits == patience::down || R.waits == patience::down_to_one;

  // The first whole number of steps that reaches it.
  [[nodiscard]] static std::int64_t whole(double window) {
    constexpr double most = 0x1p63;
    if (!(window < most)) return std::numeric_limits<std::int64_t>::max();
    if (R.grows == growth::tracker_equals && window != std::floor(window)) return -1;  // no number of steps equals it
    return static_cast<std::int64_t>(std::ceil(std::max(window, -most)));
  }

  void refill(state& s) const {
    if constexpr (R.waits != patience::none) s.waited = counts_down ? limit_ : 0;
  }

  bool spent(state& s) const {
    if constexpr (R.waits == patience::none) return true;
    if constexpr (R.waits == patience::down) return --s.waited <= 0;
    if constexpr (R.waits == patience::down_to_one) {
      if (limit_ == 1 || s.waited == 1) return true;
      --s.waited;
      return false;
    }
    ++s.waited;
    const bool all = R.waits == patience::up ? s.waited >= limit_ : s.waited == limit_;
    if (all && R.restarts_when_spent) s.waited = 0;
    return all;
  }

  bool due(state& s) const {
    if constexpr (R.grows == growth::tracker_equals || R.grows == growth::tracker_reaches) {
      ++s.tracker;
      const bool now = R.grows == growth::tracker_equals ? s.tracker == window_ : s.tracker >= window_;
      if (now) s.tracker = 0;
      return now;
    }
    if constexpr (R.grows == growth::tracker_wraps) {
      const bool now = s.tracker + 1 == window_;
      s.tracker = window_ == 0 ? 0 : (s.tracker + 1) % window_;
      return now;
    }
    const std::int64_t since = s.step - s.last_overflow;
    if constexpr (R.grows == growth::window_divides) return divides(since);
    if constexpr (R.grows == growth::window_divides_one_less) return since > 1 && divides(since - 1);
    if (since < window_) return false;
    s.last_overflow = s.step;
    return true;
  }

  // Short numbers divide several times faster.
  [[nodiscard]] bool divides(std::int64_t since) const {
    if (part_of_step_ != 0) return std::fmod(static_cast<double>(since), part_of_step_) == 0;
    const auto n = static_cast<std::uint64_t>(since);
    const auto w = static_cast<std::uint64_t>(window_);
    if (((n | w) >> 32U) == 0) return static_cast<std::uint32_t>(n) % static_cast<std::uint32_t>(w) == 0;
    return since % window_ == 0;
  }

  [[nodiscard]] value lowered(const value& scale) const {
    const value next = R.divides ? Number::over(scale, backoff_) : Number::lowered(scale, backoff_);
    if constexpr (R.clamps_both_ways) return std::max(floor_, std::min(next, ceiling_));
    return std::max(next, floor_);
  }

  [[nodiscard]] value grown(const value& scale) const {
    const value next = Number::times(scale, growth_);
    if constexpr (R.stays_finite)
      if (!std::isfinite(next)) return scale;
    if constexpr (R.clamps_both_ways) return std::max(floor_, std::min(next, ceiling_));
    return std::min(next, ceiling_);
  }

  double start_;
  factor growth_;
  factor backoff_;
  std::int64_t window_;
  double part_of_step_;  // the window where it is not a whole number of steps and steps are counted modulo it, else 0
  std::int64_t limit_;
  bool refilled_by_good_;
  value floor_;
  value ceiling_;
};

// A framework that raises only after the optimizer's step says so by a member raises_after_step.
template <typename F>
concept has_raises_after_step = requires {
  F::raises_after_step;
};

// A framework F as a policy over its engine. F has its parameters (see policy.hpp), `using machine = engine<...>`,
// `settings values() const`, and `state_fields(s, v)`, which calls v(name, field) for each field of the state it shows.
// If it raises errors, it has `error_before(state, overflow)`, called before a step, which then leaves the state, or
// `error_after(state)`, called after it; each returns the message or nothing. A step that raises an error counts as
// skipped, unless `raises_after_step`.
template <typename F>
class ruled {
 public:
  using machine = typename F::machine;
  struct state : machine::state {
    template <typename Visitor>
    void fields(Visitor&& v) {
      F::state_fields(*this, v);
    }
  };

  explicit ruled(const F& f) : framework_(f), machine_(f.values()) {}

  [[nodiscard]] state start() const { return {machine_.start()}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }
  [[nodiscard]] transition<state> next(const state& s, const scaler_input& input) const {
    const bool overflow = input.found_inf;
    if (const std::string_view error = machine_.error_before(s, overflow); !error.empty())
      return {s, {.skipped = overflow || skips_when_raised, .error = std::string{error}}};
    if constexpr (requires { framework_.error_before(s, overflow); })
      if (const std::string_view error = framework_.error_before(s, overflow); !error.empty())
        return {s, {.skipped = true, .error = std::string{error}}};
    const state after{machine_.next(s, overflow)};
    if constexpr (requires { framework_.error_after(after); })
      if (const std::string_view error = framework_.error_after(after); !error.empty())
        return {after, {.skipped = overflow || skips_when_raised, .error = std::string{error}}};
    return {after, {.skipped = overflow}};
  }

 private:
  static constexpr bool skips_when_raised = !has_raises_after_step<F>;

  F framework_;
  machine machine_;
};

template <typename F>
registration ruled_row(scaler_entry entry) {
  return row<F, ruled<F>>(std::move(entry));
}

}  // namespace ulp::scalers

#endif
