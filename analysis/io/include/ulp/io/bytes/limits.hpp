// What reading an input may cost: a small file of somebody else's must not take memory and time beyond measure.
#ifndef ULP_IO_BYTES_LIMITS_HPP
#define ULP_IO_BYTES_LIMITS_HPP

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace ulp {

// Honest files are far below; an error that names the limit tells how to raise it. docs/inputs.md has the reasons.
struct read_limits {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  // Of one file, and different ones of all files together; also members of an archive, tags, layers of a step, keys of
  // metadata. A thousand times as many as networks of today have layers; some 100 MB.
  std::uint64_t tensors = 100'000;
  // Bytes of a header, the directory of an archive or the pickle of a .pt, which are kept in memory: 300 for each of as many
  // tensors.
  std::uint64_t header = 32'000'000;
  // Percent of a file that these may take, beyond the first 4 MB: headers describe values.
  std::uint64_t header_share = 50;
  // Bytes that one byte of compressed data may become on average over a file, beyond the first 256 MiB of arrays and 32 MiB
  // of text: real gradients stay below 10, sparse ones with one row of a hundred below 100, deflate ends at 1032.
  std::uint64_t inflate_ratio = 200;
  // Bytes of a compressed text once inflated: minutes of reading.
  std::uint64_t text = 16'000'000'000;
  // First indices of one array, where these are steps or micro-batches: each takes time and some bytes of memory, however
  // few elements it has. Long trainings have some hundred thousand steps.
  std::uint64_t rows = 1'000'000;
  // No limit, but said where these are: codes are read as numbers though scales lie beside them, and these as tensors of their
  // own (docs/inputs.md).
  bool raw_codes = false;
};

struct limit_name {
  std::string_view name;  // "inflate-ratio"
  std::uint64_t read_limits::*value;
  std::string_view unit;  // what it counts, for people
};
[[nodiscard]] std::span<const limit_name> limit_names() noexcept;

// "NAME=N" or "NAME=none", as users give it. Throws std::invalid_argument that says what is wrong with it.
void set_limit(read_limits& limits, std::string_view text);

// What is wrong with an array of so many rows, each a step or micro-batch, of so many elements: none of either, or more
// rows than the limit. Empty where nothing is.
[[nodiscard]] std::string wrong_with_rows(const read_limits& limits, std::uint64_t rows, std::uint64_t elements);

// What the error of an input beyond a limit ends with: the limit, its value, and how to raise it.
[[nodiscard]] std::string limit_text(const read_limits& limits, std::uint64_t read_limits::*limit);

}  // namespace ulp

#endif
