#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <string>
#include <ulp/model/cells/block_table.hpp>
#include <utility>

#include "block_kernel.hpp"

namespace ulp {
namespace {

constexpr std::uint32_t magnitude_mask = 0x7FFFFFFF;
constexpr std::uint32_t least_normal = 0x00800000;
constexpr std::uint32_t infinity = 0x7F800000;
constexpr int fraction_bits = 23;
constexpr int bias = 127;

constexpr std::size_t chunk_columns = 1024;                  // that stay in the cache, a whole block at least
constexpr std::size_t piece_size = std::size_t{1} << 22;     // elements that a thread takes at least
constexpr std::size_t counter_limit = std::size_t{1} << 31;  // keeps counts below 2^32

std::uint32_t bits_of(float x) noexcept { return std::bit_cast<std::uint32_t>(x); }

// Their fractions, 23 bits, go up to there.
template <std::size_t N>
constexpr std::array<std::uint32_t, N> ends_of(const std::array<significands, N>& places) {
  std::array<std::uint32_t, N> ends{};
  for (std::size_t i = 0; i < N; ++i) ends[i] = std::bit_cast<std::uint32_t>(places[i].high) & (least_normal - 1);
  return ends;
}
constexpr auto ends_of_element_places = ends_of(element_places);

// Without branches, which nobody could predict.
template <std::size_t N>
std::uint8_t place_in(const std::array<std::uint32_t, N>& ends, std::uint32_t fraction) noexcept {
  std::uint32_t place = 0;
  for (const std::uint32_t end : ends) place += (end - fraction) >> 31;  // 1 above the end
  return static_cast<std::uint8_t>(place);
}

// A nonzero number, normalised.
struct normalised {
  int exponent;
  std::uint32_t fraction;  // 23 bits
  explicit normalised(std::uint32_t magnitude) noexcept {
    const int shift = magnitude < least_normal ? std::countl_zero(magnitude) - 8 : 0;
    exponent = (shift > 0 ? 1 : static_cast<int>(magnitude >> fraction_bits)) - bias - shift;
    fraction = (magnitude << shift) & (least_normal - 1);
  }
};

constexpr auto place_of_row = [] {
  std::array<std::uint8_t, detail::element_rows> places{};
  for (std::size_t row = 0; row < places.size(); ++row) places[row] = detail::place_of_row(row);
  return places;
}();

struct span_of {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
};

// Columns of one row of blocks.
struct chunk {
  span_of rows;
  span_of columns;
};

// One thread's. Empty between two calls.
class block_counter {
 public:
  // Blocks of `width` columns, in chunks that are as high as they.
  block_table count_all(const float* x, std::size_t stride, std::span<const chunk> chunks, std::size_t width) {
    kernel_ = &detail::block_kernel_in_use();
    for (const auto& [rows, columns] : chunks) {
      find_amax(x, stride, rows, columns, width);
      find_origins(x, stride, rows, columns, width);
      for (std::size_t r = rows.begin; r < rows.end; ++r)
        for (std::size_t at = 0; at < columns.size(); at += detail::kernel_tile)
          count(x + r * stride + columns.begin + at, at, std::min(detail::kernel_tile, columns.size() - at));
    }
    return take();
  }

 private:
  block_table take() {
    collect();
    block_table table = std::exchange(rest_, {});
    table.numel = std::exchange(numel_, 0);
    // Zeros in other blocks are counted there.
    table.zeros = std::exchange(zeros_, 0) - table.in_zero_blocks - table.with_infinity.zeros - table.with_nan.zeros;
    for (std::size_t place = 0; place < ordinary_.size(); ++place)
      if (const std::uint64_t blocks = std::exchange(ordinary_[place], 0); blocks > 0)
        classes_[block_class{.place = static_cast<std::uint8_t>(place)}.key()] += blocks;
    for (const auto& [key, count] : classes_) {
      table.classes.push_back(block_class::of_key(key));
      table.classes.back().blocks = count;
    }
    if (cells_.empty()) {
      table.cells = collected_;  // ascending
    } else {
      for (const block_cell& c : collected_) cells_[c.key()] += c.count;
      for (const auto& [key, count] : cells_) {
        table.cells.push_back(block_cell::of_key(key));
        table.cells.back().count = count;
      }
    }
    classes_.clear();
    cells_.clear();
    collected_.clear();
    if (least_exponent_ <= greatest_exponent_) {
      table.least_exponent = static_cast<std::int16_t>(least_exponent_);
      table.greatest_exponent = static_cast<std::int16_t>(greatest_exponent_);
    }
    least_exponent_ = greatest_ordinary + 1;
    greatest_exponent_ = least_ordinary - 1;
    return table;
  }

  void find_amax(const float* x, std::size_t stride, span_of rows, span_of columns, std::size_t width) {
    amax_.assign((columns.size() + width - 1) / width, 0);
    for (std::size_t r = rows.begin; r < rows.end; ++r)
      kernel_->raise(x + r * stride + columns.begin, columns.size(), width, amax_.data());
  }

