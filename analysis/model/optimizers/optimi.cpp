// optimi, for-loop implementation: warner-benjamin/optimi 17a3d542 optimi/adam.py, adamw.py, sgd.py, utils.py.
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

// With Kahan summation the update goes into a compensation, which takes up what the weights lose. Everything is of the
// weights' format.
class compensated_weights {
 public:
  compensated_weights(bool used, const start& s) : round_(s.weights) {
    if (used) lost_.emplace("kahan", s.size, s.weights.to());
  }
  [[nodiscard]] bool used() const noexcept { return lost_.has_value(); }
  // `lost` comes with the update added to it.
  [[nodiscard]] numbers load(std::size_t first, std::size_t n) {
    const numbers lost = part_of(scratch_, n);
    lost_->load(first, lost);
    return lost;
  }
  void add(const tile& x, numbers w, numbers lost) {
    const numbers old = part_of(old_, w.size());
    std::copy(w.begin(), w.end(), old.begin());
    for (std::size_t i = 0; i < w.size(); ++i) w[i] += lost[i];
    x.finish(w);
    for (std::size_t i = 0; i < w.size(); ++i) old[i] -= x.w[i];
    round_(old);
    for (std::size_t i = 0; i < w.size(); ++i) lost[i] += old[i];
    lost_->store(x.first, lost);
  }
  void append_to(std::vector<optimizer_state>& all) const {
    if (lost_) lost_->append_to(all);
  }

 private:
  storage_rounder round_;
  std::optional<stored_state> lost_;
  std::vector<float> scratch_, old_;
};

// none: where the weights have 16 bits.
bool uses_kahan(const std::string& word, const start& s) {
  if (word != "auto" && word != "true" && word != "false")
    throw parameter_error("parameter 'kahan_sum' takes auto, true or false, not '" + word + "'");
  return word != "false" && s.weights.is_low() && s.rounds_to_nearest();
}

constexpr const char* no_default = "learning rate; the library has no default";
constexpr const char* decouple_meaning = "as in AdamW";
constexpr const char* kahan_meaning = "auto: with weights below float32, as true";

struct optimi_adam_parameters : adam_parameters {
  bool decouple_wd = false;
  std::string kahan_sum = "auto";

  optimi_adam_parameters() : adam_parameters{.beta2 = 0.99, .eps = 1e-6} {}

  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.lr = no_default, .eps = "added to the denominator, in the weights' format"});
    v("decouple_wd", decouple_wd, decouple_meaning);
    v("kahan_sum", kahan_sum, kahan_meaning);
  }
};

double debiased(double beta, double step) { return (std::pow(beta, step) - beta) / (std::pow(beta, step) - 1); }

class optimi_adam_runner {
 public:
  optimi_adam_runner(const optimi_adam_parameters& p, const start& s)
      : torch_(s.weights, false, s.size),
        decays_in_format_(s.rounds_to_nearest()),
        m_("m", s.size, s.weights.to()),
        v_("v", s.size, s.weights.to()),
        kahan_(uses_kahan(p.kahan_sum, s), s) {}

  void begin(const optimi_adam_parameters& p, std::int64_t t) {
    p_ = p;
    beta1_ = debiased(p.beta1, static_cast<double>(t));
    beta2_ = debiased(p.beta2, static_cast<double>(t));
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers d = part_of(d_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    if (p_.weight_decay != 0 && p_.decouple_wd) {
      const auto kept = static_cast<float>(1 - p_.lr * p_.weight_decay);
      for (float& e : w) e *= kept;
      if (decays_in_format_) torch_.round()(w);
    } else if (p_.weight_decay != 0) {
      torch_.add(x.g, x.g, w, p_.weight_decay, x.first);
    }
    m_.load(x.first, m);
    v_.load(x.first, v);
    torch_.lerp(m, x.g, 1 - beta1_);
    torch_.mul(v, beta2_);
    torch_.add_square(v, x.g, 1 - beta2_);
    m_.store(x.first, m);
    v_.store(x.first, v);
    torch_.sqrt(d, v);
    torch_.add(d, p_.eps);
    if (!kahan_.used()) {
      torch_arithmetic::add_quotient(w, m, d, -p_.lr);
      x.finish(w);
      return;
    }
    const numbers lost = kahan_.load(x.first, n);
    torch_arithmetic::add_quotient(lost, m, d, -p_.lr);
    torch_.round()(lost);
    kahan_.add(x, w, lost);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
    kahan_.append_to(all);
  }

 private:
  torch_arithmetic torch_;
  bool decays_in_format_;
  stored_state m_;
  stored_state v_;
  compensated_weights kahan_;
  optimi_adam_parameters p_;
  double beta1_ = 0, beta2_ = 0;
  std::vector<float> m_scratch_, v_scratch_, d_scratch_, w_scratch_;
};

struct optimi_sgd_parameters {
  double lr = 1e-3;
  double momentum = 0;
  double weight_decay = 0;
  bool dampening = false;
  bool decouple_wd = false;
  bool torch_init = false;
  std::string kahan_sum = "auto";

