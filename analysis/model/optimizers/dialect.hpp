// From a library's arithmetic to an `optimizer`: parameters are listed once, by visiting their fields; a step runs over
// tiles of elements that stay in the caches.
//
// A dialect is two types. P has the parameters: `void fields(V&&)`, which calls v(name, field, meaning) on each, and
// optionally `std::string refused() const`. R runs them: `R(const P&, const start&)`; `void begin(const P&, std::int64_t t)`
// before step t (from 1); `void run(tile&)` on each tile; `void states(std::vector<optimizer_state>&) const`; optionally
// `std::size_t tile_size() const`, what tiles are multiples of, `std::size_t micro_batches() const`,
// `const_numbers prepare(const_numbers, numbers)`, which makes the gradient of a step from what it is given, and
// `double gradient_norm() const`.
#ifndef ULP_MODEL_OPTIMIZERS_DIALECT_HPP
#define ULP_MODEL_OPTIMIZERS_DIALECT_HPP

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ulp/model/optimizers/optimizer.hpp>

#include "machines/parameters.hpp"
#include "rows.hpp"
#include "storage.hpp"
#include "weight_store.hpp"

namespace ulp {

class optimizer::running_dialect {
 public:
  virtual ~running_dialect() = default;
  [[nodiscard]] virtual std::unique_ptr<running_dialect> clone() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::int64_t steps() const = 0;
  [[nodiscard]] virtual std::size_t micro_batches() const = 0;
  virtual void step(std::span<const float> gradients, std::span<float> weights,
                    std::span<const std::uint16_t> random) = 0;
  [[nodiscard]] virtual std::vector<optimizer_parameter> parameters() const = 0;
  virtual void set_parameter(std::string_view name, const parameter_value& value) = 0;
  [[nodiscard]] virtual std::vector<optimizer_state> state() const = 0;
  [[nodiscard]] virtual double gradient_norm() const = 0;
};

}  // namespace ulp

namespace ulp::optimizers {

// What a dialect is made for.
struct start {
  std::size_t size = 0;
  storage_rounder weights;
  weight_rounding rounding = weight_rounding::own;

  // Whether new weights are rounded to nearest, as most libraries do.
  [[nodiscard]] bool rounds_to_nearest() const noexcept {
    return rounding == weight_rounding::own || rounding == weight_rounding::nearest;
  }
};

// Some elements of a step. g is a copy, in the weights' format; w are the weights themselves.
struct tile {
  std::size_t first = 0;
  numbers g;
  numbers w;
  std::span<const std::uint16_t> random;  // of these elements, or empty
  weight_store* store = nullptr;

  [[nodiscard]] std::size_t size() const noexcept { return g.size(); }
  // The weights of the tile become these numbers, rounded as weights are.
  void finish(const_numbers exact) const { store->store(first, exact, w, random); }
};

// Throws parameter_error where a number is not one that any of the libraries takes.
void check_number(std::string_view name, double value);
// Whether a parameter decides how states are kept, so that it cannot change between steps.
[[nodiscard]] bool decides_states(std::string_view name) noexcept;

template <class P>
void set_field(P& parameters, std::string_view name, const parameter_value& value) {
  bool found = false;
  std::vector<std::string_view> names;
  parameters.fields([&](const char* field_name, auto& field, const char*) {
    names.push_back(field_name);
    if (name != field_name) return;
    found = true;
    const double* const number = std::get_if<double>(&value);
    using field_type = std::remove_cvref_t<decltype(field)>;
    if constexpr (std::is_same_v<field_type, std::string>) {
      if (const bool* const flag = std::get_if<bool>(&value)) {
        field = *flag ? "true" : "false";
        return;
      }
    }
    if (number != nullptr) check_number(name, *number);
    scalers::from_value(name, field, value);
  });
  if (!found) throw parameter_error(scalers::unknown_name("parameter", name, names));
}

template <class P, class R>
class running final : public optimizer::running_dialect {
 public:
  running(P parameters, const optimizer_setup& setup)
      : parameters_(std::move(parameters)),
        start_{setup.size, storage_rounder{setup.weights}, setup.rounding},
        runner_(parameters_, start_),
        store_(setup) {
    std::size_t unit = 1;
    if constexpr (requires { runner_.tile_size(); }) unit = runner_.tile_size();
    tile_ = unit * std::max<std::size_t>(1, 1024 / unit);
    gradient_.resize(std::min(tile_, setup.size));
  }

