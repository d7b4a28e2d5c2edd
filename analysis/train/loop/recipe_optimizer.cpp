// A dialect of the catalogue in a training: each parameter has an optimizer of its own, as in the libraries.
#include <array>
#include <stdexcept>
#include <utility>

#include <ulp/formats/convert.hpp>
#include <ulp/model/optimizers/optimizer_recipe.hpp>

#include "loop/optimizer.hpp"

namespace ulp::train {
namespace {

using all_parameters = std::vector<std::unique_ptr<parameter<float>>>;

constexpr std::array<std::pair<const char*, const char*>, 3> state_names{
    {{"m", "exp_avg"}, {"v", "exp_avg_sq"}, {"buf", "momentum_buffer"}}};

// The dialect rounds states itself: they and the updates pass the hook to be seen, and stay as they are. What the hook
// makes of the weights is kept.
class recipe_optimizer final : public optimizer {
 public:
  recipe_optimizer(optimizer_recipe recipe, double rate, std::uint64_t seed) : recipe_(std::move(recipe)), seed_(seed) {
    std::erase_if(recipe_.parameters, [](const auto& p) { return p.first == "lr"; });
    recipe_.parameters.emplace_back("lr", rate);
    if (ulp::make_optimizer(recipe_, 0, "", 0).micro_batches() != 1)
      throw std::invalid_argument(std::string{recipe_.dialect->name} +
                                  " adds up micro-batches itself; set micro_batches=1");
  }

  void begin(const all_parameters& parameters) override {
    for (const auto& p : parameters) {
      if (!(recipe_.weights == float32)) round_array(recipe_.weights, p->value.values());
      optimizers_.push_back(ulp::make_optimizer(recipe_, p->value.values().size(), p->name, seed_));
    }
  }

  void apply(const all_parameters& parameters, const pass<float>& in) override {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameter<float>& p = *parameters[i];
      matrix<float> update = p.value;
      optimizers_[i].step(std::as_const(p.gradient).values(), p.value.values());
      show_states(optimizers_[i], p, in);
      const std::span<float> u = update.values();
      const std::span<const float> w = std::as_const(p.value).values();
      for (std::size_t j = 0; j < u.size(); ++j) u[j] = w[j] - u[j];
      in.keep(site_kind::update, tensor_role::float32, p.name, update);
      in.keep(site_kind::master_weight, tensor_role::float32, p.name, p.value);
    }
  }

 private:
  static void show_states(const ulp::optimizer& of, const parameter<float>& p, const pass<float>& in) {
    for (const auto& [name, shown] : state_names) {
      matrix<float> state(p.value.rows(), p.value.columns());
      if (read_state(of, name, state.values()))
        in.keep(site_kind::optimizer_state, tensor_role::float32, p.name + "/" + shown, state);
    }
  }

  optimizer_recipe recipe_;
  std::uint64_t seed_;
  std::vector<ulp::optimizer> optimizers_;
};

}  // namespace

std::unique_ptr<optimizer> make_recipe_optimizer(const training_options& options) {
  return std::make_unique<recipe_optimizer>(*options.recipe, options.rate(), options.seed);
}

}  // namespace ulp::train
