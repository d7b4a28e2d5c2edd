#include <ulp/model/optimizers/optimizer.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <ulp/formats/name_suggestions.hpp>
#include <ulp/formats/processor_state.hpp>

#include "dialect.hpp"

namespace ulp {
namespace {

optimizers::registration named(std::string_view name, optimizers::registration row) {
  row.entry.name = name;
  return row;
}

const std::vector<optimizers::registration>& rows() {
#define ULP_NAMED_ROW(name) named(#name, optimizers::name##_row()),
#define ULP_NAMED_AVX2_ROW(name) named(#name ".avx2", optimizers::name##_avx2_row()),
  static const std::vector<optimizers::registration> all{ULP_OPTIMIZERS(ULP_NAMED_ROW, ULP_NAMED_AVX2_ROW)};
#undef ULP_NAMED_ROW
#undef ULP_NAMED_AVX2_ROW
  return all;
}

constexpr std::array<std::string_view, 4> roundings{"own", "nearest", "stochastic", "kahan"};

void expect(std::size_t is, std::size_t wanted, const char* what) {
  if (is != wanted)
    throw std::invalid_argument("a step of this optimizer takes " + std::to_string(wanted) + " " + what + ", not " +
                                std::to_string(is));
}

}  // namespace

namespace optimizers {

void check_number(std::string_view name, double value) {
  const std::string what = "parameter '" + std::string{name} + "'";
  if (!std::isfinite(value)) throw parameter_error(what + " must be a finite number");
  if (value < 0) throw parameter_error(what + " must not be negative");
  if ((name == "beta1" || name == "beta2") && value >= 1) throw parameter_error(what + " must be below 1");
}

bool decides_states(std::string_view name) noexcept {
  constexpr std::array<std::string_view, 15> all{"amsgrad",
                                                 "block_size",
                                                 "map",
                                                 "m_state",
                                                 "v_state",
                                                 "kahan_sum",
                                                 "momentum_dtype",
                                                 "variance_dtype",
                                                 "momentum",
                                                 "use_kahan_summation",
                                                 "micro_batches",
                                                 "compensation_buffer_dtype",
                                                 "stochastic_rounding",
                                                 "torch_init",
                                                 "resume_at"};
  return std::find(all.begin(), all.end(), name) != all.end();
}

}  // namespace optimizers

std::string_view to_string(weight_rounding how) noexcept { return roundings[static_cast<std::size_t>(how)]; }

std::optional<weight_rounding> parse_weight_rounding(std::string_view name) noexcept {
  const auto found = std::find(roundings.begin(), roundings.end(), name);
  if (found == roundings.end()) return std::nullopt;
  return static_cast<weight_rounding>(found - roundings.begin());
}

optimizer::optimizer(const optimizer_entry& entry, std::unique_ptr<running_dialect> dialect)
    : entry_(&entry), dialect_(std::move(dialect)) {}
optimizer::optimizer(const optimizer& other) : entry_(other.entry_), dialect_(other.dialect_->clone()) {}
optimizer::optimizer(optimizer&&) noexcept = default;
optimizer& optimizer::operator=(optimizer other) noexcept {
  std::swap(entry_, other.entry_);
  dialect_.swap(other.dialect_);
  return *this;
}
optimizer::~optimizer() = default;

std::size_t optimizer::size() const noexcept { return dialect_->size(); }
std::int64_t optimizer::steps() const noexcept { return dialect_->steps(); }
std::size_t optimizer::micro_batches() const noexcept { return dialect_->micro_batches(); }

void optimizer::step(std::span<const float> gradients, std::span<float> weights,
                     std::span<const std::uint16_t> random) {
  expect(weights.size(), size(), "weights");
  expect(gradients.size(), size() * micro_batches(), "gradients");
  if (!random.empty()) expect(random.size(), size(), "random numbers, or none");
  const default_processor_state processor;
  dialect_->step(gradients, weights, random);
}

std::vector<optimizer_parameter> optimizer::parameters() const { return dialect_->parameters(); }
void optimizer::set_parameter(std::string_view name, const parameter_value& value) {
  dialect_->set_parameter(name, value);
}
std::vector<optimizer_state> optimizer::state() const { return dialect_->state(); }
double optimizer::gradient_norm() const noexcept { return dialect_->gradient_norm(); }

std::span<const optimizer_entry> optimizer_catalog() {
  static const std::vector<optimizer_entry> entries = [] {
    std::vector<optimizer_entry> all;
    for (const auto& row : rows()) all.push_back(row.entry);
    return all;
  }();
  return entries;
}

bool has_parameter(const optimizer_entry& entry, std::string_view name) noexcept {
  return std::any_of(entry.parameters.begin(), entry.parameters.end(),
                     [&](const optimizer_parameter& p) { return p.name == name; });
}

const optimizer_entry* find_optimizer(std::string_view name) {
  for (const optimizer_entry& entry : optimizer_catalog())
    if (entry.name == name || std::find(entry.aliases.begin(), entry.aliases.end(), name) != entry.aliases.end())
      return &entry;
  return nullptr;
}

optimizer make_optimizer(const optimizer_entry& entry, const optimizer_setup& setup) {
  const format& f = setup.weights;
  if (!f.is_valid() || !f.has_sign || !f.has_zero() || f.width() > 32 || f.exponent_bits > 8 || f.fraction_bits > 23 ||
      f.last_exponent() > 127 || f.min_quantum_exponent() < -149)
    throw std::invalid_argument("weights must be in a format with sign and zero whose numbers float32 holds");
  const default_processor_state processor;
  for (const auto& row : rows()) {
    if (row.entry.name != entry.name) continue;
    optimizer_settings all;
    for (const auto& p : entry.parameters) all.emplace_back(p.name, p.value);
    all.insert(all.end(), setup.parameters.begin(), setup.parameters.end());
    return {entry, row.make(setup, all)};
  }
  throw std::invalid_argument("no optimizer '" + std::string{entry.name} + "'");
}

optimizer make_optimizer(std::string_view name, const optimizer_setup& setup) {
  if (const optimizer_entry* const entry = find_optimizer(name)) return make_optimizer(*entry, setup);
  std::vector<std::string_view> names;
  for (const optimizer_entry& entry : optimizer_catalog()) names.push_back(entry.name);
  throw std::invalid_argument("no optimizer '" + std::string{name} +
                              "'; near: " + std::string{nearest_name(name, names)});
}

}  // namespace ulp
