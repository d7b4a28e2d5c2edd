// Pins that nothing that is certain is wrong: runs of DeepSpeed's, Megatron-LM's and PyTorch's scalers whose every step is known are
// printed at logging intervals from 1 to 200, whole or in part, and what is read is compared with the truth. The scalers are
// those of deepspeed/runtime/fp16/loss_scaler.py, megatron/core/optimizer/grad_scaler.py and torch/amp/grad_scaler.py.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <random>
#include <sstream>

#include <ulp/io/bytes/error.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct true_step {
  double max_abs = 0;
  double scale = 0;
  [[nodiscard]] bool overflows() const { return !(max_abs * scale < 65520); }
};
struct simulated {
  std::vector<std::string> lines;
  std::map<std::int64_t, std::vector<true_step>>
      truth;            // of a step that was done again the last is what the log is about
  bool is_cut = false;  // so that it may be about any
};

class simulation {
 public:
  explicit simulation(unsigned seed) : random_(seed) {}

  simulated deepspeed() {
    begin();
    deepspeed_steps({.scale = scale_, .hysteresis = hysteresis_}, 0, steps_);
    return cut();
  }

  // Killed, perhaps by an overflow at the least scale, and started again from the beginning or from a checkpoint, up to a later
  // step; no line says so. Perhaps it prints
  // more often or more rarely then, and so never again a step that it had printed.
  simulated killed_deepspeed() {
    begin();
    const deepspeed_state first{.scale = scale_, .hysteresis = hysteresis_};
    const auto saved_at =
        static_cast<std::int64_t>(random_() % 3 == 0 ? 0 : random_() % static_cast<unsigned>(steps_ + 1));
    const deepspeed_state saved = deepspeed_steps(first, 0, saved_at);
    const deepspeed_state end = deepspeed_steps(saved, saved_at, steps_);
    const bool dies = end.skipped > 0 && random_() % 2 == 0 && std::ranges::all_of(all_.truth, [&](const auto& of) {
                        return std::ranges::all_of(of.second, [&](const true_step& t) { return t.scale >= end.scale; });
                      });
    if (dies) say() << "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.";
    if (random_() % 4 == 0) {
      interval_ = any_of<std::int64_t>({1, 5, 10, 20});
      all_.is_cut = true;
    }
    deepspeed_steps(saved, saved_at, steps_ + 2 * interval_);
    flush();
    return dies ? all_ : cut();
  }

  simulated megatron() {
    begin();
    megatron_steps({.scale = scale_, .hysteresis = hysteresis_}, 0, steps_);
    return cut();
  }

  // Its count of skipped steps begins anew after a checkpoint, which is saved behind a line.
  simulated killed_megatron() {
    begin();
    auto saved_at = static_cast<std::int64_t>(random_() % static_cast<unsigned>(steps_));
    saved_at -= saved_at % interval_;
    const megatron_state saved = megatron_steps({.scale = scale_, .hysteresis = hysteresis_}, 0, saved_at);
    megatron_steps(saved, saved_at, steps_);
    megatron_steps({saved.scale, saved.hysteresis, saved.good, 0}, saved_at, steps_ + 2 * interval_);
    return cut();
  }

  // A script's own lines, or Swin's, which count no skipped steps, with the norm of the last step or without.
  simulated script(bool is_swin) {
    begin();
    const bool has_norm = is_swin || random_() % 2 == 0;
    std::int64_t good = 0;
    for (std::int64_t i = 0; i < steps_; ++i) {
      const true_step now = draw(i);
      const bool overflows = now.overflows();
      good = overflows ? 0 : good + 1;
      if (overflows) scale_ /= 2;
      if (good == window_) {
        scale_ *= 2;
        good = 0;
      }
      if (i % interval_ != 0) continue;
      const std::string norm = overflows ? "inf" : "1.5000";
      say() << std::fixed << std::setprecision(4);
      if (is_swin)
        more() << "Train: [0/1][" << i << "/" << steps_ << "]\tlr 0.000001\tloss 6.1000 (6.2000)\tgrad_norm " << norm
               << " (" << norm << ")\tloss_scale " << scale_ << " (" << scale_ << ")\tmem 5000MB";
      else
        more() << "step " << i << " | loss 2.1" << (has_norm ? " | grad_norm " + norm : "") << " | loss_scale "
               << scale_;
    }
    return cut();
  }

