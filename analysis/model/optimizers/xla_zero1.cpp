// ZeRO-1 with float32 master weights: pytorch/xla 41398bff torch_xla/distributed/zero_redundancy_optimizer.py, the base
// class of NxD's NeuronZero1Optimizer, with one rank; the optimizer within is torch AdamW.
#include <algorithm>
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"
#include "torch_sum.hpp"

namespace ulp::optimizers {
namespace {

struct zero1 : adam_parameters {
  std::int64_t micro_batches = 4;
  double max_norm = 0;
  std::int64_t resume_at = 0;

  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.weight_decay = "decoupled decay"});
    v("micro_batches", micro_batches, "gradients accumulated in a step, each divided by their number");
    v("max_norm", max_norm, "clips the gradient's norm; 0: does not");
    v("resume_at", resume_at, "the run is saved and loaded after that step; 0: never");
  }
  [[nodiscard]] std::string refused() const {
    if (micro_batches < 1 || micro_batches > 1'000'000) return "micro_batches must be from 1 to 1000000";
    return "";
  }
};

enum class resumes { with_master, without_master };

template <bool Float32Sums, resumes Resume>
class zero1_runner {
 public:
  zero1_runner(const zero1& p, const start& s)
      : round_(s.weights),
        torch_(storage_rounder{float32}, false, s.size),
        micro_batches_(static_cast<std::size_t>(p.micro_batches)),
        master_(s.size),
        m_(s.size),
        v_(s.size),
        gradient_(s.size) {}

  [[nodiscard]] std::size_t micro_batches() const { return micro_batches_; }

  void begin(const zero1& p, std::int64_t t) {
    p_ = p;
    takes_weights_ = t == 1 || (Resume == resumes::without_master && p.resume_at > 0 && t == p.resume_at + 1);
    const auto step = static_cast<double>(t);
    correction1_ = 1 - std::pow(p.beta1, step);
    correction2_ = std::pow(1 - std::pow(p.beta2, step), 0.5);
  }

  const_numbers prepare(const_numbers gradients, const_numbers weights) {
    if (takes_weights_) std::copy(weights.begin(), weights.end(), master_.begin());
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    const std::size_t n = gradient_.size();
    const auto divisor = static_cast<float>(micro_batches_);
    const numbers part = part_of(scratch_, std::min<std::size_t>(n, 4096));
    for (std::size_t batch = 0; batch < micro_batches_; ++batch)
      for (std::size_t first = 0; first < n; first += part.size()) {
        const numbers g = part.first(std::min(part.size(), n - first));
        for (std::size_t i = 0; i < g.size(); ++i) g[i] = gradients[batch * n + first + i] / divisor;
        round_(g);
        const numbers sum = numbers{gradient_}.subspan(first, g.size());
        for (std::size_t i = 0; i < g.size(); ++i) sum[i] += g[i];
        if (!Float32Sums) round_(sum);
      }
    norm_ = 0;
    if (p_.max_norm > 0) {
      const float* const g = gradient_.data();
      norm_ = std::sqrt(torch_sum(n, [g](std::size_t i) { return g[i] * g[i]; }));
      const float share = static_cast<float>(p_.max_norm) / (norm_ + 1e-6F);
      const float factor = share < 1 ? share : 1.0F;
      for (float& e : gradient_) e *= factor;
    }
    return gradient_;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers master = numbers{master_}.subspan(x.first, n);
    const numbers m = numbers{m_}.subspan(x.first, n);
    const numbers v = numbers{v_}.subspan(x.first, n);
    const numbers d = part_of(scratch_, n);
    torch_.mul(master, 1 - p_.lr * p_.weight_decay);
    torch_.lerp(m, x.g, 1 - p_.beta1);
    torch_.mul(v, p_.beta2);
    torch_.add_square(v, x.g, 1 - p_.beta2);
    torch_.sqrt(d, v);
    torch_.div(d, correction2_);
    torch_.add(d, p_.eps);
    torch_arithmetic::add_quotient(master, m, d, -(p_.lr / correction1_));
    x.finish(master);
  }

  void states(std::vector<optimizer_state>& all) const {
    all.push_back({"master", std::span<const float>{master_}, {}});
    all.push_back({"m", std::span<const float>{m_}, {}});
    all.push_back({"v", std::span<const float>{v_}, {}});
  }
  [[nodiscard]] double gradient_norm() const { return static_cast<double>(norm_); }

 private:
  storage_rounder round_;
  torch_arithmetic torch_;
  std::size_t micro_batches_;
  std::vector<float> master_, m_, v_, gradient_, scratch_;
  zero1 p_;
  bool takes_weights_ = true;
  double correction1_ = 1, correction2_ = 1;
  float norm_ = 0;
};

template <bool Float32Sums, resumes Resume>
registration zero1_row(std::string_view summary, zero1 defaults) {
  return row<zero1, zero1_runner<Float32Sums, Resume>>(
      {.family = "PyTorch/XLA",
       .summary = summary,
       .rules = Float32Sums ? "sum += float32(R(g / micro_batches)) in float32\n"
                              "clip: sum = sum min(1, max_norm / (norm + 1e-6)), norm in float32 as torch.sum\n"
                              "master, m, v: torch AdamW in float32; w = R(master)"
                            : "sum = R(sum + R(g / micro_batches))\n"
                              "clip: sum = sum min(1, max_norm / (norm + 1e-6)), norm in float32 as torch.sum\n"
                              "master, m, v: torch AdamW in float32; w = R(master)",
       .quirks = "the norm is computed where it clips, over the tensor; else it is 0\n"
                 "the masters begin as the rounded weights, and do so again where a run resumes without them",
       .source = "pytorch/xla 41398bff torch_xla/distributed/zero_redundancy_optimizer.py",
       .states = "master, m, v in float32; grad_norm of each step"},
      decaying(std::move(defaults)));
}

}  // namespace

registration xla_zero1_master_fp32acc_row() {
  return zero1_row<true, resumes::with_master>("ZeRO-1, gradients summed in float32", {});
}
registration xla_zero1_master_bf16acc_row() {
  return zero1_row<false, resumes::with_master>("ZeRO-1, gradients summed in the weights' format", {});
}
registration xla_zero1_master_fp32acc_clip_row() {
  return zero1_row<true, resumes::with_master>("ZeRO-1 with clipping", {.max_norm = 0.25});
}
registration xla_zero1_master_fp32acc_resume_with_master_row() {
  return zero1_row<true, resumes::with_master>("ZeRO-1, resumed with its masters", {.resume_at = 10});
}
registration xla_zero1_master_fp32acc_resume_without_master_row() {
  return zero1_row<true, resumes::without_master>("ZeRO-1, resumed without its masters", {.resume_at = 10});
}

}  // namespace ulp::optimizers
