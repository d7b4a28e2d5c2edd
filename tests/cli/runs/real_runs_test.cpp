// Pins what is concluded from runs that were really trained in float16 under PyTorch's GradScaler, which wrote down what it did.
// A few small ones are in the project, the others are the house's.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;

struct made_step {
  bool skipped = false;
  double next_scale = 0;
};

struct real_run {
  std::string name;
  int interval;
};

// By steps; the last attempt of a step that was made again.
std::map<std::int64_t, made_step> log_of(const fs::path& recording) {
  fs::path path = recording;
  std::ifstream in(path.replace_extension(".log.csv"));
  REQUIRE(in);
  std::map<std::int64_t, made_step> made;
  std::string line;
  std::getline(in, line);
  REQUIRE(line.starts_with("step,scale,skipped,next_scale"));
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string step, scale, skipped, next;
    std::getline(std::getline(std::getline(std::getline(fields, step, ','), scale, ','), skipped, ','), next, ',');
    made[std::stoll(step)] = {skipped == "1", std::stod(next)};
  }
  return made;
}

json replayed(const fs::path& recording, const std::string& options) {
  const auto result = run_ulp("replay '" + recording.string() + "' --json " + options);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

std::string gradscaler(int interval) {
  return fmt::format("--scaler pytorch_gradscaler --set growth_interval={} --format fp16", interval);
}

// What the recording says of overflow by itself, without the scaler's own account.
void without_account(const fs::path& recording, const fs::path& copy) {
  const auto from = open_source({recording.string()});
  recording_writer to(copy.string(), recording_writer::mode::create);
  step now;
  while (from->next(now)) {
    now.scalars.found_inf.reset();
    now.scalars.applied.reset();
    to.write(now, from->tensors());
  }
  to.close();
}

void check_own_scaler(const fs::path& recording, const real_run& run) {
  const auto made = log_of(recording);
  const json all = replayed(recording, gradscaler(run.interval));
  REQUIRE(all.at("steps").size() == made.size());
  for (const json& row : all.at("steps")) {
    INFO(run.name << ", step " << row.at("step"));
    const made_step& real = made.at(row.at("step"));
    REQUIRE(row.at("skipped") == real.skipped);
    REQUIRE(row.at("scale_next") == real.next_scale);
    REQUIRE(row.at("found_inf_certain") == true);
  }
}

void check_without_account(const fs::path& recording, const real_run& run) {
  const temporary_dir dir;
  without_account(recording, dir / "copy.ulp");
  const auto made = log_of(recording);
  const auto skips = std::ranges::count_if(made, [](const auto& m) { return m.second.skipped; });
  const json all = replayed(dir / "copy.ulp", gradscaler(run.interval));
  const json& summary = all.at("summary");
  CHECK(summary.at("skipped_low") <= skips);
  CHECK(skips <= summary.at("skipped_high"));
  for (const json& row : all.at("steps")) {
    if (row.at("found_inf_certain") == false) continue;
    INFO(run.name << ", step " << row.at("step"));
    CHECK(row.at("found_inf") == made.at(row.at("step")).skipped);
  }
}

void check_elsewhere(const fs::path& recording, const real_run& run) {
  INFO(run.name);
  for (const char* const options : {"--scaler static --set loss_scale=16 --format fp16",
                                    "--scaler pytorch_gradscaler --format bf16", "--scaler none --format bf16"}) {
    const json all = replayed(recording, options);
    CHECK(all.at("summary").at("skipped_low") == 0);
    CHECK(std::ranges::none_of(all.at("steps"), [](const json& row) {
      return row.at("found_inf") == true && row.at("found_inf_certain") == true;
    }));
  }
}

// The training was made again with this growth interval: `retrained` is its log's name.
void check_other_interval(const fs::path& recording, int interval, const std::string& retrained) {
  const auto made = log_of(recording.parent_path() / retrained);
  const auto skips = static_cast<double>(std::ranges::count_if(made, [](const auto& m) { return m.second.skipped; }));
  const json summary = replayed(recording, gradscaler(interval)).at("summary");
  const double estimate = summary.at("skipped");
  INFO(retrained << ": " << skips << " skips, estimated " << estimate << " [" << summary.at("skipped_low") << ", "
                 << summary.at("skipped_high") << "]");
  CHECK(std::abs(estimate - skips) <= std::max(3.0, skips / 4));
  CHECK(summary.at("skipped_low") <= estimate);
  CHECK(estimate <= summary.at("skipped_high"));
  // What is open is not what the run decided.
  CHECK(summary.at("skipped_low") < summary.at("skipped_high"));
}

fs::path own() { return source_dir() / "tests" / "data" / "amp"; }

// A program of its own has the runs of the house, which is skipped where there are none.
#ifdef ULP_SHARED_RUNS
constexpr bool has_own = false;
fs::path of_the_house() { return shared_dir().empty() ? fs::path{} : shared_dir() / "data" / "amp"; }
#else
constexpr bool has_own = true;
fs::path of_the_house() { return {}; }
#endif

const std::vector<real_run> own_runs{{"plain", 5}, {"tied_accumulated", 5}};
const std::vector<real_run> runs_of_the_house{
    {"untied1", 10}, {"tied1", 10},         {"accum4", 10},  {"res1", 10},
    {"unscale", 10}, {"unscale_right", 10}, {"resumed", 20},
};

template <class Check>
void for_each_run(Check check) {
  for (const real_run& run : own_runs)
    if (has_own) check(own() / (run.name + ".ulp"), run);
  if (of_the_house().empty()) return;
  for (const real_run& run : runs_of_the_house) check(of_the_house() / (run.name + ".ulp"), run);
}

}  // namespace