 private:
  struct deepspeed_state {
    double scale = 1;
    int hysteresis = 1;
    std::int64_t last_overflow = -1;
    std::int64_t skipped = 0;
  };
  deepspeed_state deepspeed_steps(deepspeed_state s, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) {
      scale_ = s.scale;
      const true_step now = draw(i + 1);
      if (now.overflows()) {
        ++s.skipped;
        s.last_overflow = i;
        say() << "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: " << s.scale;
        if (s.hysteresis == 1) {
          s.scale = std::max(s.scale / 2, 1.0);
          more() << ", reducing to " << s.scale;
        } else {
          more() << ", but hysteresis is " << s.hysteresis << ". Reducing hysteresis to " << s.hysteresis - 1;
          --s.hysteresis;
        }
      } else if ((i - s.last_overflow) % window_ == 0) {
        s.hysteresis = hysteresis_;
        s.scale *= 2;
      }
      if ((i + 1) % interval_ == 0)
        say() << "[Rank 0] step=" << i + 1 << ", skipped=" << s.skipped << ", lr=[0.0001], mom=[(0.9, 0.999)]";
    }
    return s;
  }

  struct megatron_state {
    double scale = 1;
    int hysteresis = 1;
    std::int64_t good = 0;
    std::int64_t skipped = 0;  // since the last line
  };
  megatron_state megatron_steps(megatron_state s, std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from + 1; i <= to; ++i) {
      scale_ = s.scale;
      const true_step now = draw(i);
      const bool overflows = now.overflows();
      if (overflows) {
        ++s.skipped;
        s.good = 0;
        if (--s.hysteresis <= 0) s.scale = std::max(s.scale / 2, 1.0);
      } else if (++s.good == window_) {
        s.good = 0;
        s.hysteresis = hysteresis_;
        s.scale *= 2;
      }
      if (i % interval_ != 0) continue;
      say() << " iteration " << i
            << "/ 100000 | consumed samples: 8 | learning rate: 1.000E-04 | lm loss: " << random_() % 1000
            << " | loss scale: " << s.scale << " |";
      if (!overflows) more() << " grad norm: 1.5 |";
      more() << " number of skipped iterations: " << s.skipped << " | number of nan iterations: 0 |";
      s.skipped = 0;
    }
    return s;
  }

  template <typename T>
  T any_of(std::initializer_list<T> all) {
    return *(all.begin() + random_() % all.size());
  }
  void begin() {
    interval_ = any_of<std::int64_t>({1, 2, 3, 5, 10, 50, 100, 200});
    window_ = any_of<std::int64_t>({2, 5, 10, 50, 100, 1000});
    hysteresis_ = any_of<int>({1, 2, 3});
    steps_ = 4 + static_cast<std::int64_t>(random_() % static_cast<unsigned>(5 * interval_ + 20));
    scale_ = std::ldexp(1.0, 4 + static_cast<int>(random_() % 14));
    magnitude_ = std::normal_distribution<double>(static_cast<double>(random_() % 12), any_of<double>({0.3, 0.7, 1.5}));
  }
  true_step draw(std::int64_t number) {
    all_.truth[number].push_back({std::exp2(magnitude_(random_)), scale_});
    return all_.truth[number].back();
  }
  std::ostream& say() {
    flush();
    return line_;
  }
  std::ostream& more() { return line_; }
  void flush() {
    if (!line_.str().empty()) all_.lines.push_back(line_.str());
    line_.str("");
  }
  // All lines, or some of them.
  simulated cut() {
    flush();
    const std::size_t count = all_.lines.size();
    if (random_() % 2 == 0 || count < 3) return all_;
    const std::size_t from = random_() % (count - 2);
    const std::size_t to = std::min(count, from + any_of<std::size_t>({1, 2, 5, 10, 15, 100}));
    all_.is_cut = true;
    all_.lines = {all_.lines.begin() + static_cast<std::ptrdiff_t>(from),
                  all_.lines.begin() + static_cast<std::ptrdiff_t>(to)};
    return all_;
  }

  std::mt19937 random_;
  simulated all_;
  std::ostringstream line_;
  std::normal_distribution<double> magnitude_;
  std::int64_t interval_ = 1;
  std::int64_t window_ = 1;
  std::int64_t steps_ = 0;
  int hysteresis_ = 1;
  double scale_ = 1;
};

// How many steps a log tells of for certain; checks that it is right about them.
std::size_t check_certain(const playground& place, const simulated& run) {
  std::string text;
  for (const std::string& line : run.lines) text += line + "\n";
  INFO(text);
  contents read;
  try {
    read = place.open("train.log", text);
  } catch (const input_error&) {
    return 0;  // nothing is told in it
  }
  for (const std::string& note : read.notes)
    if (note.starts_with("the log has no step numbers")) return 0;
  std::size_t certain = 0;
  for (const step& s : read.steps) {
    if (!s.bounds || !s.bounds->certain) continue;
    INFO("step " << s.key.step);
    REQUIRE(run.truth.contains(s.key.step));
    const std::vector<true_step>& told = run.truth.at(s.key.step);
    const auto is_right = [&](const true_step& truth) {
      return s.scalars.found_inf.value_or(truth.overflows()) == truth.overflows() &&
             s.scalars.applied.value_or(!truth.overflows()) == !truth.overflows() &&
             (std::isnan(s.scalars.loss_scale) || s.scalars.loss_scale == truth.scale) &&
             s.bounds->low <= truth.max_abs && s.bounds->high > truth.max_abs;
    };
    CHECK((run.is_cut ? std::ranges::any_of(told, is_right) : is_right(told.back())));
    ++certain;
  }
  return certain;
}

}  // namespace

TEST_CASE("simulated logs: nothing that is certain contradicts the run") {
  const playground place;
  std::size_t certain = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    certain += check_certain(place, simulation(seed).deepspeed());
    certain += check_certain(place, simulation(seed).killed_deepspeed());
    certain += check_certain(place, simulation(seed).megatron());
    certain += check_certain(place, simulation(seed).killed_megatron());
    certain += check_certain(place, simulation(seed).script(false));
    certain += check_certain(place, simulation(seed).script(true));
  }
  CHECK(certain > 1000);
}
