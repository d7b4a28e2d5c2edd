// torch.optim.SGD, single tensor: pytorch/pytorch v2.6.0 torch/optim/sgd.py.
#include "dialect.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct sgd {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;

  template <class Visitor>
  void fields(Visitor&& v) {
    v("lr", lr, "learning rate");
    v("momentum", momentum, "decay of the buffer; 0: there is none");
    v("dampening", dampening, "taken from the weight of the gradient");
    v("weight_decay", weight_decay, "L2 penalty");
    v("nesterov", nesterov, "step from the gradient plus momentum times the buffer");
    v("maximize", maximize, "go up the gradient");
  }
  [[nodiscard]] std::string refused() const {
    return nesterov && (momentum == 0 || dampening != 0) ? "nesterov needs a momentum and no dampening" : "";
  }
};

template <bool Fused>
class sgd_runner {
 public:
  sgd_runner(const sgd& p, const start& s) : torch_(s.weights, Fused, s.size), to_nearest_(s.rounds_to_nearest()) {
    if (p.momentum != 0) buf_.emplace("buf", s.size, s.weights.to());
  }

  void begin(const sgd& p, std::int64_t t) {
    p_ = p;
    is_first_ = t == 1;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers buf = part_of(buf_scratch_, n);
    if (p_.maximize)
      for (float& g : x.g) g = -g;
    if (p_.weight_decay != 0) torch_.add(x.g, x.g, x.w, p_.weight_decay, x.first);
    numbers step = x.g;
    if (buf_) {
      if (is_first_) {
        std::copy(x.g.begin(), x.g.end(), buf.begin());
      } else {
        buf_->load(x.first, buf);
        torch_.mul(buf, p_.momentum);
        torch_.add(buf, buf, x.g, 1 - p_.dampening, x.first);
      }
      buf_->store(x.first, buf);
      if (p_.nesterov)
        torch_.add(x.g, x.g, buf, p_.momentum, x.first);
      else
        step = buf;
    }
    const numbers w = part_of(w_scratch_, n);
    if (to_nearest_) {
      torch_.add(w, x.w, step, -p_.lr, x.first);
    } else {
      const float rate = torch_.round().scalar(-p_.lr);
      for (std::size_t i = 0; i < n; ++i) w[i] = x.w[i] + rate * step[i];
    }
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    if (buf_) buf_->append_to(all);
  }

 private:
  torch_arithmetic torch_;
  bool to_nearest_;
  std::optional<stored_state> buf_;
  sgd p_;
  bool is_first_ = true;
  std::vector<float> buf_scratch_, w_scratch_;
};

template <bool Fused>
registration sgd_row(std::string_view summary, const sgd& defaults) {
  return row<sgd, sgd_runner<Fused>>(
      {.family = "PyTorch",
       .summary = summary,
       .rules = "g = g + wd w; first step buf = g, then buf = R(buf fl(momentum)), buf = buf + (1 - dampening) g\n"
                "nesterov: g = g + momentum buf, else g = buf; w = w - lr g\n"
                "each sum is an add with alpha: R(a + R(R(alpha) b)) in 16 bits, a + fl(alpha) b in float32",
       .quirks = Fused
                     ? "add with alpha is fused\nbfloat16: one rounding in the first 32 floor(n / 32) elements, two in "
                       "the rest: the result depends on an element's position"
                     : "in 16 bits alpha itself is rounded: lr 0.05 is 0.050048828125 in bfloat16",
       .source = "pytorch/pytorch v2.6.0 torch/optim/sgd.py, aten/src/ATen/native/ufunc/add.h",
       .states = "buf in the weights' format, with a momentum"},
      defaults);
}

constexpr sgd with_momentum{.lr = 0.05, .momentum = 0.9};
constexpr sgd with_nesterov{.lr = 0.05, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true};

}  // namespace

registration torch_sgd_row() { return sgd_row<false>("torch.optim.SGD, no fused operations", {}); }
registration torch_sgd_avx2_row() { return sgd_row<true>("torch.optim.SGD on AVX2", {}); }
registration torch_sgd_mom_row() { return sgd_row<false>("SGD with momentum", with_momentum); }
registration torch_sgd_mom_avx2_row() { return sgd_row<true>("SGD with momentum on AVX2", with_momentum); }
registration torch_sgd_nesterov_wd_row() {
  return sgd_row<false>("SGD with Nesterov's momentum and weight decay", with_nesterov);
}
registration torch_sgd_nesterov_wd_avx2_row() {
  return sgd_row<true>("SGD with Nesterov's momentum and weight decay on AVX2", with_nesterov);
}

}  // namespace ulp::optimizers
