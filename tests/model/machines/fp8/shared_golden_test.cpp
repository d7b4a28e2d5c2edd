// Pins the policies that scale each tensor to every golden trace of the shared set.
#include "support/catch.hpp"

#include "model/machines/fp8/golden.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("every golden trace of the policies that scale each tensor") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  std::size_t files = 0;
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(shared / "golden/fp8/policies")) {
    const fp8_comparison result = compare(file.path());
    CHECK(result.first_difference == "");
    ++files;
    compared += result.compared;
  }
  CHECK(files == 56);
  CHECK(compared == 80'640);
}
