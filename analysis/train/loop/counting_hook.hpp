// What a training counts where tensors are rounded.
#ifndef ULP_TRAIN_COUNTING_HOOK_HPP
#define ULP_TRAIN_COUNTING_HOOK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/train/rounding_hook.hpp>

namespace ulp::train {

// Passes everything on; counts what becomes of the weight gradients of role low, and the cells of activation gradients; keeps
// updates.
class counting_hook final : public rounding_hook {
 public:
  // An activation gradient of a step, over its micro-batches.
  struct counted_tensor {
    std::string name;
    std::size_t rows = 0;
    std::size_t columns = 0;
    cell_table table;
  };

  counting_hook(rounding_hook& inner, bool activation_grads, bool keep_updates)
      : inner_(&inner), activation_grads_(activation_grads), keep_updates_(keep_updates) {}

  void round(const site& at, std::span<float> values) override {
    const bool is_part = at.kind == site_kind::weight_grad && at.role == tensor_role::low;
    const std::uint64_t before = is_part ? nonzero_of(values) : 0;
    inner_->round(at, values);
    if (is_part) {
      nonzero += before;
      underflow += before - nonzero_of(values);
    }
    count_if_asked(at, values);
    if (keep_updates_ && at.kind == site_kind::update)
      updates[std::string{at.tensor}].assign(values.begin(), values.end());
  }

  float round_operand(const site& at, std::span<float> values) override {
    const float unit = inner_->round_operand(at, values);
    count_if_asked(at, values);
    return unit;
  }

  bool round_across(const site& at, std::span<float> values) override { return inner_->round_across(at, values); }

  void start_step() {
    nonzero = underflow = 0;
    activation_grads.clear();
  }

  [[nodiscard]] std::string through() const override { return inner_->through(); }

  std::uint64_t nonzero = 0;
  std::uint64_t underflow = 0;
  std::vector<counted_tensor> activation_grads;  // in the order in which they come, which is the same in each step
  std::map<std::string, std::vector<double>> updates;  // the last ones, by the name of the weight

 private:
  static std::uint64_t nonzero_of(std::span<const float> values) {
    return values.size() - static_cast<std::uint64_t>(std::ranges::count(values, 0.0F));
  }

  void count_if_asked(const site& at, std::span<const float> values) {
    if (activation_grads_ && at.kind == site_kind::activation_grad && at.role == tensor_role::low) count(at, values);
  }

  void count(const site& at, std::span<const float> values) {
    counter_.add(values);
    const auto known = std::ranges::find(activation_grads, at.tensor, &counted_tensor::name);
    if (known == activation_grads.end()) {
      activation_grads.push_back({std::string{at.tensor}, at.rows, at.columns, counter_.take()});
      return;
    }
    known->rows += at.rows;
    known->table.merge(counter_.take());
  }

  rounding_hook* inner_;
  bool activation_grads_;
  bool keep_updates_;
  cell_counter counter_;
};

}  // namespace ulp::train

#endif
