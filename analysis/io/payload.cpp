#include "payload.hpp"

#include <zlib.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace ulp::io {
namespace {

void append_u64(std::string& to, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) to += static_cast<char>(value >> (8 * i));
}
void append_f64(std::string& to, double value) {
  // One NaN for all, so that equal tables are equal bytes.
  append_u64(to, std::bit_cast<std::uint64_t>(std::isnan(value) ? not_known : value));
}

std::uint64_t u64_at(std::string_view from, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[offset + i])) << (8 * i);
  return value;
}
double f64_at(std::string_view from, std::size_t offset) { return std::bit_cast<double>(u64_at(from, offset)); }

// LEB128: seven bits a byte, low bits first, the top bit set on all but the last.
void append_varint(std::string& to, uint128 value) {
  while (value >= 0x80) {
    to += static_cast<char>(static_cast<unsigned char>(value & 0x7F) | 0x80);
    value >>= 7;
  }
  to += static_cast<char>(value);
}

// The next seven bits of a number of `bits` bits, at `shift`; whether more follow.
struct varint_part {
  std::uint64_t value;
  bool more;
};
varint_part take_part(std::string_view& from, int shift, int bits) {
  if (from.empty()) throw payload_error("ends inside a number");
  const auto byte = static_cast<unsigned char>(from.front());
  from.remove_prefix(1);
  const std::uint64_t value = byte & 0x7FU;
  if (shift + 7 > bits && (value >> (bits - shift)) != 0) throw payload_error("a number is too large");
  return {value, (byte & 0x80U) != 0};
}

std::uint64_t take_u64(std::string_view& from) {
  std::uint64_t number = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const varint_part part = take_part(from, shift, 64);
    number |= part.value << shift;
    if (!part.more) return number;
  }
  throw payload_error("a number is too long");
}

uint128 take_u128(std::string_view& from) {
  // Nine parts fit 64 bits, which shift faster.
  std::uint64_t low = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const varint_part part = take_part(from, shift, 128);
    low |= part.value << shift;
    if (!part.more) return low;
  }
  uint128 number = low;
  for (int shift = 63; shift < 128; shift += 7) {
    const varint_part part = take_part(from, shift, 128);
    number |= uint128{part.value} << shift;
    if (!part.more) return number;
  }
  throw payload_error("a number is too long");
}

constexpr std::uint8_t flag_exact_sums = 1;
constexpr std::uint8_t flag_reported_abs_sum = 2;
constexpr std::uint8_t flag_reported_square_sum = 4;

bool octaves_only(const cell_table& table) {
  for (const cell& c : table.cells)
    if (c.slot != whole_octave) return false;
  return !table.cells.empty();
}

// octaves: keys without the slot.
int key_of(const cell& c, encoding how) { return how == encoding::octaves ? c.key() / 32 : c.key(); }

cell cell_of(std::uint64_t key, encoding how) {
  const std::uint64_t full = how == encoding::octaves ? key * 32 + whole_octave : key;
  cell c;
  c.slot = static_cast<std::uint8_t>(full % 32);
  c.exponent = static_cast<std::int16_t>(static_cast<int>(full / 32 % 4096) - 2048);
  const std::uint64_t sign = full / 32 / 4096;
  if (sign > 2 || (c.slot >= slots_per_octave && c.slot != whole_octave) || c.exponent < -1074 || c.exponent > 1023)
    throw payload_error("a cell that does not exist");
  c.sign = static_cast<cell_sign>(sign);
  return c;
}

void check(const cell_table& t) {
  if (t.numel > max_numel) throw payload_error("has more elements than a table may");
  std::uint64_t values = 0;
  int top = -1075;
  int bottom = 1024;
  for (const cell& c : t.cells) {
    if (c.count > t.numel - values) throw payload_error("counts exceed the number of elements");
    values += c.count;
    top = std::max(top, int{c.exponent});
    bottom = std::min(bottom, int{c.exponent});
  }
  for (const std::uint64_t n : {t.zeros, t.positive_infinities, t.negative_infinities, t.unsigned_infinities, t.nans}) {
    if (n > t.numel - values) throw payload_error("counts exceed the number of elements");
    values += n;
  }
  const bool in_no_cell = t.cells.empty() && values < t.numel;  // an encoding that was skipped
  if (values != t.numel && !in_no_cell) throw payload_error("counts do not add up to the number of elements");
  const auto is_magnitude = [](double x) { return x > 0 && std::isfinite(x); };
  if (t.nonzero_finite() == 0) {
    if (t.max_abs != 0 || t.min_abs != 0) throw payload_error("has extremes without values");
    return;
  }
  if (!is_magnitude(t.max_abs) || (!in_no_cell && magnitude_of(t.max_abs).exponent != top))
    throw payload_error("the largest magnitude does not fit the counts");
  if (std::isnan(t.min_abs)) return;
  if (!is_magnitude(t.min_abs) || t.min_abs > t.max_abs || (!in_no_cell && magnitude_of(t.min_abs).exponent != bottom))
    throw payload_error("the smallest magnitude does not fit the counts");
}

}  // namespace

void append_summary(std::string& to, const tensor_row& row) {
  const cell_table& t = row.table;
  const auto reported = [&](double sum, std::uint8_t flag) { return t.has_sums || std::isnan(sum) ? 0U : flag; };
  std::uint64_t head = row.tensor;
  head |= static_cast<std::uint64_t>(row.type) << 32;
  const unsigned flags = (t.has_sums ? flag_exact_sums : 0U) | reported(t.reported_abs_sum, flag_reported_abs_sum) |
                         reported(t.reported_square_sum, flag_reported_square_sum);
  head |= static_cast<std::uint64_t>(flags) << 40;
  append_u64(to, head);
  for (const std::uint64_t n :
       {t.numel, t.zeros, t.positive_infinities, t.negative_infinities, t.unsigned_infinities, t.nans})
    append_u64(to, n);
  append_f64(to, t.max_abs);
  append_f64(to, t.min_abs);
  append_f64(to, row.factor);
  append_f64(to, magnitudes_sum(t).value);
  append_f64(to, squares_sum(t).value);
  append_u64(to, t.cut_significands);
}

