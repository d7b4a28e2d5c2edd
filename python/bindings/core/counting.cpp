// ulpscope._core.counting: what python/ulpscope/_counting/tables.py takes in place of its own. Tables and bytes equal those of Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ulp/model/cells/array_counter.hpp>
#include <ulp/model/cells/step.hpp>

#include "counting.hpp"
#include "device_counts.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

py::int_ whole(uint128 n) {
  const py::int_ low(static_cast<std::uint64_t>(n));
  const auto high = static_cast<std::uint64_t>(n >> 64);
  return high == 0 ? low : py::int_((py::int_(high) << py::int_(64)) | low);
}

// As Python has them: codes, and how often each occurs.
using code_lists = std::pair<std::vector<std::uint32_t>, std::vector<std::uint64_t>>;

tables count(const std::vector<array_tuple>& items, bool with_sums, int threads) {
  std::vector<value_array> arrays;
  arrays.reserve(items.size());
  for (const array_tuple& item : items) arrays.push_back(array_at(item));
  return counted(arrays, with_sums, threads);
}

std::span<const std::uint64_t> words_of(const py::buffer_info& of) {
  if (of.itemsize != sizeof(std::uint64_t) || of.ndim != 1) throw std::invalid_argument("words of 64 bits are needed");
  return {static_cast<const std::uint64_t*>(of.ptr), static_cast<std::size_t>(of.size)};
}

// As Plan.describe of _device/counting.py: what kernels read, written to memory that they share.
void describe(std::uintptr_t to, const py::buffer& described, const std::vector<std::uint64_t>& batch,
              const py::buffer& based, std::uint64_t tables, const py::buffer& moved, const py::buffer& addresses,
              const py::buffer& owners) {
  const py::buffer_info all = described.request(), of_based = based.request(), of_moved = moved.request(),
                        of_addresses = addresses.request(), of_owners = owners.request();
  const std::span from = words_of(all), places = words_of(of_moved), whose = words_of(of_owners),
                  at = words_of(of_addresses);
  auto* const words = reinterpret_cast<std::uint64_t*>(to);
  std::ranges::copy(from, words);
  std::ranges::copy(batch, words);
  for (const std::uint64_t i : words_of(of_based)) words[i] += tables;
  for (std::size_t i = 0; i < places.size(); ++i) words[places[i]] += at[whose[i]];
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

void drop_codes(table& of) {
  of.row.codes = {};
  of.keeps_codes = false;
}

}  // namespace

tables tables_at(std::uintptr_t headers, std::uintptr_t words, const kinds& of, bool with_sums) {
  const auto* const its = reinterpret_cast<const device::header*>(headers);
  tables all;
  all.reserve(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) {
    const auto type = static_cast<dtype>(of[i].second);
    counted_values values =
        values_of_counts(its[i], reinterpret_cast<const std::uint64_t*>(words), type, of[i].first, with_sums);
    table& t = *all.emplace_back(std::make_shared<table>());
    t.row.type = type;
    t.row.table = std::move(values.table);
    t.row.codes = std::move(values.codes);
    t.keeps_codes = size_of(type) <= 2;
  }
  return all;
}

value_array array_at(const array_tuple& place) {
  const auto& [address, size, number] = place;
  const auto type = static_cast<dtype>(number);
  if (number < 1 || type > last_dtype)
    throw std::invalid_argument("type " + std::to_string(number) + ": none of a recording");
  return {.values = reinterpret_cast<const void*>(address), .size = size, .type = type};
}

tables counted(const std::vector<value_array>& arrays, bool with_sums, int threads) {
  const py::gil_scoped_release released;
  std::vector<value_array> aligned = arrays;
  std::vector<std::vector<double>> copies;  // of what is not
  for (value_array& array : aligned)
    if (reinterpret_cast<std::uintptr_t>(array.values) % size_of(array.type) != 0) {
      auto& copy = copies.emplace_back(array.size * size_of(array.type) / sizeof(double) + 1);
      std::memcpy(copy.data(), array.values, array.size * size_of(array.type));
      array.values = copy.data();
    }
  auto values = count_arrays(aligned, with_sums ? cell_counter::with::sums : cell_counter::with::nothing, threads);
  tables all;
  all.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    table& t = *all.emplace_back(std::make_shared<table>());
    t.row.type = aligned[i].type;
    t.row.table = std::move(values[i].table);
    t.row.codes = std::move(values[i].codes);
    t.keeps_codes = size_of(aligned[i].type) <= 2;
  }
  return all;
}

void bind_counting(py::module_& module) {
  auto counting = module.def_submodule("counting", "Cell tables for the recorder.");
  py::class_<table, std::shared_ptr<table>>(
      counting, "Table", "The histogram of one tensor, or of several merged: see _counting/cells.py.")
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
      .def("drop_codes", &drop_codes)
      .def("add_zeros", [](table& t, std::uint64_t n) {
        t.row.table.numel += n;
        t.row.table.zeros += n;
        t.row.codes.clear();
        t.keeps_codes = false;
      });
  counting.def(
      "count", &count, py::arg("arrays"), py::arg("with_sums"), py::arg("threads") = 1,
      "The tables of arrays in memory: (address, number of values, type) of each, which must stay where they are.");
  counting.def(
      "device_tables",
      [](std::uintptr_t headers, std::uintptr_t words, const kinds& of, bool with_sums) {
        const py::gil_scoped_release released;
        return tables_at(headers, words, of, with_sums);
      },
      py::arg("headers"), py::arg("words"), py::arg("kinds"), py::arg("with_sums"),
      "The tables that kernels left in memory, of tensors of so many values and such types.");
  counting.def("describe", &describe, "Writes what kernels read: see Plan.describe of _device/counting.py.");
  counting.def("merge", &merged, "The table of all values of several; without codes.");
  bind_block_tables(counting);
  bind_content(counting);
  bind_joint(counting);
  bind_passes(counting);
  bind_tables(counting);
  bind_torch(counting);
}

}  // namespace ulp::python
