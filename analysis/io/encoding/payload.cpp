#include "payload.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/element_types.hpp>

namespace ulp::io {
namespace {

constexpr std::uint8_t flag_exact_sums = 1;
constexpr std::uint8_t flag_reported_abs_sum = 2;
constexpr std::uint8_t flag_reported_square_sum = 4;
constexpr std::uint8_t flag_errors = 8;
constexpr std::uint8_t flag_buckets = 16;
constexpr std::uint8_t all_flags = 31;

bool has_buckets(const cell_table& table) {
  return !table.buckets.empty() || table.maybe_zeros > 0 || std::isnan(table.max_abs);
}

bool binades_only(const cell_table& table) {
  for (const cell& c : table.cells)
    if (c.slot != whole_binade) return false;
  return !table.cells.empty();
}

// binades: keys without the slot.
int key_of(const cell& c, encoding how) { return how == encoding::binades ? c.key() / 32 : c.key(); }

cell cell_of(std::uint64_t key, encoding how) {
  const std::uint64_t full = how == encoding::binades ? key * 32 + whole_binade : key;
  cell c;
  c.slot = static_cast<std::uint8_t>(full % 32);
  c.exponent = static_cast<std::int16_t>(static_cast<int>(full / 32 % 4096) - 2048);
  const std::uint64_t sign = full / 32 / 4096;
  if (sign > 2 || (c.slot >= slots_per_binade && c.slot != whole_binade) || c.exponent < -1074 || c.exponent > 1023)
    throw payload_error("a cell that does not exist");
  c.sign = static_cast<cell_sign>(sign);
  return c;
}

// Whether a magnitude lies in the outermost of the cells of its binade. Whole binades do not tell.
enum class end : std::uint8_t { low, high };
bool fits_slots(const cell_table& t, double x, end which) {
  const magnitude m = magnitude_of(x);
  int outermost = -1;
  for (const cell& c : t.cells) {
    if (c.exponent != m.exponent) continue;
    if (c.slot == whole_binade) return true;
    const int slot = c.slot;
    if (outermost < 0 || (which == end::high ? slot > outermost : slot < outermost)) outermost = slot;
  }
  return outermost == slot_of(m.fraction);
}

bool has_binades(const cell_table& t) {
  return std::ranges::any_of(t.cells, [](const cell& c) { return c.slot == whole_binade; });
}

void check(const cell_table& t, std::uint64_t most) {
  if (t.numel > most) throw payload_error("has more elements than a table may");
  std::uint64_t values = 0;
  int top = -1075;
  int bottom = 1024;
  for (const cell& c : t.cells) {
    if (c.count > t.numel - values) throw payload_error("counts exceed the number of elements");
    values += c.count;
    top = std::max(top, int{c.exponent});
    bottom = std::min(bottom, int{c.exponent});
  }
  double reach = 0;         // what no value of the buckets exceeds
  double most_certain = 0;  // some value is as large as this
  std::uint64_t maybe_zeros = 0;
  for (const bucket& b : t.buckets) {
    if (b.count > t.numel - values) throw payload_error("counts exceed the number of elements");
    values += b.count;
    const double near = std::min(std::fabs(b.low), std::fabs(b.high));
    const double far = std::max(std::fabs(b.low), std::fabs(b.high));
    reach = std::max(reach, far);
    most_certain = std::max(most_certain, b.may_hold_zero() ? 0 : near);
    maybe_zeros += b.may_hold_zero() ? b.count : 0;
  }
  for (const std::uint64_t n : {t.zeros, t.positive_infinities, t.negative_infinities, t.unsigned_infinities, t.nans}) {
    if (n > t.numel - values) throw payload_error("counts exceed the number of elements");
    values += n;
  }
  const bool in_no_cell = t.cells.empty() && t.buckets.empty() && values < t.numel;  // an encoding that was skipped
  if (values != t.numel && !in_no_cell) throw payload_error("counts do not add up to the number of elements");
  if (in_no_cell ? t.maybe_zeros > t.numel - values : t.maybe_zeros != maybe_zeros)
    throw payload_error("the values that may be zero do not fit the counts");
  const auto is_magnitude = [](double x) { return x > 0 && std::isfinite(x); };
  if (t.nonzero_finite() == 0) {
    if (t.max_abs != 0 || t.min_abs != 0) throw payload_error("has extremes without values");
    return;
  }
  if (!t.buckets.empty()) {
    if (!std::isnan(t.min_abs) || t.cut_significands > 0) throw payload_error("has buckets and exact numbers");
    // In the highest binade of the cells, or as far as buckets reach.
    const bool in_cells = is_magnitude(t.max_abs) && magnitude_of(t.max_abs).exponent == top;
    if (!std::isnan(t.max_abs) && (!is_magnitude(t.max_abs) || magnitude_of(t.max_abs).exponent < top ||
                                   (t.max_abs > reach && !in_cells) || t.max_abs < most_certain))
      throw payload_error("the largest magnitude does not fit the counts");
    return;
  }
  if (in_no_cell && std::isnan(t.max_abs)) return;  // parse_summary saw that there are buckets
  const auto is_end = [&](double x, int binade, end which) {
    return is_magnitude(x) && (in_no_cell || (magnitude_of(x).exponent == binade && fits_slots(t, x, which)));
  };
  if (!is_end(t.max_abs, top, end::high)) throw payload_error("the largest magnitude does not fit the counts");
  if (std::isnan(t.min_abs) && (in_no_cell || has_binades(t))) return;
  if (!is_end(t.min_abs, bottom, end::low) || t.min_abs > t.max_abs)
    throw payload_error("the smallest magnitude does not fit the counts");
}

void append_cells(std::string& to, const cell_table& table, encoding how) {
  append_varint(to, table.cells.size());
  int previous = 0;
  for (const cell& c : table.cells) {
    const int key = key_of(c, how);
    append_varint(to, static_cast<std::uint64_t>(key - previous));
    append_varint(to, c.count);
    previous = key;
  }
  if (how == encoding::binades) return;
  for (const binade_sums& s : table.sums) {
    append_varint(to, s.significands);
    append_varint(to, s.squares);
  }
  for (const binade_errors& e : table.errors)
    for (std::size_t level = 0; level < binade_errors::levels; ++level) {
      append_varint(to, e.squares[level]);
      append_signed(to, e.products[level]);
    }
}

binade_errors take_errors(std::string_view& from, std::int16_t exponent, std::uint64_t count) {
  binade_errors errors{.exponent = exponent};
  for (int m = binade_errors::least_bits; m <= binade_errors::most_bits; ++m) {
    const std::size_t level = binade_errors::level_of(m);
    errors.squares[level] = take_u128(from);
    errors.products[level] = take_signed(from);
    // No error exceeds half a spacing, 2^(22-m), and no significand 2^24.
    const int128 product = errors.products[level];
    const uint128 size = product < 0 ? -static_cast<uint128>(product) : static_cast<uint128>(product);
    if (errors.squares[level] > uint128{count} << (2 * (22 - m)) || size > uint128{count} << (46 - m))
      throw payload_error("has errors that no values of their binade make");
  }
  return errors;
}

// Whether n significands of 24 bits, the first of them set, have these sums. Above 2^23 they are integers y from 0 on, so
// that y <= y^2 <= (2^23 - 1) y, and by Cauchy's inequality (sum y)^2 <= n sum y^2.
bool is_possible(const binade_sums& s, const uint128& n) {
  constexpr uint128 unit = uint128{1} << 23;
  if (s.significands < n * unit || s.significands >= n * (2 * unit) || s.squares >= n << 48) return false;
  const uint128 y = s.significands - n * unit;
  const uint128 less = 2 * unit * s.significands - n * unit * unit;
  if (s.squares < less) return false;
  const uint128 y2 = s.squares - less;
  if (y2 < y || y2 > (unit - 1) * y) return false;
  return n > max_numel || y * y <= n * y2;  // fits 128 bits
}

void check_sums(const cell_table& table) {
  auto c = table.cells.begin();
  for (const binade_sums& s : table.sums) {
    uint128 n = 0;
    for (; c != table.cells.end() && c->sign == s.sign && c->exponent == s.exponent; ++c) n += c->count;
    if (!is_possible(s, n)) throw payload_error("has sums that no values of their binade have");
  }
  if (table.cut_significands > table.numel) throw payload_error("more significands are cut than there are");
}

void take_cells(std::string_view& from, cell_table& table, encoding how, std::uint64_t most) {
  if (how == encoding::binades && (table.has_sums || table.has_errors))
    throw payload_error("has exact sums of whole binades");
  const std::uint64_t n = take_u64(from);
  constexpr std::uint64_t most_cells = 3 * 2098 * (slots_per_binade + 1);
  if (n > std::min<std::uint64_t>(from.size() / 2, most_cells)) throw payload_error("has fewer cells than it says");
  table.cells.reserve(n);
  std::uint64_t key = 0;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t delta = take_u64(from);
    if (delta > (1U << 20) || (i > 0 && delta == 0)) throw payload_error("cells are out of order");
    key += delta;
    cell c = cell_of(key, how);
    c.count = take_u64(from);
    if (c.count == 0) throw payload_error("an empty cell");
    table.cells.push_back(c);
  }
  if (table.has_sums) {
    table.reported_abs_sum = not_known;
    table.reported_square_sum = not_known;
    table.sums.reserve(table.cells.size() / 2);
    for (const cell& c : table.cells) {
      if (!table.sums.empty() && table.sums.back().sign == c.sign && table.sums.back().exponent == c.exponent) continue;
      binade_sums s{.sign = c.sign, .exponent = c.exponent};
      s.significands = take_u128(from);
      s.squares = take_u128(from);
      table.sums.push_back(s);
    }
    check_sums(table);
  }
  if (table.has_errors) {
    std::map<std::int16_t, std::uint64_t> binades;
    for (const cell& c : table.cells) binades[c.exponent] += std::min(c.count, most);
    for (const auto& [exponent, count] : binades) table.errors.push_back(take_errors(from, exponent, count));
  }
}

void append_buckets(std::string& to, const cell_table& table) {
  append_varint(to, table.cells.size());
  int previous = 0;
  for (const cell& c : table.cells) {
    append_varint(to, static_cast<std::uint64_t>(c.key() - previous));
    append_varint(to, c.count);
    previous = c.key();
  }
  append_varint(to, table.buckets.size());
  for (const bucket& b : table.buckets) {
    append_f64(to, b.low);
    append_f64(to, b.high);
    append_varint(to, b.count);
  }
}

void take_buckets(std::string_view& from, cell_table& table, std::uint64_t most) {
  if (table.has_sums || table.has_errors) throw payload_error("has exact sums of buckets");
  take_cells(from, table, encoding::cells, most);
  const std::uint64_t n = take_u64(from);
  constexpr std::size_t least_size = 17;
  if (n > from.size() / least_size) throw payload_error("has fewer buckets than it says");
  table.buckets.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    bucket b;
    b.low = take_f64(from);
    b.high = take_f64(from);
    b.count = take_u64(from);
    const auto is_edge = [](double x) { return std::isfinite(x) && !(x == 0 && std::signbit(x)); };
    if (!is_edge(b.low) || !is_edge(b.high) || b.low > b.high || (b.low == 0 && b.high == 0))
      throw payload_error("a bucket that does not exist");
    if (b.count == 0) throw payload_error("an empty bucket");
    if (!table.buckets.empty() &&
        std::pair{b.low, b.high} <= std::pair{table.buckets.back().low, table.buckets.back().high})
      throw payload_error("buckets are out of order");
    table.buckets.push_back(b);
  }
}

