// Pins ulp precision accumulate to the errors of numpy's float16 and torch's bfloat16 over the same gradients.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

json rows(const std::string& arguments) {
  const auto run = run_ulp("precision accumulate " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

// Of all tensors together.
double relative_error(const json& all, const std::string& format, const std::string& order) {
  for (const json& row : all)
    if (row.at("tensor").is_null() && row.at("format") == format && row.at("order") == order)
      return row.at("relative_error").get<double>();
  FAIL("no row of " << format << ", " << order);
  return 0;
}

}  // namespace

// The figures are of numpy's and torch's own sums, with the exact ones: root of sum of squares over sum of squares.
TEST_CASE("gradients of 32 micro-batches") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const json all = rows((shared / "data/cnn_digits/cnn_digits.microbatches_init.safetensors").string() +
                        " --format fp16,bf16 --chunk 8");
  const auto check = [&](const char* format, const char* order, double expected) {
    INFO(format << ", " << order);
    CHECK(relative_error(all, format, order) == Approx(expected).epsilon(1e-9));
  };
  check("fp16", "sequential", 0.0007493561096423234);
  check("bf16", "sequential", 0.006534880387393692);
  check("fp16", "Kahan", 0.0002622974533279225);
  check("bf16", "Kahan", 0.002342093167522126);
  check("fp16", "chunks of 8", 0.0005018234484659764);
  check("bf16", "chunks of 8", 0.0036847946277908483);
  check("fp16", "chunks of 8, float32 outside", 0.00037743071404019573);
  check("bf16", "chunks of 8, float32 outside", 0.0028847414891710723);
}

TEST_CASE("gradients of 1024 steps") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const json all = rows((shared / "data/cnn_digits/cnn_digits.trajectories.npz").string() +
                        " --tensor '^(conv1|bn1).weight$' --microbatches 1024 --format bf16 --chunk 64");
  CHECK(relative_error(all, "bf16", "sequential") == Approx(0.05160931016176159).epsilon(1e-9));
  CHECK(relative_error(all, "bf16", "chunks of 64") == Approx(0.014851781664366775).epsilon(1e-9));
  CHECK(relative_error(all, "bf16", "Kahan") == Approx(0.004213086324630131).epsilon(1e-9));
}
