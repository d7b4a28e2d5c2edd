// torch.optim.Adam(fused=True) and AdamW on a CPU: pytorch/pytorch v2.6.0 aten/src/ATen/native/cpu/FusedAdamKernel.cpp.
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct fused_adam : torch_adam_parameters {
  template <class Visitor>
  void fields(Visitor&& v) {
    torch_fields(v);
  }
};

template <bool Decoupled, bool Fused>
class fused_adam_runner {
 public:
  fused_adam_runner(const fused_adam& p, const start& s)
      : m_("m", s.size, s.weights.to()), v_("v", s.size, s.weights.to()) {
    if (p.amsgrad) vmax_.emplace("vmax", s.size, s.weights.to());
  }

  void begin(const fused_adam& p, std::int64_t t) {
    p_ = p;
    const auto step = static_cast<double>(t);
    step_size_ = p.lr / (1 - std::pow(p.beta1, step));
    correction2_ = std::sqrt(1 - std::pow(p.beta2, step));
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    m_.load(x.first, m);
    v_.load(x.first, v);
    if (p_.maximize)
      for (float& g : x.g) g = -g;
    if (Decoupled) {
      const auto kept = static_cast<float>(1 - p_.lr * p_.weight_decay);
      for (float& e : w) e *= kept;
    } else if (p_.weight_decay != 0) {
      const auto decay = static_cast<float>(p_.weight_decay);
      for (std::size_t i = 0; i < n; ++i) x.g[i] = Fused ? std::fma(w[i], decay, x.g[i]) : x.g[i] + w[i] * decay;
    }
    const auto weight1 = static_cast<float>(1 - p_.beta1);
    const auto weight2 = static_cast<float>(1 - p_.beta2);
    const auto beta2 = static_cast<float>(p_.beta2);
    for (std::size_t i = 0; i < n; ++i) m[i] = lerp_of(m[i], x.g[i], weight1, Fused);
    for (std::size_t i = 0; i < n; ++i) {
      const float square = (weight2 * x.g[i]) * x.g[i];
      v[i] = Fused ? std::fma(v[i], beta2, square) : v[i] * beta2 + square;
    }
    m_.store(x.first, m);
    v_.store(x.first, v);
    if (vmax_) {
      const numbers largest = part_of(vmax_scratch_, n);
      vmax_->load(x.first, largest);
      for (std::size_t i = 0; i < n; ++i) v[i] = maximum(largest[i], v[i]);
      vmax_->store(x.first, v);
    }
    const auto correction2 = static_cast<float>(correction2_);
    const auto eps = static_cast<float>(p_.eps);
    for (std::size_t i = 0; i < n; ++i) v[i] = std::sqrt(v[i]) / correction2 + eps;
    torch_arithmetic::add_quotient(w, m, v, -step_size_);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
    if (vmax_) vmax_->append_to(all);
  }

 private:
  stored_state m_;
  stored_state v_;
  std::optional<stored_state> vmax_;
  fused_adam p_;
  double step_size_ = 0;
  double correction2_ = 1;
  std::vector<float> m_scratch_, v_scratch_, w_scratch_, vmax_scratch_;
};

template <bool Decoupled, bool Fused>
registration fused_row(std::string_view summary, const fused_adam& defaults) {
  return row<fused_adam, fused_adam_runner<Decoupled, Fused>>(
      {.family = "PyTorch",
       .summary = summary,
       .rules = "Adam with decay: g = g + wd w; AdamW: w = w fl(1 - lr wd); all in float32\n"
                "m' = lerp(m, g, fl(1 - b1)), v' = v fl(b2) + (fl(1 - b2) g) g; stored m = R(m'), v = R(v')\n"
                "w = R(w + (fl(-lr / (1 - b1^t)) m') / (sqrt(v') / fl(sqrt(1 - b2^t)) + fl(eps)))",
       .quirks = Fused ? "the update uses m' and v' before they are rounded\n"
                         "AVX2: lerp and the product of v' with beta2 are fused"
                       : "the update uses m' and v' before they are rounded",
       .source = "pytorch/pytorch v2.6.0 aten/src/ATen/native/cpu/FusedAdamKernel.cpp",
       .states = "m, v, vmax with amsgrad; in the weights' format"},
      defaults);
}

}  // namespace

registration torch_fused_adam_row() { return fused_row<false, false>("Adam(fused=True), no fused operations", {}); }
registration torch_fused_adam_avx2_row() { return fused_row<false, true>("Adam(fused=True) on AVX2", {}); }
registration torch_fused_adamw_row() {
  return fused_row<true, false>("AdamW(fused=True), no fused operations", decaying<fused_adam>());
}
registration torch_fused_adamw_avx2_row() {
  return fused_row<true, true>("AdamW(fused=True) on AVX2", decaying<fused_adam>());
}

}  // namespace ulp::optimizers