void append_codes(std::string& to, const std::vector<code_count>& codes) {
  append_varint(to, codes.size());
  std::uint32_t previous = 0;
  for (const code_count& c : codes) {
    append_varint(to, c.code - previous);
    append_varint(to, c.count);
    previous = c.code;
  }
}

// The codes tell the table; the summary must say the same.
void take_codes(std::string_view& from, tensor_row& row) {
  const format& type = *format_of_codes(row.type);
  const std::uint64_t n = take_u64(from);
  if (n > std::min<std::uint64_t>(from.size() / 2, type.code_mask() + 1))
    throw payload_error("has fewer codes than it says");
  row.codes.reserve(n);
  std::uint64_t code = 0;
  std::uint64_t left = max_numel;
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t delta = take_u64(from);
    if (delta > type.code_mask() - code || (i > 0 && delta == 0)) throw payload_error("codes are out of order");
    code += delta;
    const std::uint64_t count = take_u64(from);
    if (count == 0 || count > left) throw payload_error("a code's count is impossible");
    left -= count;
    row.codes.push_back({.code = static_cast<std::uint32_t>(code), .count = count});
  }
  const cell_table& said = row.table;
  // Their dense tables are large: made once for each thread that reads.
  thread_local cell_counter plain(cell_counter::with::sums);
  thread_local std::optional<cell_counter> with_errors;
  if (said.has_errors && !with_errors) with_errors.emplace(cell_counter::with::sums_and_errors);
  cell_counter& counter = said.has_errors ? *with_errors : plain;
  counter.add(type, row.codes);
  cell_table table = counter.take();
  const auto summary = [](const cell_table& t) {
    return std::tie(t.numel, t.zeros, t.positive_infinities, t.negative_infinities, t.unsigned_infinities, t.nans,
                    t.max_abs, t.min_abs, t.cut_significands);
  };
  if (summary(table) != summary(said)) throw payload_error("the codes do not fit the summary");
  if (!said.has_sums) {
    table.has_sums = false;
    table.sums.clear();
  }
  row.table = std::move(table);
}

