#include <ulp/ask/precision/dot_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/number_file.hpp>
#include <ulp/model/precision/dot_error.hpp>

#include "precision/block_operands.hpp"
#include "precision/dump_files.hpp"
#include "precision/operand_arrays.hpp"

namespace ulp {
namespace {

// Rows of one length.
struct operand_rows {
  std::uint64_t length = 0;
  std::vector<double> numbers;

  [[nodiscard]] std::uint64_t rows() const { return numbers.size() / length; }
};

struct operands {
  operand_rows a;
  operand_rows b;
  std::string told;
};

// The first rows of an array, its last dimension being a row's, or cut into rows of that length.
operand_rows rows_of(const number_file& file, std::size_t index, std::uint64_t length, std::uint64_t rows,
                     listener& to) {
  const number_array& array = file.arrays()[index];
  const std::string place = fmt::format("tensor '{}'", array.name);
  const std::uint64_t last = array.shape.empty() ? 1 : array.shape.back();
  operand_rows m{length == 0 ? last : length, {}};
  if (m.length == 0 || array.numel < m.length)
    throw input_error(file.path(), place,
                      fmt::format("has {}, fewer than one row of {}", count_text(array.numel, "element"), m.length));
  if (const std::uint64_t rest = array.numel % m.length; rest > 0)
    to.note(fmt::format("{}: {}: the last {} left out: {} are no whole number of rows of {}", file.path(), place,
                        rest == 1 ? "element is" : grouped(rest) + " elements are", grouped(array.numel), m.length));
  rows = std::min(rows, array.numel / m.length);
  if (rows > most_elements / m.length)
    throw input_error(file.path(), place, fmt::format("rows of {} take too much memory; give fewer --rows", m.length));
  m.numbers.resize(rows * m.length);
  file.open(index)->read(m.numbers);
  return m;
}

operands recorded(const dot_question& asked, listener& to) {
  if (asked.inputs.size() > 2)
    throw std::invalid_argument("more than two inputs: give one dump with both arrays, or one for each");
  const number_file first = open_numbers(asked.inputs.front(), asked.run, to);
  const number_file second = asked.inputs.size() == 1 ? number_file(first.path(), asked.run.how_to_read().limits)
                                                      : open_numbers(asked.inputs.back(), asked.run, to);
  const bool is_one = asked.inputs.size() == 1;
  const std::size_t a = operand_array(first, asked.a, "--a", 0);
  const std::size_t b = operand_array(second, asked.b, "--b", is_one && second.arrays().size() == 2 ? 1 : 0);
  return {rows_of(first, a, asked.length, asked.rows, to), rows_of(second, b, asked.length, asked.rows, to),
          fmt::format("{} of {} with {} of {}", first.arrays()[a].name, first.path(), second.arrays()[b].name,
                      second.path())};
}

operands generated(const dot_question& asked) {
  const auto known = std::ranges::find(dot_distributions, asked.generate);
  if (known == dot_distributions.end())
    throw std::invalid_argument(
        fmt::format("--generate: '{}' is not one of uniform, symmetric, normal, around-one, constant", asked.generate));
  const auto of = static_cast<distribution>(known - dot_distributions.begin());
  const std::uint64_t length = asked.length == 0 ? 1024 : asked.length;
  if (asked.rows > most_elements / length)
    throw std::invalid_argument(fmt::format("--rows {} of --length {} take too much memory", asked.rows, length));
  const auto some = [&](std::uint64_t stream) {
    return operand_rows{length, generated_numbers(of, asked.seed, stream, asked.rows * length)};
  };
  return {some(0), some(1), fmt::format("{} numbers of seed {}", asked.generate, asked.seed)};
}

// So many rows, from the first again where they end.
block_operands operands_of(const operand_rows& m, std::uint64_t rows, const factor_format& in,
                           conversion_counts& counts) {
  std::vector<double> numbers;
  for (std::uint64_t r = 0; r < rows; ++r) {
    const auto begin = m.numbers.begin() + static_cast<std::ptrdiff_t>(r % m.rows() * m.length);
    numbers.insert(numbers.end(), begin, begin + static_cast<std::ptrdiff_t>(m.length));
  }
  if (in.blocks != nullptr) return block_operands_of(*in.blocks, numbers, m.length, counts);
  block_operands made{std::vector<std::uint32_t>(numbers.size()), {}, {}};
  encode_array(in.elements, std::span<const double>(numbers), std::span(made.codes), {}, &counts);
  return made;
}

std::vector<dot_order> orders_in(const dot_question& asked, const factor_format& in, const std::string& name) {
  unit_choice choice = unit_of(asked.unit, asked.accumulate, asked.promote);
  if (in.blocks != nullptr) choice = scaled_choice(choice, *in.blocks);
  if (!asked.unit.empty()) return unit_orders(in.elements, choice);
  if (!asked.accumulate.empty() || asked.promote)
    throw std::invalid_argument("--accumulate and --promote are of a matrix unit: name it with --unit");
  if (in.blocks == nullptr) return dot_orders(in.elements, name, static_cast<std::uint32_t>(asked.chunk));
  const auto all = scaled_unit_orders(in.elements, *choice.scale, choice.block);
  if (all.empty())
    throw std::invalid_argument(fmt::format("--format: no matrix unit is known that multiplies {} scaled by {} of {}",
                                            in.blocks->element.name, to_string(*choice.scale), choice.block));
  return all;
}

}  // namespace

unit_choice unit_of(const std::string& unit, const std::string& accumulate, std::optional<std::uint32_t> promote) {
  unit_choice choice{.unit = unit, .promote = promote};
  if (!accumulate.empty()) choice.accumulator = format_named(accumulate);
  return choice;
}

dot_answer dots_over(const dot_question& asked, listener& to) {
  if (asked.inputs.empty() == asked.generate.empty())
    throw std::invalid_argument(
        "give a dump with two arrays, or --generate for numbers that are made up: one of these");
  if (asked.chunk == 0 || asked.chunk > std::numeric_limits<std::uint32_t>::max())
    throw std::invalid_argument(fmt::format("--chunk: {} is not from 1 to 4294967295", asked.chunk));
  if (asked.rows == 0) throw std::invalid_argument("--rows: 0 dot products have no error");
  const operands read = asked.generate.empty() ? recorded(asked, to) : generated(asked);
  if (read.a.length != read.b.length)
    throw std::invalid_argument(fmt::format("{}: rows of {} and of {} elements; --length K cuts both into rows of K",
                                            read.told, read.a.length, read.b.length));
  dot_answer answer{.length = read.a.length, .products = 0, .operands = read.told, .rows = {}};
  answer.products = std::min(asked.rows, std::max(read.a.rows(), read.b.rows()));

  work counting(to, "formats", asked.formats.size());
  for (const std::string& name : asked.formats) {
    const factor_format in = factor_format_named(name);
    if (in.elements.width() > 32)
      throw std::invalid_argument(
          fmt::format("--format: {} has {} bits; operands have at most 32", name, in.elements.width()));
    conversion_counts counts;
    const block_operands a = operands_of(read.a, answer.products, in, counts);
    const block_operands b = operands_of(read.b, answer.products, in, counts);
    if (counts.newly_zero + counts.overflowed > 0)
      to.note(fmt::format("{}: {} operands underflow and {} overflow before they are multiplied", name,
                          grouped(counts.newly_zero), grouped(counts.overflowed)));
    row_scales scales{{}, a.scales, b.scales, 0};
    if (in.blocks != nullptr) {
      const unit_choice choice = scaled_choice({}, *in.blocks);
      scales.format = *choice.scale;
      scales.size = choice.block;
    }
    for (dot_order& order : orders_in(asked, in, name)) {
      const dot_errors errors =
          dot_error(order, in.elements, a.codes, b.codes, answer.length, in.blocks != nullptr ? &scales : nullptr);
      answer.rows.push_back({name, std::move(order), errors});
    }
    counting.advance();
  }
  return answer;
}

}  // namespace ulp
