#include <ulp/io/encoding/block_content.hpp>

#include <array>
#include <cstdint>
#include <limits>

#include <ulp/io/bytes/error.hpp>

#include "numbers.hpp"

namespace ulp {
namespace {

constexpr std::size_t content_limit = std::size_t{1} << 28;

std::array<std::uint64_t*, 5> parts_of(nonfinite_blocks& b) {
  return {&b.blocks, &b.zeros, &b.numbers, &b.infinities, &b.nans};
}
std::array<std::uint64_t*, 4> parts_of(block_table& t) {
  return {&t.numel, &t.zeros, &t.zero_blocks, &t.in_zero_blocks};
}

// Keys first, then counts: like numbers beside each other compress better.
template <class Counted, class Count>
void append_counted(std::string& to, const std::vector<Counted>& all, Count Counted::*count) {
  io::append_varint(to, all.size());
  std::uint32_t before = 0;
  for (const Counted& c : all) {
    io::append_varint(to, c.key() - before);
    before = c.key();
  }
  for (const Counted& c : all) io::append_varint(to, c.*count);
}

template <class Counted, class Count>
void take_counted(std::string_view& from, std::vector<Counted>& all, Count Counted::*count) {
  const std::uint64_t n = io::take_u64(from);
  if (n > from.size()) throw io::payload_error("has fewer cells than it says");
  all.reserve(n);
  std::uint64_t key = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t step = io::take_u64(from);
    if (step > std::numeric_limits<std::uint32_t>::max() - key) throw io::payload_error("a cell that there is not");
    key += step;
    all.push_back(Counted::of_key(static_cast<std::uint32_t>(key)));
    if (all.back().key() != key) throw io::payload_error("a cell that there is not");
  }
  for (Counted& c : all) c.*count = io::take_u64(from);
}

std::int16_t take_exponent(std::string_view& from) {
  const int128 exponent = io::take_signed(from);
  if (exponent < -200 || exponent > 200) throw io::payload_error("an exponent that float32 has not");
  return static_cast<std::int16_t>(exponent);
}

block_table take_table(std::string_view& from) {
  block_table table;
  table.block.rows = io::take_u64(from);
  table.block.columns = io::take_u64(from);
  for (std::uint64_t* const part : parts_of(table)) *part = io::take_u64(from);
  for (nonfinite_blocks* const blocks : {&table.with_infinity, &table.with_nan})
    for (std::uint64_t* const part : parts_of(*blocks)) *part = io::take_u64(from);
  table.least_exponent = take_exponent(from);
  table.greatest_exponent = take_exponent(from);
  take_counted(from, table.classes, &block_class::blocks);
  take_counted(from, table.cells, &block_cell::count);
  if (!table.is_consistent()) throw io::payload_error("counts that do not fit each other");
  return table;
}

}  // namespace

std::string block_content(std::span<const block_table> tables, int level) {
  std::string bytes;
  io::append_varint(bytes, tables.size());
  for (block_table table : tables) {
    io::append_varint(bytes, table.block.rows);
    io::append_varint(bytes, table.block.columns);
    for (const std::uint64_t* const part : parts_of(table)) io::append_varint(bytes, *part);
    for (nonfinite_blocks* const blocks : {&table.with_infinity, &table.with_nan})
      for (const std::uint64_t* const part : parts_of(*blocks)) io::append_varint(bytes, *part);
    io::append_signed(bytes, table.least_exponent);
    io::append_signed(bytes, table.greatest_exponent);
    append_counted(bytes, table.classes, &block_class::blocks);
    append_counted(bytes, table.cells, &block_cell::count);
  }
  return io::compress(bytes, level);
}

std::vector<block_table> parse_block_content(std::string_view content, const std::string& file,
                                             const std::string& place) {
  try {
    io::inflater in;
    in.open(content, content_limit);
    const std::string_view all = in.ahead(content_limit);
    std::string_view rest = all;
    const std::uint64_t n = io::take_u64(rest);
    if (n > rest.size()) throw io::payload_error("has fewer tables than it says");
    std::vector<block_table> tables;
    for (std::uint64_t i = 0; i < n; ++i) {
      tables.push_back(take_table(rest));
      for (std::size_t other = 0; other + 1 < tables.size(); ++other)
        if (tables[other].block == tables.back().block) throw io::payload_error("two tables of the same blocks");
    }
    if (!rest.empty()) throw io::payload_error("has bytes left over");
    in.skip(all.size());
    in.close();
    return tables;
  } catch (const io::payload_error& problem) {
    throw input_error(file, place, std::string("its block tables: ") + problem.what());
  }
}

}  // namespace ulp
