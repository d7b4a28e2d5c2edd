// torchao's low-bit optimizers, eager: pytorch/ao 36027d82 torchao/optim/adam.py, quant_utils.py, subclass_8bit.py,
// subclass_4bit.py, subclass_fp8.py.
#include <bit>
#include <cmath>

#include <ulp/model/optimizers/ao_stochastic.hpp>

#include "dialect.hpp"
#include "parameter_lists.hpp"
#include "torch_arithmetic.hpp"

namespace ulp::optimizers {
namespace {

struct ao_adam : adam_parameters {
  bool amsgrad = false;
  bool stochastic_rounding = false;
  std::int64_t block_size = 256;
  std::string m_state = "ao";
  std::string v_state = "ao";
  std::string map = "torch26_nofma";

  template <class Visitor>
  void fields(Visitor&& v) {
    adam_fields(v);
    v("amsgrad", amsgrad, "divide by the largest second moment so far, kept as v is");
    v("stochastic_rounding", stochastic_rounding, "of bfloat16 weights (bf16_stochastic_round)");
    v("block_size", block_size, "elements that share a scale");
    v("m_state", m_state, "how m is kept: weights (as they), a format, a quantizer, ao_4bit");
    v("v_state", v_state, "how v is kept");
    v("map", map, map_meaning);
  }
};

bool is_torchao(block_quantizer how) { return how == block_quantizer::ao || how == block_quantizer::ao_fp8; }

// A tensor that is no multiple of the block is kept as the weights are.
storage state_of(const ao_adam& p, const start& s, std::string_view parameter, const std::string& name,
                 bool is_signed) {
  const std::size_t block_size = block_size_of(p.block_size);
  if (name == "weights") return s.weights.to();
  storage how = storage_named(parameter, name, is_signed, block_size, map_named(p.map));
  const auto* const blocks = std::get_if<blocks_of_codes>(&how);
  if (blocks != nullptr && is_torchao(blocks->codec.quantizer()) && s.size % block_size != 0) return s.weights.to();
  return how;
}

template <bool Decoupled>
class ao_runner {
 public:
  ao_runner(const ao_adam& p, const start& s)
      : start_(s),
        m_("m", s.size, state_of(p, s, "m_state", p.m_state, true)),
        v_("v", s.size, state_of(p, s, "v_state", p.v_state, false)),
        tile_size_(block_size_of(p.block_size)),
        stochastic_(p.stochastic_rounding && s.rounding == weight_rounding::own && s.weights.to() == bfloat16) {
    if (p.amsgrad) vmax_.emplace("vmax", s.size, state_of(p, s, "v_state", p.v_state, false));
  }

  [[nodiscard]] std::size_t tile_size() const { return tile_size_; }

  // lr and the step are float32 tensors, so the corrections are float32, too.
  void begin(const ao_adam& p, std::int64_t t) {
    const auto step = static_cast<float>(t);
    lr_ = static_cast<float>(p.lr);
    decay_ = Decoupled ? lr_ * static_cast<float>(p.weight_decay) : static_cast<float>(p.weight_decay);
    weight1_ = static_cast<float>(1 - p.beta1);
    weight2_ = static_cast<float>(1 - p.beta2);
    eps_ = static_cast<float>(p.eps);
    correction1_ = 1.0F - std::pow(static_cast<float>(p.beta1), step);
    correction2_ = std::sqrt(1.0F - std::pow(static_cast<float>(p.beta2), step));
  }

  void run(const tile& x) {
    const std::size_t n = x.size();
    const numbers m = part_of(m_scratch_, n);
    const numbers v = part_of(v_scratch_, n);
    const numbers w = part_of(w_scratch_, n);
    m_.load(x.first, m);
    v_.load(x.first, v);
    for (std::size_t i = 0; i < n; ++i) {
      w[i] = Decoupled ? x.w[i] - decay_ * x.w[i] : x.w[i];
      const float g = Decoupled ? x.g[i] : x.g[i] + decay_ * x.w[i];
      m[i] = lerp_of(m[i], g, weight1_, false);
      v[i] = lerp_of(v[i], g * g, weight2_, false);
    }
    m_.store(x.first, m);
    v_.store(x.first, v);
    if (vmax_) {
      const numbers largest = part_of(vmax_scratch_, n);
      vmax_->load(x.first, largest);
      for (std::size_t i = 0; i < n; ++i) v[i] = maximum(largest[i], v[i]);
      vmax_->store(x.first, v);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const float d = std::sqrt(v[i]) / correction2_ + eps_;
      w[i] = w[i] - (lr_ * (m[i] / correction1_)) / d;
    }
    if (stochastic_) round_stochastically(x, w);
    x.finish(w);
  }

