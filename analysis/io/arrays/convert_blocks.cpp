// What becomes of each array under a block row: read whole, quantized tensor by tensor, written member by member.
#include <ulp/io/arrays/convert_blocks.hpp>

#include <algorithm>
#include <cmath>

#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "block_quantizer.hpp"
#include "bytes/text.hpp"

namespace ulp {
namespace {

using namespace io;

// Two codes in a byte, the first in the low half.
std::vector<std::uint8_t> in_pairs(const std::vector<std::uint8_t>& codes) {
  std::vector<std::uint8_t> packed((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i)
    packed[i / 2] = static_cast<std::uint8_t>(packed[i / 2] | codes[i] << (i % 2 * 4));
  return packed;
}

// Tiles of 128 x 4 in which row r has its four codes at (r mod 32) * 16 + (r div 32) * 4: cuBLAS, "1D Block Scaling Factors
// Layout"; torchao to_blocked.
std::vector<std::uint8_t> in_tiles(const std::vector<std::uint8_t>& scales, std::size_t rows, std::size_t columns) {
  const std::size_t down = (rows + 127) / 128;
  const std::size_t across = (columns + 3) / 4;
  std::vector<std::uint8_t> tiles(down * across * 512);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      tiles[(r / 128 * across + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4] = scales[r * columns + c];
  return tiles;
}

}  // namespace

block_counts& block_counts::operator+=(const block_counts& other) noexcept {
  zeros += other.zeros;
  newly_zero += other.newly_zero;
  clipped += other.clipped;
  infinite += other.infinite;
  lost += other.lost;
  nan += other.nan;
  blocks += other.blocks;
  energy += other.energy;
  error_energy += other.error_energy;
  return *this;
}

double block_counts::sqnr() const noexcept {
  return infinite + lost > 0 ? not_known : 10 * std::log10(energy / error_energy);
}

struct block_file_conversion::state {
  std::string path;
  block_conversion_options options;
  block_quantizer input;
  std::vector<block_array_conversion> arrays;

  state(const std::string& file, block_conversion_options given)
      : path(file), options(std::move(given)), input(path, options) {
    for (std::size_t n = 0; n < input.size(); ++n) {
      const stored_array& array = input.array(n);
      arrays.push_back(
          {.name = array.name, .from = array.type, .shape = array.shape, .numel = array.numel, .counts = {}});
      input.check(n, *options.row);
    }
  }

  void write(npz_writer& out, std::size_t n) {
    quantized_array q = input.quantize(n, *options.row);
    arrays[n].counts = errors_of(q.x, q.numbers);
    arrays[n].counts.clipped = q.counts.overflowed;
    arrays[n].counts.blocks = q.scales();
    put(out, input.array(n), q);
  }

  void put(npz_writer& out, const stored_array& array, quantized_array& q) const {
    const std::string prefix = input.size() == 1 ? "" : array.name + ".";
    const array_shape& shape = array.shape.empty() ? array.shape : q.shape;
    to_array_order(q, q.codes);
    to_array_order(q, q.numbers);
    if (options.swizzled) {
      const std::size_t across = q.parts.empty() ? 0 : q.parts.front().grid.across;  // that of all parts
      q.scale_codes = in_tiles(q.scale_codes, across == 0 ? 0 : q.scales() / across, across);
      q.scale_shape = {q.scale_codes.size()};
    } else {
      to_array_order(q, q.scale_codes);
      to_array_order(q, q.scale_numbers);
    }
    if (options.row->scale == scale_type::float32)
      out.add(prefix + "scale", "<f4", q.scale_shape, little_bytes(q.scale_numbers));
    else
      out.add(prefix + "scale", "|u1", q.scale_shape, little_bytes(q.scale_codes));
    if (options.packed) {
      array_shape halved = q.shape;
      if (halved.back() % 2 != 0 && halved.back() != q.codes.size())
        throw input_error(path, "array " + in_quotes(array.name),
                          "has rows of " + std::to_string(halved.back()) +
                              " elements, so that a byte would hold codes of two rows: leave out --packed");
      halved.back() = (halved.back() + 1) / 2;
      out.add(prefix + "codes", "|u1", halved, little_bytes(in_pairs(q.codes)));
    } else {
      out.add(prefix + "codes", "|u1", shape, little_bytes(q.codes));
    }
    out.add(prefix + "dequantized", "<f4", shape, little_bytes(q.numbers));
    if (!q.amax.empty()) out.add(prefix + "global_amax", "<f4", {q.amax.size()}, little_bytes(q.amax));
    if (options.row->transposed_hadamard) out.add(prefix + "transformed", "<f4", q.shape, little_bytes(q.x));
  }
};

block_file_conversion::block_file_conversion(const std::string& input, block_conversion_options options)
    : state_(std::make_unique<state>(input, std::move(options))) {}

block_file_conversion::~block_file_conversion() = default;

const std::vector<block_array_conversion>& block_file_conversion::arrays() const noexcept { return state_->arrays; }

std::vector<std::string> block_file_conversion::notes() const {
  std::vector<std::string> all = state_->input.notes();
  if (const std::string others = state_->input.left_out(); !others.empty())
    all.push_back("left out, since a file of blocks holds nothing else: " + others);
  return all;
}

std::uint64_t block_file_conversion::elements() const noexcept {
  std::uint64_t all = 0;
  for (const block_array_conversion& array : state_->arrays) all += array.numel;
  return all;
}

void block_file_conversion::write(const std::string& output, const std::function<void(std::uint64_t)>& advance) {
  npz_writer out(output);
  for (std::size_t n = 0; n < state_->arrays.size(); ++n) {
    state_->write(out, n);
    advance(state_->arrays[n].numel);
  }
  out.finish();
}

}  // namespace ulp
