// bitsandbytes' CUDA kernels as they are written: bitsandbytes-foundation/bitsandbytes 95f9af30 csrc/kernels.cu
// kOptimizerStatic8bit2StateBlockwise and ...1StateBlockwise, __fdividef as division, __powf as powf, nothing fused. A GPU
// differs by its approximate division and power, and by what its compiler fuses.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "dialect.hpp"
#include "parameter_lists.hpp"

namespace ulp::optimizers {
namespace {

struct cuda_adam8bit : adam_parameters, bnb_blocks {
  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(
        v, {.eps = "added to the denominator, times sqrt(1 - beta2^t)", .weight_decay = "decay, after the update"});
    block_fields(v);
  }
};

// A quantized state as the kernels treat it.
class kernel_state {
 public:
  kernel_state(std::string name, std::size_t size, bool is_signed, std::int64_t block_size, const std::string& map)
      : codec_(block_quantizer::bnb_cuda_text, dynamic_map(is_signed, map_named(map))),
        block_size_(block_size_of(block_size)),
        is_signed_(is_signed),
        below_zero_(static_cast<int>(std::ranges::count_if(codec_.map(), [](float x) { return std::signbit(x); }))),
        state_(std::move(name), size, blocks_of_codes{codec_, block_size_}) {}

  void load(std::size_t first, numbers out) const { state_.load(first, out); }

  // Blocks from `first` on; `beta` decays the elements that a short last block lacks. They are loaded with code 128 where
  // the state is signed, and with 0, whose number is 0, where it is not.
  void store(std::size_t first, const_numbers x, float beta) {
    for (std::size_t at = 0; at < x.size(); at += block_size_) {
      const const_numbers block = x.subspan(at, std::min(block_size_, x.size() - at));
      float& absmax = state_.blocks().absmax()[(first + at) / block_size_];
      float least = std::numeric_limits<float>::lowest();
      if (block.size() < block_size_) {
        const float missing = (codec_.map()[is_signed_ ? 128 : 0] * absmax) * beta + 0.0F;
        least = missing == missing ? std::fabs(missing) : least;
      }
      absmax = greatest_number(block, least);
      const std::span<std::uint8_t> codes = state_.blocks().codes().subspan(first + at, block.size());
      codec_.codes_of_quotients(block, absmax, codes);
      if (is_signed_) repair_signs(block, codes);
    }
  }
  void append_to(std::vector<optimizer_state>& all) const { state_.append_to(all); }

 private:
  // A number below zero does not become zero: the next code, in 8 bits, where the signs differ. The numbers below zero are
  // the first of the map.
  void repair_signs(const_numbers x, std::span<std::uint8_t> codes) const {
    const int below_zero = below_zero_;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int is_negative = std::bit_cast<std::int32_t>(x[i]) < 0 ? 1 : 0;
      const int code_is_negative = codes[i] < below_zero ? 1 : 0;
      const int step = x[i] > 0 ? 1 : -1;
      codes[i] = static_cast<std::uint8_t>(codes[i] + (is_negative ^ code_is_negative) * step);
    }
  }

  block_codec codec_;
  std::size_t block_size_;
  bool is_signed_;
  int below_zero_;
  stored_state state_;
};

// The numbers of a step: all of them float32 in the kernel.
struct kernel_numbers {
  float beta1 = 0;
  float beta2 = 0;
  float correction2 = 1;
  float eps = 0;
  float rate = 0;
  float kept = 1;
};

// Not finite gradients leave no state, and the weight as it is. Apart, so that nothing of an object may alias the arrays.
void update_adam(std::size_t n, const kernel_numbers k, const float* __restrict g, float* __restrict m,
                 float* __restrict v, const float* __restrict w, float* __restrict next) {
  const float floor = k.correction2 * k.eps;
  for (std::size_t i = 0; i < n; ++i) {
    const bool finite = std::fabs(g[i]) <= std::numeric_limits<float>::max();
    const float v_next = v[i] * k.beta2 + ((1.0F - k.beta2) * g[i]) * g[i];
    const float m_next = m[i] * k.beta1 + (1.0F - k.beta1) * g[i];
    v[i] = finite ? v_next : 0.0F;
    m[i] = finite ? m_next : 0.0F;
    const float moved = w[i] + k.rate * (m[i] / (std::sqrt(v[i]) + floor));
    next[i] = finite ? moved : w[i];
  }
}

class cuda_adam_runner {
 public:
  cuda_adam_runner(const cuda_adam8bit& p, const start& s)
      : start_(s),
        m_("m", s.size, true, p.block_size, p.map),
        v_("v", s.size, false, p.block_size, p.map),
        tile_size_(block_size_of(p.block_size)) {}

  [[nodiscard]] std::size_t tile_size() const { return tile_size_; }

