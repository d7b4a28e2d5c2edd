// ulpscope._core.counting: what python/ulpscope/_counting/tables.py takes in place of its own. Tables and bytes equal those of Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ulp/io/table_bytes.hpp>
#include <ulp/model/array_counter.hpp>
#include <ulp/model/step.hpp>

#include "module.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

// The histogram of one tensor, or of several merged.
struct table {
  tensor_row row;
  bool keeps_codes = false;  // also where it has none
};

py::int_ whole(uint128 n) {
  const py::int_ low(static_cast<std::uint64_t>(n));
  const auto high = static_cast<std::uint64_t>(n >> 64);
  return high == 0 ? low : py::int_((py::int_(high) << py::int_(64)) | low);
}

// As Python has them: codes, and how often each occurs.
using code_lists = std::pair<std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

// (address, number of values, type) of each.
using array_tuple = std::tuple<std::uintptr_t, std::size_t, int>;

dtype type_of(int number) {
  const auto type = static_cast<dtype>(number);
  if (number < 1 || type > last_dtype)
    throw std::invalid_argument("type " + std::to_string(number) + ": none of a recording");
  return type;
}

// Tells where the values of torch's tensors are, without torch: from what Python sees of them, which takes half of the time here.
class torch_places {
 public:
  torch_places(py::object tensor, py::object strided, const py::dict& types)
      : tensor_(std::move(tensor)), strided_(std::move(strided)) {
    for (const auto& [type, number] : types)
      types_.emplace_back(py::reinterpret_borrow<py::object>(type), py::reinterpret_borrow<py::object>(number));
  }

  // An array_tuple of each; None where it is no tensor itself, is elsewhere, or has its values not one after the other.
  [[nodiscard]] py::list operator()(const py::list& tensors) const {
    py::list places(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) places[i] = place_of(tensors[i]);
    return places;
  }

