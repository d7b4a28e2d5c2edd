#include <ulp/ask/precision/probe_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/number_file.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "precision/dump_files.hpp"
#include "precision/operand_arrays.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t most_depth = std::uint64_t{1} << 16;

void add_codes(npz_writer& to, const std::string& name, const format& of, const std::vector<std::uint64_t>& shape,
               const std::vector<std::uint32_t>& codes) {
  if (of.width() <= 8)
    return to.add(name, "|u1", shape, little_bytes(std::vector<std::uint8_t>(codes.begin(), codes.end())));
  if (of.width() <= 16)
    return to.add(name, "<u2", shape, little_bytes(std::vector<std::uint16_t>(codes.begin(), codes.end())));
  std::vector<std::uint32_t> words = codes;
  if (of == tf32)
    for (std::uint32_t& word : words) word <<= 13;
  to.add(name, "<u4", shape, little_bytes(words));
}

// A format as numbers, in a file that has nothing else to say it.
std::vector<float> told(const format& f) {
  return {static_cast<float>(f.exponent_bits), static_cast<float>(f.fraction_bits), static_cast<float>(f.bias),
          static_cast<float>(f.top),           static_cast<float>(f.bottom),        f.has_sign ? 1.0F : 0.0F};
}

std::vector<double> numbers_of(const number_file& file, const std::string& name, const std::string& option) {
  const std::size_t at = operand_array(file, name, option, 0);
  std::vector<double> numbers(file.arrays()[at].numel);
  file.open(at)->read(numbers);
  return numbers;
}

// The format of one of the units' rows, or another of the catalogue, that these numbers say.
format format_told(const number_file& file) {
  const std::vector<double> numbers = numbers_of(file, "format", "format");
  for (const catalog_entry& entry : format_catalog())
    if (std::ranges::equal(told(entry.format), numbers)) return entry.format;
  throw input_error(file.path(), "tensor 'format'", "is not what ulp probe writes; write the probe again");
}

// One for each row: a result each, or the diagonal.
std::vector<double> results_of(const number_file& file, std::size_t rows) {
  const std::size_t at = operand_array(file, "", "--results", 0);
  const number_array& array = file.arrays()[at];
  std::vector<double> numbers(array.numel);
  file.open(at)->read(numbers);
  if (array.numel == rows) return numbers;
  const bool is_square = array.shape.size() == 2 && array.shape[0] == rows && array.shape[1] == rows;
  if (!is_square)
    throw input_error(file.path(), fmt::format("tensor '{}'", array.name),
                      fmt::format("has {}; the probe has {} rows: give a result for each, or the product of a with the "
                                  "transposed b",
                                  count_text(array.numel, "element"), rows));
  std::vector<double> diagonal;
  for (std::size_t i = 0; i < rows; ++i) diagonal.push_back(numbers[i * rows + i]);
  return diagonal;
}

}  // namespace

std::size_t write_probe(const std::string& path, const std::string& format_name, std::uint64_t depth) {
  const format of = value_format_named(format_name);
  const bool is_catalogued =
      std::ranges::any_of(format_catalog(), [&](const catalog_entry& e) { return e.format == of; });
  if (!is_catalogued || of.width() > 32)
    throw std::invalid_argument(
        fmt::format("--format: {} is not one of the catalogue with at most 32 bits (ulp formats)", format_name));
  if (depth < 2 || depth > most_depth)
    throw std::invalid_argument(fmt::format("--depth: {} is not from 2 to {}", depth, most_depth));
  const probe_operands x = probes(of, depth);
  const std::vector<std::uint64_t> shape{x.rows(), depth};
  npz_writer file(path);
  for (const auto& [name, codes] : {std::pair{std::string("a"), &x.a}, {std::string("b"), &x.b}}) {
    std::vector<float> numbers(codes->size());
    decode_array(of, std::span<const std::uint32_t>(*codes), std::span(numbers));
    file.add(name, "<f4", shape, little_bytes(numbers));
    add_codes(file, name + "_codes", of, shape, *codes);
  }
  file.add("format", "<f4", {6}, little_bytes(told(of)));
  file.finish();
  return x.rows();
}

probe_answer kernels_behind(const std::string& probe, const std::string& results, const run_text& run, listener& to) {
  const number_file file = open_numbers(probe, run, to);
  const format of = format_told(file);
  const number_array& a = file.arrays()[operand_array(file, "a", "a", 0)];
  if (a.shape.size() != 2 || a.shape[1] < 2 || a.shape[1] > most_depth)
    throw input_error(probe, "tensor 'a'", "is not what ulp probe writes; write the probe again");
  const probe_operands x = probes(of, a.shape[1]);
  for (const auto& [name, codes] : {std::pair{"a", &x.a}, {"b", &x.b}}) {
    std::vector<float> numbers(codes->size());
    decode_array(of, std::span<const std::uint32_t>(*codes), std::span(numbers));
    if (!std::ranges::equal(numbers_of(file, name, name), numbers))
      throw input_error(
          probe, fmt::format("tensor '{}'", name),
          "is not what this version of ulp probe writes; write the probe again, and run the kernel with it");
  }
  probe_answer answer{.operands = of, .depth = x.depth, .rows = x.rows()};
  const std::vector<double> given = results_of(open_numbers(results, run, to), x.rows());
  answer.kernels = kernels_that_give(x, given, answer.candidates);
  answer.reaches = reaches_of(x, given);
  return answer;
}

}  // namespace ulp
