#include "scalars.hpp"

#include <algorithm>
#include <array>

#include "source/scalar_table.hpp"

namespace ulp::io {
namespace {

struct known_name {
  std::string_view name;
  double step_scalars::*field;
};
constexpr std::array known_names{
    known_name{"loss", &step_scalars::loss},
    known_name{"train_loss", &step_scalars::loss},
    known_name{"training_loss", &step_scalars::loss},
    known_name{"lm_loss", &step_scalars::loss},
    known_name{"lr", &step_scalars::learning_rate},
    known_name{"learning_rate", &step_scalars::learning_rate},
    known_name{"loss_scale", &step_scalars::loss_scale},
    known_name{"scale", &step_scalars::loss_scale},
    known_name{"grad_scale", &step_scalars::loss_scale},
    known_name{"grad_norm", &step_scalars::grad_norm},
    known_name{"gradient_norm", &step_scalars::grad_norm},
    known_name{"global_grad_norm", &step_scalars::grad_norm},
};

char plain(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '-' || c == ' ' ? '_' : c;
}

}  // namespace

double step_scalars::*scalar_field(std::string_view tag) {
  std::string name(tag.substr(tag.rfind('/') + 1));  // npos + 1 is 0
  std::ranges::transform(name, name.begin(), plain);
  const auto* const known = std::ranges::find(known_names, name, &known_name::name);
  return known == known_names.end() ? nullptr : known->field;
}

void tf_scalars::add(const std::string& tag, std::int64_t step, double value) {
  const auto [at, fresh] = fields_.try_emplace(tag, nullptr);
  if (fresh) {
    const auto field = scalar_field(tag);
    if (field == nullptr || std::ranges::find(taken_, field) != taken_.end())
      ignored_.push_back(tag);
    else
      taken_.push_back(at->second = field);
  }
  if (at->second == nullptr) return;
  if (at->second == &step_scalars::grad_norm && is_negative_norm(value)) {
    ++negative_norms_;
    return;
  }
  by_step_[step].*at->second = value;
}

void tf_scalars::forget_from(std::int64_t step) { by_step_.erase(by_step_.lower_bound(step), by_step_.end()); }

const step_scalars* tf_scalars::at(std::int64_t step) const {
  const auto found = by_step_.find(step);
  return found == by_step_.end() ? nullptr : &found->second;
}

}  // namespace ulp::io
