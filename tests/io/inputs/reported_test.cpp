// Tables of runs that people brought, as they wrote them: what is right stands in INDEX.csv beside them.
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::filesystem::path reports() {
  return shared_dir().empty() ? std::filesystem::path() : shared_dir() / "data" / "reports";
}

contents read(const std::string& name) { return read_all(*open_source({(reports() / name).string()})); }

std::vector<std::int64_t> skipped_in(const contents& all) {
  std::vector<std::int64_t> found;
  for (const step& s : all.steps)
    if (s.scalars.applied == false) found.push_back(s.key.step);
  return found;
}

// The first step from which on no loss is finite.
std::int64_t lost_from(const contents& all) {
  std::int64_t first = -1;
  for (const step& s : all.steps) {
    if (!s.scalars.loss_is_nan)
      first = -1;
    else if (first < 0)
      first = s.key.step;
  }
  return first;
}

}  // namespace

TEST_CASE("reported tables are read") {
  if (reports().empty() || !std::filesystem::exists(reports())) {
    WARN("no reports are beside the project: skipped");
    return;
  }
  SECTION("Lightning") { CHECK(lost_from(read("23_lightning_metrics.csv")) == 1649); }
  SECTION("ultralytics") {
    const contents all = read("25_yolo_results.csv");
    CHECK(lost_from(all) == 4);
    CHECK(skipped_in(all).empty());  // these are epochs
  }
  SECTION("W&B") {
    const contents all = read("26_wandb_history.jsonl");
    CHECK(skipped_in(all) == std::vector<std::int64_t>{50, 51, 52, 53, 54, 55, 56, 57, 58, 59});
    CHECK(all.steps[50].scalars.loss_scale == 65536);
  }
  SECTION("plain") {
    const contents all = read("27_scale_table.csv");
    CHECK(skipped_in(all) == std::vector<std::int64_t>{0, 1});
    CHECK(all.steps[0].scalars.loss_scale == 65536);
  }
  SECTION("TensorBoard") {
    const contents all = read("97_tb");
    const auto skipped = skipped_in(all);
    REQUIRE(skipped.size() >= 5);
    CHECK(std::vector(skipped.begin(), skipped.begin() + 5) == std::vector<std::int64_t>{1, 2, 3, 120, 180});
    CHECK(lost_from(all) == 180);
  }
}