void append_edges(std::string& to, const cell_table& table) {
  append_varint(to, table.edges.size());
  for (const edge_counts& e : table.edges) {
    append_f64(to, e.at);
    append_varint(to, e.above);
    append_varint(to, e.squares_above);
  }
}

// What exceeds the edge is all of the binades beyond its own and a part of that.
bool is_possible(const edge_counts& e, const cell_table& table) {
  const int binade = magnitude_of(e.at).exponent;
  uint128 beyond = 0;
  uint128 inside = 0;
  for (const cell& c : table.cells) {
    if (c.exponent > binade) beyond += c.count;
    if (c.exponent == binade) inside += c.count;
  }
  if (e.above < beyond || e.above - beyond > inside) return false;
  const uint128 above = e.above - beyond;
  uint128 squares = 0;
  for (const binade_sums& s : table.sums)
    if (s.exponent == binade) squares += s.squares;
  return e.squares_above <= squares &&
         (!table.has_sums || (e.squares_above >= above << 46 && e.squares_above <= above << 48));
}

void take_edges(std::string_view& from, cell_table& table) {
  const std::uint64_t n = take_u64(from);
  if (n > from.size() / 10) throw payload_error("has fewer edges than it says");
  for (std::uint64_t i = 0; i < n; ++i) {
    edge_counts e{.at = take_f64(from)};
    e.above = take_u64(from);
    e.squares_above = take_u128(from);
    const bool after = table.edges.empty() ? e.at > 0 : e.at > table.edges.back().at;
    if (!after || !std::isfinite(e.at) || !is_possible(e, table)) throw payload_error("an edge that no values have");
    table.edges.push_back(e);
  }
}

}  // namespace

