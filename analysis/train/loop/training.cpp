#include <ulp/train/training.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include <ulp/formats/random_bits.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include <ulp/formats/processor_state.hpp>
#include "data/sentences.hpp"
#include "loop/counting_hook.hpp"
#include "loop/optimizer.hpp"
#include "networks/network.hpp"

namespace ulp {
namespace {

constexpr std::size_t text_length = std::size_t{1} << 14;

// Predictions of a micro-batch: 64 of the perceptron, 128 of the transformer.
std::size_t sequences_of(network_kind kind) { return kind == network_kind::mlp ? 64 : 8; }

const parameter_value* rate_in(const training_options& o) {
  if (!o.recipe) return nullptr;
  for (const auto& [name, value] : o.recipe->parameters)
    if (name == "lr") return &value;
  return nullptr;
}

double largest_of(const tensor_row& t) {
  if (t.table.nans > 0) return not_known;
  return t.table.infinities() > 0 ? std::numeric_limits<double>::infinity() : t.table.max_abs / t.factor;
}

}  // namespace

double training_options::rate() const noexcept {
  if (learning_rate) return *learning_rate;
  const parameter_value* const named = rate_in(*this);
  if (const double* const rate = named == nullptr ? nullptr : std::get_if<double>(named)) return *rate;
  return optimizer == optimizer_kind::sgd ? 0.1 : 0.003;
}

training_options in_float32(training_options of) {
  if (!of.recipe) return of;
  of.learning_rate = of.rate();
  of.recipe = float32_twin(*of.recipe);
  return of;
}

struct training::state {
  state(const training_options& chosen, rounding_hook& hook, std::optional<scaler> with)
      : options(chosen),
        counting(hook, options.activation_grads, options.joint),
        policy(std::move(with)),
        text(train::sentences(text_length)),
        network(train::make_network<float>(options)),
        optimizer(train::make_optimizer(options)) {
    optimizer->begin(network->parameters());
    for (const auto& p : network->parameters()) {
      parts.push_back(parts_of(p->parts));
      tensors.push_back({.name = p->name,
                         .kind = tensor_kind::weight_grad,
                         .role = p->role(),
                         .through = p->parts.rounded > 0 ? hook.through() : std::string{},
                         .shape = {p->value.rows(), p->value.columns()},
                         .numel = p->value.values().size()});
      if (p->value.rows() == 1) tensors.back().shape = {p->value.columns()};
    }
    for (std::size_t i = 0; options.joint && i < network->parameters().size(); ++i)
      tensors.push_back({.name = "weight/" + tensors[i].name,
                         .kind = tensor_kind::weight,
                         .shape = tensors[i].shape,
                         .numel = tensors[i].numel});
  }

  // Of the gradient that a parameter's uses and the micro-batches add up to.
  [[nodiscard]] gradient_parts parts_of(const gradient_parts& uses) const {
    const auto all = [&](int n) { return static_cast<std::uint8_t>(std::min(n * options.microbatches, 255)); };
    if (counting.through().empty()) return {.kept = all(uses.rounded + uses.kept)};
    return {.rounded = all(uses.rounded), .kept = all(uses.kept)};
  }

  // Sequences from anywhere in the text.
  train::batch draw(std::int32_t microbatch) const {
    train::batch drawn{.length = network->length()};
    const std::uint64_t places = text.size() - drawn.length;
    const std::uint64_t stream = stream_of("batch " + std::to_string(microbatch), next);
    for (std::size_t i = 0; i < sequences_of(options.network); ++i) {
      const std::uint64_t at = std::uint64_t{random_bits(options.seed, stream, i, 32)} * places >> 32;
      const auto from = text.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = from + static_cast<std::ptrdiff_t>(drawn.length);
      drawn.characters.insert(drawn.characters.end(), from, end);
      drawn.targets.insert(drawn.targets.end(), from + 1, end + 1);
    }
    return drawn;
  }