 private:
  static py::object called(py::handle tensor, const py::str& method) {
    PyObject* const result = PyObject_CallMethodNoArgs(tensor.ptr(), method.ptr());
    if (result == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  }
  static py::object read(py::handle tensor, const py::str& attribute) {
    PyObject* const result = PyObject_GetAttr(tensor.ptr(), attribute.ptr());
    if (result == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(result);
  }
  [[nodiscard]] py::object place_of(py::handle tensor) const {
    if (!py::type::handle_of(tensor).is(tensor_)) return py::none();
    const py::object type = read(tensor, dtype_);
    const auto known = std::ranges::find_if(types_, [&](const auto& of) { return of.first.is(type); });
    const auto is_true = [](const py::object& answer) { return answer.ptr() == Py_True; };
    if (known == types_.end() || !is_true(read(tensor, is_cpu_)) || !read(tensor, layout_).is(strided_) ||
        !is_true(called(tensor, is_contiguous_)) || is_true(called(tensor, is_neg_)))
      return py::none();
    return py::make_tuple(called(tensor, data_ptr_), called(tensor, numel_), known->second);
  }

  py::object tensor_;
  py::object strided_;
  std::vector<std::pair<py::object, py::object>> types_;
  py::str dtype_{"dtype"};
  py::str is_cpu_{"is_cpu"};
  py::str layout_{"layout"};
  py::str is_contiguous_{"is_contiguous"};
  py::str is_neg_{"is_neg"};
  py::str data_ptr_{"data_ptr"};
  py::str numel_{"numel"};
};

std::vector<table> count(const std::vector<array_tuple>& items, bool with_sums, int threads) {
  const py::gil_scoped_release released;
  std::vector<value_array> arrays;
  arrays.reserve(items.size());
  std::vector<std::vector<double>> aligned;  // copies of what is not
  for (const auto& [address, size, number] : items) {
    const dtype type = type_of(number);
    const std::size_t bytes = size * size_of(type);
    const auto* values = reinterpret_cast<const char*>(address);
    if (address % size_of(type) != 0) {
      auto& copy = aligned.emplace_back(bytes / sizeof(double) + 1);
      std::memcpy(copy.data(), values, bytes);
      values = reinterpret_cast<const char*>(copy.data());
    }
    arrays.push_back({.values = values, .size = size, .type = type});
  }
  auto counted = count_arrays(arrays, with_sums ? cell_counter::with::sums : cell_counter::with::nothing, threads);
  std::vector<table> tables(counted.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].row.type = arrays[i].type;
    tables[i].row.table = std::move(counted[i].table);
    tables[i].row.codes = std::move(counted[i].codes);
    tables[i].keeps_codes = size_of(arrays[i].type) <= 2;
  }
  return tables;
}

uint128 from_whole(const py::int_& n) {
  const auto half = [](const py::object& part) { return part.cast<std::uint64_t>(); };
  const py::int_ low_bits(~std::uint64_t{0});
  return uint128{half(n >> py::int_(64))} << 64 | half(n & low_bits);
}

// What Python counted, on another device.
table made(std::uint64_t numel, std::uint64_t zeros, std::pair<std::uint64_t, std::uint64_t> infinities,
           std::uint64_t nans, double largest, double least, const std::vector<int>& keys,
           const std::vector<std::uint64_t>& counts, const std::optional<py::dict>& sums, std::uint64_t cut,
           const std::optional<code_lists>& codes) {
  table result;
  cell_table& t = result.row.table;
  t.numel = numel;
  t.zeros = zeros;
  std::tie(t.positive_infinities, t.negative_infinities) = infinities;
  t.nans = nans;
  t.max_abs = largest;
  t.min_abs = least;
  t.cut_significands = cut;
  t.has_sums = sums.has_value();
  const auto cell_of = [](int key, std::uint64_t n) {
    return cell{.sign = static_cast<cell_sign>(key / 32 / 4096),
                .slot = static_cast<std::uint8_t>(key % 32),
                .exponent = static_cast<std::int16_t>(key / 32 % 4096 - 2048),
                .count = n};
  };
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const cell c = cell_of(keys[i], counts.at(i));
    const bool new_binade = t.cells.empty() || t.cells.back().key() / 32 != keys[i] / 32;
    t.cells.push_back(c);
    if (!sums || !new_binade) continue;
    const py::sequence both = (*sums)[py::int_(keys[i] / 32)];
    t.sums.push_back(
        {.sign = c.sign, .exponent = c.exponent, .significands = from_whole(both[0]), .squares = from_whole(both[1])});
  }
  result.keeps_codes = codes.has_value();
  for (std::size_t i = 0; codes && i < codes->first.size(); ++i)
    result.row.codes.push_back({.code = codes->first[i], .count = codes->second.at(i)});
  return result;
}

table merge(const std::vector<const table*>& tables) {
  const py::gil_scoped_release released;
  table all;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i == 0)
      all.row.table = tables[i]->row.table;
    else
      all.row.table.merge(tables[i]->row.table);
  }
  return all;
}

py::bytes summaries(const std::vector<table*>& tables, const std::vector<std::uint32_t>& tensors,
                    const std::vector<int>& types, const std::vector<double>& factors,
                    const std::vector<std::uint16_t>& parts) {
  std::string records;
  {
    const py::gil_scoped_release released;
    for (std::size_t i = 0; i < tables.size(); ++i) {
      tensor_row& row = tables[i]->row;
      const dtype own = std::exchange(row.type, static_cast<dtype>(types.at(i)));
      row.factor = factors.at(i);
      const std::uint16_t both = parts.empty() ? std::uint16_t{0} : parts.at(i);
      row.parts = {static_cast<std::uint8_t>(both & 255), static_cast<std::uint8_t>(both >> 8)};
      io::append_summary(records, row, tensors.at(i));
      row.type = own;
    }
  }
  return {records};
}

