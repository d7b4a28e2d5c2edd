// AnyPrecisionAdamW: pytorch/torchdistx 9c1b9f5c src/python/torchdistx/optimizers/anyprecision_optimizer.py.
#include <cmath>

#include <ulp/formats/names.hpp>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct anyprecision : adam_parameters {
  bool use_kahan_summation = false;
  std::string momentum_dtype = "float32";
  std::string variance_dtype = "bfloat16";
  std::string compensation_buffer_dtype = "bfloat16";

  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.eps = "added to the denominator, in the format of v", .weight_decay = "decoupled decay"});
    v("use_kahan_summation", use_kahan_summation, "keep what the weights lose");
    v("momentum_dtype", momentum_dtype, "format of m");
    v("variance_dtype", variance_dtype, "format of v");
    v("compensation_buffer_dtype", compensation_buffer_dtype, "format of what the weights lose");
  }
};

format format_of(std::string_view parameter, const std::string& name) {
  const storage how = storage_named(parameter, name, true, 1, map_arithmetic::torch26_nofma);
  if (const format* const f = std::get_if<format>(&how)) return *f;
  throw parameter_error("parameter '" + std::string{parameter} + "' takes a format, not '" + name + "'");
}

class anyprecision_runner {
 public:
  anyprecision_runner(const anyprecision& p, const start& s)
      : w_torch_(s.weights, false, s.size),
        m_torch_(storage_rounder{format_of("momentum_dtype", p.momentum_dtype)}, false, s.size),
        v_torch_(storage_rounder{format_of("variance_dtype", p.variance_dtype)}, false, s.size),
        c_round_(format_of("compensation_buffer_dtype", p.compensation_buffer_dtype)),
        decays_in_format_(s.rounds_to_nearest()),
        m_("m", s.size, m_torch_.round().to()),
        v_("v", s.size, v_torch_.round().to()) {
    if (p.use_kahan_summation && s.rounds_to_nearest()) lost_.emplace("comp", s.size, c_round_.to());
  }

  // The step is a float32 tensor, and with it all that is computed from it; number / tensor is its reciprocal times the
  // number.
  void begin(const anyprecision& p, std::int64_t t) {
    p_ = p;
    const auto step = static_cast<float>(t);
    const float correction1 = 1.0F - std::pow(static_cast<float>(p.beta1), step);
    step_size_ = (1.0F / correction1) * static_cast<float>(p.lr);
    correction2_ = std::sqrt(1.0F - std::pow(static_cast<float>(p.beta2), step));
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers d = part_of(d_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    if (p_.weight_decay != 0) {
      const auto kept = static_cast<float>(1 - p_.lr * p_.weight_decay);
      for (float& e : w) e *= kept;
      if (decays_in_format_) w_torch_.round()(w);
    }
    m_.load(x.first, m);
    v_.load(x.first, v);
    m_torch_.mul(m, p_.beta1);
    m_torch_.add(m, m, x.g, 1 - p_.beta1, x.first);
    v_torch_.mul(v, p_.beta2);
    v_torch_.add_square(v, x.g, 1 - p_.beta2);
    m_.store(x.first, m);
    v_.store(x.first, v);
    v_torch_.sqrt(d, v);
    v_torch_.div(d, static_cast<double>(correction2_));
    v_torch_.add(d, p_.eps);
    const double value = -static_cast<double>(step_size_);
    if (!lost_) {
      torch_arithmetic::add_quotient(w, m, d, value);
      x.finish(w);
      return;
    }
    const numbers lost = part_of(c_scratch_, n);
    lost_->load(x.first, lost);
    torch_arithmetic::add_quotient(lost, m, d, value);
    c_round_(lost);
    std::copy(w.begin(), w.end(), d.begin());
    for (std::size_t i = 0; i < n; ++i) w[i] += lost[i];
    x.finish(w);
    for (std::size_t i = 0; i < n; ++i) d[i] -= x.w[i];
    w_torch_.round()(d);
    for (std::size_t i = 0; i < n; ++i) lost[i] += d[i];
    lost_->store(x.first, lost);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
    if (lost_) lost_->append_to(all);
  }

 private:
  torch_arithmetic w_torch_;
  torch_arithmetic m_torch_;
  torch_arithmetic v_torch_;
  storage_rounder c_round_;
  bool decays_in_format_;
  stored_state m_;
  stored_state v_;
  std::optional<stored_state> lost_;
  anyprecision p_;
  float step_size_ = 0;
  float correction2_ = 1;
  std::vector<float> m_scratch_, v_scratch_, d_scratch_, w_scratch_, c_scratch_;
};

registration anyprecision_row(std::vector<std::string_view> aliases, std::string_view summary,
                              const anyprecision& defaults) {
  return row<anyprecision, anyprecision_runner>(
      {.aliases = std::move(aliases),
       .family = "torchdistx",
       .summary = summary,
       .rules = "w = R(w fl(1 - lr wd)); m = Rm(m fl(b1)) + (1 - b1) g (add with alpha in the format of m)\n"
                "v = Rv(v fl(b2)), v = Rv(v + (fl(1 - b2) g) g); c1 = 1 - powf(b1, t), c2 = sqrt(1 - powf(b2, t))\n"
                "d = Rv(Rv(Rv(sqrt(v)) / c2) + Rv(eps)), s = fl(fl(1 / c1) lr); w = R(w - (s m) / d)\n"
                "Kahan: c = Rc(c - (s m) / d), old = w, w = R(w + c), c = Rc(c + R(old - w))",
       .quirks = "number / tensor is the reciprocal times the number, rounded twice",
       .source = "pytorch/torchdistx 9c1b9f5c src/python/torchdistx/optimizers/anyprecision_optimizer.py",
       .states = "m, v, comp with Kahan summation; each in its format"},
      defaults);
}

}  // namespace

registration anyprecision_adamw_row() {
  return anyprecision_row({"anyprecision_adamw_mf32_vbf16", "anyprecision_adamw_fp32w_vbf16"},
                          "AnyPrecisionAdamW as it comes: bfloat16 v", {});
}
registration anyprecision_adamw_kahan_row() {
  return anyprecision_row({}, "AnyPrecisionAdamW, all bfloat16 with Kahan summation",
                          {.use_kahan_summation = true, .momentum_dtype = "bfloat16"});
}

}  // namespace ulp::optimizers
