#include "labels.hpp"

#include <algorithm>
#include <cmath>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/source/share.hpp>
#include <ulp/model/recipe/scaling.hpp>

namespace ulp::io {
namespace {

// More than one, of which some were rounded: nothing follows from it but that the sum decides nothing.
constexpr gradient_parts sum_of_unknown_parts{.rounded = 1, .kept = 1};

template <typename Label>
void apply(const std::vector<std::pair<regex, Label>>& rules, const std::string& name, Label& label) {
  const auto rule = std::ranges::find_if(rules, [&](const auto& r) { return r.first.matches(name); });
  if (rule != rules.end()) label = rule->second;
}

void fill(double& value, double logged) {
  if (!std::isnan(logged)) value = logged;
}
void fill(double& value, bool& is_nan, double logged, bool logged_nan) {
  if (std::isnan(logged) && !logged_nan) return;
  value = logged;
  is_nan = logged_nan;
}
void fill(std::optional<bool>& value, std::optional<bool> logged) {
  if (logged) value = logged;
}

// What the table knows replaces what the source said.
void fill(step_scalars& scalars, const step_scalars& logged) {
  fill(scalars.loss, scalars.loss_is_nan, logged.loss, logged.loss_is_nan);
  fill(scalars.grad_norm, scalars.grad_norm_is_nan, logged.grad_norm, logged.grad_norm_is_nan);
  fill(scalars.learning_rate, logged.learning_rate);
  fill(scalars.loss_scale, logged.loss_scale);
  fill(scalars.found_inf, logged.found_inf);
  fill(scalars.applied, logged.applied);
}

class labelled_source final : public forwarding_source, public divisible {
 public:
  labelled_source(std::unique_ptr<source> inner, const source_options& options, scalar_table scalars,
                  inferred_roles inferred)
      : forwarding_source(std::move(inner)),
        options_(options),
        scalars_(std::move(scalars)),
        inferred_(std::move(inferred)) {
    label_new_tensors();
  }

  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }

  [[nodiscard]] bool next(step& into) override { return labelled(inner().next(into), into); }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = inner().notes();
    if (!inferred_.note.empty()) all.push_back(inferred_.note);
    return all;
  }

  [[nodiscard]] bool divides() const override { return ulp::divides(inner()); }
  [[nodiscard]] bool next_part(step& into, std::size_t index, std::size_t count) override {
    return labelled(ulp::next_part(inner(), into, index, count), into);
  }

 private:
  [[nodiscard]] bool labelled(bool is_there, step& into) {
    if (!is_there) {
      if (!scalars_.empty() && !any_logged_)
        throw input_error(options_.scalars, "column 'step'", "none of its steps is one of the input's");
      return false;
    }
    label_new_tensors();
    add_scalars(into);
    set_factor(into);
    for (tensor_row& row : into.tensors)
      if (is_sum_[row.tensor] && !row.parts.known()) row.parts = sum_of_unknown_parts;
    return true;
  }

  // Tensors are new, or known better than before: a source may learn that a tensor's size varies.
  void label_new_tensors() {
    const std::vector<tensor_info>& seen = inner().tensors();
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].numel = seen[i].numel;
    for (std::size_t i = tensors_.size(); i < seen.size(); ++i) {
      tensor_info& info = tensors_.emplace_back(seen[i]);
      apply(options_.kinds, info.name, info.kind);
      apply(options_.roles, info.name, info.role);
      const auto found = inferred_.tensors.find(info.name);
      is_sum_.push_back(found != inferred_.tensors.end() && found->second.is_sum);
      if (found == inferred_.tensors.end()) continue;
      if (info.role == tensor_role::unknown) info.role = found->second.role;
      if (info.through.empty()) info.through = found->second.through;
    }
  }

  void add_scalars(step& into) {
    const step_scalars* const logged = logged_at(scalars_, into.key.step);
    if (logged == nullptr) return;
    fill(into.scalars, *logged);
    any_logged_ = true;
  }

  void set_factor(step& of) const {
    double factor = options_.factor;
    if (options_.factor_is_loss_scale && !of.tensors.empty()) {
      factor = of.scalars.loss_scale;
      if (!(factor > 0) || !std::isfinite(factor))
        throw input_error(options_.scalars.empty() ? inner().description() : options_.scalars,
                          "step " + std::to_string(of.key.step), "has no loss scale, which --factor scale needs");
    }
    if (std::isnan(factor)) return;
    // Whether gradients were unscaled before they were recorded is easily told wrongly: there the user knows better.
    const auto may_be_wrong = [&](double x) { return x == 1 || x == of.scalars.loss_scale; };
    for (tensor_row& row : of.tensors) {
      const bool is_known = !std::isnan(row.factor);
      if (is_known && row.factor == factor) continue;
      if (is_known && !is_scaled(tensors_[row.tensor]) && may_be_wrong(factor)) continue;
      if (is_known && !(may_be_wrong(row.factor) && may_be_wrong(factor)))
        throw input_error(inner().description(), "step " + std::to_string(of.key.step),
                          "its factor is already known and is different: remove --factor");
      row.factor = factor;
    }
  }

  source_options options_;
  scalar_table scalars_;
  inferred_roles inferred_;
  bool any_logged_ = false;
  std::vector<tensor_info> tensors_;
  std::vector<bool> is_sum_;
};

}  // namespace

std::unique_ptr<source> with_labels(std::unique_ptr<source> inner, const source_options& options, scalar_table scalars,
                                    inferred_roles inferred) {
  return std::make_unique<labelled_source>(std::move(inner), options, std::move(scalars), std::move(inferred));
}

}  // namespace ulp::io
