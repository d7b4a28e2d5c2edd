// All blocks that the originals' own code made: ../shared/golden/fp8/blocks, see fp8-and-blocks.md beside it.
#include <algorithm>
#include <array>
#include <string>

#include "block_golden.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

namespace ulp::test {
namespace {

TEST_CASE("every recorded block comes out bit by bit") {
  if (shared_dir().empty()) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shared_dir() / "golden" / "fp8" / "blocks")) {
    const std::string name = entry.path().stem().string();
    // Numbers without scales.
    constexpr std::array others{"cast_", "gfloat_scalar_", "microxcaling_elemwise_", "te_rht16"};
    if (std::ranges::any_of(others, [&](const char* start) { return name.starts_with(start); })) continue;
    INFO(name);
    const block_differences found = compare_block_file(entry.path());
    CHECK(found == block_differences{.compared = found.compared});
    CHECK(found.compared > 0);
    ++files;
  }
  CHECK(files == 92);
}

}  // namespace
}  // namespace ulp::test
