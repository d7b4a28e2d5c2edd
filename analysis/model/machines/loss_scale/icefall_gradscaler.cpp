// icefall's GradScaler: k2-fsa/icefall egs/librispeech/ASR/zipformer/train.py (train_one_epoch), which starts torch's scaler at
// 1 and doubles the scale itself, by update(2 * scale), after every 100th batch while it is small.
// Reproduced: the batch is counted from 0, so that the first one doubles; torch's tracker goes on; below 1e-5 the program raises at
// the next such batch, its doubling done. pruned_transducer_stateless7 has 1 and 8 for the two limits, ZipVoice 1024 and 4096.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct icefall_gradscaler : gradscaler_arguments {
  std::int64_t double_every = 100;
  double double_below = 8;
  std::int64_t double_seldom_every = 400;
  double double_seldom_below = 32;

  icefall_gradscaler() { init_scale = 1; }

  template <typename Visitor>
  void fields(Visitor&& v) {
    gradscaler_arguments::fields(v);
    v("double_every", double_every, "batches after which the program looks at the scale");
    v("double_below", double_below, "it doubles a scale below this");
    v("double_seldom_every", double_seldom_every,
      "of the batches that it looks at, those divisible by this also double ...");
    v("double_seldom_below", double_seldom_below, "... a scale below this");
  }
  [[nodiscard]] std::string refused() const {
    if (double_every <= 0 || double_seldom_every <= 0) return "double_every and double_seldom_every must be above 0";
    return gradscaler_arguments::refused();
  }
};

class icefall_runner {
 public:
  struct state : gradscaler_machine::state {
    std::int64_t batch_idx = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      gradscaler_arguments::state_fields(*this, v);
      v("batch_idx", batch_idx);
    }
  };

  explicit icefall_runner(const icefall_gradscaler& of) : own_(of), machine_(of.values()) {}

  [[nodiscard]] state start() const { return {machine_.start(), 0}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.scale); }
  [[nodiscard]] transition<state> next(const state& s, const scaler_input& input) const {
    state after{machine_.next(s, input.found_inf), s.batch_idx + 1};
    scaler_verdict verdict{.skipped = input.found_inf};
    if (s.batch_idx % own_.double_every == 0) {
      constexpr double least = 1e-5;
      const double scale = static_cast<double>(after.scale);
      const bool is_seldom = s.batch_idx % own_.double_seldom_every == 0;
      if (scale < own_.double_below || (is_seldom && scale < own_.double_seldom_below)) after.scale *= 2;
      if (scale < least) verdict.error = "RuntimeError: grad_scale is too small, exiting";
    }
    return {after, verdict};
  }

 private:
  icefall_gradscaler own_;
  gradscaler_machine machine_;
};

}  // namespace

registration icefall_gradscaler_row() {
  return row<icefall_gradscaler, icefall_runner>(
      {.aliases = {"icefall"},
       .family = "own",
       .summary = "icefall (k2): torch's GradScaler from 1, doubled by the program while it is small",
       .overflow_test = gradscaler_tests,
       .floor = "raises below 1e-5",
       .ceiling = "kept finite",
       .rules =
           "overflow: skip, scale *= backoff_factor, tracker = 0\n"
           "good step: tracker += 1; when it equals growth_interval: scale *= growth_factor, tracker = 0\n"
           "then, in batches divisible by double_every: scale *= 2 where it is below double_below, or, in those divisible by "
           "double_seldom_every, below double_seldom_below; where it was below 1e-5: raises RuntimeError",
       .quirks = "batches are counted in each epoch; a replay counts them from its first step\n"
                 "the scale climbs from 1 to 32 without a single growth of torch's own",
       .source = "k2-fsa/icefall egs/librispeech/ASR/zipformer/train.py (master)"});
}

}  // namespace ulp::scalers
