// NxD's AdamW_FP32OptimParams: aws-neuron/neuronx-distributed fbac349b
// src/neuronx_distributed/utils/adamw_fp32_optim_params.py, on a CPU.
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct nxd_adamw : adam_parameters {
  bool correct_bias = true;

  nxd_adamw() : adam_parameters{.eps = 1e-6} {}

  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.weight_decay = "decay, after the update"});
    v("correct_bias", correct_bias, "bias correction");
  }
  [[nodiscard]] double step_size(std::int64_t t) const {
    const auto step = static_cast<double>(t);
    return correct_bias ? lr * std::sqrt(1.0 - std::pow(beta2, step)) / (1.0 - std::pow(beta1, step)) : lr;
  }
};

// w.add_(w, alpha = -lr wd): alone in the weights' format, whatever the states are.
void decay(const nxd_adamw& p, const start& s, const torch_arithmetic& torch, numbers w, std::size_t first) {
  if (p.weight_decay <= 0) return;
  if (s.rounds_to_nearest()) {
    s.weights(w);
    torch.add(w, w, w, -p.lr * p.weight_decay, first);
    return;
  }
  const auto factor = static_cast<float>(-p.lr * p.weight_decay);
  for (float& e : w) e += factor * e;
}

// XLA_DOWNCAST_BF16=1: states are float64, which the device would make float32.
class double_runner {
 public:
  double_runner(const nxd_adamw& /*p*/, const start& s)
      : start_(s), torch_(s.weights, false, s.size), m_(s.size), v_(s.size) {}

  void begin(const nxd_adamw& p, std::int64_t t) {
    p_ = p;
    value_ = -p.step_size(t);
  }

  void run(const tile& x) {
    const numbers w = part_of(w_scratch_, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      double& m = m_[x.first + i];
      double& v = v_[x.first + i];
      const auto g = static_cast<double>(x.g[i]);
      m = m * p_.beta1 + (1.0 - p_.beta1) * g;
      v = v * p_.beta2 + ((1.0 - p_.beta2) * g) * g;
      const double d = std::sqrt(v) + p_.eps;
      w[i] = static_cast<float>(static_cast<double>(x.w[i]) + (value_ * m) / d);
    }
    decay(p_, start_, torch_, w, x.first);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    all.push_back({"m", std::span<const double>{m_}, {}});
    all.push_back({"v", std::span<const double>{v_}, {}});
  }

 private:
  start start_;
  torch_arithmetic torch_;
  std::vector<double> m_;
  std::vector<double> v_;
  nxd_adamw p_;
  double value_ = 0;
  std::vector<float> w_scratch_;
};

class low_runner {
 public:
  low_runner(const nxd_adamw& /*p*/, const start& s)
      : start_(s), torch_(s.weights, false, s.size), m_("m", s.size, s.weights.to()), v_("v", s.size, s.weights.to()) {}

  void begin(const nxd_adamw& p, std::int64_t t) {
    p_ = p;
    value_ = -p.step_size(t);
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers d = part_of(d_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    m_.load(x.first, m);
    v_.load(x.first, v);
    torch_.mul(m, p_.beta1);
    torch_.add(m, m, x.g, 1.0 - p_.beta1, x.first);
    torch_.mul(v, p_.beta2);
    torch_.add_square(v, x.g, 1.0 - p_.beta2);
    m_.store(x.first, m);
    v_.store(x.first, v);
    torch_.sqrt(d, v);
    torch_.add(d, p_.eps);
    torch_arithmetic::add_quotient(w, m, d, value_);
    decay(p_, start_, torch_, w, x.first);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
  }

 private:
  start start_;
  torch_arithmetic torch_;
  stored_state m_;
  stored_state v_;
  nxd_adamw p_;
  double value_ = 0;
  std::vector<float> m_scratch_, v_scratch_, d_scratch_, w_scratch_;
};

constexpr std::string_view nxd_source =
    "aws-neuron/neuronx-distributed fbac349b src/neuronx_distributed/utils/adamw_fp32_optim_params.py";

}  // namespace

registration nxd_adamw_fp32optim_downcast1_row() {
  return row<nxd_adamw, double_runner>(
      {.family = "NxD",
       .summary = "AdamW_FP32OptimParams, XLA_DOWNCAST_BF16=1",
       .rules = "in float64: m = m b1 + (1 - b1) g, v = v b2 + ((1 - b2) g) g, d = sqrt(v) + eps\n"
                "w = R(fl(w + (-s m) / d)), s = lr sqrt(1 - b2^t) / (1 - b1^t)\n"
                "then with decay w = R(w + R(R(-lr wd) w))",
       .quirks =
           "float64 on a CPU; the device makes it float32\nthe decay is lost where lr wd is below half a unit of w",
       .source = nxd_source,
       .states = "m, v in float64"});
}
registration nxd_adamw_fp32optim_downcast0_row() {
  return row<nxd_adamw, low_runner>(
      {.family = "NxD",
       .summary = "AdamW_FP32OptimParams, XLA_DOWNCAST_BF16=0",
       .rules = "m = R(R(m fl(b1)) + R(R(1 - b1) g)), v = R(R(v fl(b2)) + (fl(1 - b2) g) g)\n"
                "d = R(R(sqrt(v)) + R(eps)), w = R(w + (fl(-s) m) / d), s = lr sqrt(1 - b2^t) / (1 - b1^t)\n"
                "then with decay w = R(w + R(R(-lr wd) w))",
       .quirks = "despite its name the states are in the weights' format",
       .source = nxd_source,
       .states = "m, v in the weights' format"});
}

}  // namespace ulp::optimizers
