#include <ulp/train/training.hpp>

int main() {
  ulp::no_rounding hook;
  ulp::training twin({.network = ulp::network_kind::mlp}, hook, std::nullopt);
  return twin.advance().recorded.tensors.size() == twin.tensors().size() ? 0 : 1;
}
