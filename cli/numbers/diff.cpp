// ulp diff: where dialects of a format of blocks part on somebody's arrays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/io/arrays/compare_dialects.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "block_words.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct diff_arguments {
  std::string input;
  std::string to;
  std::vector<std::string> dialects;
  std::string axis;
  run_text run;  // of which --tensor and --limit are taken
  output_options output;
};

std::string known_dialects(const std::string& to) {
  std::string all;
  const block_format& meant = listed_row(block_format_named(to, "--to"));
  for (const block_dialect& d : block_dialects())
    if (find_block_format(d.format) == &meant) all += (all.empty() ? "" : ", ") + std::string{d.dialect};
  return all;
}

// In the blocks of `meant` where these are of a shape of their own and the row's are not.
const block_format* shaped_as(const block_format& row, const block_format& meant) {
  const bool is_own = &listed_row(row) != &row;
  return is_own || &listed_row(meant) == &meant ? &row : with_block(row, meant.block);
}

// Of a dialect's name, or a row's.
const block_format& row_of(const std::string& to, const std::string& dialect) {
  if (const block_format* const row = find_block_format(to, dialect)) return *row;
  // A row in its own blocks, or those of --to.
  if (const block_format* const row = find_block_format(dialect))
    if (const block_format* const in_shape = shaped_as(*row, block_format_named(to, "--to"))) return *in_shape;
  const std::string known = known_dialects(to);
  throw usage_error(
      fmt::format("--dialects: '{}' is no dialect of {}{}, and no format of blocks (ulp formats --blocks)", dialect, to,
                  known.empty() ? "" : ": " + known));
}

// Those with the element, the scales and the blocks of `to`, where all are asked for.
std::vector<const block_format*> rows_of(const diff_arguments& o) {
  const block_format& meant = block_format_named(o.to, "--to");
  std::vector<const block_format*> rows;
  if (o.dialects == std::vector<std::string>{"all"}) {
    for (const block_format& row : block_formats())
      if (row.element.name == meant.element.name && row.block == listed_row(meant).block && row.scale == meant.scale &&
          row.scales_rows == meant.scales_rows && row.transposed_hadamard == meant.transposed_hadamard)
        if (const block_format* const in_shape = shaped_as(row, meant)) rows.push_back(in_shape);
  } else {
    for (const std::string& dialect : o.dialects) {
      const block_format* const row = &row_of(o.to, dialect);
      if (std::ranges::find(rows, row) == rows.end()) rows.push_back(row);
    }
  }
  if (rows.size() < 2)
    throw usage_error(fmt::format("--dialects: {} to compare {} with",
                                  o.dialects.size() > 1 ? "no other row is named" : "name another",
                                  rows.empty() ? o.to : std::string{rows[0]->name}));
  return rows;
}

table table_of_pairs(const std::vector<dialect_pair>& pairs) {
  using row = dialect_pair;
  const auto name = [](std::size_t which) {
    return [which](const row& p) { return std::string{p.rows[which]->name}; };
  };
  const auto sqnr = [](std::size_t which) {
    return [which](const row& p) { return value_if(std::isfinite(p.sqnr[which]), p.sqnr[which]); };
  };
  const auto brief_sqnr = [](std::size_t which) {
    return [which](const row& p) { return std::isfinite(p.sqnr[which]) ? fmt::format("{:.2f}", p.sqnr[which]) : "-"; };
  };
  constexpr auto right = alignment::right;
  const std::vector<column<row>> columns{
      {"first", "first", name(0)},
      {"second", "second", name(1)},
      {"blocks", "blocks", [](const row& p) { return exactly(p.blocks); }},
      {"other_scale", "other scale", [](const row& p) { return exactly(p.other_scale); }},
      {"other_codes", "other codes", [](const row& p) { return exactly(p.other_codes); }},
      {"largest_difference", "", [](const row& p) { return p.largest_difference; }},
      {"", "largest difference",
       [](const row& p) {
         return p.largest_difference == 0          ? "0"
                : std::isinf(p.largest_difference) ? "a NaN"
                                                   : fmt::format("{:.2g}", p.largest_difference);
       },
       range_keys::none, right},
      {"first_sqnr_db", "", sqnr(0)},
      {"", "first SQNR dB", brief_sqnr(0), range_keys::none, right},
      {"second_sqnr_db", "", sqnr(1)},
      {"", "second SQNR dB", brief_sqnr(1), range_keys::none, right}};
  return table_of(columns, pairs);
}