void append_summary(std::string& to, const tensor_row& row, std::uint32_t tensor) {
  const cell_table& t = row.table;
  const auto reported = [&](double sum, std::uint8_t flag) { return t.has_sums || std::isnan(sum) ? 0U : flag; };
  std::uint64_t head = tensor;
  head |= static_cast<std::uint64_t>(row.type) << 32;
  const unsigned flags = (t.has_sums ? flag_exact_sums : 0U) | (t.has_errors ? flag_errors : 0U) |
                         (has_buckets(t) ? flag_buckets : 0U) | reported(t.reported_abs_sum, flag_reported_abs_sum) |
                         reported(t.reported_square_sum, flag_reported_square_sum);
  head |= static_cast<std::uint64_t>(flags) << 40;
  head |= static_cast<std::uint64_t>(row.parts.rounded) << 48;
  head |= static_cast<std::uint64_t>(row.parts.kept) << 56;
  append_u64(to, head);
  for (const std::uint64_t n :
       {t.numel, t.zeros, t.positive_infinities, t.negative_infinities, t.unsigned_infinities, t.nans})
    append_u64(to, n);
  append_f64(to, t.max_abs);
  append_f64(to, t.min_abs);
  append_f64(to, row.factor);
  append_f64(to, magnitudes_sum(t).value);
  append_f64(to, squares_sum(t).value);
  append_u64(to, has_buckets(t) ? t.maybe_zeros : t.cut_significands);
}

void without_derived_sums(std::string& records, std::size_t begin) {
  const auto flags = static_cast<unsigned char>(records[begin + 5]);
  if ((flags & flag_reported_abs_sum) == 0) records.replace(begin + 80, 8, 8, '\0');
  if ((flags & flag_reported_square_sum) == 0) records.replace(begin + 88, 8, 8, '\0');
}

tensor_row parse_summary(std::string_view record) {
  tensor_row row;
  const std::uint64_t head = u64_at(record, 0);
  row.tensor = static_cast<std::uint32_t>(head);
  const auto type = static_cast<std::uint8_t>(head >> 32);
  const auto flags = static_cast<std::uint8_t>(head >> 40);
  if (type > static_cast<std::uint8_t>(last_dtype)) throw payload_error("an unknown type of values");
  if ((flags & ~all_flags) != 0) throw payload_error("an unknown flag");
  row.type = static_cast<dtype>(type);
  row.parts = {static_cast<std::uint8_t>(head >> 48), static_cast<std::uint8_t>(head >> 56)};
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
  t.has_errors = (flags & flag_errors) != 0;
  if (std::isnan(t.max_abs) && (flags & flag_buckets) == 0)
    throw payload_error("the largest magnitude does not fit the counts");
  // Rounded from the exact sums they stand in for them where the payload turns out to be unknown.
  if ((flags & (flag_exact_sums | flag_reported_abs_sum)) != 0) t.reported_abs_sum = f64_at(record, 80);
  if ((flags & (flag_exact_sums | flag_reported_square_sum)) != 0) t.reported_square_sum = f64_at(record, 88);
  if ((flags & flag_buckets) != 0) {
    if (t.has_sums || t.has_errors) throw payload_error("has buckets and exact sums");
    t.maybe_zeros = u64_at(record, 96);
  } else {
    t.cut_significands = u64_at(record, 96);
  }
  return row;
}

