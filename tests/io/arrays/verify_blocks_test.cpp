// Pins the check of somebody's blocks to the originals' own results: whatever row is asked for, the right one is named.
#include <filesystem>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/arrays/verify_blocks.hpp>

#include <algorithm>
#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/little.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

bool may_be_asked_for(const block_format& asked, const block_format& right) {
  return asked.element.name == right.element.name && asked.scale == right.scale && asked.block == right.block &&
         asked.scale_for_each_row == right.scale_for_each_row && asked.scales_rows == right.scales_rows &&
         asked.transposed_hadamard == right.transposed_hadamard;
}

// Of how many rows the file's results were asked.
std::size_t check_file(const std::filesystem::path& path) {
  const block_format* const right = find_block_format(path.stem().string());
  REQUIRE(right != nullptr);
  std::size_t asked_for = 0;
  for (const block_format& asked : block_formats()) {
    if (!may_be_asked_for(asked, *right)) continue;
    INFO(path.filename().string() << " asked for as " << asked.name);
    const verified_blocks all = verify_blocks(path.string(), path.string(), {.row = &asked});
    CHECK(std::ranges::find(all.gives_all, right) != all.gives_all.end());
    CHECK(all.blocks > 0);
    std::uint64_t by_difference = 0;
    for (const std::uint64_t n : all.by_difference) by_difference += n;
    CHECK(by_difference == all.differing);
    CHECK(all.first.size() == std::min<std::uint64_t>(10, all.differing));
    for (const differing_block& block : all.first)
      CHECK(std::ranges::find(block.follows, right) != block.follows.end());
    if (&asked == right) CHECK(all.differing == 0);
    ++asked_for;
  }
  return asked_for;
}

std::size_t check_folder(const std::filesystem::path& folder) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".npz" && find_block_format(entry.path().stem().string()) != nullptr) {
      CHECK(check_file(entry.path()) > 0);
      ++files;
    }
  return files;
}

}  // namespace

TEST_CASE("whatever row is asked for, the one whose results these are is named") {
  CHECK(check_folder(source_dir() / "tests/data/golden_blocks") == 18);
}

TEST_CASE("of every recorded block", "[shared]") {
  const auto folder = source_dir() / "../shared/golden/fp8/blocks";
  if (!std::filesystem::exists(folder)) {
    WARN("SKIPPED: ../shared/golden/fp8/blocks is absent");
    return;
  }
  CHECK(check_folder(folder) == 92);
}

TEST_CASE("a tie between zero and the least number is a tie") {
  const temporary_dir dir;
  // In float4_e2m1 under the scale of 6, which is 1.
  const std::vector<float> x{0.25F, 6};
  const std::vector<std::uint8_t> codes{1, 7};
  npz_writer out((dir / "k.npz").string());
  out.add("x", "<f4", {2}, raw(x));
  out.add("scale", "|u1", {1}, std::string_view{"\x7f", 1});
  out.add("codes", "|u1", {2}, raw(codes));
  out.finish();
  const std::string path = (dir / "k.npz").string();
  const verified_blocks all = verify_blocks(path, path, {.row = find_block_format("mxfp4")});
  REQUIRE(all.first.size() == 1);
  CHECK(all.first[0].what == block_difference::tie);
}

TEST_CASE("one of each difference comes before the second of any") {
  const auto path = source_dir() / "tests/data/golden_blocks/microxcaling_fp8_e4m3_floor.npz";
  const verified_blocks all =
      verify_blocks(path.string(), path.string(), {.row = find_block_format("torchao_mxe4m3_floor")}, 3);
  REQUIRE(all.first.size() == 3);
  CHECK(all.first[0].what != all.first[1].what);
  CHECK(all.first[1].what != all.first[2].what);
}
