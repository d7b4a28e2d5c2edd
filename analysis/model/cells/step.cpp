#include <ulp/model/cells/step.hpp>

#include <array>
#include <limits>

namespace ulp {
namespace {

template <typename Enum>
struct named {
  Enum value;
  std::string_view name;
};

constexpr std::array kinds{
    named<tensor_kind>{tensor_kind::unknown, "unknown"},
    named<tensor_kind>{tensor_kind::weight_grad, "weight_grad"},
    named<tensor_kind>{tensor_kind::activation_grad, "activation_grad"},
    named<tensor_kind>{tensor_kind::weight, "weight"},
    named<tensor_kind>{tensor_kind::update, "update"},
    named<tensor_kind>{tensor_kind::activation, "activation"},
    named<tensor_kind>{tensor_kind::weight_grad, "wgrad"},
    named<tensor_kind>{tensor_kind::activation_grad, "agrad"},
};
constexpr std::array roles{
    named<tensor_role>{tensor_role::unknown, "unknown"},
    named<tensor_role>{tensor_role::low, "low"},
    named<tensor_role>{tensor_role::float32, "float32"},
};

template <typename Table, typename Enum>
std::string_view name_in(const Table& table, Enum value) noexcept {
  for (const auto& row : table)
    if (row.value == value) return row.name;
  return "unknown";
}

template <typename Enum, std::size_t N>
std::optional<Enum> value_in(const std::array<named<Enum>, N>& table, std::string_view text) noexcept {
  for (const auto& row : table)
    if (row.name == text) return row.value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(tensor_kind kind) noexcept { return name_in(kinds, kind); }
std::string_view to_string(tensor_role role) noexcept { return name_in(roles, role); }
std::optional<tensor_kind> parse_kind(std::string_view text) noexcept { return value_in(kinds, text); }
std::optional<tensor_role> parse_role(std::string_view text) noexcept { return value_in(roles, text); }

std::string_view without_kind(std::string_view tensor) noexcept {
  const std::string_view word = tensor.substr(0, tensor.find('/'));
  const bool is_kind = word == "forward" || parse_kind(word).value_or(tensor_kind::unknown) != tensor_kind::unknown;
  return is_kind && word.size() < tensor.size() ? tensor.substr(word.size() + 1) : tensor;
}

value_sum squares_of(const tensor_row& t) {
  if (t.table.nans > 0) return {.value = not_known};
  if (t.table.infinities() > 0) return {.value = std::numeric_limits<double>::infinity()};
  value_sum sum = squares_sum(t.table);
  sum.value = sum.value / t.unit() / t.unit();
  return sum;
}

}  // namespace ulp
