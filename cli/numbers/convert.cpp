// ulp convert: the numbers of a file in another format.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/arrays/convert.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/atomic_file.hpp>

#include "block_words.hpp"
#include "command.hpp"
#include "convert_blocks.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct convert_arguments {
  std::string input;
  std::string output;
  std::string output_place;  // by its place instead of by -o
  std::string to = "float32";
  std::string from;
  std::string dtype;
  std::string scale = "1";
  bool values = false;
  bool packed = false;
  bool swizzled = false;
  std::string axis;
  std::uint64_t threads = 0;
  run_text run;  // of which --tensor and --limit are taken
  rounding_text rounding;
  bool json = false;
};

const std::vector<std::string> dtypes{"f32", "f64", "u8", "u16", "u32"};  // as raw_type has them

unsigned threads_of(const convert_arguments& o) {
  return static_cast<unsigned>(std::min<std::uint64_t>(o.threads, 1024));
}

// --packed and --swizzled, of blocks that are read or written.
void check_layout(const convert_arguments& o, const block_format& row, const std::string& name) {
  if (o.packed && row.element.width > 4)
    throw usage_error(fmt::format("--packed: codes of {} have {} bits; two in a byte have at most 4", row.element.name,
                                  row.element.width));
  if (o.swizzled && (row.scale == scale_type::float32 || row.block.rows != 1))
    throw usage_error(fmt::format("--swizzled: scales of {} are not codes of rows of blocks", name));
}

// What --from says where it names blocks.
std::optional<block_source> blocks_of(const convert_arguments& o) {
  const block_format* const row = find_block_format(o.from);
  if (row == nullptr) return std::nullopt;
  if (!o.dtype.empty())
    throw usage_error(fmt::format("--dtype: {} is a format of blocks, whose file says its types", o.from));
  check_layout(o, *row, o.from);
  block_source from{.row = row, .packed = o.packed, .swizzled = o.swizzled, .threads = threads_of(o)};
  if (!o.axis.empty()) from.axis = axis_named(o.axis);
  return from;
}

file_conversion_options how_to_convert(const convert_arguments& o) {
  file_conversion_options how{.to = value_format_named(o.to)};
  how.how.rounding = o.rounding.value(how.to);
  how.how.scale = positive_number(o.scale, "--scale");
  how.how.random.seed = o.rounding.seed;
  how.how.threads = threads_of(o);
  how.blocks = blocks_of(o);
  if (!o.from.empty() && !how.blocks) how.from = format_named(o.from);
  if (!o.dtype.empty()) how.raw = static_cast<raw_type>(std::ranges::find(dtypes, o.dtype) - dtypes.begin());
  how.values = o.values;
  how.packed = o.packed && !how.blocks;
  how.selects = o.run.selected().tensor;
  how.limits = o.run.how_to_read().limits;
  return how;
}

// The sums of all that was converted, under a name of their own.
array_conversion total_of(const std::vector<array_conversion>& arrays) {
  array_conversion total{.name = "all", .converted = true};
  for (const array_conversion& a : arrays) {
    if (!a.converted) continue;
    total.numel += a.numel;
    total.counts += a.counts;
    total.bias += a.bias;
  }
  return total;
}

table counts_table(const std::vector<array_conversion>& arrays) {
  using row = array_conversion;
  const auto count = [](const char* key, const char* title, std::uint64_t conversion_counts::*of) {
    return column<row>{key, title, [of](const row& a) { return value_if(a.converted, exactly(a.counts.*of)); }};
  };
  const bool has_bias = std::ranges::any_of(arrays, [](const row& a) { return a.bias.values > 0; });
  const std::vector<column<row>> columns{
      {"tensor", "tensor", [](const row& a) { return a.name; }},
      {"from", "from", [](const row& a) { return a.from; }},
      {"to", "to", [](const row& a) { return value_if(a.converted, a.to); }},
      {"what", "", [](const row& a) { return a.converted  ? "converted"
                                             : a.left_out ? "left out"
                                                          : "copied"; }},
      {"numel", "elements", [](const row& a) { return exactly(a.numel); }},
      count("zero", "zero", &conversion_counts::zeros),
      count("underflow", "underflow", &conversion_counts::newly_zero),
      count("subnormal", "subnormal", &conversion_counts::subnormal),
      count("inexact", "inexact", &conversion_counts::inexact),
      count("overflow", "overflow", &conversion_counts::overflowed),
      count("nan", "NaN", &conversion_counts::nan),
      {"bias_ulps", "", [](const row& a) { return value_if(a.bias.values > 0, a.bias.mean()); }},
      {"", has_bias ? "bias ulp" : "",
       [](const row& a) { return a.bias.values > 0 ? fmt::format("{:+.1e}", a.bias.mean()) : ""; }, range_keys::none,
       alignment::right}};
  return table_of(columns, arrays);
}