void check_summary_sums(std::string_view record, const tensor_row& row) {
  const cell_table& t = row.table;
  const auto flags = static_cast<std::uint8_t>(u64_at(record, 0) >> 40);
  const double count = static_cast<double>(t.nonzero_finite());
  const auto is_good = [&](double sum, double largest, unsigned flag) {
    if (count == 0) return sum == 0;
    if (std::isnan(sum)) return t.cells.empty() && (flags & (flag_exact_sums | flag)) == 0;
    constexpr double float32_end = 1e38;  // sources add in float32 too
    if (!t.has_sums) return sum >= 0 && (std::isfinite(sum) || !(count * largest < float32_end));
    // Significands are cut to 24 bits, and what leaves the range of float64 is rounded to its ends.
    constexpr double cut = 1e-6;
    constexpr double least = 1e-290;
    const bool enough = !(largest > least) || !std::isfinite(largest) || sum >= largest * (1 - cut);
    return sum >= 0 && enough && (largest <= least || sum <= count * largest * (1 + cut));
  };
  if (!is_good(f64_at(record, 80), t.max_abs, flag_reported_abs_sum) ||
      !is_good(f64_at(record, 88), t.max_abs * t.max_abs, flag_reported_square_sum))
    throw payload_error("the sums in its summary do not fit its values");
}

void append_payload(std::string& to, const tensor_row& row) {
  const cell_table& table = row.table;
  const encoding how = !row.codes.empty()       ? encoding::codes
                       : !table.buckets.empty() ? encoding::buckets
                       : binades_only(table)    ? encoding::binades
                                                : encoding::cells;
  std::string bytes;
  if (how == encoding::codes)
    append_codes(bytes, row.codes);
  else if (how == encoding::buckets)
    append_buckets(bytes, table);
  else
    append_cells(bytes, table, how);
  if (!table.edges.empty()) append_edges(bytes, table);
  if (bytes.size() > single_payload_limit) throw payload_error("has more edges than a recording holds");
  append_varint(to, static_cast<std::uint64_t>(how));
  append_varint(to, bytes.size());
  to += bytes;
}

void without_payload(tensor_row& row) {
  row.table.has_sums = false;
  row.table.has_errors = false;
  check(row.table, max_numel);
}

std::size_t payload_size(std::string_view from) {
  const std::size_t before = from.size();
  static_cast<void>(take_u64(from));
  const std::uint64_t size = take_u64(from);
  if (size > single_payload_limit) throw payload_error("is longer than the payload of a table may be");
  return before - from.size() + static_cast<std::size_t>(size);
}

void take_payload(std::string_view& from, tensor_row& row, std::uint64_t most) {
  cell_table& table = row.table;
  const std::uint64_t how_value = take_u64(from);
  const std::uint64_t size = take_u64(from);
  if (size > from.size()) throw payload_error("is cut short");
  std::string_view bytes = from.substr(0, size);
  from.remove_prefix(size);
  const auto how = static_cast<encoding>(how_value);
  const bool codes = how_value <= 255 && how == encoding::codes && format_of_codes(row.type) != nullptr;
  const bool buckets = how_value <= 255 && how == encoding::buckets;
  if (!codes && !buckets && (how_value > 255 || (how != encoding::cells && how != encoding::binades))) {
    table.has_sums = false;
    table.has_errors = false;
    check(table, most);
    return;
  }
  if (codes)
    take_codes(bytes, row);
  else if (buckets)
    take_buckets(bytes, table, most);
  else
    take_cells(bytes, table, how, most);
  if (!bytes.empty() && !buckets) take_edges(bytes, table);
  if (!bytes.empty()) throw payload_error("has bytes left over");
  check(table, most);
}

std::string compressed_payloads(std::string_view payloads) {
  if (payloads.size() > payload_limit) throw payload_error("the tables are larger than a recording holds in one step");
  return compress(payloads, 1);
}

}  // namespace ulp::io