TEST_CASE("the replay of a run under its own scaler is the run, step by step") { for_each_run(check_own_scaler); }

TEST_CASE("what tensors alone say of overflow never contradicts the run") { for_each_run(check_without_account); }

TEST_CASE("no overflow is certain at a scale far below the run's, or in bfloat16") { for_each_run(check_elsewhere); }

TEST_CASE("another growth interval is estimated near what the same training did with it") {
  for (const int interval : {2, 12, 50})
    if (has_own) check_other_interval(own() / "plain.ulp", interval, fmt::format("plain_gi{}", interval));
  if (of_the_house().empty()) return;
  for (const int interval : {5, 25, 100})
    check_other_interval(of_the_house() / "untied1.ulp", interval, fmt::format("untied1_gi{}", interval));
}

TEST_CASE("roles that nobody recorded are told by the values of a run, and replay it as well") {
  for_each_run([](const fs::path& recording, const real_run& run) {
    // Of steps that were made again and of wrong factors other tests speak.
    if (run.name == "unscale" || run.name == "resumed") return;
    INFO(run.name);
    const auto made = log_of(recording);
    const auto skips = std::ranges::count_if(made, [](const auto& m) { return m.second.skipped; });
    const auto result =
        run_ulp("replay '" + recording.string() + "' --role .=unknown --json " + gradscaler(run.interval));
    REQUIRE(result.exit_code == 0);
    CHECK(result.err.find("roles are inferred from the values") != std::string::npos);
    CHECK(json::parse(result.out).at("summary").at("skipped") == skips);
  });
}

TEST_CASE("forward tensors of a run are not multiplied by its loss scale") {
  if (of_the_house().empty()) return;
  const auto result = run_ulp("outcomes '" + (of_the_house() / "activations.ulp").string() +
                              "' --kind activation --scale 2^16 --format fp16 --json");
  REQUIRE(result.exit_code == 0);
  const json rows = json::parse(result.out);
  REQUIRE(!rows.empty());
  for (const json& row : rows) CHECK(row.at("overflow_high") == 0);
}

TEST_CASE(
    "a run whose gradients were recorded after unscaling is told of wherever it is concluded from, and no other") {
  if (of_the_house().empty()) return;
  const auto told = [](const fs::path& recording, const std::string& command) {
    const auto result = run_ulp(command + " '" + recording.string() + "'");
    CHECK(result.exit_code == 0);
    return result.err.find("recorded wrongly") != std::string::npos ||
           result.out.find("recorded wrongly") != std::string::npos;
  };
  for (const char* const command :
       {"check", "advise", "replay --scaler pytorch --format fp16", "sweep --scaler pytorch --format fp16"})
    CHECK(told(of_the_house() / "unscale.ulp", command));
  for_each_run([&](const fs::path& recording, const real_run& run) {
    INFO(run.name);
    CHECK(told(recording, "check") == (run.name == "unscale"));
  });
}

TEST_CASE("advice and ranking do not conclude from what a float16 run leaves open") {
  const std::string run = " '" + (own() / "plain.ulp").string() + "'";
  CHECK(run_ulp("advise" + run).out.find("not decided by this recording; by estimate") != std::string::npos);
  const json topics = json::parse(run_ulp("advise --json" + run).out);
  CHECK(std::ranges::any_of(topics, [](const json& t) {
    return t.at("topic") == "growth" && t.at("numbers").at("best").at("decided") == false;
  }));
  const auto sweep = run_ulp("sweep" + run + " --scaler pytorch --set growth_interval=5,12,50 --format fp16,bf16");
  CHECK(sweep.out.find("~ estimates") != std::string::npos);
}

TEST_CASE("what was recorded is printed and exported as it was recorded") {
  const std::string run = "examples/digits.ulp";  // whose roles are told, and not the format
  CHECK(run_ulp("export " + run + " --json-lines -o - --steps 0").out.find("\"through\":\"\"") != std::string::npos);
  CHECK(run_ulp("info --digest " + run).out.starts_with("fa2f413d7217304b"));
}

TEST_CASE("advice leaves open what a replay at the same scale leaves open") {
  for_each_run([](const fs::path& recording, const real_run& run) {
    const json topics = json::parse(run_ulp("advise --json '" + recording.string() + "'").out);
    const auto scales =
        std::ranges::find_if(topics, [](const json& t) { return t.at("topic") == "static_scale"; })->at("numbers");
    for (const auto& [scale, advised] : scales.at("scales").items()) {
      INFO(run.name << " at " << scale);
      const json summary = replayed(recording, "--format fp16 --scaler static --set loss_scale=" + scale).at("summary");
      CHECK(advised.at("overflow_steps") == summary.at("skipped_low"));
      CHECK(advised.at("overflow_steps").get<int>() + advised.at("undecided_steps").get<int>() ==
            summary.at("skipped_high"));
    }
  });
}