  void states(std::vector<optimizer_state>& all) const {
    m_.append_to(all);
    v_.append_to(all);
    if (vmax_) vmax_->append_to(all);
  }

 private:
  static void round_stochastically(const tile& x, numbers w) {
    const std::span<const std::uint16_t> random = x.store->bits(x.first, w.size(), x.random);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t code = ao_stochastic_bfloat16(std::bit_cast<std::uint32_t>(w[i]), random[i]);
      w[i] = std::bit_cast<float>(code << 16U);
    }
  }

  start start_;
  stored_state m_;
  stored_state v_;
  std::optional<stored_state> vmax_;
  std::size_t tile_size_;
  bool stochastic_;
  float lr_ = 0, decay_ = 0, weight1_ = 0, weight2_ = 0, eps_ = 0, correction1_ = 1, correction2_ = 1;
  std::vector<float> m_scratch_, v_scratch_, w_scratch_, vmax_scratch_;
};

constexpr std::string_view torchao_quirks =
    "stochastic rounding adds to the bits: the largest number becomes infinity, some NaN zeros or infinities\n"
    "a tensor whose size is not a multiple of block_size keeps its states in the weights' type\n"
    "the library does so below 4096 elements, too; here the size does not matter";

template <bool Decoupled>
registration ao_row(std::string_view summary, std::string_view states, ao_adam defaults) {
  if (Decoupled) defaults = decaying(std::move(defaults));
  return row<ao_adam, ao_runner<Decoupled>>(
      {.family = "torchao",
       .summary = summary,
       .rules = "in float32, lr, b^t and their differences too; Adam: g = g + wd w; AdamW: w = w - (lr wd) w\n"
                "m = lerp(m, g, 1 - b1), v = lerp(v, g g, 1 - b2), from the dequantized states; both are stored\n"
                "d = sqrt(v) / sqrt(1 - b2^t) + eps, w = w - (lr (m / (1 - b1^t))) / d, stored by R or stochastically",
       .quirks = torchao_quirks,
       .source = "pytorch/ao 36027d82 torchao/optim/adam.py, quant_utils.py",
       .states = states},
      defaults);
}

constexpr std::string_view in_codes = "m_codes, m_absmax, v_codes, v_absmax; with amsgrad vmax_codes, vmax_absmax";
constexpr std::string_view in_format = "m, v; vmax with amsgrad";

}  // namespace

registration ao_adam8bit_row() { return ao_row<false>("Adam8bit", in_codes, {}); }
registration ao_adamw8bit_row() { return ao_row<true>("AdamW8bit", in_codes, {}); }
registration ao_adam4bit_row() {
  return ao_row<false>("Adam4bit", in_codes, {.block_size = 128, .m_state = "ao_4bit", .v_state = "ao_4bit"});
}
registration ao_adamw4bit_row() {
  return ao_row<true>("AdamW4bit", in_codes, {.block_size = 128, .m_state = "ao_4bit", .v_state = "ao_4bit"});
}
registration ao_adamfp8_row() { return ao_row<false>("AdamFp8", in_codes, {.m_state = "ao_fp8", .v_state = "ao_fp8"}); }
registration ao_adamwfp8_row() {
  return ao_row<true>("AdamWFp8", in_codes, {.m_state = "ao_fp8", .v_state = "ao_fp8"});
}
registration ao_adamw_row() {
  return ao_row<true>("_AdamW: states as the weights are", in_format, {.m_state = "weights", .v_state = "weights"});
}
registration ao_adamw_bf16states_row() {
  return ao_row<true>("_AdamW with bfloat16 states", in_format, {.m_state = "bfloat16", .v_state = "bfloat16"});
}

}  // namespace ulp::optimizers