// "cbfloat16 codes in U16", "float16 in <f2": what elements of the output are.
std::string text_of_output(const convert_arguments& o, bool packed, const file_conversion& done_by, const format& to) {
  const auto& arrays = done_by.arrays();
  const std::string type = std::ranges::find(arrays, true, &array_conversion::converted)->to;
  if (o.values) return fmt::format("numbers of {} in {}", o.to, type);
  const bool own = type.find_first_of("uU") == std::string::npos;
  return fmt::format("{} {} {}", o.to,
                     own      ? "in"
                     : packed ? "codes, two in a byte of"
                              : "codes in",
                     type) +
         (own ? "" : fmt::format(" ({} bits)", to.width()));
}

void add_notes(const convert_arguments& o, const format& to, const conversion_counts& counts) {
  if (counts.nan > 0 && !to.has_nan())
    warn(fmt::format("{} has no NaN: {} of the input became a number", o.to,
                     counts.nan == 1 ? "the one" : grouped(counts.nan)));
}

int run_blocks(const convert_arguments& o, const block_format& row) {
  for (const auto& [given, name] : {std::pair{!o.from.empty(), "--from"}, std::pair{!o.dtype.empty(), "--dtype"},
                                    std::pair{o.values, "--values"}, std::pair{o.scale != "1", "--scale"}})
    if (given)
      throw usage_error(fmt::format("{}: {} is a format of blocks, for which there is no such option", name, o.to));
  check_layout(o, row, o.to);
  block_request asked{.input = o.input, .output = o.output, .to = o.to, .rounding = {}, .json = o.json, .how = {}};
  asked.how.row = &row;
  rounding_text of_elements = o.rounding;
  of_elements.seed = 0;
  if (of_elements.given()) {
    const format& element = row.element.numbers == nullptr ? float32 : *row.element.numbers;
    if (of_elements.direction.empty()) of_elements.direction = to_string(rounding{.direction = row.rounding});
    asked.how.rounding = of_elements.value(element);
    asked.rounding = of_elements.text(element);
  }
  asked.how.seed = o.rounding.seed;
  asked.how.threads = threads_of(o);
  if (!o.axis.empty()) asked.how.axis = axis_named(o.axis);
  asked.how.packed = o.packed;
  asked.how.swizzled = o.swizzled;
  asked.how.selects = o.run.selected().tensor;
  asked.how.limits = o.run.how_to_read().limits;
  return convert_to_blocks(asked);
}

// What text files are named after would be bytes.
void refuse_text(const std::string& output) {
  std::string extension = std::filesystem::path(output).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return c < 0x80 ? std::tolower(c) : c; });
  for (const std::string_view text : {".csv", ".tsv", ".txt", ".json", ".jsonl", ".md"})
    if (extension == text)
      throw usage_error(fmt::format(
          "{}: a text file is not written: name it .npy, .npz or .safetensors, or for the bare elements .bin", output));
}

int run(convert_arguments o) {
  if (!o.to.empty() && find_block_format(o.to) == nullptr) static_cast<void>(value_format_named(o.to));
  if (o.output.empty() == o.output_place.empty())
    throw usage_error(o.output.empty() ? "the file to write is missing: name it after INPUT, or with -o"
                                       : "the file to write is named twice, after INPUT and with -o");
  if (o.output.empty()) o.output = o.output_place;
  refuse_text(o.output);
  if (o.input == "-") throw usage_error("INPUT: standard input cannot be converted: name a file");
  refuse_overwriting_inputs({.csv = o.output}, {o.input});
  if (const block_format* const row = find_block_format(o.to)) return run_blocks(o, *row);
  if ((!o.axis.empty() || o.swizzled) && find_block_format(o.from) == nullptr)
    throw usage_error(fmt::format("{}: {} is no format of blocks", o.swizzled ? "--swizzled" : "--axis", o.to));
  const file_conversion_options how = how_to_convert(o);
  if (o.output == "-" && o.json) throw usage_error("--json and -o - both write to standard output");
  file_conversion conversion(o.input, o.output, how);
  for (const std::string& line : conversion.notes()) note(fmt::format("{}: {}", o.input, line));

  atomic_file file(o.output == "-" ? "/dev/stdout" : o.output);
  try {
    progress shown("bytes", conversion.bytes());
    conversion.write(file, [&](std::uint64_t bytes) { shown.advance(bytes); });
    file.finish();
  } catch (...) {
    if (o.output == "-" && !progress::interrupted() && output_is_unread()) return end_without_output();
    throw;
  }

  const auto& arrays = conversion.arrays();
  const array_conversion total = total_of(arrays);
  add_notes(o, how.to, total.counts);
  if (o.output == "-") return done;
  const conversion_counts& c = total.counts;
  const auto converted = static_cast<std::uint64_t>(std::ranges::count(arrays, true, &array_conversion::converted));
  const auto left_out = static_cast<std::uint64_t>(std::ranges::count(arrays, true, &array_conversion::left_out));
  const std::uint64_t copied = arrays.size() - converted - left_out;
  const bool drawn = how.how.rounding.direction == direction::stochastic;
  const summary lines{
      {"input", o.input, {{"input", o.input}}},
      {"output", o.output, {{"output", o.output}}},
      {"format",
       text_of_output(o, how.packed, conversion, how.to),
       {{"format", o.to},
        {"holds", std::string{o.values     ? "values"
                              : how.packed ? "packed codes"
                                           : "codes"}}}},
      {"rounding",
       o.rounding.text(how.to) + (drawn ? fmt::format(", seed {}", o.rounding.seed) : ""),
       {{"rounding", o.rounding.text(how.to)}, {"seed", value_if(drawn, integer(o.rounding.seed))}}},
      {"scale", how.how.scale == 1 ? "" : as_power(how.how.scale), {{"scale", how.how.scale}}},
      {"", "", {{"converted", integer(converted)}, {"copied", integer(copied)}, {"left_out", integer(left_out)}}},
      {"",
       "",
       {{"numel", integer(total.numel)},
        {"zero", integer(c.zeros)},
        {"underflow", integer(c.newly_zero)},
        {"subnormal", integer(c.subnormal)},
        {"inexact", integer(c.inexact)},
        {"overflow", integer(c.overflowed)},
        {"nan", integer(c.nan)},
        {"bias_ulps", value_if(total.bias.values > 0, total.bias.mean())}}}};
  if (o.json) {
    print_json("convert", lines, "tensors", counts_table(arrays));
    return done;
  }
  print_text(lines);
  std::vector<array_conversion> rows = arrays;
  if (converted > 1) rows.push_back(total);
  fmt::print("\n{}", to_text(counts_table(rows)));
  return done;
}

}  // namespace

