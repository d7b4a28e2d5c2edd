#include <ulp/model/cells/array_counter.hpp>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include <ulp/model/cells/element_types.hpp>

namespace ulp {
namespace {

// Large arrays are counted in pieces: what threads share out, and what keeps counts of codes below 2^32.
constexpr std::size_t piece_size = std::size_t{1} << 22;

// How often each code occurs.
class code_tally {
 public:
  template <typename Code>
  std::vector<code_count> count(std::span<const Code> codes) {
    constexpr std::size_t possible = std::size_t{1} << (8 * sizeof(Code));
    // Room is made before anything is counted: nothing that fails leaves counts behind.
    std::vector<code_count> all;
    all.reserve(std::min(codes.size(), possible));
    // Of few codes it is noted which occur; of many, that is looked up.
    const bool few = codes.size() < possible;
    if (few)
      for (const Code code : codes) {
        ++counts_[code];
        occurs_[code / 64] |= std::uint64_t{1} << code % 64;
      }
    else
      for (const Code code : codes) ++counts_[code];
    for (std::size_t word = 0; word < possible / 64; ++word) {
      if (few && occurs_[word] == 0) continue;
      std::uint64_t occurring = std::exchange(occurs_[word], 0);
      for (std::size_t i = 0; !few && i < 64; ++i) occurring |= std::uint64_t{counts_[64 * word + i] != 0} << i;
      for (; occurring != 0; occurring &= occurring - 1) {
        const std::size_t code = 64 * word + static_cast<std::size_t>(std::countr_zero(occurring));
        all.push_back({.code = static_cast<std::uint32_t>(code), .count = std::exchange(counts_[code], 0)});
      }
    }
    return all;
  }

 private:
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(std::size_t{1} << 16);
  std::array<std::uint64_t, (std::size_t{1} << 16) / 64> occurs_{};
};

// One of each kind for every thread: their tables are large.
cell_counter& counter_of_thread(cell_counter::with what) {
  thread_local std::array<std::unique_ptr<cell_counter>, 2> counters;
  auto& counter = counters[what == cell_counter::with::nothing ? 0 : 1];
  if (!counter) counter = std::make_unique<cell_counter>(what);
  return *counter;
}

template <typename T>
std::span<const T> as(const value_array& array) {
  return {static_cast<const T*>(array.values), array.size};
}

// Without the table of codes.
counted_values count_piece(const value_array& piece, cell_counter::with what) {
  if (format_of_codes(piece.type) != nullptr) {
    thread_local code_tally tally;
    if (size_of(piece.type) == 1) return {.table = {}, .codes = tally.count(as<std::uint8_t>(piece))};
    return {.table = {}, .codes = tally.count(as<std::uint16_t>(piece))};
  }
  cell_counter& counter = counter_of_thread(what);
  if (piece.type == dtype::float64)
    counter.add(as<double>(piece));
  else
    counter.add(as<float>(piece));
  return {.table = counter.take(), .codes = {}};
}

void add_codes(std::vector<code_count>& to, const std::vector<code_count>& more) {
  std::vector<code_count> both;
  both.reserve(std::max(to.size(), more.size()));
  auto a = to.begin();
  for (const code_count& b : more) {
    for (; a != to.end() && a->code < b.code; ++a) both.push_back(*a);
    const bool same = a != to.end() && a->code == b.code;
    both.push_back({.code = b.code, .count = b.count + (same ? a++->count : 0)});
  }
  both.insert(both.end(), a, to.end());
  to = std::move(both);
}

struct piece {
  std::size_t array;
  std::size_t begin;
  std::size_t size;
};

value_array part_of(const value_array& array, const piece& p) {
  const auto* const bytes = static_cast<const std::uint8_t*>(array.values);
  return {.values = bytes + p.begin * size_of(array.type), .size = p.size, .type = array.type};
}

}  // namespace

std::vector<counted_values> count_arrays(std::span<const value_array> arrays, cell_counter::with what, int threads) {
  std::vector<piece> pieces;
  pieces.reserve(arrays.size());
  for (std::size_t i = 0; i < arrays.size(); ++i)
    for (std::size_t begin = 0; begin == 0 || begin < arrays[i].size; begin += piece_size)
      pieces.push_back({i, begin, std::min(arrays[i].size - begin, piece_size)});
  std::vector<counted_values> counted(pieces.size());
  const auto count = [&](std::size_t i) {
    counted[i] = count_piece(part_of(arrays[pieces[i].array], pieces[i]), what);
  };
  const int useful = std::min(threads, tbb::info::default_concurrency());  // oneTBB complains of more
  if (useful > 1 && pieces.size() > 1)
    tbb::task_arena(useful).execute([&] { tbb::parallel_for(std::size_t{0}, pieces.size(), count); });
  else
    for (std::size_t i = 0; i < pieces.size(); ++i) count(i);

  std::vector<counted_values> all;
  const bool whole = pieces.size() == arrays.size();
  if (whole)
    all.swap(counted);
  else
    all.resize(arrays.size());
  for (std::size_t i = 0; !whole && i < pieces.size(); ++i) {
    counted_values& to = all[pieces[i].array];
    if (pieces[i].begin == 0) {
      to = std::move(counted[i]);
    } else {
      to.table.merge(counted[i].table);
      if (!counted[i].codes.empty()) add_codes(to.codes, counted[i].codes);
    }
  }
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (format_of_codes(arrays[i].type) != nullptr)
      all[i].table = table_of_codes(arrays[i].type, all[i].codes, what != cell_counter::with::nothing);
  return all;
}

}  // namespace ulp
