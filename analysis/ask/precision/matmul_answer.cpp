#include <ulp/ask/precision/matmul_answer.hpp>

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <ulp/ask/precision/dot_answer.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/number_file.hpp>
#include <ulp/model/cells/byte_order.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/precision/unit_choice.hpp>

#include "precision/block_operands.hpp"
#include "precision/dump_files.hpp"
#include "precision/operand_arrays.hpp"

namespace ulp {
namespace {

struct matrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<double> numbers;
};

matrix matrix_of(const number_file& file, std::size_t index) {
  const number_array& array = file.arrays()[index];
  const std::string place = fmt::format("tensor '{}'", array.name);
  if (array.shape.size() != 2)
    throw input_error(file.path(), place,
                      fmt::format("has {}, not the two of a matrix", count_text(array.shape.size(), "dimension")));
  if (array.numel == 0) throw input_error(file.path(), place, "has no elements");
  if (array.numel > most_elements)
    throw input_error(
        file.path(), place,
        fmt::format("{} elements take too much memory; at most {}", grouped(array.numel), grouped(most_elements)));
  matrix m{array.shape[0], array.shape[1], std::vector<double>(array.numel)};
  file.open(index)->read(m.numbers);
  return m;
}

block_operands operands_of(const matrix& m, const factor_format& in, conversion_counts& counts) {
  if (in.blocks != nullptr) return block_operands_of(*in.blocks, m.numbers, m.columns, counts);
  block_operands made{std::vector<std::uint32_t>(m.numbers.size()), {}, {}};
  encode_array(in.elements, std::span<const double>(m.numbers), std::span(made.codes), {}, &counts);
  return made;
}

// Codes of float32 times the scales of the tensors, or of their rows and columns: each product rounded once.
void multiply(std::vector<std::uint32_t>& codes, std::span<const float> rows, std::span<const float> columns,
              std::size_t across) {
  const auto at = [](std::span<const float> all, std::size_t i) { return all.size() == 1 ? all.front() : all[i]; };
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(codes[i]) * (at(rows, i / across) * at(columns, i % across)));
}

// Its columns one after the other.
matrix transposed(const matrix& m) {
  matrix t{m.columns, m.rows, std::vector<double>(m.numbers.size())};
  for (std::uint64_t i = 0; i < m.rows; ++i)
    for (std::uint64_t k = 0; k < m.columns; ++k) t.numbers[k * m.rows + i] = m.numbers[i * m.columns + k];
  return t;
}

void write_product(const std::string& path, const format& of, const std::vector<std::uint32_t>& codes,
                   const matmul_answer& answer) {
  const std::vector<std::uint64_t> shape{answer.rows, answer.columns};
  if (of == float16) {
    const std::vector<std::uint16_t> halves(codes.begin(), codes.end());
    write_npy(path, "<f2", shape, little_bytes(halves));
    return;
  }
  std::vector<float> numbers(codes.size());
  decode_array(of, std::span(codes), std::span(numbers));
  write_npy(path, "<f4", shape, little_bytes(numbers));
}

}  // namespace

matmul_answer matmul_over(const matmul_question& asked, listener& to) {
  if (asked.inputs.empty() || asked.inputs.size() > 2)
    throw std::invalid_argument("give the dumps of A and of B, or one dump with both");
  if (asked.unit.empty()) throw std::invalid_argument("--unit names the matrix unit: an architecture or a processor");
  if (asked.split_k == 0) throw std::invalid_argument("--split-k: 0 parts have no sum");
  const number_file first = open_numbers(asked.inputs.front(), asked.run, to);
  const number_file second = asked.inputs.size() == 1 ? number_file(first.path(), asked.run.how_to_read().limits)
                                                      : open_numbers(asked.inputs.back(), asked.run, to);
  const std::size_t a_at = operand_array(first, asked.a, "--a", 0);
  const std::size_t b_at = operand_array(second, asked.b, "--b", asked.inputs.size() == 1 ? 1 : 0);
  const matrix a = matrix_of(first, a_at);
  const matrix b = transposed(matrix_of(second, b_at));
  matmul_answer answer{.operands = fmt::format("{} of {} with {} of {}", first.arrays()[a_at].name, first.path(),
                                               second.arrays()[b_at].name, second.path()),
                       .rows = a.rows,
                       .depth = a.columns,
                       .columns = b.rows};
  if (a.columns != b.columns)
    throw std::invalid_argument(
        fmt::format("{}: {} x {} and {} x {} are no product: A's columns are as many as B's rows", answer.operands,
                    a.rows, a.columns, b.columns, b.rows));
  if (answer.columns > most_elements / answer.rows)
    throw std::invalid_argument(
        fmt::format("{}: {} x {} results take too much memory", answer.operands, answer.rows, answer.columns));

  answer.format = asked.format.empty() ? std::string(to_string(first.arrays()[a_at].type)) : asked.format;
  const factor_format in = factor_format_named(answer.format);
  unit_choice choice = unit_of(asked.unit, asked.accumulate, asked.promote);
  if (in.blocks != nullptr) choice = scaled_choice(choice, *in.blocks);
  const tensor_core& unit = unit_chosen(choice, in.elements);
  answer.unit = name_of(unit);
  answer.source = unit.source;
  answer.note = unit.note;
  const matmul_order order = split_order(accumulation_of(choice, in.elements), asked.split_k);
  answer.result = order.result();

  conversion_counts counts;
  const block_operands of_a = operands_of(a, in, counts);
  const block_operands of_b = operands_of(b, in, counts);
  if (counts.newly_zero + counts.overflowed > 0)
    to.note(fmt::format("{}: {} operands underflow and {} overflow before they are multiplied", answer.format,
                        grouped(counts.newly_zero), grouped(counts.overflowed)));
  matmul_operands x{in.elements, of_a.codes, in.elements, of_b.codes, answer.depth, {}};
  if (in.blocks != nullptr) x.scales = row_scales{*choice.scale, of_a.scales, of_b.scales, choice.block};
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::uint32_t> codes = matmul(order, x);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  answer.parts = order.parts(answer.depth);
  answer.errors = matmul_error(answer.result, codes, x);
  if (!of_a.of_rows.empty()) multiply(codes, of_a.of_rows, of_b.of_rows, answer.columns);
  if (!asked.output.empty()) write_product(asked.output, answer.result, codes, answer);
  return answer;
}

}  // namespace ulp
