#include <ulp/io/encoding/joint_content.hpp>

#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "numbers.hpp"

namespace ulp {
namespace {

constexpr std::size_t content_limit = std::size_t{1} << 28;

joint_row take_joint(std::string_view& from) {
  joint_row row;
  const std::uint64_t type = io::take_u64(from);
  const std::uint64_t origin = io::take_u64(from);
  row.steps_ahead = io::take_u64(from);
  if (type > static_cast<std::uint64_t>(last_dtype)) throw io::payload_error("a type of weights that there is not");
  if (origin > static_cast<std::uint64_t>(update_origin::next_weights))
    throw io::payload_error("an origin of updates that there is not");
  row.weight_type = static_cast<dtype>(type);
  row.origin = static_cast<update_origin>(origin);
  joint_table& table = row.table;
  table.numel = io::take_u64(from);
  table.zero_updates = io::take_u64(from);
  table.nonfinite = io::take_u64(from);
  table.cut_significands = io::take_u64(from);
  const std::uint64_t n = io::take_u64(from);
  if (n > from.size()) throw io::payload_error("has fewer cells than it says");
  table.cells.reserve(n);
  std::uint64_t key = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t step = io::take_u64(from);
    if (step > UINT32_MAX - key) throw io::payload_error("a cell that there is not");
    key += step;
    joint_cell cell = joint_cell::of_key(static_cast<std::uint32_t>(key));
    if (cell.key() != key || cell.form > update_form::power_odd) throw io::payload_error("a cell that there is not");
    cell.count = io::take_u64(from);
    cell.significands = cell.form == update_form::general ? io::take_u128(from) : uint128{cell.count} << 23;
    table.cells.push_back(cell);
  }
  if (!from.empty()) throw io::payload_error("has bytes left over");
  if (!table.is_consistent()) throw io::payload_error("counts that do not fit each other");
  return row;
}

}  // namespace

std::string joint_content(const joint_row& row) {
  std::string bytes;
  for (const std::uint64_t n : {static_cast<std::uint64_t>(row.weight_type), static_cast<std::uint64_t>(row.origin),
                                row.steps_ahead, row.table.numel, row.table.zero_updates, row.table.nonfinite,
                                row.table.cut_significands, std::uint64_t{row.table.cells.size()}})
    io::append_varint(bytes, n);
  std::uint32_t before = 0;
  for (const joint_cell& c : row.table.cells) {
    io::append_varint(bytes, c.key() - before);
    io::append_varint(bytes, c.count);
    if (c.form == update_form::general) io::append_varint(bytes, c.significands);
    before = c.key();
  }
  return io::compress(bytes);
}

joint_row parse_joint_content(std::string_view content, const std::string& file, const std::string& place) {
  try {
    io::inflater in;
    in.open(content, content_limit);
    const std::string_view all = in.ahead(content_limit);
    std::string_view rest = all;
    joint_row row = take_joint(rest);
    in.skip(all.size());
    in.close();
    return row;
  } catch (const io::payload_error& problem) {
    throw input_error(file, place, std::string("its joint table: ") + problem.what());
  }
}

}  // namespace ulp