  void begin(const cuda_adam8bit& p, std::int64_t t) {
    const auto step = static_cast<float>(t);
    const auto lr = static_cast<float>(p.lr);
    const auto decay = static_cast<float>(p.weight_decay);
    k_.beta1 = static_cast<float>(p.beta1);
    k_.beta2 = static_cast<float>(p.beta2);
    k_.eps = static_cast<float>(p.eps);
    const float correction1 = 1.0F - std::pow(k_.beta1, step);
    k_.correction2 = std::sqrt(1.0F - std::pow(k_.beta2, step));
    k_.rate = (-lr * k_.correction2) / correction1;
    decays_ = decay > 0;
    k_.kept = 1.0F - lr * decay;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    v_.load(x.first, v);
    update_adam(n, k_, x.g.data(), m.data(), v.data(), x.w.data(), w.data());
    if (decays_) {
      if (start_.rounds_to_nearest()) start_.weights(w);
      for (std::size_t i = 0; i < n; ++i)
        if (std::isfinite(x.g[i])) w[i] *= k_.kept;
    }
    m_.store(x.first, m, k_.beta1);
    v_.store(x.first, v, k_.beta2);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
  }

 private:
  start start_;
  kernel_state m_;
  kernel_state v_;
  std::size_t tile_size_;
  kernel_numbers k_;
  bool decays_ = false;
  std::vector<float> m_scratch_, v_scratch_, w_scratch_;
};

class cuda_sgd_runner {
 public:
  cuda_sgd_runner(const bnb_sgd8bit& p, const start& s)
      : m_("m", s.size, true, p.block_size, p.map), tile_size_(block_size_of(p.block_size)) {}

  [[nodiscard]] std::size_t tile_size() const { return tile_size_; }

  void begin(const bnb_sgd8bit& p, std::int64_t t) {
    lr_ = static_cast<float>(p.lr);
    momentum_ = static_cast<float>(p.momentum);
    decay_ = static_cast<float>(p.weight_decay);
    is_first_ = t == 1;
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    for (std::size_t i = 0; i < n; ++i) {
      const float g = decay_ > 0 ? x.g[i] + x.w[i] * decay_ : x.g[i];
      m[i] = is_first_ ? g : m[i] * momentum_ + g;
      w[i] = x.w[i] - lr_ * m[i];
    }
    m_.store(x.first, m, is_first_ ? 0.0F : momentum_);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const { m_.append_to(all); }

 private:
  kernel_state m_;
  std::size_t tile_size_;
  float lr_ = 0, momentum_ = 0, decay_ = 0;
  bool is_first_ = true;
  std::vector<float> m_scratch_, w_scratch_;
};

constexpr std::string_view source = "bitsandbytes-foundation/bitsandbytes 95f9af30 csrc/kernels.cu";
constexpr std::string_view sign_quirks =
    "the text of the kernels in IEEE float32; a GPU differs by its approximate division and power and what it fuses\n"
    "signs are kept: a tiny negative m gets code 126, a tiny positive one 127, which is 0; an all-zero block code 255\n"
    "the elements that a short last block lacks take part with code 128, 5.5e-7 of absmax";

registration adam_row(std::string_view summary, const cuda_adam8bit& defaults) {
  return row<cuda_adam8bit, cuda_adam_runner>(
      {.family = "bitsandbytes",
       .summary = summary,
       .rules = "all float32: c = sqrt(1 - powf(b2, t)), s = (-lr c) / (1 - powf(b1, t))\n"
                "v = v b2 + ((1 - b2) g) g, m = m b1 + (1 - b1) g; a gradient that is not finite: m = v = 0, w stays\n"
                "w = R(w + s (m / (sqrt(v) + c eps))), then with decay w = R(w (1 - lr wd))\n"
                "codes of m / absmax and v / absmax, the signs of m repaired",
       .quirks =
           "the text of the kernels in IEEE float32; a GPU differs by its approximate division and power and what it "
           "fuses\n"
           "signs are kept: a tiny negative m gets code 126, a tiny positive one 127, which is 0; an all-zero block "
           "code 255\n"
           "the elements that a short last block lacks take part with code 128, 5.5e-7 of absmax\n"
           "a finite gradient with (1 - b2) g^2 beyond float32 makes absmax infinite, and the block NaN a step later",
       .source = source,
       .states = "m_codes, m_absmax, v_codes, v_absmax"},
      defaults);
}

}  // namespace

registration bnb_cuda_text_adam8bit_row() { return adam_row("Adam8bit, text of the CUDA kernel", {}); }
registration bnb_cuda_text_adamw8bit_row() {
  return adam_row("AdamW8bit, text of the CUDA kernel", decaying<cuda_adam8bit>());
}
registration bnb_cuda_text_sgd8bit_mom_row() {
  return row<bnb_sgd8bit, cuda_sgd_runner>({.aliases = {"bnb_cuda_text_sgd8bit", "bnb_cuda_text_sgd8bit_mom_wd"},
                                            .family = "bitsandbytes",
                                            .summary = "SGD8bit, text of the CUDA kernel",
                                            .rules =
                                                "with decay g = g + w wd; first step m = g, then m = m momentum + g\n"
                                                "w = R(w - lr m); codes of m / absmax, signs repaired",
                                            .quirks = sign_quirks,
                                            .source = source,
                                            .states = "m_codes, m_absmax"});
}

}  // namespace ulp::optimizers
