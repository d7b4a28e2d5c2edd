// Pins --attempts: what concludes from a resumed run takes the last attempt of each step, what shows or keeps it all of them.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <nlohmann/json.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "model/golden.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad, .role = tensor_role::low}};

struct steps_between {
  std::int64_t first;
  std::int64_t end;
};

void record(const std::string& path, recording_writer::mode how, steps_between steps, std::int32_t attempt,
            std::int64_t overflow) {
  recording_writer to(path, how);
  for (std::int64_t n = steps.first; n < steps.end; ++n) {
    step now;
    now.key = {n, attempt, -1};
    now.scalars.loss_scale = 1;
    now.scalars.found_inf = n == overflow;
    const std::vector<float> values{n == overflow ? INFINITY : 0.5F};
    now.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1, .table = count_cells(std::span{values})}};
    to.write(now, tensors);
  }
}

// Killed after step 29, and resumed at step 20; step 25 overflows before the kill alone, step 22 after it alone.
std::string resumed_run(const temporary_dir& dir) {
  std::string path = (dir / "run.ulp").string();
  record(path, recording_writer::mode::create, {0, 30}, 0, 25);
  record(path, recording_writer::mode::append, {20, 30}, 1, 22);
  record(path, recording_writer::mode::append, {30, 40}, 0, -1);
  return path;
}

nlohmann::json skipped_steps(const nlohmann::json& replay) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& row : replay.at("steps"))
    if (row.at("skipped").get<bool>()) all.push_back(row.at("step"));
  return all;
}

}  // namespace

TEST_CASE("a resumed run is replayed once, by the attempts that are asked for") {
  const temporary_dir dir;
  const std::string run = resumed_run(dir);
  const std::string replay = "replay " + run + " --scaler pytorch --format fp16";
  const std::string note = "10 steps were recorded more than once, as a run that was resumed does: the ";
  struct expectation {
    std::string option;
    std::size_t steps;
    nlohmann::json skipped;
    std::string note;
  };
  for (const expectation& e : {expectation{"", 40, {22}, note + "last"},
                               {" --attempts last", 40, {22}, note + "last"},
                               {" --attempts first", 40, {25}, note + "first"},
                               {" --attempts all",
                                50,
                                {22, 25},
                                "as a run that was resumed does: with --attempts all every attempt of them"}}) {
    CAPTURE(e.option);
    const auto result = run_ulp(replay + e.option + " --json");
    REQUIRE(result.exit_code == 0);
    const auto json = nlohmann::json::parse(result.out);
    CHECK(json.at("steps").size() == e.steps);
    CHECK(skipped_steps(json) == e.skipped);
    CHECK((result.err.find(e.note) != std::string::npos));
    CHECK(result.err.find("10 steps were recorded more than once") != std::string::npos);
    // Totals and tensors agree.
    CHECK(nlohmann::json::parse(run_ulp(replay + e.option + " --tensor w --json").out).at("steps").size() == e.steps);
  }
  CHECK(run_ulp(replay + " --attempts second").exit_code == 2);
}

TEST_CASE("what an abandoned attempt recorded beyond the resumed run is not replayed") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  record(path, recording_writer::mode::create, {0, 100}, 0, 30);
  record(path, recording_writer::mode::append, {50, 70}, 1, 60);
  const auto replay = run_ulp("replay " + path + " --scaler pytorch --format fp16 --json");
  const auto json = nlohmann::json::parse(replay.out);
  CHECK(json.at("steps").size() == 70);
  CHECK(skipped_steps(json) == nlohmann::json{30, 60});
  CHECK(replay.err.find("30 steps of an abandoned attempt are left out") != std::string::npos);
  const auto watched = nlohmann::json::parse(run_ulp("watch " + path + " --once --json").out).at("summary");
  CHECK(watched.at("steps") == 70);
  CHECK(watched.at("last_step") == 69);
}