  template <class Visitor>
  void fields(Visitor&& v) {
    v("lr", lr, no_default);
    v("momentum", momentum, "decay of the buffer; 0: there is none");
    v("weight_decay", weight_decay, "weight decay");
    v("dampening", dampening, "the buffer is a mean of gradients");
    v("decouple_wd", decouple_wd, decouple_meaning);
    v("torch_init", torch_init, "with dampening the buffer begins as the first gradient");
    v("kahan_sum", kahan_sum, kahan_meaning);
  }
};

class optimi_sgd_runner {
 public:
  optimi_sgd_runner(const optimi_sgd_parameters& p, const start& s)
      : torch_(s.weights, false, s.size), to_nearest_(s.rounds_to_nearest()), kahan_(uses_kahan(p.kahan_sum, s), s) {
    if (p.momentum != 0) buf_.emplace("buf", s.size, s.weights.to());
  }

  void begin(const optimi_sgd_parameters& p, std::int64_t t) {
    p_ = p;
    is_first_ = t == 1;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers w = part_of(w_scratch_, n);
    std::copy(x.w.begin(), x.w.end(), w.begin());
    if (p_.weight_decay != 0 && p_.decouple_wd) {
      const auto kept = static_cast<float>(1 - p_.lr * p_.weight_decay);
      for (float& e : w) e *= kept;
      if (to_nearest_) torch_.round()(w);
    } else if (p_.weight_decay != 0) {
      torch_.add(x.g, x.g, w, p_.weight_decay, x.first);
    }
    const numbers step = buf_ ? part_of(buf_scratch_, n) : x.g;
    if (buf_) {
      buf_->load(x.first, step);
      if (is_first_ && p_.dampening && p_.torch_init) std::copy(x.g.begin(), x.g.end(), step.begin());
      if (p_.dampening) {
        torch_.lerp(step, x.g, 1 - p_.momentum);
      } else {
        torch_.mul(step, p_.momentum);
        torch_.add(step, step, x.g);
      }
      buf_->store(x.first, step);
    }
    if (kahan_.used()) {
      const numbers lost = kahan_.load(x.first, n);
      torch_.add(lost, lost, step, -p_.lr, x.first);
      kahan_.add(x, w, lost);
      return;
    }
    if (to_nearest_) {
      torch_.add(w, w, step, -p_.lr, x.first);
    } else {
      const float rate = torch_.round().scalar(-p_.lr);
      for (std::size_t i = 0; i < n; ++i) w[i] += rate * step[i];
    }
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    if (buf_) buf_->append_to(all);
    kahan_.append_to(all);
  }

 private:
  torch_arithmetic torch_;
  bool to_nearest_;
  compensated_weights kahan_;
  std::optional<stored_state> buf_;
  optimi_sgd_parameters p_;
  bool is_first_ = true;
  std::vector<float> buf_scratch_, w_scratch_;
};

constexpr std::string_view optimi_source = "warner-benjamin/optimi 17a3d542 optimi/adam.py, sgd.py, utils.py";

registration adam_row(std::vector<std::string_view> aliases, std::string_view summary,
                      const optimi_adam_parameters& defaults) {
  return row<optimi_adam_parameters, optimi_adam_runner>(
      {.aliases = std::move(aliases),
       .family = "optimi",
       .summary = summary,
       .rules = "h = (b^t - b) / (b^t - 1) for both betas; decay as in torch Adam and AdamW\n"
                "m = R(lerp(m, g, fl(1 - h1))), v = R(v fl(h2)), v = R(v + (fl(1 - h2) g) g)\n"
                "d = R(R(sqrt(v)) + R(eps)); w = R(w + (fl(-lr) m) / d)\n"
                "Kahan: c = R(c + (fl(-lr) m) / d), old = w, w = R(w + c), c = R(c + R(old - w))",
       .quirks = "the betas are debiased, so that m and v are the corrected moments",
       .source = optimi_source,
       .states = "m, v, kahan with Kahan summation; in the weights' format"},
      defaults);
}

}  // namespace

registration optimi_adam_row() { return adam_row({"optimi_adam_kahan"}, "Adam, Kahan summation below float32", {}); }
registration optimi_adam_nokahan_row() {
  optimi_adam_parameters plain;
  plain.kahan_sum = "false";
  return adam_row({}, "Adam without Kahan summation", plain);
}
registration optimi_adamw_row() {
  optimi_adam_parameters decoupled = decaying<optimi_adam_parameters>();
  decoupled.decouple_wd = true;
  return adam_row({"optimi_adamw_kahan"}, "AdamW, Kahan summation below float32", decoupled);
}
registration optimi_sgd_row() {
  return row<optimi_sgd_parameters, optimi_sgd_runner>(
      {.aliases = {"optimi_sgd_kahan"},
       .family = "optimi",
       .summary = "SGD, Kahan summation below float32",
       .rules = "buf = R(R(buf fl(momentum)) + g) from 0 on; dampening: buf = R(lerp(buf, g, fl(1 - momentum)))\n"
                "w = w - lr buf (add with alpha); Kahan: c = c - lr buf (add with alpha), w and c as in Adam",
       .quirks = "in 16 bits lr itself is rounded, as in torch SGD",
       .source = optimi_source,
       .states = "buf with a momentum, kahan with Kahan summation; in the weights' format"});
}

}  // namespace ulp::optimizers
