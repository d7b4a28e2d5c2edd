// Pins blocks that become numbers again: the originals' own codes and scales give the originals' numbers, and what is written
// of any row, in any layout, comes back.
#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/io/arrays/convert.hpp>
#include <ulp/io/arrays/convert_blocks.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/error.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/little.hpp"
#include "support/npz.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

// The one array of numbers.
npz_array decoded(const fs::path& file, const block_source& how) {
  const temporary_dir dir;
  const std::string output = (dir / "o.npz").string();
  file_conversion conversion(file.string(), output, {.to = binary32, .blocks = how});
  atomic_file to(output);
  conversion.write(to, [](std::uint64_t) {});
  to.finish();
  const auto all = read_npz(output);
  REQUIRE(all.size() == 1);
  return all.begin()->second;
}

// By bits, NaN being one. Integers have no -0, which programs that compute with numbers give.
std::size_t differing(const block_format& row, const npz_array& given, const npz_array& expected) {
  REQUIRE(given.shape == expected.shape);
  const auto a = given.as<float>();
  const auto b = expected.as<float>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_zero = row.element.numbers == nullptr && a[i] == 0 && b[i] == 0;
    const bool is_nan = a[i] != a[i] && b[i] != b[i];
    if (!is_zero && !is_nan && std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) ++count;
  }
  return count;
}

std::size_t check_folder(const fs::path& folder) {
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const block_format* const row = find_block_format(entry.path().stem().string());
    if (entry.path().extension() != ".npz" || row == nullptr) continue;
    INFO(row->name);
    CHECK(differing(*row, decoded(entry.path(), {.row = row}), read_npz(entry.path()).at("dequantized")) == 0);
    ++files;
  }
  return files;
}

// Numbers over many binades, with zeros of both signs.
std::vector<float> some_numbers(std::size_t size) {
  std::vector<float> x(size);
  std::uint32_t state = 1;
  for (float& number : x) {
    state = state * 1664525U + 1013904223U;
    number = std::bit_cast<float>((state & 0x807FFFFFU) | ((118U + (state >> 9U) % 16U) << 23U));
    if (state % 11 == 0) number = std::bit_cast<float>(state & 0x80000000U);
  }
  return x;
}

void write_x(const fs::path& path, const std::vector<std::uint64_t>& shape) {
  std::size_t size = 1;
  for (const std::uint64_t n : shape) size *= n;
  const std::vector<float> x = some_numbers(size);
  write_npy(path.string(), "<f4", shape, raw(x));
}

std::string error_of(const fs::path& file, const block_source& how) {
  try {
    static_cast<void>(decoded(file, how));
  } catch (const input_error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the originals' codes and scales are the originals' numbers") {
  CHECK(check_folder(source_dir() / "tests/data/golden_blocks") == 18);
}

TEST_CASE("so are all that were recorded", "[shared]") {
  const auto folder = source_dir() / "../shared/golden/fp8/blocks";
  if (!fs::exists(folder)) {
    WARN("SKIPPED: ../shared/golden/fp8/blocks is absent");
    return;
  }
  CHECK(check_folder(folder) == 92);
}

TEST_CASE("what is written of a row comes back, in every shape and layout") {
  const temporary_dir dir;
  const std::string x = (dir / "x.npy").string();
  const std::string blocks = (dir / "b.npz").string();
  std::size_t compared = 0;
  for (const std::vector<std::uint64_t>& shape :
       std::vector<std::vector<std::uint64_t>>{{48, 80}, {3, 32, 48}, {37}, {16, 150}, {2, 0}, {}}) {
    write_x(x, shape);
    for (const block_format& row : block_formats()) {
      for (const int layout : {0, 1, 2, 3, 4}) {
        const bool packed = layout % 2 == 1;
        const bool swizzled = layout / 2 == 1;
        const std::optional<int> axis = layout == 4 ? std::optional{0} : std::nullopt;
        const bool has_squares = row.block.rows > 1 || row.transposed_hadamard;
        if ((packed && row.element.width > 4) || (packed && shape.empty()) || (axis && has_squares)) continue;
        if (swizzled && (row.scale == scale_type::float32 || row.block.rows != 1)) continue;
        if (row.transposed_hadamard && (shape.size() < 2 || shape[shape.size() - 2] % 16 != 0)) continue;
        INFO(row.name << ", " << shape.size() << " dimensions, layout " << layout);
        block_conversion_options how{.row = &row, .axis = axis, .packed = packed, .swizzled = swizzled};
        block_file_conversion(x, how).write(blocks, [](std::uint64_t) {});
        const npz_array numbers = decoded(blocks, {.row = &row, .axis = axis, .packed = packed, .swizzled = swizzled});
        CHECK(differing(row, numbers, read_npz(blocks).at("dequantized")) == 0);
        ++compared;
      }
    }
  }
  CHECK(compared > 1000);
}

TEST_CASE("codes and scales that do not fit are refused") {
  const temporary_dir dir;
  const fs::path file = dir / "b.npz";
  const auto with = [&](const std::vector<std::uint64_t>& codes, const std::vector<std::uint64_t>& scales,
                        unsigned code = 5) {
    std::size_t size = 1;
    for (const std::uint64_t n : codes) size *= n;
    std::size_t count = 1;
    for (const std::uint64_t n : scales) count *= n;
    npz_writer out(file.string());
    out.add("codes", "|u1", codes, std::string(size, static_cast<char>(code)));
    out.add("scale", "|u1", scales, std::string(count, '\x7f'));
    out.finish();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    CAPTURE(text);
    return text.find(part) != std::string::npos;
  };
  const block_source mxfp4{.row = find_block_format("mxfp4")};
  with({2, 64}, {2, 2});
  CHECK(error_of(file, mxfp4).empty());
  with({2, 64}, {2, 1});
  CHECK(has(error_of(file, mxfp4),
            "array 'scale': is of the shape (2, 1); codes of the shape (2, 64) have scales of (2, 2)"));
  with({2, 64}, {2, 4});
  CHECK(has(error_of(file, mxfp4), "if a byte has two codes, give --packed"));
  block_source pairs = mxfp4;
  pairs.packed = true;
  CHECK(error_of(file, pairs).empty());
  with({2, 64}, {2, 2}, 0x55);
  CHECK(has(error_of(file, mxfp4), "has 85 at element 0, more than the 4 bits of a code of float4_e2m1"));
  with({2, 64}, {512});
  CHECK(has(error_of(file, mxfp4), "if they lie in tiles of 128 x 4, give --swizzled"));
  with({2, 32}, {2});
  CHECK(has(error_of(file, {.row = find_block_format("nvfp4")}), "has no array 'global_amax' (float32) beside it"));
  CHECK(has(error_of(file, {.row = find_block_format("fp8_tensor")}), "array 'scale': is of type |u1, not of float32"));
  CHECK(has(error_of(source_dir() / "examples/digits.step00100.safetensors", mxfp4),
            "has no array 'codes', or NAME.codes"));
}