  // Forward and back; the mean loss.
  double compute_gradients(double scale) {
    double loss = 0;
    for (const auto& p : network->parameters()) p->clear_gradient();
    for (std::int32_t m = 0; m < options.microbatches; ++m) {
      const train::pass<float> in{.hook = &counting, .step = next, .microbatch = m, .sums = options.sums};
      loss += network->loss(draw(m), in);
      network->backward(static_cast<float>(scale) / static_cast<float>(options.microbatches), in);
      for (const auto& p : network->parameters()) p->accumulate(in);
    }
    return loss / options.microbatches;
  }

  // The gradients as rows of a recording.
  std::vector<tensor_row> count(double scale) {
    std::vector<tensor_row> rows;
    for (const auto& p : network->parameters()) {
      counter.add(std::as_const(p->gradient).values());
      rows.push_back({.tensor = static_cast<std::uint32_t>(rows.size()),
                      .type = dtype::float32,
                      .factor = scale,
                      .table = counter.take(),
                      .parts = parts[rows.size()]});
    }
    return rows;
  }

  // Behind the weight gradients.
  void add_weights(std::vector<tensor_row>& rows) {
    for (const auto& p : network->parameters()) {
      counter.add(std::as_const(p->value).values());
      rows.push_back({.tensor = static_cast<std::uint32_t>(rows.size()),
                      .type = dtype::float32,
                      .factor = 1,
                      .table = counter.take()});
    }
  }

  // Behind both.
  void add_activation_grads(std::vector<tensor_row>& rows, double scale) {
    for (train::counting_hook::counted_tensor& t : counting.activation_grads) {
      if (tensors.size() == rows.size())
        tensors.push_back({.name = t.name,
                           .kind = tensor_kind::activation_grad,
                           .role = tensor_role::low,
                           .through = counting.through(),
                           .shape = {t.rows, t.columns},
                           .numel = t.rows * t.columns});
      rows.push_back({.tensor = static_cast<std::uint32_t>(rows.size()),
                      .type = dtype::float32,
                      .factor = scale,
                      .table = std::move(t.table)});
    }
  }

  // found_inf is of all weight gradients, as GradScaler looks at them; the rest is of the 16-bit ones.
  scaler_input seen_by_scaler(const step& s, double scale, trajectory_row& row) const {
    scaler_input input{.max_abs = 0};
    double squares = 0;
    double above = 0;
    double elements = 0;
    for (const tensor_row& t : s.tensors) {
      input.found_inf = input.found_inf || t.table.nonfinite() > 0;
      squares += squares_of(t).value;
      if (tensors[t.tensor].role != tensor_role::low) continue;
      const double largest = largest_of(t);
      input.max_abs = std::isnan(largest) || std::isnan(input.max_abs) ? not_known : std::max(input.max_abs, largest);
      if (std::isnan(policy->edge())) continue;
      above += static_cast<double>(count_above(t.table, policy->edge(), {.scale = scale, .factor = scale}).high);
      elements += static_cast<double>(t.table.numel);
    }
    row.norm = input.unscaled_norm = std::sqrt(squares);
    if (elements > 0) {
      input.above_edge = above;
      input.up_to_edge = elements - above;
    }
    return input;
  }

  void update_scaler(const step& s, trajectory_row& row) {
    row.scale_used = row.unscaled_by = policy->scale();
    const scaler_input input = seen_by_scaler(s, row.scale_used, row);
    row.found_inf = input.found_inf;
    scaler_verdict verdict = policy->update(input);
    row.scale_next = policy->scale();
    row.skipped = verdict.skipped;
    row.error = std::move(verdict.error);
    row.lacks_input = verdict.lacks_input;
    row.poisoned = row.found_inf && !row.skipped;
    if (policy->unscales_with_next()) row.unscaled_by = row.scale_next;
  }

