// Columns that grow while a run is read, without the interpreter's lock, and become numpy arrays at the end.
#ifndef ULP_PYTHON_RUNS_COLUMNS_HPP
#define ULP_PYTHON_RUNS_COLUMNS_HPP

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <ulp/report/tables/plain_values.hpp>
#include <ulp/report/tables/table.hpp>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace ulp::python {

// Text of a file as str; what is no UTF-8 becomes U+FFFD, as in JSON.
[[nodiscard]] pybind11::str text_of(std::string_view text);

// A plain value as Python has it: None for nothing and NaN, dict for values under names.
[[nodiscard]] pybind11::object object_of(const plain_value& value);
[[nodiscard]] pybind11::dict dict_of(const named_values& values);

// The numpy array that takes over the values.
template <typename T>
[[nodiscard]] pybind11::array array_of(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  const pybind11::capsule owner(kept, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(kept->size()), kept->data(), owner);
}

// Values of one kind, with gaps:
//   flags      bool; object with None where there are gaps
//   integers   int64; with gaps float64 with NaN, or object with None where that would not be exact
//   reals      float64, with NaN in gaps
//   texts      object of str, with None
//   nothing    float64, all NaN
// Integers among reals become reals; other mixtures are objects.
class growing_column {
 public:
  void put(const plain_value& value);
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] pybind11::array array();  // afterwards it is empty

 private:
  enum class kind : std::uint8_t { nothing, flags, integers, reals, texts, objects };
  using any_value = std::variant<std::monostate, bool, std::int64_t, double, std::string, named_values>;

  void become(kind wanted);
  void put_gap();
  [[nodiscard]] any_value at(std::size_t i) const;
  [[nodiscard]] bool integers_fit_doubles() const;

  kind kind_ = kind::nothing;
  std::size_t size_ = 0;
  std::vector<std::size_t> gaps_;       // ascending
  std::vector<std::int64_t> integers_;  // flags and the numbers of texts too
  std::vector<double> reals_;
  std::vector<std::string> texts_;  // each once
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<any_value> objects_;
};

// The columns of a table that comes in parts, with the keys of its JSON.
class growing_table {
 public:
  void add(const table& part);
  [[nodiscard]] pybind11::dict arrays();  // afterwards it is empty

 private:
  static constexpr std::array<std::string_view, 4> suffixes{"", "_low", "_high", "_mean"};
  struct columns_of_key {
    std::string key;
    std::array<growing_column, suffixes.size()> parts;
    std::array<bool, suffixes.size()> used{};
  };
  std::vector<columns_of_key> columns_;  // as many as the table's; without key where they have none
  std::size_t rows_ = 0;
};

}  // namespace ulp::python

#endif