tensor_row parse_summary(std::string_view record) {
  tensor_row row;
  const std::uint64_t head = u64_at(record, 0);
  row.tensor = static_cast<std::uint32_t>(head);
  const auto type = static_cast<std::uint8_t>(head >> 32);
  const auto flags = static_cast<std::uint8_t>(head >> 40);
  if (type > static_cast<std::uint8_t>(dtype::bfloat16)) throw payload_error("an unknown type of values");
  row.type = static_cast<dtype>(type);
  cell_table& t = row.table;
  t.numel = u64_at(record, 8);
  t.zeros = u64_at(record, 16);
  t.positive_infinities = u64_at(record, 24);
  t.negative_infinities = u64_at(record, 32);
  t.unsigned_infinities = u64_at(record, 40);
  t.nans = u64_at(record, 48);
  t.max_abs = f64_at(record, 56);
  t.min_abs = f64_at(record, 64);
  row.factor = f64_at(record, 72);
  if (!std::isnan(row.factor) && (!(row.factor > 0) || !std::isfinite(row.factor)))
    throw payload_error("a factor that is not positive and finite");
  t.has_sums = (flags & flag_exact_sums) != 0;
  // Rounded from the exact sums they stand in for them where the payload turns out to be unknown.
  if ((flags & (flag_exact_sums | flag_reported_abs_sum)) != 0) t.reported_abs_sum = f64_at(record, 80);
  if ((flags & (flag_exact_sums | flag_reported_square_sum)) != 0) t.reported_square_sum = f64_at(record, 88);
  t.cut_significands = u64_at(record, 96);
  return row;
}

void append_payload(std::string& to, const cell_table& table) {
  const encoding how = octaves_only(table) ? encoding::octaves : encoding::cells;
  std::string bytes;
  append_varint(bytes, table.cells.size());
  int previous = 0;
  for (const cell& c : table.cells) {
    const int key = key_of(c, how);
    append_varint(bytes, static_cast<std::uint64_t>(key - previous));
    append_varint(bytes, c.count);
    previous = key;
  }
  if (how == encoding::cells) {
    for (const octave_sums& s : table.sums) {
      append_varint(bytes, s.significands);
      append_varint(bytes, s.squares);
    }
  }
  append_varint(to, static_cast<std::uint64_t>(how));
  append_varint(to, bytes.size());
  to += bytes;
}

void take_payload(std::string_view& from, cell_table& table) {
  const std::uint64_t how_value = take_u64(from);
  const std::uint64_t size = take_u64(from);
  if (size > from.size()) throw payload_error("is cut short");
  std::string_view bytes = from.substr(0, size);
  from.remove_prefix(size);
  const auto how = static_cast<encoding>(how_value);
  if (how_value > 255 || (how != encoding::cells && how != encoding::octaves)) {
    table.has_sums = false;
    check(table);
    return;
  }

  const std::uint64_t n = take_u64(bytes);
  if (n > bytes.size() / 2) throw payload_error("has fewer cells than it says");
  table.cells.reserve(n);
  std::uint64_t key = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t delta = take_u64(bytes);
    if (delta > (1U << 20) || (i > 0 && delta == 0)) throw payload_error("cells are out of order");
    key += delta;
    cell c = cell_of(key, how);
    c.count = take_u64(bytes);
    if (c.count == 0) throw payload_error("an empty cell");
    table.cells.push_back(c);
  }
  if (how == encoding::octaves && table.has_sums) throw payload_error("has exact sums of octaves");
  if (table.has_sums) {
    table.reported_abs_sum = not_known;
    table.reported_square_sum = not_known;
    table.sums.reserve(table.cells.size() / 2);
    for (const cell& c : table.cells) {
      if (!table.sums.empty() && table.sums.back().sign == c.sign && table.sums.back().exponent == c.exponent) continue;
      octave_sums s{.sign = c.sign, .exponent = c.exponent};
      s.significands = take_u128(bytes);
      s.squares = take_u128(bytes);
      table.sums.push_back(s);
    }
  }
  if (!bytes.empty()) throw payload_error("has bytes left over");
  check(table);
}

std::string compress(std::string_view bytes) {
  std::string result;
  append_u64(result, bytes.size());
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  result.resize(8 + size);
  if (compress2(reinterpret_cast<Bytef*>(result.data() + 8), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), Z_DEFAULT_COMPRESSION) != Z_OK)
    throw payload_error("cannot be compressed");
  result.resize(8 + size);
  return result;
}

std::string decompress(std::string_view bytes, std::size_t limit) {
  if (bytes.size() < 8) throw payload_error("is cut short");
  const std::uint64_t declared = u64_at(bytes, 0);
  // zlib expands by a factor of 1032 at most.
  if (declared > limit || declared / 1032 > bytes.size()) throw payload_error("declares an impossible size");
  std::string result(declared, '\0');
  uLongf size = static_cast<uLongf>(declared);
  if (uncompress(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data() + 8),
                 static_cast<uLong>(bytes.size() - 8)) != Z_OK ||
      size != declared)
    throw payload_error("is damaged");
  return result;
}

}  // namespace ulp::io