  // Counts the blocks, and the elements of those that have no origin.
  void find_origins(const float* x, std::size_t stride, span_of rows, span_of columns, std::size_t width) {
    places_.resize(amax_.size());
    block_origins_.resize(amax_.size());
    const bool are_ordinary = kernel_->locate(amax_.data(), amax_.size(), places_.data(), block_origins_.data());
    if (are_ordinary) {
      const auto [least, greatest] = std::ranges::minmax(amax_);
      see_exponent(static_cast<int>(least >> fraction_bits) - bias);
      see_exponent(static_cast<int>(greatest >> fraction_bits) - bias);
      for (const std::uint32_t place : places_) ++ordinary_[place];
    } else {
      for (std::size_t b = 0; b < amax_.size(); ++b)
        see_block(x, stride, rows, {columns.begin + b * width, std::min(columns.begin + (b + 1) * width, columns.end)},
                  b);
    }
    origins_.resize(columns.size());
    kernel_->spread(block_origins_.data(), width, columns.size(), origins_.data());
  }

  void see_block(const float* x, std::size_t stride, span_of rows, span_of columns, std::size_t b) {
    if (block_origins_[b] != detail::origin_of_others) {
      see_exponent(static_cast<int>(amax_[b] >> fraction_bits) - bias);
      ++ordinary_[places_[b]];
    } else if (amax_[b] == 0) {
      ++rest_.zero_blocks;
      rest_.in_zero_blocks += columns.size() * rows.size();
    } else {
      for_each(x, stride, rows, columns, amax_[b], normalised{amax_[b]});
    }
  }

  void see_exponent(int exponent) noexcept {
    least_exponent_ = std::min(least_exponent_, exponent);
    greatest_exponent_ = std::max(greatest_exponent_, exponent);
  }

  // A block that is not ordinary.
  void for_each(const float* x, std::size_t stride, span_of rows, span_of columns, std::uint32_t greatest,
                const normalised& amax) {
    const auto visit = [&](auto each) {
      for (std::size_t r = rows.begin; r < rows.end; ++r)
        for (std::size_t c = columns.begin; c < columns.end; ++c) each(bits_of(x[r * stride + c]));
    };
    if (greatest >= infinity) {
      nonfinite_blocks& to = greatest > infinity ? rest_.with_nan : rest_.with_infinity;
      ++to.blocks;
      visit([&](std::uint32_t bits) {
        const std::uint32_t magnitude = bits & magnitude_mask;
        ++(magnitude == 0         ? to.zeros
           : magnitude < infinity ? to.numbers
           : magnitude > infinity ? to.nans
                                  : to.infinities);
      });
      return;
    }
    block_class of{.exponent = static_cast<std::int16_t>(amax.exponent),
                   .place = place_in(detail::ends_of_amax_places, amax.fraction)};
    ++classes_[of.key()];
    visit([&](std::uint32_t bits) {
      const std::uint32_t magnitude = bits & magnitude_mask;
      if (magnitude == 0) return;
      const normalised element{magnitude};
      ++cells_[block_cell{.of = of.key(),
                          .below = static_cast<std::uint16_t>(amax.exponent - element.exponent),
                          .place = place_in(ends_of_element_places, element.fraction),
                          .negative = bits != magnitude}
                   .key()];
    });
  }

  // Elements of a row, whose origins are those from `at` on.
  void count(const float* x, std::size_t at, std::size_t size) {
    std::array<std::uint32_t, detail::kernel_tile> indices;
    const std::uint32_t least = kernel_->index(x, origins_.data() + at, size, indices.data());
    if (least < least_normal - 1)
      correct_subnormal(x, at, size, indices);
    else if (least != ~std::uint32_t{0})
      least_field_ = std::min(least_field_, static_cast<int>((least + 1) >> fraction_bits));
    std::uint32_t* const counts = counts_.data();
    std::size_t i = 0;
    for (; i + 4 <= size;
         i += 4) {  // indices are read before counts are written, which might be the same for all the compiler knows
      const std::uint32_t a = indices[i], b = indices[i + 1], c = indices[i + 2], d = indices[i + 3];
      ++counts[a];
      ++counts[b];
      ++counts[c];
      ++counts[d];
    }
    for (; i < size; ++i) ++counts[indices[i]];
    numel_ += size;
    counted_ += size;
    if (counted_ >= counter_limit) collect();
  }

  void correct_subnormal(const float* x, std::size_t at, std::size_t size,
                         std::array<std::uint32_t, detail::kernel_tile>& indices) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t bits = bits_of(x[i]);
      const std::uint32_t magnitude = bits & magnitude_mask;
      if (magnitude == 0 || origins_[at + i] == detail::origin_of_others) continue;
      const normalised element{magnitude};
      least_field_ = std::min(least_field_, element.exponent + bias);
      if (magnitude >= least_normal) continue;
      const std::uint8_t place = place_in(ends_of_element_places, element.fraction);
      const auto row = static_cast<std::uint32_t>(std::ranges::find(place_of_row, place) - place_of_row.begin());
      indices[i] = origins_[at + i] + static_cast<std::uint32_t>(-(element.exponent + bias)) * detail::per_binade +
                   (bits != magnitude ? detail::per_binade / 2 : 0) + row;
    }
  }

