// bitsandbytes on a CPU, and the torch functions beside its triton kernels, which compute the same but for the quantizer:
// bitsandbytes-foundation/bitsandbytes 95f9af30 backends/cpu/ops.py, backends/default/ops.py,
// backends/triton/kernels_optim.py, csrc/cpu_ops.cpp.
#include <cmath>

#include "dialect.hpp"
#include "parameter_lists.hpp"

namespace ulp::optimizers {
namespace {

struct adam8bit : adam_parameters, bnb_blocks {
  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.weight_decay = "decoupled decay"});
    block_fields(v);
  }
};

template <block_quantizer Quantizer>
blocks_of_codes blocks_of(bool is_signed, std::int64_t block_size, const std::string& map) {
  return {{Quantizer, dynamic_map(is_signed, map_named(map))}, block_size_of(block_size)};
}

// The numbers of a step, as float32.
struct adam_numbers {
  float beta1 = 0;
  float beta2 = 0;
  float weight1 = 0;
  float weight2 = 0;
  float correction2 = 1;
  float eps = 0;
  float kept = 1;
  float rate = 0;
};

// Apart, so that nothing of an object may alias the arrays.
void update_adam(std::size_t n, const adam_numbers k, const float* __restrict g, float* __restrict m,
                 float* __restrict v, const float* __restrict w, float* __restrict next) {
  for (std::size_t i = 0; i < n; ++i) {
    m[i] = m[i] * k.beta1 + k.weight1 * g[i];
    v[i] = v[i] * k.beta2 + (k.weight2 * g[i]) * g[i];
    const float d = std::sqrt(v[i]) / k.correction2 + k.eps;
    next[i] = w[i] * k.kept + (k.rate * m[i]) / d;
  }
}

template <block_quantizer Quantizer>
class adam8bit_runner {
 public:
  adam8bit_runner(const adam8bit& p, const start& s)
      : m_("m", s.size, blocks_of<Quantizer>(true, p.block_size, p.map)),
        v_("v", s.size, blocks_of<Quantizer>(false, p.block_size, p.map)),
        tile_size_(block_size_of(p.block_size)) {}

  [[nodiscard]] std::size_t tile_size() const { return tile_size_; }

  void begin(const adam8bit& p, std::int64_t t) {
    const auto step = static_cast<double>(t);
    k_ = {.beta1 = static_cast<float>(p.beta1),
          .beta2 = static_cast<float>(p.beta2),
          .weight1 = static_cast<float>(1.0 - p.beta1),
          .weight2 = static_cast<float>(1.0 - p.beta2),
          .correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(p.beta2, step))),
          .eps = static_cast<float>(p.eps),
          .kept = p.weight_decay > 0 ? static_cast<float>(1.0 - p.lr * p.weight_decay) : 1.0F,
          .rate = static_cast<float>(-p.lr / (1.0 - std::pow(p.beta1, step)))};
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    v_.load(x.first, v);
    update_adam(n, k_, x.g.data(), m.data(), v.data(), x.w.data(), w.data());
    m_.store(x.first, m);
    v_.store(x.first, v);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
  }

 private:
  stored_state m_;
  stored_state v_;
  std::size_t tile_size_;
  adam_numbers k_;
  std::vector<float> m_scratch_, v_scratch_, w_scratch_;
};

// Adam32bit: another order of the bias corrections.
struct adam32bit : adam_parameters {
  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v, {.weight_decay = "decoupled decay"});
  }
};

class adam32bit_runner {
 public:
  adam32bit_runner(const adam32bit& /*p*/, const start& s) : m_("m", s.size, float32), v_("v", s.size, float32) {}

