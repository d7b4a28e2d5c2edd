#include "scaled_arrays.hpp"

namespace ulp::io {

void make_scaled(std::vector<stored_array>& arrays, const std::vector<std::optional<scaled_tensor>>& scaled) {
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    if (!scaled[i]) continue;
    stored_array& array = arrays[i];
    array.copied = {array.name, array.shape};
    array.name = scaled[i]->name;
    array.shape = scaled[i]->shape;
    array.numel = checked_product(array.shape).value();
    array.numbers = elements_of(dtype::float32);
    array.how = text_of(*scaled[i]);
    for (const std::size_t scales : scaled[i]->used_up) arrays[scales].goes_into = i;
  }
}

}  // namespace ulp::io
