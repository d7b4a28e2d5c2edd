// Parameters that dialects of several libraries take, as bases of their own lists: names, defaults and meanings.
#ifndef ULP_MODEL_OPTIMIZERS_PARAMETER_LISTS_HPP
#define ULP_MODEL_OPTIMIZERS_PARAMETER_LISTS_HPP

#include <cstdint>
#include <string>

namespace ulp::optimizers {

// What the libraries do differently under the same name.
struct adam_meanings {
  const char* lr = "learning rate";
  const char* eps = "added to the denominator";
  const char* weight_decay = "weight decay";
};

struct adam_parameters {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;

  template <class Visitor>
  void adam_fields(Visitor&& v, const adam_meanings& means = {}) {
    v("lr", lr, means.lr);
    v("beta1", beta1, "decay of the first moment");
    v("beta2", beta2, "decay of the second moment");
    v("eps", eps, means.eps);
    v("weight_decay", weight_decay, means.weight_decay);
  }
};

// The same parameters with the decay that AdamW has where nobody says another.
template <class P>
P decaying(P parameters = {}) {
  parameters.weight_decay = 0.01;
  return parameters;
}

// PyTorch's, fused or not.
struct torch_adam_parameters : adam_parameters {
  bool amsgrad = false;
  bool maximize = false;

  template <class Visitor>
  void torch_fields(Visitor&& v, const adam_meanings& means = {}) {
    adam_fields(v, means);
    v("amsgrad", amsgrad, "divide by the largest second moment so far");
    v("maximize", maximize, "go up the gradient");
  }
};

inline constexpr const char* map_meaning = "arithmetic of the code maps: torch26_nofma, torch26_fma, correctly_rounded";

// bitsandbytes' states in blocks of codes.
struct bnb_blocks {
  std::int64_t block_size = 256;
  std::string map = "torch26_nofma";

  template <class Visitor>
  void block_fields(Visitor&& v) {
    v("block_size", block_size, "elements that share an absmax (2048 before 0.44)");
    v("map", map, map_meaning);
  }
};

struct bnb_sgd8bit : bnb_blocks {
  double lr = 0.05;
  double momentum = 0.9;
  double weight_decay = 0;

  template <class Visitor>
  void fields(Visitor&& v) {
    v("lr", lr, "learning rate");
    v("momentum", momentum, "decay of the buffer");
    v("weight_decay", weight_decay, "L2 penalty");
    block_fields(v);
  }
  [[nodiscard]] std::string refused() const { return momentum == 0 ? "SGD8bit needs a momentum" : ""; }
};

}  // namespace ulp::optimizers

#endif