  void begin(const adam32bit& p, std::int64_t t) {
    const auto step = static_cast<double>(t);
    const double correction2 = std::sqrt(1.0 - std::pow(p.beta2, step));
    k_ = {.beta1 = static_cast<float>(p.beta1),
          .beta2 = static_cast<float>(p.beta2),
          .weight1 = static_cast<float>(1.0 - p.beta1),
          .weight2 = static_cast<float>(1.0 - p.beta2),
          .eps = static_cast<float>(p.eps * correction2),
          .kept = p.weight_decay > 0 ? static_cast<float>(1.0 - p.lr * p.weight_decay) : 1.0F,
          .rate = static_cast<float>(-p.lr * correction2 / (1.0 - std::pow(p.beta1, step)))};
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    v_.load(x.first, v);
    const adam_numbers k = k_;
    for (std::size_t i = 0; i < n; ++i) {
      m[i] = m[i] * k.beta1 + k.weight1 * x.g[i];
      v[i] = v[i] * k.beta2 + (k.weight2 * x.g[i]) * x.g[i];
      w[i] = x.w[i] * k.kept + k.rate * (m[i] / (std::sqrt(v[i]) + k.eps));
    }
    m_.store(x.first, m);
    v_.store(x.first, v);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
  }

 private:
  stored_state m_;
  stored_state v_;
  adam_numbers k_;
  std::vector<float> m_scratch_, v_scratch_, w_scratch_;
};

template <block_quantizer Quantizer>
class sgd8bit_runner {
 public:
  sgd8bit_runner(const bnb_sgd8bit& p, const start& s)
      : m_("m", s.size, blocks_of<Quantizer>(true, p.block_size, p.map)), tile_size_(block_size_of(p.block_size)) {}

  [[nodiscard]] std::size_t tile_size() const { return tile_size_; }

  void begin(const bnb_sgd8bit& p, std::int64_t t) {
    momentum_ = static_cast<float>(p.momentum);
    decay_ = static_cast<float>(p.weight_decay);
    rate_ = static_cast<float>(-p.lr);
    is_first_ = t == 1;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    for (std::size_t i = 0; i < n; ++i) {
      const float g = x.g[i] + decay_ * x.w[i];
      m[i] = is_first_ ? g : m[i] * momentum_ + g;
      w[i] = x.w[i] + rate_ * m[i];
    }
    m_.store(x.first, m);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const { m_.append_to(all); }

 private:
  stored_state m_;
  std::size_t tile_size_;
  float momentum_ = 0, decay_ = 0, rate_ = 0;
  bool is_first_ = true;
  std::vector<float> m_scratch_, w_scratch_;
};

constexpr std::string_view family = "bitsandbytes";
constexpr std::string_view adam_rules =
    "m = m fl(b1) + fl(1 - b1) g, v = v fl(b2) + (fl(1 - b2) g) g, from the dequantized states\n"
    "d = sqrt(v) / fl(sqrt(1 - b2^t)) + fl(eps)\n"
    "w = R(w fl(1 - lr wd) + (fl(-lr / (1 - b1^t)) m) / d); then m and v are quantized";
constexpr std::string_view small_v =
    "v may be stored as 0 where m is not: then the step is about lr m / eps\n"
    "the library keeps tensors below min_8bit_size (4096) in 32 bits; here all are quantized";
constexpr std::string_view coarse =
    "the nearest code is looked up in 65536 equal steps: exact 0 becomes 1.6e-5 (v) or 2.1e-5 (m) of absmax\n"
    "the library keeps tensors below min_8bit_size (4096) in 32 bits; here all are quantized";
constexpr std::string_view two_states = "m_codes, m_absmax, v_codes, v_absmax";

template <block_quantizer Quantizer>
registration adam8bit_row(std::string_view summary, std::string_view quirks, std::string_view source,
                          const adam8bit& defaults = {}) {
  return row<adam8bit, adam8bit_runner<Quantizer>>({.family = family,
                                                    .summary = summary,
                                                    .rules = adam_rules,
                                                    .quirks = quirks,
                                                    .source = source,
                                                    .states = two_states},
                                                   defaults);
}

registration adam32bit_row(std::string_view summary, const adam32bit& defaults) {
  return row<adam32bit, adam32bit_runner>(
      {.family = family,
       .summary = summary,
       .rules = "m = m fl(b1) + fl(1 - b1) g, v = v fl(b2) + (fl(1 - b2) g) g, c = sqrt(1 - b2^t)\n"
                "w = R(w fl(1 - lr wd) + fl(-lr c / (1 - b1^t)) (m / (sqrt(v) + fl(eps c))))",
       .quirks = "eps is not what Adam8bit's eps is: it is multiplied by sqrt(1 - b2^t)",
       .source = "bitsandbytes-foundation/bitsandbytes 95f9af30 bitsandbytes/backends/default/ops.py",
       .states = "m, v in float32"},
      defaults);
}

template <block_quantizer Quantizer>
registration sgd8bit_row(std::vector<std::string_view> aliases, std::string_view summary, std::string_view quirks,
                         std::string_view source) {
  return row<bnb_sgd8bit, sgd8bit_runner<Quantizer>>(
      {.aliases = std::move(aliases),
       .family = family,
       .summary = summary,
       .rules = "g = g + fl(wd) w; first step m = g, then m = m fl(momentum) + g, from the dequantized state\n"
                "w = R(w + fl(-lr) m); then m is quantized",
       .quirks = quirks,
       .source = source,
       .states = "m_codes, m_absmax"});
}

constexpr std::string_view default_source =
    "bitsandbytes-foundation/bitsandbytes 95f9af30 bitsandbytes/backends/cpu/ops.py, backends/default/ops.py";
constexpr std::string_view native_source =
    "bitsandbytes-foundation/bitsandbytes 95f9af30 bitsandbytes/backends/cpu/ops.py, csrc/cpu_ops.cpp";
constexpr std::string_view triton_source =
    "bitsandbytes-foundation/bitsandbytes 95f9af30 bitsandbytes/backends/triton/kernels_optim.py";

}  // namespace