  // Counts to cells.
  void collect() {
    counted_ = 0;
    for (const block_cell& c : collected_) cells_[c.key()] += c.count;  // there are some after 2^31 elements
    collected_.clear();
    zeros_ += std::exchange(counts_[detail::zero_index], 0);
    const int rows = std::clamp(greatest_exponent_ + bias - least_field_, 0, 276) + 1;
    for (std::uint8_t place = 0; place < ordinary_.size(); ++place)
      for (int below = 0; ordinary_[place] > 0 && below < rows; ++below)
        collect(place, static_cast<std::uint16_t>(below));
    least_field_ = 255;
  }

  // Of the elements of one binade.
  void collect(std::uint8_t of_amax, std::uint16_t below) {
    const std::span from(counts_.data() + of_amax * detail::per_place + std::size_t{below} * detail::per_binade,
                         detail::per_binade);
    std::uint32_t any = 0;
    for (const std::uint32_t n : from) any |= n;
    if (any == 0) return;
    for (const bool negative : {false, true}) {
      const std::span rows = from.subspan(negative ? detail::per_binade / 2 : 0, detail::element_rows);
      std::array<std::uint64_t, element_places.size()> by_place{};
      for (std::size_t row = 0; row < rows.size(); ++row) by_place[place_of_row[row]] += std::exchange(rows[row], 0);
      for (std::uint8_t place = 0; place < by_place.size(); ++place)
        if (by_place[place] > 0)
          collected_.push_back({.of = block_class{.place = of_amax}.key(),
                                .below = below,
                                .place = place,
                                .negative = negative,
                                .count = by_place[place]});
    }
  }

  const detail::block_kernel* kernel_ = nullptr;
  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(detail::counts_size);
  std::vector<std::uint32_t> amax_;
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> block_origins_;
  std::vector<std::uint32_t> origins_;  // by element
  std::array<std::uint64_t, amax_places.size()> ordinary_{};
  std::map<std::uint32_t, std::uint64_t> classes_;
  std::vector<block_cell> collected_;  // of ordinary blocks
  std::map<std::uint32_t, std::uint64_t> cells_;
  block_table rest_;
  // Of ordinary blocks; the least is above the greatest where there are none.
  int least_exponent_ = greatest_ordinary + 1;
  int greatest_exponent_ = least_ordinary - 1;
  std::uint64_t numel_ = 0;
  std::uint64_t zeros_ = 0;
  std::size_t counted_ = 0;
  int least_field_ = 255;  // exponent field of the least element, negative where it is subnormal
};

}  // namespace

block_table count_blocks(std::span<const float> x, matrix_extent of, block_extent block, unsigned threads) {
  if (x.size() != of.rows * of.columns)
    throw std::invalid_argument("a matrix of " + std::to_string(of.rows) + " x " + std::to_string(of.columns) +
                                " has not " + std::to_string(x.size()) + " elements");
  block_table all{.block = block};
  if (x.empty()) return all;
  const std::size_t height = block.rows == 0 ? of.rows : std::min(block.rows, of.rows);
  const std::size_t width = block.columns == 0 ? of.columns : std::min(block.columns, of.columns);
  const std::size_t step = width * std::max<std::size_t>(1, chunk_columns / width);
  const std::size_t across = (of.columns + step - 1) / step;
  const std::size_t chunks = (of.rows + height - 1) / height * across;
  const std::size_t per_piece = std::max<std::size_t>(1, piece_size / (height * step));
  std::vector<block_table> pieces((chunks + per_piece - 1) / per_piece);
  const auto count = [&](std::size_t piece) {
    thread_local block_counter counter;
    std::vector<chunk> its;
    for (std::size_t c = piece * per_piece; c < std::min((piece + 1) * per_piece, chunks); ++c) {
      const std::size_t row = c / across * height;
      const std::size_t column = c % across * step;
      its.push_back({{row, std::min(row + height, of.rows)}, {column, std::min(column + step, of.columns)}});
    }
    pieces[piece] = counter.count_all(x.data(), of.columns, its, width);
    pieces[piece].block = block;
  };
  const int processors = tbb::info::default_concurrency();
  const int useful =
      threads == 0 ? processors : std::min(static_cast<int>(threads), processors);  // oneTBB complains of more
  if (useful > 1 && pieces.size() > 1)
    tbb::task_arena(useful).execute([&] { tbb::parallel_for(std::size_t{0}, pieces.size(), count); });
  else
    for (std::size_t i = 0; i < pieces.size(); ++i) count(i);
  for (const block_table& piece : pieces) all.merge(piece);
  return all;
}

}  // namespace ulp
