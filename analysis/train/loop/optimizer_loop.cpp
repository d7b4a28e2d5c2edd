#include <ulp/train/optimizer_loop.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "loop/judged_loss.hpp"

namespace ulp {
namespace {

using train::judged_loss;

// The gradient of each parameter, as the optimizer finds it; rounds nothing.
class listening_hook final : public rounding_hook {
 public:
  void round(const site& at, std::span<float> values) override {
    if (at.kind == site_kind::accumulator) gradients_[std::string{at.tensor}].assign(values.begin(), values.end());
  }
  [[nodiscard]] std::span<const float> of(const std::string& tensor) const { return gradients_.at(tensor); }

 private:
  std::map<std::string, std::vector<float>> gradients_;
};

struct twin_run {
  optimizer_recipe recipe;
  std::vector<std::size_t> modes;  // whose twin it is
  double loss = not_known;
  std::vector<std::vector<float>> first;  // weights
  std::vector<std::vector<float>> last;
};

std::vector<std::vector<float>> weights_of(const training& t) {
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < t.tensors().size() && t.tensors()[i].kind == tensor_kind::weight_grad; ++i) {
    const std::span<const float> w = t.weights(i);
    all.emplace_back(w.begin(), w.end());
  }
  return all;
}

std::vector<twin_run> twins_of(const std::vector<optimizer_recipe>& modes) {
  std::vector<twin_run> twins;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    optimizer_recipe recipe = float32_twin(modes[i]);
    const auto known = std::ranges::find_if(twins, [&](const twin_run& t) {
      return t.recipe.dialect == recipe.dialect && t.recipe.parameters == recipe.parameters;
    });
    if (known == twins.end())
      twins.push_back({.recipe = std::move(recipe), .modes = {i}, .first = {}, .last = {}});
    else
      known->modes.push_back(i);
  }
  return twins;
}

class optimizer_loop {
 public:
  optimizer_loop(const optimizer_loop_options& options, const std::function<void()>& after_step)
      : options_(options), after_step_(after_step) {
    if (options_.steps < 1 || options_.judged < 1 || options_.judged > options_.steps)
      throw std::invalid_argument("the judged steps are some of all");
    options_.training.recipe.reset();
    const double rate = options_.training.rate();
    for (optimizer_recipe& mode : options_.modes) {
      std::erase_if(mode.parameters, [](const auto& p) { return p.first == "lr"; });
      mode.parameters.emplace_back("lr", rate);
    }
  }

  optimizer_loop_result run() {
    made_.seed = options_.training.seed;
    made_.modes.resize(options_.modes.size());
    made_.twin_losses.resize(options_.modes.size());
    for (twin_run& twin : twins_of(options_.modes)) {
      train_twin(twin);
      for (const std::size_t mode : twin.modes) train_mode(mode, twin);
    }
    return std::move(made_);
  }

 private:
  void train_twin(twin_run& twin) {
    listening_hook heard;
    training_options o = options_.training;
    o.recipe = twin.recipe;
    training float32_training(o, heard, std::nullopt);
    twin.first = weights_of(float32_training);
    const auto& tensors = float32_training.tensors();
    std::vector<std::vector<drifting_tensor>> drifting(twin.modes.size());
    for (std::size_t i = 0; i < twin.modes.size(); ++i)
      for (std::size_t t = 0; t < twin.first.size(); ++t)
        drifting[i].emplace_back(options_.modes[twin.modes[i]], tensors[t].name, twin.first[t], o.seed);
    judged_loss judged(options_.steps, options_.judged);
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      judged.see(step, float32_training.advance().recorded.scalars.loss);
      for (auto& mode : drifting)
        for (drifting_tensor& tensor : mode) tensor.step(heard.of(tensor.name()));
      if (after_step_) after_step_();
    }
    twin.loss = judged.mean();
    twin.last = weights_of(float32_training);
    for (std::size_t i = 0; i < twin.modes.size(); ++i)
      for (const drifting_tensor& tensor : drifting[i])
        made_.modes[twin.modes[i]].layers.push_back({.tensor = tensor.name(), .open = tensor.drift()});
  }

  void train_mode(std::size_t mode, const twin_run& twin) {
    low_rounding hook({options_.passes}, options_.training.seed);
    training_options o = options_.training;
    o.recipe = options_.modes[mode];
    training narrow(o, hook, std::nullopt);
    judged_loss judged(options_.steps, options_.judged);
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      judged.see(step, narrow.advance().recorded.scalars.loss);
      if (after_step_) after_step_();
    }
    mode_harm& made = made_.modes[mode];
    made_.twin_losses[mode] = twin.loss;
    made.loss = judged.mean();
    made.harm = made.loss - twin.loss;
    for (std::size_t t = 0; t < made.layers.size(); ++t)
      made.layers[t].closed = relative_distance(narrow.weights(t), twin.last[t], twin.first[t]);
  }

  static double relative_distance(std::span<const float> w, const std::vector<float>& twin,
                                  const std::vector<float>& first) {
    weight_drift apart;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double by = double{w[i]} - double{twin[i]};
      const double moved = double{twin[i]} - double{first[i]};
      if (!std::isfinite(by)) ++apart.nonfinite;
      apart.deviation += by * by;
      apart.movement += moved * moved;
    }
    return apart.relative();
  }

  optimizer_loop_options options_;
  const std::function<void()>& after_step_;
  optimizer_loop_result made_;
};

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    first = end;
  }
  return ranks;
}

}  // namespace

weight_drift mode_harm::open() const {
  weight_drift all;
  for (const layer_harm& layer : layers) all += layer.open;
  return all;
}

optimizer_loop_result run_optimizer_loop(const optimizer_loop_options& options,
                                         const std::function<void()>& after_step) {
  return optimizer_loop(options, after_step).run();
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = std::min(a.size(), b.size());
  const auto is_nan = [](double x) { return std::isnan(x); };
  if (n < 2 || std::ranges::any_of(a, is_nan) || std::ranges::any_of(b, is_nan)) return not_known;
  const std::vector<double> x = ranks_of(a.first(n));
  const std::vector<double> y = ranks_of(b.first(n));
  const double mean = static_cast<double>(n - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx == 0 || yy == 0 ? not_known : xy / std::sqrt(xx * yy);
}

}  // namespace ulp