registration bnb_cpu_default_adam8bit_row() {
  return adam8bit_row<block_quantizer::bnb_default>("Adam8bit on a CPU, torch kernels", small_v, default_source);
}
registration bnb_cpu_default_adamw8bit_row() {
  return adam8bit_row<block_quantizer::bnb_default>("AdamW8bit on a CPU, torch kernels", small_v, default_source,
                                                    decaying<adam8bit>());
}
registration bnb_cpu_default_adam32bit_row() { return adam32bit_row("Adam32bit on a CPU", {}); }
registration bnb_cpu_default_adamw32bit_row() { return adam32bit_row("AdamW32bit on a CPU", decaying<adam32bit>()); }
registration bnb_cpu_default_sgd8bit_mom_row() {
  return sgd8bit_row<block_quantizer::bnb_default>({"bnb_cpu_default_sgd8bit"}, "SGD8bit on a CPU, torch kernels", "",
                                                   default_source);
}
registration bnb_cpu_native_adam8bit_row() {
  return adam8bit_row<block_quantizer::bnb_cpu_native>("Adam8bit on a CPU, native library", coarse, native_source);
}
registration bnb_cpu_native_adamw8bit_row() {
  return adam8bit_row<block_quantizer::bnb_cpu_native>("AdamW8bit on a CPU, native library", coarse, native_source,
                                                       decaying<adam8bit>());
}
registration bnb_cpu_native_sgd8bit_mom_row() {
  return sgd8bit_row<block_quantizer::bnb_cpu_native>({"bnb_cpu_native_sgd8bit"}, "SGD8bit on a CPU, native library",
                                                      "the nearest code is looked up in 65536 equal steps",
                                                      native_source);
}
registration bnb_triton_pytorch_ref_adam8bit_row() {
  return adam8bit_row<block_quantizer::bnb_triton_pytorch_ref>("Adam8bit, torch reference beside triton", small_v,
                                                               triton_source);
}
registration bnb_triton_pytorch_ref_adamw8bit_row() {
  return adam8bit_row<block_quantizer::bnb_triton_pytorch_ref>("AdamW8bit, torch reference beside triton", small_v,
                                                               triton_source, decaying<adam8bit>());
}

}  // namespace ulp::optimizers
