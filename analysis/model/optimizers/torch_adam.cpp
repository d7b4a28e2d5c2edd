// torch.optim.Adam and AdamW, single tensor: pytorch/pytorch v2.6.0 torch/optim/adam.py, adamw.py. foreach gives the same
// numbers on a CPU.
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct adam : torch_adam_parameters {
  template <class Visitor>
  void fields(Visitor&& v) {
    torch_fields(v, {.eps = "added to the denominator, in the weights' format"});
  }
};

template <bool Decoupled, bool Fused>
class adam_runner {
 public:
  adam_runner(const adam& p, const start& s)
      : torch_(s.weights, Fused, s.size),
        decays_in_format_(s.rounds_to_nearest()),
        m_("m", s.size, s.weights.to()),
        v_("v", s.size, s.weights.to()) {
    if (p.amsgrad) vmax_.emplace("vmax", s.size, s.weights.to());
  }

  void begin(const adam& p, std::int64_t t) {
    p_ = p;
    const auto step = static_cast<double>(t);
    correction1_ = 1 - std::pow(p.beta1, step);
    correction2_ = std::pow(1 - std::pow(p.beta2, step), 0.5);
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers d = part_of(d_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    if (p_.maximize)
      for (float& g : x.g) g = -g;
    if (Decoupled) {
      const auto kept = static_cast<float>(1 - p_.lr * p_.weight_decay);
      for (float& e : w) e *= kept;
      if (decays_in_format_) torch_.round()(w);
    } else if (p_.weight_decay != 0) {
      torch_.add(x.g, x.g, w, p_.weight_decay, x.first);
    }
    m_.load(x.first, m);
    v_.load(x.first, v);
    torch_.lerp(m, x.g, 1 - p_.beta1);
    torch_.mul(v, p_.beta2);
    torch_.add_square(v, x.g, 1 - p_.beta2);
    m_.store(x.first, m);
    v_.store(x.first, v);
    if (vmax_) {
      vmax_->load(x.first, d);
      for (std::size_t i = 0; i < n; ++i) v[i] = maximum(d[i], v[i]);
      vmax_->store(x.first, v);
    }
    torch_.sqrt(d, v);
    torch_.div(d, correction2_);
    torch_.add(d, p_.eps);
    torch_arithmetic::add_quotient(w, m, d, -(p_.lr / correction1_));
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
    if (vmax_) vmax_->append_to(all);
  }

 private:
  torch_arithmetic torch_;
  bool decays_in_format_;
  stored_state m_;
  stored_state v_;
  std::optional<stored_state> vmax_;
  adam p_;
  double correction1_ = 1;
  double correction2_ = 1;
  std::vector<float> m_scratch_, v_scratch_, d_scratch_, w_scratch_;
};

constexpr std::string_view rules =
    "Adam with decay: g = g + wd w (add with alpha, below); AdamW: w = R(w fl(1 - lr wd))\n"
    "m = R(lerp(m, g, fl(1 - b1))), v = R(v fl(b2)), v = R(v + (fl(1 - b2) g) g)\n"
    "d = R(sqrt(v)), d = R(d / fl(sqrt(1 - b2^t))), d = R(d + R(eps)); amsgrad: of the largest v\n"
    "w = R(w + (fl(-(lr / (1 - b1^t))) m) / d)\n"
    "add with alpha: R(a + R(R(alpha) b)) in 16 bits, a + fl(alpha) b in float32";
constexpr std::string_view quirks =
    "eps is rounded to the weights' format: in float16 1e-8 becomes 0, and 0 / 0 NaN\n"
    "bfloat16 second moments do not fall at beta2 = 0.999: R(v 0.999) = v";
constexpr std::string_view avx2_quirks =
    "what AVX2 and AVX-512 compute: lerp, add with alpha and the second product of addcmul are fused\n"
    "bfloat16 add with alpha depends on the position: one rounding in the first 32 floor(n / 32) elements, two in the "
    "rest";
constexpr std::string_view torch_adam_source =
    "pytorch/pytorch v2.6.0 torch/optim/adam.py, adamw.py, aten/src/ATen/native/cpu";

template <bool Decoupled, bool Fused>
registration adam_row(std::vector<std::string_view> aliases, std::string_view summary, const adam& defaults) {
  return row<adam, adam_runner<Decoupled, Fused>>({.aliases = std::move(aliases),
                                                   .family = "PyTorch",
                                                   .summary = summary,
                                                   .rules = rules,
                                                   .quirks = Fused ? avx2_quirks : quirks,
                                                   .source = torch_adam_source,
                                                   .states = "m, v, vmax with amsgrad; in the weights' format"},
                                                  defaults);
}

adam with_amsgrad() {
  adam made;
  made.amsgrad = true;
  return made;
}

}  // namespace

registration torch_adam_row() { return adam_row<false, false>({}, "torch.optim.Adam, no fused operations", {}); }
registration torch_adam_avx2_row() { return adam_row<false, true>({}, "torch.optim.Adam on AVX2", {}); }
registration torch_adam_l2_row() {
  return adam_row<false, false>({}, "Adam with L2 decay and AMSGrad", decaying(with_amsgrad()));
}
registration torch_adam_l2_avx2_row() {
  return adam_row<false, true>({}, "Adam with L2 decay and AMSGrad on AVX2", decaying(with_amsgrad()));
}
registration torch_adamw_row() {
  return adam_row<true, false>({}, "torch.optim.AdamW, no fused operations", decaying<adam>());
}
registration torch_adamw_avx2_row() { return adam_row<true, true>({}, "torch.optim.AdamW on AVX2", decaying<adam>()); }

}  // namespace ulp::optimizers