std::string scale_text(const block_format& row, double scale) {
  return row.scale == scale_type::float32 ? fmt::format("{:a}", scale) : fmt::format("{}", scale);
}

void print_smallest(const dialect_pair& pair) {
  const smallest_block& b = *pair.smallest;
  fmt::print("{} and {}: array {}, the block at [{}, {}]; of its {} elements {}\n", pair.rows[0]->name,
             pair.rows[1]->name, printable(b.array), b.row, b.column, grouped(b.elements),
             b.places.empty() ? "none is needed" : "these are enough, others being 0");
  for (std::size_t i = 0; i < b.places.size(); ++i)
    fmt::print("  [{}] = {:a}: {:.9g} and {:.9g}\n", b.places[i], b.x[i], b.numbers[0][i], b.numbers[1][i]);
  fmt::print("  scale {} and {}\n", scale_text(*pair.rows[0], b.scale[0]), scale_text(*pair.rows[1], b.scale[1]));
}

int run(const diff_arguments& o) {
  refuse_overwriting_inputs(o.output, {o.input});
  const auto rows = rows_of(o);
  block_conversion_options how;
  if (!o.axis.empty()) how.axis = axis_named(o.axis);
  how.selects = o.run.selected().tensor;
  how.limits = o.run.how_to_read().limits;
  std::vector<dialect_pair> pairs;
  {
    progress shown("elements", 0);
    pairs = compare_dialects(o.input, rows, how, note, [&](std::uint64_t elements) { shown.advance(elements); });
  }
  write_table("diff", table_of_pairs(pairs), o.output);
  if (o.output.machine_stdout()) return done;
  const bool any = std::ranges::any_of(pairs, [](const dialect_pair& p) { return p.smallest.has_value(); });
  fmt::print("\n{}", any ? "The smallest that tells each pair apart:\n" : "They make the same of all blocks.\n");
  for (const dialect_pair& pair : pairs)
    if (pair.smallest) print_smallest(pair);
  return done;
}

}  // namespace

command diff_command() {
  auto o = std::make_shared<diff_arguments>();
  command made{.name = "diff", .help = "compare what dialects of a format of blocks make of your arrays"};
  made.add("INPUT", &o->input, ".npy, .npz or .safetensors", {.required = true, .check = a_name});
  made.add("--to", &o->to, "the format of blocks, such as mxfp8, mxfp4 or nvfp4 (see ulp formats --blocks)",
           {.type = "ROW", .required = true});
  made.add(
      "--dialects", &o->dialects,
      "whose: names such as torchao,torchao_rceil,te,microxcaling,gfloat, or rows of ulp formats --blocks; all: all "
      "that have its elements, blocks and scales",
      {.type = "A,B", .required = true, .split_at_commas = true});
  made.add("--axis", &o->axis, "along which blocks run, 0 the first, -1 the last (the default)", {.type = "N"});
  add_tensor_and_limits(made, o->run);
  add_output(made, o->output);
  made.footer =
      "largest difference: of two numbers that one element becomes, over its block's largest magnitude. SQNR: of all "
      "arrays together.\n"
      "Example:\n"
      "  ulp diff examples/digits.step00100.safetensors --to mxfp8 --dialects torchao,te";
  made.run = [o] {
    o->dialects = joined_names(o->dialects);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
