// PopART automatic loss scaling: graphcore/popart @d2f20d78 willow/src/popx/op/lossscaleupdatex.cpp,
// willow/src/transforms/automaticlossscaling.cpp, willow/include/popart/sessionoptions.hpp.
// Reproduced: a histogram with one edge decides in float32; always a factor of 2 or 1/2, no clamp and no dead band; no
// step is ever skipped, because the hardware saturates; with updatePeriod the first step of each period decides. Which
// side of the edge a value on it falls is the histogram's own and was not read: taken as the lower one.
#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct popart_als {
  double loss_scaling = 1;
  double bin_edge_location = 0.125;
  double threshold_upper_count_proportion = 1e-7;
  std::int64_t update_period = 1;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("lossScaling", loss_scaling, "scale of the first step; the user chooses it with the optimizer");
    v("binEdgeLocation", bin_edge_location, "edge of the histogram, as a share of 65504");
    v("thresholdUpperCountProportion", threshold_upper_count_proportion,
      "share of elements above the edge, above which the scale halves");
    v("updatePeriod", update_period, "the scale changes in every so many steps");
  }

  struct state {
    float loss_scaling = 0;
    std::int64_t step_in_period = 0;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("lossScaling", loss_scaling);
      v("step_in_period", step_in_period);
    }
  };

  [[nodiscard]] std::string refused() const {
    if (!(bin_edge_location >= 0 && bin_edge_location <= 1)) return "binEdgeLocation must be in [0, 1]";
    if (!(threshold_upper_count_proportion >= 0 && threshold_upper_count_proportion <= 1))
      return "thresholdUpperCountProportion must be in [0, 1]";
    if (update_period < 1) return "updatePeriod must be at least 1";
    return {};
  }
  [[nodiscard]] state start() const { return {.loss_scaling = static_cast<float>(loss_scaling)}; }
  [[nodiscard]] double scale(const state& s) const { return static_cast<double>(s.loss_scaling); }
  [[nodiscard]] double edge() const { return static_cast<double>(65504.0F * static_cast<float>(bin_edge_location)); }

  [[nodiscard]] transition<state> next(state s, const scaler_input& input) const {
    if (!(input.above_edge >= 0 && input.up_to_edge >= 0))
      return {s,
              {.skipped = false,
               .error =
                   "PopART counts gradients above and below an edge, which a log and a row of extremes alone do not "
                   "have: use a recording, a dump or a histogram",
               .lacks_input = true}};
    if (s.step_in_period == 0) {
      const auto t = static_cast<float>(threshold_upper_count_proportion);
      const float f = t / (1 - t);
      const bool down = static_cast<float>(input.above_edge) > f * static_cast<float>(input.up_to_edge);
      s.loss_scaling *= down ? 0.5F : 2.0F;
    }
    s.step_in_period = (s.step_in_period + 1) % update_period;
    return {s, {}};
  }
};

}  // namespace

registration popart_als_row() {
  return row<popart_als>(
      {.aliases = {"popart"},
       .family = "own",
       .summary = "PopART automatic loss scaling; needs counts above an edge, so no step log",
       .overflow_test = "share of scaled gradients above an edge; binEdgeLocation * 65504 in magnitude",
       .floor = "none",
       .ceiling = "none",
       .window = "updatePeriod",
       .rules = "upper > t / (1 - t) * lower, t = thresholdUpperCountProportion: scale /= 2; else scale *= 2\n"
                "in the first step of every updatePeriod; no step is skipped",
       .quirks = "no dead band: the scale doubles or halves in every update, forever\n"
                 "the option's own documentation states the opposite direction",
       .source = "graphcore/popart willow/src/popx/op/lossscaleupdatex.cpp @d2f20d78"});
}

}  // namespace ulp::scalers
