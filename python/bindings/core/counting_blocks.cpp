// The block tables of tensors, as python/ulpscope/_counting/block_counts.py makes them.
#include <pybind11/stl.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ulp/formats/convert.hpp>
#include <ulp/formats/processor_state.hpp>
#include <ulp/io/encoding/block_content.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/cells/element_types.hpp>

#include "counting.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

constexpr int fast = 1;                              // level of zlib: a training waits for it
constexpr std::size_t large = std::size_t{1} << 22;  // elements, from which on a tensor takes several threads
constexpr std::size_t decoded_at_once = std::size_t{1} << 16;

// Of one tensor, one for each extent.
struct block_tables {
  std::vector<block_table> all;
  std::string content;
};

// A matrix in memory, one row after the other, and whether it is a vector.
struct matrix {
  value_array values;
  std::size_t columns = 0;
  bool is_vector = false;
};

std::vector<float> decoded(const value_array& from) {
  std::vector<float> values(from.size);
  if (from.type == dtype::float32) {
    std::memcpy(values.data(), from.values, from.size * sizeof(float));
    return values;
  }
  const auto decode = [&]<typename Code>(std::vector<Code> codes) {  // aligned
    for (std::size_t at = 0; at < from.size; at += decoded_at_once) {
      codes.resize(std::min(decoded_at_once, from.size - at));
      std::memcpy(codes.data(), static_cast<const Code*>(from.values) + at, codes.size() * sizeof(Code));
      decode_array(*format_of_codes(from.type), std::span<const Code>{codes},
                   std::span{values}.subspan(at, codes.size()), 1);
    }
  };
  if (size_of(from.type) == 2)
    decode(std::vector<std::uint16_t>{});
  else
    decode(std::vector<std::uint8_t>{});
  return values;
}

block_tables count(const matrix& of, std::span<const block_extent> extents, unsigned threads) {
  const default_processor_state processor;  // the job may take subnormal numbers for zero
  const bool lies_there =
      of.values.type == dtype::float32 && reinterpret_cast<std::uintptr_t>(of.values.values) % alignof(float) == 0;
  std::vector<float> copy;
  if (!lies_there) copy = decoded(of.values);
  const std::span x = lies_there ? std::span(static_cast<const float*>(of.values.values), of.values.size)
                                 : std::span<const float>(copy);
  block_tables tables;
  const std::size_t columns = x.empty() ? 0 : of.columns;
  for (const block_extent& block : extents)
    if (block.columns != 1 || !of.is_vector)
      tables.all.push_back(count_blocks(x, {columns == 0 ? 1 : x.size() / columns, columns}, block, threads));
  tables.content = block_content(tables.all, fast);
  return tables;
}

std::vector<std::shared_ptr<block_tables>> count_all(
    const std::vector<std::tuple<array_tuple, std::size_t, bool>>& matrices,
    const std::vector<std::pair<std::size_t, std::size_t>>& blocks, int threads) {
  const py::gil_scoped_release released;
  std::vector<matrix> of;
  of.reserve(matrices.size());
  for (const auto& [place, columns, is_vector] : matrices) of.push_back({array_at(place), columns, is_vector});
  std::vector<block_extent> extents;
  for (const auto& [rows, columns] : blocks) extents.push_back({rows, columns});
  std::vector<std::shared_ptr<block_tables>> all(of.size());
  const auto count_one = [&](std::size_t i, unsigned by) {
    all[i] = std::make_shared<block_tables>(count(of[i], extents, by));
  };
  const int useful = std::min(threads, tbb::info::default_concurrency());  // oneTBB complains of more
  std::vector<std::size_t> small;
  for (std::size_t i = 0; i < of.size(); ++i)
    if (useful > 1 && of[i].values.size >= large)
      count_one(i, static_cast<unsigned>(useful));
    else
      small.push_back(i);
  const auto count_small = [&](std::size_t i) { count_one(small[i], 1); };
  if (useful > 1 && small.size() > 1)
    tbb::task_arena(useful).execute([&] { tbb::parallel_for(std::size_t{0}, small.size(), count_small); });
  else
    for (std::size_t i = 0; i < small.size(); ++i) count_small(i);
  return all;
}

// Of all elements of both, of the blocks that both have.
std::shared_ptr<block_tables> both(const block_tables& a, const block_tables& b) {
  auto merged = std::make_shared<block_tables>();
  for (const block_table& table : a.all)
    if (const auto at = std::ranges::find(b.all, table.block, &block_table::block); at != b.all.end()) {
      merged->all.push_back(table);
      merged->all.back().merge(*at);
    }
  merged->content = block_content(merged->all, fast);
  return merged;
}

}  // namespace

void bind_block_tables(py::module_& counting) {
  py::class_<block_tables, std::shared_ptr<block_tables>>(counting, "BlockTables",
                                                          "As BlockTables in _counting/block_tables.py.")
      .def(py::init([](const std::string& content) {
             auto tables = std::make_shared<block_tables>();
             tables->all = parse_block_content(content, "a recording", "a step");
             tables->content = content;
             return tables;
           }),
           py::arg("content"))
      .def("__len__", [](const block_tables& of) { return of.all.size(); })
      .def("content", [](const block_tables& of) { return py::bytes(of.content); })
      .def("merged", &both, py::arg("other"));
  counting.def(
      "count_blocks", &count_all, py::arg("matrices"), py::arg("blocks"), py::arg("threads") = 1,
      "The block tables of matrices in memory, row after row: of each ((address, number of values, type), columns, "
      "whether it is a vector). blocks: pairs of rows and columns.");
}

}  // namespace ulp::python