TEST_CASE("all that concludes takes the last attempts") {
  const temporary_dir dir;
  const std::string run = resumed_run(dir);
  const auto grid = nlohmann::json::parse(run_ulp("sweep " + run + " --scaler pytorch --format fp16 --json").out);
  CHECK(grid.at(0).at("skipped") == 1);
  const auto outcomes = nlohmann::json::parse(run_ulp("outcomes " + run + " --format fp16 --by step --json").out);
  CHECK(outcomes.size() == 40);
  CHECK(run_ulp("advise " + run).out.find("steps 22 to 22") == std::string::npos);
  CHECK(run_ulp("advise " + run).err.find("10 steps were recorded more than once") != std::string::npos);
  const std::string page = (dir / "page.html").string();
  REQUIRE(run_ulp("report " + run + " -o " + page).exit_code == 0);
  CHECK(read_file(page).find("10 steps were recorded more than once") != std::string::npos);
}

TEST_CASE("what shows or keeps a resumed run has all attempts, unless it is asked for some") {
  const temporary_dir dir;
  const std::string run = resumed_run(dir);
  CHECK(run_ulp("info " + run)
            .out.find("steps        40: 0 to 39; 10 steps recorded more than once, 50 attempts in all\n") !=
        std::string::npos);
  CHECK(run_ulp("info " + run + " --attempts last").out.find("steps        40: 0 to 39\n") != std::string::npos);
  CHECK(run_ulp("info " + run + " --attempts last --digest").exit_code == 2);

  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  CHECK(lines(run_ulp("export " + run + " --json-lines").out) == 50);
  CHECK(lines(run_ulp("export " + run + " --json-lines --attempts last").out) == 40);
  const std::string first = run_ulp("export " + run).out;
  const std::string last = run_ulp("export " + run + " --attempts last").out;
  CHECK(lines(first) == 41);
  CHECK(lines(last) == 41);
  CHECK(first.find("\n25,w,weight_grad,1,0,0,1,") != std::string::npos);
  CHECK(last.find("\n25,w,weight_grad,1,0,0,0,") != std::string::npos);

  const std::string copy = (dir / "copy.ulp").string();
  REQUIRE(run_ulp("record " + run + " -o " + copy).exit_code == 0);
  const std::string merged = (dir / "merged.ulp").string();
  REQUIRE(run_ulp("merge " + run + " -o " + merged).exit_code == 0);
  const std::string digest = run_ulp("info " + run + " --digest").out;
  CHECK(run_ulp("info " + copy + " --digest").out == digest);
  CHECK(run_ulp("info " + merged + " --digest").out == digest);
  CHECK(run_ulp("record " + run + " --attempts last -o " + (dir / "part.ulp").string()).exit_code == 2);
}

TEST_CASE("a recorded log of fairseq is replayed as the log is, with every try of an update") {
  const temporary_dir dir;
  const std::string log = (dir / "train.log").string();
  std::string text = "Namespace(fp16=True, fp16_init_scale=128)\n";
  for (int update = 1; update <= 20; ++update) {
    const int scale = update < 10 ? 128 : 32;
    if (update == 10)
      for (const int after : {64, 32})
        text += "| fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: " +
                std::to_string(after) + ".0\n";
    text += "| train_inner | {\"num_updates\": \"" + std::to_string(update) + "\", \"loss_scale\": \"" +
            std::to_string(scale) + "\"}\n";
  }
  write_file(log, text);
  const std::string run = (dir / "run.ulp").string();
  REQUIRE(run_ulp("record " + log + " -o " + run).exit_code == 0);
  const std::string options = " --scaler fairseq_cli --format fp16 --csv -";
  const auto of_log = run_ulp("replay " + log + options);
  REQUIRE(of_log.exit_code == 0);
  CHECK(std::ranges::count(of_log.out, '\n') == 23);
  const auto of_recording = run_ulp("replay " + run + options);
  CHECK(of_recording.out == of_log.out);
  CHECK(of_recording.err.find("more than once") == std::string::npos);
}