  // With the joint tables of all weights, where they are asked for.
  void update_weights(const trajectory_row& row, trained_step& made) {
    const auto& parameters = network->parameters();
    std::vector<std::vector<double>> before;
    for (std::size_t i = 0; options.joint && i < parameters.size(); ++i) {
      const std::span<const float> w = std::as_const(parameters[i]->value).values();
      before.emplace_back(w.begin(), w.end());
    }
    apply(row);
    for (std::size_t i = 0; i < before.size(); ++i) {
      joints.add(before[i], counting.updates.at(parameters[i]->name));
      made.joints.emplace_back(static_cast<std::uint32_t>(parameters.size() + i), joints.take());
    }
  }

  void apply(const trajectory_row& row) {
    if (row.unscaled_by != 1) {
      const auto inverse = static_cast<float>(1 / row.unscaled_by);
      for (const auto& p : network->parameters())
        for (float& g : p->gradient.values()) g *= inverse;
    }
    optimizer->apply(network->parameters(), {.hook = &counting, .step = next});
  }

  training_options options;
  train::counting_hook counting;
  std::optional<scaler> policy;
  std::vector<std::uint8_t> text;
  std::unique_ptr<train::network<float>> network;
  std::unique_ptr<train::optimizer> optimizer;
  cell_counter counter;
  joint_counter joints;
  std::vector<tensor_info> tensors;
  std::vector<gradient_parts> parts;
  std::int64_t next = 0;
};

training::training(const training_options& options, rounding_hook& hook, std::optional<scaler> policy) {
  if (options.microbatches < 1) throw std::invalid_argument("a step has at least one micro-batch");
  if (options.width == 0 || options.width % 2 != 0) throw std::invalid_argument("two heads share an even width");
  if (policy && policy->scope() == machine_scope::tensor)
    throw std::invalid_argument(std::string{policy->entry().name} +
                                ": a scale for each layer, where the loss is multiplied by one");
  if (options.joint && options.recipe && !(options.recipe->weights == float32))
    throw std::invalid_argument(std::string{options.recipe->dialect->name} +
                                ": what it adds to weights in a narrow format is known after rounding alone");
  const default_processor_state state;
  state_ = std::make_unique<training::state>(options, hook, std::move(policy));
}

training::~training() = default;

const std::vector<tensor_info>& training::tensors() const noexcept { return state_->tensors; }

std::uint64_t training::parameters() const noexcept {
  std::uint64_t all = 0;
  for (const tensor_info& t : state_->tensors)
    if (t.kind == tensor_kind::weight_grad) all += t.numel;
  return all;
}

std::span<const float> training::weights(std::size_t index) const {
  return std::as_const(state_->network->parameters().at(index)->value).values();
}

trained_step training::advance() {
  const default_processor_state processor;
  state& s = *state_;
  trained_step made;
  made.recorded.key.step = s.next;
  made.row.key = made.recorded.key;
  s.counting.start_step();

  const double scale = s.policy ? s.policy->scale() : 1;
  made.recorded.scalars.loss = s.compute_gradients(scale);
  made.recorded.tensors = s.count(scale);
  made.nonzero = s.counting.nonzero;
  made.underflow = s.counting.underflow;

  made.row.scale_used = made.row.unscaled_by = made.row.scale_next = 1;
  if (s.policy) {
    s.update_scaler(made.recorded, made.row);
    made.recorded.scalars.loss_scale = scale;
    made.recorded.scalars.found_inf = made.row.found_inf;
  }
  if (s.options.joint) s.add_weights(made.recorded.tensors);
  s.add_activation_grads(made.recorded.tensors, scale);
  const bool applied = !made.row.skipped && made.row.error.empty();
  if (applied) s.update_weights(made.row, made);
  made.recorded.scalars.learning_rate = s.options.rate();
  made.recorded.scalars.applied = applied;
  made.row.recorded_applied = applied;
  ++s.next;
  return made;
}

}  // namespace ulp
