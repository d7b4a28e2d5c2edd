#include "loop/optimizer.hpp"

#include <cmath>
#include <utility>

namespace ulp::train {
namespace {

using all_parameters = std::vector<std::unique_ptr<parameter<float>>>;

// A state of a parameter, zero at first.
matrix<float>& state_of(std::vector<matrix<float>>& states, std::size_t i, const parameter<float>& p) {
  if (states.size() <= i) states.emplace_back(p.value.rows(), p.value.columns());
  return states[i];
}

void keep_state(matrix<float>& state, const parameter<float>& p, const char* name, const pass<float>& in) {
  in.keep(site_kind::optimizer_state, tensor_role::float32, p.name + "/" + name, state);
}

void add_update(parameter<float>& p, matrix<float> update, const pass<float>& in) {
  in.keep(site_kind::update, tensor_role::float32, p.name, update);
  p.value += update;
  in.keep(site_kind::master_weight, tensor_role::float32, p.name, p.value);
}

// torch.optim.SGD, momentum without dampening; its first step takes the gradient as the momentum, as a zero state does.
class sgd final : public optimizer {
 public:
  explicit sgd(double learning_rate) : rate_(static_cast<float>(learning_rate)) {}

  void apply(const all_parameters& parameters, const pass<float>& in) override {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameter<float>& p = *parameters[i];
      matrix<float>& momentum = state_of(momenta_, i, p);
      const std::span<float> m = momentum.values();
      const std::span<const float> g = p.gradient.values();
      for (std::size_t j = 0; j < g.size(); ++j) m[j] = 0.9F * m[j] + g[j];
      keep_state(momentum, p, "momentum_buffer", in);
      matrix<float> update = momentum;
      for (float& u : update.values()) u *= -rate_;
      add_update(p, std::move(update), in);
    }
  }

 private:
  float rate_;
  std::vector<matrix<float>> momenta_;
};

// torch.optim.Adam.
class adam final : public optimizer {
 public:
  explicit adam(double learning_rate) : rate_(learning_rate) {}

  void apply(const all_parameters& parameters, const pass<float>& in) override {
    power1_ *= beta1;
    power2_ *= beta2;
    const auto step_size = static_cast<float>(rate_ / (1 - power1_));
    const auto root_of_correction = static_cast<float>(std::sqrt(1 - power2_));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameter<float>& p = *parameters[i];
      matrix<float>& first = state_of(first_, i, p);
      matrix<float>& second = state_of(second_, i, p);
      const std::span<float> m = first.values();
      const std::span<float> v = second.values();
      const std::span<const float> g = p.gradient.values();
      for (std::size_t j = 0; j < g.size(); ++j) {
        m[j] += (g[j] - m[j]) * static_cast<float>(1 - beta1);
        v[j] = v[j] * static_cast<float>(beta2) + g[j] * g[j] * static_cast<float>(1 - beta2);
      }
      keep_state(first, p, "exp_avg", in);
      keep_state(second, p, "exp_avg_sq", in);
      matrix<float> update(p.value.rows(), p.value.columns());
      const std::span<float> u = update.values();
      for (std::size_t j = 0; j < u.size(); ++j)
        u[j] = -step_size * (m[j] / (std::sqrt(v[j]) / root_of_correction + 1e-8F));
      add_update(p, std::move(update), in);
    }
  }

 private:
  static constexpr double beta1 = 0.9;
  static constexpr double beta2 = 0.999;
  double rate_;
  double power1_ = 1;
  double power2_ = 1;
  std::vector<matrix<float>> first_;
  std::vector<matrix<float>> second_;
};

}  // namespace

std::unique_ptr<optimizer> make_optimizer(const training_options& options) {
  if (options.recipe) return make_recipe_optimizer(options);
  if (options.optimizer == optimizer_kind::sgd) return std::make_unique<sgd>(options.rate());
  return std::make_unique<adam>(options.rate());
}

}  // namespace ulp::train
