#include "verify_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/formats/block_vectors.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/io/arrays/verify_blocks.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "block_words.hpp"
#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

// "row" of one, "a or b", and of many the first few.
std::string names_of(const std::vector<const block_format*>& rows, std::size_t most = 4) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
    text += (i == 0 ? "" : ", ") + std::string{rows[i]->name};
  if (rows.size() <= most) return text;
  return text +
         fmt::format(" and {}", rows.size() == most + 1 ? "one other" : fmt::format("{} others", rows.size() - most));
}

std::string scale_code_text(const block_format& row, double scale) {
  if (row.scale == scale_type::float32) return fmt::format("{:a}", scale);
  const auto code = static_cast<std::uint8_t>(scale);
  const format& of = row.scale == scale_type::e8m0 ? float8_e8m0 : float8_e4m3fn;
  const double number = to_double(of, code);
  if (number != number) return fmt::format("{} (NaN)", code);
  if (row.scale == scale_type::e8m0) return fmt::format("{} (2^{})", code, code - 127);
  return fmt::format("{} ({})", code, number);
}

std::string element_text(const block_format& row, unsigned code) {
  if (row.element.numbers == nullptr) {
    const int value = code >= 128 ? static_cast<int>(code) - 256 : static_cast<int>(code);
    return fmt::format("{:#04x} ({}/{})", code, value, 1 << row.element.fraction_bits);
  }
  const double number = to_double(*row.element.numbers, code);
  return fmt::format("{:#04x} ({})", code, number != number ? "NaN" : fmt::format("{}", number));
}

void print_block(const block_format& row, const differing_block& block) {
  const std::string rows = block.rows == 1 ? fmt::format("row {}", block.row)
                                           : fmt::format("rows {} to {}", block.row, block.row + block.rows - 1);
  fmt::print("block {}, {}, columns {} to {}: amax {:a}, {}\n", block.index, rows, block.column,
             block.column + block.columns - 1, block.amax, to_string(block.what));
  const bool is_scale = block.what == block_difference::scale_is_nan || block.what == block_difference::scale_higher ||
                        block.what == block_difference::scale_lower;
  if (is_scale)
    fmt::print("  scale {}, expected {}\n", scale_code_text(row, block.scale[0]), scale_code_text(row, block.scale[1]));
  if (block.elements > 0)
    fmt::print("  {} of {} elements differ: the first, [{}, {}] = {:a}, is {}, expected {}\n", block.elements,
               block.rows * block.columns, block.element_row, block.element_column, block.element,
               element_text(row, block.codes[0]), element_text(row, block.codes[1]));
  if (!block.follows.empty()) fmt::print("  as in {}\n", names_of(block.follows));
}

void print(const block_check& asked, const block_format& row, const verified_blocks& all) {
  const std::string name = asked.row == row.name ? asked.row : fmt::format("{}, here {}", asked.row, row.name);
  fmt::print("{}: {} of {}, ", printable(asked.results.empty() ? asked.file : asked.results),
             count_text(all.blocks, "block"), name);
  if (all.differing == 0) {
    std::vector<const block_format*> others = all.gives_all;
    std::erase(others, &row);
    fmt::print("all agree\n");
    if (!others.empty())
      fmt::print("{} would be the same here: these blocks do not tell {} from it\n", names_of(others),
                 others.size() == 1 ? "it" : "them");
    return;
  }
  fmt::print("{} {}\n", grouped(all.differing), all.differing == 1 ? "differs" : "differ");
  for (std::size_t i = 0; i < block_difference_count; ++i)
    if (all.by_difference[i] > 0)
      fmt::print("  {:<24}  {:>8}\n", to_string(static_cast<block_difference>(i)), grouped(all.by_difference[i]));
  if (!all.gives_all.empty())
    fmt::print("All {} are those of {}.\n", count_text(all.blocks, "block"), names_of(all.gives_all));
  else if (all.nearest != nullptr)
    fmt::print("No row that is known gives all of them; {} gives the most, {} of {}.\n", all.nearest->name,
               grouped(all.nearest_blocks), grouped(all.blocks));
  for (const differing_block& block : all.first) print_block(row, block);
}

void print_counts(const block_check& asked, const block_format& row, const verified_blocks& all) {
  std::string given;
  for (const block_format* const other : all.gives_all) given += (given.empty() ? "" : ", ") + std::string{other->name};
  print_json(
      "verify_blocks",
      table_of_one({{"file", asked.file},
                    {"results", asked.results.empty() ? asked.file : asked.results},
                    {"format", asked.row},
                    {"dialect", std::string{row.name}},
                    {"blocks", integer(all.blocks)},
                    {"elements", integer(all.elements)},
                    {"differ", integer(all.differing)},
                    {"differing_elements", integer(all.differing_elements)},
                    {"given_by", value_if(!given.empty(), given)},
                    {"nearest", value_if(all.nearest != nullptr, all.nearest ? std::string{all.nearest->name} : "")},
                    {"nearest_blocks", integer(all.nearest_blocks)}}));
}

}  // namespace

int write_block_vectors(const std::string& name, std::uint64_t seed, const std::string& output) {
  const block_format& row = block_format_named(name, "--block");
  if (output.empty()) throw usage_error("--block: name the .npz to write with -o");
  if (!output.ends_with(".npz"))
    throw usage_error(fmt::format("-o {}: blocks are several arrays: name a .npz", output));
  const block_vectors vectors = block_vectors_of(row, seed);
  ulp::write_block_vectors(output, vectors);
  fmt::print(
      "{}: x, {} x {} in float32, rows of one `tensor` together{}\n"
      "Save what your kernel makes of x as `scale` and `codes` in another .npz. Then:\n"
      "  ulp verify --block {} {} --results KERNEL.npz\n",
      printable(output), vectors.of.rows, vectors.of.columns,
      vectors.amax.empty() ? "" : ", whose amax is in `global_amax`", name, printable(output));
  return done;
}

int verify_blocks_of(const block_check& asked) {
  const block_format& row = block_format_named(asked.row, "--block");
  if (asked.file == "-") throw usage_error("--block: blocks are not read from standard input: name a .npz");
  block_conversion_options how;
  how.row = &row;
  if (!asked.axis.empty()) how.axis = axis_named(asked.axis);
  const verified_blocks all =
      verify_blocks(asked.file, asked.results.empty() ? asked.file : asked.results, how, asked.keep);
  if (asked.json)
    print_counts(asked, row, all);
  else
    print(asked, row, all);
  return all.differing == 0 ? done : differences;
}

}  // namespace ulp::cli