py::bytes payloads(const std::vector<const table*>& tables) {
  std::string bytes;
  {
    const py::gil_scoped_release released;
    for (const table* const t : tables) {
      if (t->keeps_codes && t->row.codes.empty())
        bytes.append("\2\1\0", 3);  // no codes
      else
        io::append_payload(bytes, t->row);
    }
  }
  return {bytes};
}

}  // namespace

void bind_counting(py::module_& module) {
  auto counting = module.def_submodule("counting", "Cell tables for the recorder.");
  py::class_<table>(counting, "Table", "The histogram of one tensor, or of several merged: see _counting/cells.py.")
      .def(py::init(&made))
      .def("__len__", [](const table& t) { return t.row.table.cells.size(); })
      .def_property_readonly("numel", [](const table& t) { return t.row.table.numel; })
      .def_property_readonly("zeros", [](const table& t) { return t.row.table.zeros; })
      .def_property_readonly(
          "infinities",
          [](const table& t) { return std::pair(t.row.table.positive_infinities, t.row.table.negative_infinities); })
      .def_property_readonly("nans", [](const table& t) { return t.row.table.nans; })
      .def_property_readonly("is_finite", [](const table& t) { return t.row.table.nonfinite() == 0; })
      .def_property_readonly("largest", [](const table& t) { return t.row.table.max_abs; })
      .def_property_readonly("least", [](const table& t) { return t.row.table.min_abs; })
      .def_property_readonly("cut", [](const table& t) { return t.row.table.cut_significands; })
      .def_property_readonly("codes",
                             [](const table& t) -> std::optional<code_lists> {
                               if (!t.keeps_codes) return std::nullopt;
                               code_lists codes;
                               for (const code_count& c : t.row.codes) {
                                 codes.first.push_back(c.code);
                                 codes.second.push_back(c.count);
                               }
                               return codes;
                             })
      .def_property_readonly("sums",
                             [](const table& t) -> py::object {
                               if (!t.row.table.has_sums) return py::none();
                               py::dict sums;
                               for (const binade_sums& s : t.row.table.sums) {
                                 const int binade = cell{.sign = s.sign, .exponent = s.exponent}.key() / 32;
                                 py::list both;
                                 both.append(whole(s.significands));
                                 both.append(whole(s.squares));
                                 sums[py::int_(binade)] = both;
                               }
                               return sums;
                             })
      .def("cells",
           [](const table& t) {
             std::vector<std::pair<int, std::uint64_t>> cells;
             for (const cell& c : t.row.table.cells) cells.emplace_back(c.key(), c.count);
             return cells;
           })
      .def("drop_codes",
           [](table& t) {
             t.row.codes = {};
             t.keeps_codes = false;
           })
      .def("add_zeros", [](table& t, std::uint64_t n) {
        t.row.table.numel += n;
        t.row.table.zeros += n;
        t.row.codes.clear();
        t.keeps_codes = false;
      });
  py::class_<torch_places>(counting, "Places", "Where the values of torch's tensors are.")
      .def(py::init<py::object, py::object, const py::dict&>(), py::arg("tensor"), py::arg("strided"), py::arg("types"),
           "torch.Tensor, torch.strided, and the numbers that a recording has for torch's types.")
      .def("__call__", &torch_places::operator(), py::arg("tensors"),
           "(address, number of values, type) of each, for count; None where values are elsewhere or do not follow one "
           "another.");
  counting.def(
      "count", &count, py::arg("arrays"), py::arg("with_sums"), py::arg("threads") = 1,
      "The tables of arrays in memory: (address, number of values, type) of each, which must stay where they are.");
  counting.def("merge", &merge, "The table of all values of several; without codes.");
  counting.def("summaries", &summaries, py::arg("tables"), py::arg("tensors"), py::arg("types"), py::arg("factors"),
               py::arg("parts"), "The summary records, one after the other.");
  counting.def("payloads", &payloads, "The payloads, one after the other.");
}

}  // namespace ulp::python
