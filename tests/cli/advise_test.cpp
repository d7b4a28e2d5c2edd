// Pins advice and report on the command line to the example run.
#include "support/catch.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

TEST_CASE("advice on the example run") {
  const auto run = run_ulp("advise examples/digits.ulp");
  CHECK(run.exit_code == 0);
  for (const char* const part :
       {"cbfloat16: no more than 0.1 % of the nonzero gradients underflow", "2^15 to 2^16: from 2^15 on",
        "--clip-norm 1 in 7.25 % of the steps", "fc2 with", "Not shown: "})
    CHECK(run.out.find(part) != std::string::npos);
  // 58 of 800, as a replay has it.
  CHECK(run_ulp("replay examples/digits.ulp --scaler static --format fp16 --clip-norm 1").out.find("58 of 800") !=
        std::string::npos);
  const auto rows = nlohmann::json::parse(run_ulp("advise examples/digits.ulp --json").out);
  CHECK(rows.size() == 7);
  CHECK(rows.at(0).contains("conclusion"));
  CHECK(run_ulp("advise tests/data/golden/inputs/loop_walk.csv").out.find("up to 2^") != std::string::npos);
}

TEST_CASE("a report is one file, with the commands that give its numbers") {
  const temporary_dir dir;
  const std::string path = (dir / "r.html").string();
  const auto run =
      run_ulp("report examples/digits.ulp --scaler pytorch,megatron --set growth_interval=50 --clip-norm 1 -o " + path);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("800 steps of examples/digits.ulp under 2 policies") != std::string::npos);
  const std::string html = read_file(path);
  CHECK(html.find("triggers in 58 of 800 steps") != std::string::npos);
  CHECK(html.find("800 steps, of which 5 skipped, the first at step 480") != std::string::npos);
  const std::string command =
      "ulp replay examples/digits.ulp --scaler pytorch --set growth_interval=50 --format float16 --clip-norm 1";
  REQUIRE(html.find("<pre>" + command + "</pre>") != std::string::npos);
  CHECK(run_ulp(command.substr(4)).out.find("800, of which 5 skipped, the first at step 480") != std::string::npos);
  CHECK(run_ulp("report tests/data/golden/inputs/loop_walk.csv -o " + path).exit_code == 0);
}

TEST_CASE("a report of many dumps shows short commands, and the whole ones work") {
  const temporary_dir dir;
  std::string dumps;
  for (int i = 0; i < 5; ++i) {
    const auto dump = dir / ("it's step" + std::to_string(i) + ".safetensors");
    std::filesystem::copy(source_dir() / "tests/data/digits.step00100.safetensors", dump);
    dumps += " \"" + dump.string() + "\"";
  }
  const std::string path = (dir / "r.html").string();
  REQUIRE(run_ulp("report" + dumps + " --factor 1 -o " + path).exit_code == 0);
  const std::string html = read_file(path);
  CHECK(html.find("and 4 more files: 5 steps, 13 tensors</p>") != std::string::npos);
  CHECK(html.find(" [2 more files] --factor 1 --scaler pytorch_gradscaler --format float16</code>") !=
        std::string::npos);
  const std::size_t begin = html.find("<pre>ulp replay ") + 5;
  REQUIRE(begin > 5);
  const auto run = run_shell(html.substr(begin, html.find("</pre>", begin) - begin));
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("steps        5, of which") != std::string::npos);
}