  [[nodiscard]] std::unique_ptr<running_dialect> clone() const override { return std::make_unique<running>(*this); }
  [[nodiscard]] std::size_t size() const override { return start_.size; }
  [[nodiscard]] std::int64_t steps() const override { return steps_; }
  [[nodiscard]] std::size_t micro_batches() const override {
    if constexpr (requires { runner_.micro_batches(); })
      return runner_.micro_batches();
    else
      return 1;
  }
  void step(std::span<const float> gradients, std::span<float> weights,
            std::span<const std::uint16_t> random) override {
    ++steps_;
    runner_.begin(parameters_, steps_);
    store_.begin(steps_);
    constexpr bool prepares = requires { runner_.prepare(gradients, weights); };
    if constexpr (prepares) gradients = runner_.prepare(gradients, weights);
    for (std::size_t first = 0; first < start_.size; first += tile_) {
      const std::size_t count = std::min(tile_, start_.size - first);
      const numbers g = numbers{gradient_}.first(count);
      std::copy_n(gradients.begin() + static_cast<std::ptrdiff_t>(first), count, g.begin());
      if constexpr (!prepares) start_.weights(g);
      tile part{first, g, weights.subspan(first, count), random.empty() ? random : random.subspan(first, count),
                &store_};
      runner_.run(part);
    }
  }
  [[nodiscard]] std::vector<optimizer_parameter> parameters() const override {
    return scalers::parameters_of(parameters_);
  }
  void set_parameter(std::string_view name, const parameter_value& value) override {
    P changed = parameters_;
    set_field(changed, name, value);
    if (decides_states(name))
      throw parameter_error("parameter '" + std::string{name} + "' decides how states are kept; make a new optimizer");
    refuse(changed);
    parameters_ = std::move(changed);
  }
  [[nodiscard]] std::vector<optimizer_state> state() const override {
    std::vector<optimizer_state> all;
    runner_.states(all);
    store_.append_to(all);
    return all;
  }
  [[nodiscard]] double gradient_norm() const override {
    if constexpr (requires { runner_.gradient_norm(); })
      return runner_.gradient_norm();
    else
      return not_known;
  }

  static void refuse(const P& parameters) {
    if constexpr (requires { parameters.refused(); })
      if (const std::string why = parameters.refused(); !why.empty()) throw parameter_error(why);
  }

 private:
  P parameters_;
  start start_;
  R runner_;
  weight_store store_;
  std::vector<float> gradient_;  // of a tile
  std::size_t tile_ = 0;
  std::int64_t steps_ = 0;
};

template <class P, class R>
std::unique_ptr<optimizer::running_dialect> make(const optimizer_setup& setup, const optimizer_settings& parameters) {
  P made;
  for (const auto& [name, value] : parameters) set_field(made, name, value);
  running<P, R>::refuse(made);
  return std::make_unique<running<P, R>>(std::move(made), setup);
}

// A row of the catalogue with what makes its optimizers. The catalogue names it.
struct registration {
  optimizer_entry entry;
  std::unique_ptr<optimizer::running_dialect> (*make)(const optimizer_setup&, const optimizer_settings&);
};

template <class P, class R>
registration row(optimizer_entry entry, const P& defaults = {}) {
  entry.parameters = scalers::parameters_of(defaults);
  return {std::move(entry), &make<P, R>};
}

// Scratch of a tile, allocated where a dialect is made.
[[nodiscard]] inline numbers part_of(std::vector<float>& scratch, std::size_t size) {
  if (scratch.size() < size) scratch.resize(size);
  return numbers{scratch}.first(size);
}

}  // namespace ulp::optimizers

#endif
