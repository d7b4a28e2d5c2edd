#include <ulp/ask/precision/optimizer_answer.hpp>

#include <algorithm>
#include <array>
#include <type_traits>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/model/cells/byte_order.hpp>
#include <variant>

namespace ulp {
namespace {

template <class T>
constexpr const char* type_of() {
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, double>) return "<f8";
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
  if constexpr (std::is_same_v<T, std::uint16_t>) return "<u2";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "<u4";
}

template <class Code>
std::string codes_of(const format& of, std::span<const float> w) {
  std::vector<Code> codes(w.size());
  encode_array(of, w, std::span<Code>{codes});
  return std::string{std::string_view{little_bytes(codes)}};
}

// As in recorded runs: counts are integers, other numbers and flags float64.
void add_number(npz_writer& to, const std::string& name, double value) {
  constexpr std::array<std::string_view, 5> counts{"block_size", "elements", "micro_batches", "resume_at",
                                                   "stochastic_rounding"};
  if (std::ranges::find(counts, name) != counts.end()) {
    const auto count = static_cast<std::int64_t>(value);
    to.add(name, type_of<std::int64_t>(), {}, little_bytes(std::span{&count, 1}));
    return;
  }
  to.add(name, type_of<double>(), {}, little_bytes(std::span{&value, 1}));
}

}  // namespace

optimizer_arrays::array& optimizer_arrays::named(const std::string& name, const char* type, std::uint64_t width) {
  const auto found = std::ranges::find(arrays_, name, &array::name);
  if (found != arrays_.end()) return *found;
  arrays_.push_back({name, type, width, {}});
  return arrays_.back();
}

std::uint64_t optimizer_arrays::bytes_of_moment(const optimizer& of) const {
  const std::uint64_t element = weights_.width() <= 8 ? 1 : weights_.width() <= 16 ? 2 : 4;
  std::uint64_t bytes = element * of.size();
  for (const optimizer_state& s : of.state())
    bytes += std::visit([](auto values) { return std::uint64_t{values.size_bytes()}; }, s.values);
  return bytes;
}

void optimizer_arrays::add(const optimizer& of, std::span<const float> w) {
  steps_.push_back(of.steps());
  if (weights_ == float32)
    named("w", "<f4", w.size()).bytes += little_bytes(w);
  else if (weights_.width() <= 8)
    named("w", "|u1", w.size()).bytes += codes_of<std::uint8_t>(weights_, w);
  else if (weights_.width() <= 16)
    named("w", "<u2", w.size()).bytes += codes_of<std::uint16_t>(weights_, w);
  else
    named("w", "<u4", w.size()).bytes += codes_of<std::uint32_t>(weights_, w);
  for (const optimizer_state& s : of.state())
    std::visit(
        [&](auto values) {
          using element = std::remove_const_t<typename decltype(values)::element_type>;
          named(s.name, type_of<element>(), values.size()).bytes += little_bytes(values);
        },
        s.values);
}

void optimizer_arrays::write(npz_writer& to, const optimizer& of, std::uint64_t elements) const {
  to.add("steps", type_of<std::int64_t>(), {steps_.size()}, little_bytes(steps_));
  for (const array& a : arrays_) to.add(a.name, a.type, {steps_.size(), a.width}, a.bytes);
  if (!norms_.empty()) to.add("grad_norm", type_of<double>(), {norms_.size()}, little_bytes(norms_));
  for (const optimizer_parameter& p : of.parameters()) {
    if (const double* const number = std::get_if<double>(&p.value)) add_number(to, p.name, *number);
    if (const bool* const flag = std::get_if<bool>(&p.value)) add_number(to, p.name, *flag ? 1 : 0);
  }
  if (elements != 0) add_number(to, "elements", static_cast<double>(elements));
}

}  // namespace ulp