command convert_command() {
  auto o = std::make_shared<convert_arguments>();
  command made{.name = "convert", .help = "convert the numbers in a file to a format, and count what becomes of them"};
  made.add("INPUT", &o->input, ".npy, .npz, .safetensors, or with --dtype a raw file",
           {.required = true, .check = a_name});
  made.add("OUTPUT", &o->output_place, "the file to write, as -o names it", {.check = a_name});
  made.add("-o,--output", &o->output,
           "the file to write, of the kind that its extension says (others: raw, but no text); - for standard output",
           {.type = "FILE", .check = a_name});
  made.add("--to", &o->to,
           "the format (see ulp formats), of at most 32 bits; or a format of blocks, such as mxfp8, mxfp4 or nvfp4 "
           "(see ulp formats --blocks), whose scales, codes and numbers become a .npz",
           {.type = "F", .show_default = true});
  made.add("--axis", &o->axis, "along which blocks run, 0 the first, -1 the last (the default)", {.type = "N"});
  made.add(
      "--swizzled", &o->swizzled,
      "scale codes in tiles of 128 x 4, as cuBLAS reads them, padded with zeros; with --from of blocks, the input's");
  made.add("--scale", &o->scale, "multiply by this before rounding, exactly", {.type = "S", .show_default = true});
  made.add("--values", &o->values, "write the rounded numbers in float32 instead of codes");
  made.add("--packed", &o->packed,
           "two codes in a byte, the first in the low half, of formats of at most 4 bits; with --from of blocks, the "
           "input's",
           {.excludes = "--values"});
  made.add(
      "--from", &o->from,
      "read unsigned integers of 8, 16 or 32 bits, whichever just holds its codes, as codes of this format; or of a "
      "format of blocks, the arrays codes and scale, as --to writes them",
      {.type = "F"});
  made.add("--dtype", &o->dtype,
           "what the elements of a raw file are, little-endian: numbers, or codes (u8, u16, u32) of --from",
           {.type = "T", .one_of = dtypes});
  made.add("--threads", &o->threads, "at most so many; 0: one for each processor",
           {.type = "N", .show_default = true, .check = whole_number});
  add_tensor_and_limits(made, o->run);
  add_rounding(made, o->rounding);
  made.add("--json", &o->json, "print JSON");
  made.footer =
      "Codes with scales beside them, as published models have them in .safetensors, are read as their numbers; a note "
      "says by which convention. Elements of FILE have the format's own type where there is one (float16 has; in .safetensors bfloat16 and "
      "8-bit formats too), else they are codes in unsigned integers. Other tensors - integers, booleans, those that "
      "--tensor does not select - are copied. bias: what stochastic rounding with fewer than 24 random bits errs by on "
      "average over all draws, exactly, away from zero. docs/inputs.md has the details, such as the random bits of each "
      "element.\n"
      "Examples:\n"
      "  ulp convert examples/digits.step00100.safetensors --to cb16 -o /tmp/cb16.safetensors\n"
      "  ulp convert /tmp/cb16.safetensors --from cb16 --to fp16 -o /tmp/fp16.npz\n"
      "  ulp convert examples/digits.step00100.safetensors /tmp/mxfp8.npz --to mxfp8\n"
      "  ulp convert /tmp/mxfp8.npz /tmp/decoded.safetensors --from mxfp8";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
