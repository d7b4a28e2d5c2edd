// Pins advice and report on the command line to the example run.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

TEST_CASE("advice on the example run") {
  const auto run = run_ulp("advise tests/data/octaves/digits.ulp");
  CHECK(run.exit_code == 0);
  for (const char* const part :
       {"none of 800 steps overflowed as recorded\nWhat to change  nothing; ",
        "torch.amp.GradScaler(init_scale=2.0**16, growth_interval=100)\nHow sure        the recorded steps are certain",
        "weight gradients: float16; activation gradients: cbfloat16 (on GPUs bfloat16)",
        "no finite step overflows up to 2^16", "--clip-norm 1 would trigger in 7.25 % of the finite steps", "Limits: "})
    CHECK(run.out.find(part) != std::string::npos);
  // 58 of 800, as a replay has it.
  CHECK(run_ulp("replay tests/data/octaves/digits.ulp --scaler static --format fp16 --clip-norm 1")
            .out.find("58 of 800") != std::string::npos);
  const auto rows = nlohmann::json::parse(run_ulp("advise tests/data/octaves/digits.ulp --json").out);
  CHECK(rows.size() == 8);
  const std::string help = run_ulp("advise --help").out;
  const auto is_told = [&](const std::string& name) {
    CAPTURE(name);
    CHECK(help.find(name) != std::string::npos);
  };
  for (const auto& row : rows) {
    CHECK(row.contains("conclusion"));
    is_told(row.at("topic"));
    for (const auto& [name, value] : row.at("numbers").items()) is_told(name);
  }
  CHECK(rows.at(0).at("numbers").at("cause") == "healthy");
  CHECK(rows.at(1).at("numbers").at("format") == "float16");
  CHECK(rows.at(2).at("numbers").at("highest_log2") == 16);
  CHECK(rows.at(5).at("numbers").at("trigger_rate_at_1") == 58.0 / 800);
  CHECK(run_ulp("advise tests/data/golden/inputs/loop_walk.csv").out.find("up to 2^") != std::string::npos);
}

TEST_CASE("a scale alone that fell once, and then stays, tells of no end") {
  const temporary_dir dir;
  const auto advised = [&](int last) {
    std::string table = "Wall time,Step,Value\n";
    for (int i = 0; i <= last; i += 50)
      table +=
          std::to_string(1709632800 + i) + ".0," + std::to_string(i) + "," + (i < 2000 ? "65536.0" : "32768.0") + "\n";
    write_file((dir / "run-fp16_tag-loss_scale.csv").string(), table);
    return run_ulp("advise " + (dir / "run-fp16_tag-loss_scale.csv").string()).out;
  };
  for (const int last : {2000, 2050, 2950}) {
    const std::string told = advised(last);
    CAPTURE(told);
    CHECK(told.find("ends with it") == std::string::npos);
    CHECK(told.find("a lower scale did not overflow") == std::string::npos);
    CHECK(told.find("steps overflowed (about step 1951) and was skipped") != std::string::npos);
  }
}

TEST_CASE("what overflows below the scale 1 is among all that was skipped") {
  const temporary_dir dir;
  std::string log;
  for (int i = 0; i < 30; ++i)
    log += "step " + std::to_string(i) + " | loss 1.7 | grad_norm " + (i < 2 ? "1.2" : "inf") + " | loss_scale " +
           std::to_string(std::exp2(i < 2 ? 2 : 4 - i)) + "\n";
  for (int i = 30; i < 33; ++i) log += "step " + std::to_string(i) + " | loss 1.7\n";
  write_file((dir / "train.log").string(), log);
  const std::string told = run_ulp("advise " + (dir / "train.log").string()).out;
  CAPTURE(told);
  CHECK(told.find("besides, ") == std::string::npos);
}

TEST_CASE("advice on logs says what they tell, and no more") {
  const temporary_dir dir;
  const auto advised = [&](const std::string& text) {
    write_file((dir / "train.log").string(), text);
    const auto run = run_ulp("advise " + (dir / "train.log").string());
    CHECK(run.exit_code == 0);
    return run.out;
  };
  const auto says = [](const std::string& text, const std::string& part) {
    CAPTURE(text, part);
    CHECK(text.find(part) != std::string::npos);
  };
  // Lines a hundred steps apart: a GradScaler grows every 2000 steps, and may have fallen again.
  std::string apart;
  for (int i = 0; i < 30; ++i)
    apart += "step " + std::to_string(100 * i) + " | loss 1.7 | grad_norm 1.2 | loss_scale " +
             (i < 20 ? "65536.0\n" : "32768.0\n");
  const std::string told = advised(apart);
  says(told, "at least 1 of 2,901 steps overflowed (within steps 1901 to 1999)");
  says(told, "of 2,870 steps the input does not say whether they overflowed");
  says(told, "the log describes its steps only in part");
  // Overflows that DeepSpeed counts in an interval, and does not place.
  std::string counted;
  for (int i = 1; i <= 30; ++i)
    counted += "[Rank 0] step=" + std::to_string(10 * i) + ", skipped=" + (i < 7 ? "0" : "3") + ", lr=[1e-05]\n";
  says(advised(counted), "3 of 300 steps are not finite (within steps 61 to 70)");
  std::string at_end = counted.substr(0, counted.find("[Rank 0] step=70,"));
  for (int i = 7; i <= 30; ++i)
    at_end += "[Rank 0] step=" + std::to_string(10 * i) + ", skipped=" + (i < 30 ? "0" : "8") + ", lr=[1e-05]\n";
  const std::string open_end = advised(at_end);
  says(open_end, "What happened   it is not known how the run ended: 8 of 300 steps are not finite");
  says(open_end, "log every step: 8 of the last 10 steps overflowed, and may be its last ones");
  // A search at the start is no reason for concern beside a run that ends with overflows.
  std::string ends;
  double scale = 65536;
  for (int i = 0; i < 60; ++i) {
    const bool overflows = i < 6 || i > 50;
    if (overflows) scale /= 2;
    ends += "step " + std::to_string(i) + " | loss 1.7 | grad_norm " + (overflows ? "inf" : "1.2") + " | loss_scale " +
            std::to_string(scale) + "\n";
  }
  const std::string lost = advised(ends);
  says(lost.substr(0, lost.find('\n')), "9 steps (steps 51 to 59)");
  std::string zero;
  for (int i = 0; i < 40; ++i)
    zero += "step " + std::to_string(i) + " loss 2.1 loss_scale " + (i < 20 ? "1.0000\n" : "0.0000\n");
  says(advised(zero), "What happened   the loss scale is logged as 0");
  // Gradients that are finite, and not zero, were not multiplied by it.
  std::string unused;
  for (int i = 0; i < 40; ++i) unused += "step " + std::to_string(i) + " loss 2.1 grad_norm 0.9 loss_scale 0.0000\n";
  CHECK(advised(unused).find("logged as 0") == std::string::npos);
  std::string infinite;
  for (int i = 0; i < 160; ++i)
    infinite += "step " + std::to_string(i) + " loss 2.1 grad_norm " + (i < 112 ? "0.5" : "nan") + " loss_scale " +
                (i < 112 ? std::to_string(std::exp2(16 + i)) : "inf") + "\n";
  says(advised(infinite), "What happened   the loss scale is logged as infinite in 48 steps (from step 112 on)");
  std::string huge;
  for (int i = 0; i < 40; ++i)
    huge += "step " + std::to_string(i) + " loss 2.5 grad_norm " + (i < 30 ? "1.0\n" : "1e+30\n");
  says(advised(huge), "the gradient norm grew 10^30-fold");
  // Lines without numbers are not steps of which it is known which they were.
  std::string excerpt;
  for (int i = 0; i < 9; ++i)
    excerpt += std::string("{'loss': ") + (i < 5 ? "2.31" : "0.0") + ", 'grad_norm': " + (i < 5 ? "1.2" : "nan") +
               ", 'learning_rate': 5e-05, 'epoch': 0." + std::to_string(10 + i) + "}\n";
  const std::string about = advised(excerpt);
  says(about, "computes NaN from about line 6 on: the loss is NaN or infinite in all 4 lines");
  CHECK(about.find("(steps 6 to 9)") == std::string::npos);
  // A run that its scaler ended above the scale 1.
  std::string died;
  for (int i = 1; i <= 40; ++i)
    died += "2021-05-01 10:00:10 | INFO | train_inner | epoch 001: " + std::to_string(i) +
            " / 5000 loss=2.1, num_updates=" + std::to_string(i) + ", lr=1e-05, gnorm=1.2, loss_scale=32\n";
  died +=
      "2021-05-01 10:01:10 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss "
      "scale to: 16.0\n";
  const std::string alive = advised(died);
  says(alive, "What happened   no fault found");
  died += "FloatingPointError: Minimum loss scale reached (16). Your loss is probably exploding.\n";
  const std::string dead = advised(died);
  says(dead,
       "What happened   the run ended as a step overflowed at the least loss scale that is allowed (2^4); in all, 2 of "
       "42 steps overflowed");
  says(dead, "What to change  lower the least loss scale of the configuration");
  // It went on.
  died +=
      "2021-05-01 11:00:10 | INFO | train_inner | epoch 001: 41 / 5000 loss=2.1, num_updates=41, lr=1e-05, gnorm=1.2, "
      "loss_scale=32\n";
  says(advised(died), "What happened   no fault found");
  // A scale that grows back between overflows, of which alone there are lines.
  std::string swings;
  for (int i = 0; i < 16; ++i)
    swings +=
        "[2024-11-04 11:" + std::to_string(10 + i) +
        ":30,623] [INFO] [loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss "
        "scale: 8192, reducing to 4096\n";
  says(
      advised(swings),
      "16 steps (about steps 1 to 16) overflow, each at the scale 2^13: it grew back between them and overflowed again");
  // What is not sure as a whole is not called certain.
  std::string unread;
  for (int i = 0; i < 40; ++i)
    unread += "step " + std::to_string(i) + " loss 2.1 grad_norm 1." + std::to_string(i) + "\n";
  says(advised(unread + "step 40 loss 0,553\n"),
       "How sure        not sure, since 1 line looks like records of steps and could not be read: what was read is "
       "certain, as far as it goes; without gradients, underflow is unknown");
}

TEST_CASE("a report is one file, with the commands that give its numbers") {
  const temporary_dir dir;
  const std::string path = (dir / "r.html").string();
  const auto run = run_ulp(
      "report tests/data/octaves/digits.ulp --scaler pytorch,megatron --set growth_interval=50 --clip-norm 1 -o " +
      path);
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("800 steps of tests/data/octaves/digits.ulp under 2 policies") != std::string::npos);
  const std::string html = read_file(path);
  CHECK(html.find("triggers in 58 of 800 steps") != std::string::npos);
  CHECK(html.find("800 steps, of which 5 skipped, the first at step 480") != std::string::npos);
  const std::string command =
      "ulp replay tests/data/octaves/digits.ulp --scaler pytorch --set growth_interval=50 --format float16 --clip-norm "
      "1";
  REQUIRE(html.find("<pre>" + command + "</pre>") != std::string::npos);
  CHECK(run_ulp(command.substr(4)).out.find("800, of which 5 skipped, the first at step 480") != std::string::npos);
  CHECK(run_ulp("report tests/data/golden/inputs/loop_walk.csv -o " + path).exit_code == 0);
}

TEST_CASE("groups of tensors in advice and report") {
  const std::string groups = "--group 'convolution=^conv' --group 'linear=^fc'";
  CHECK(run_ulp("advise tests/data/octaves/digits.ulp " + groups).out.find("Which groups lose most") !=
        std::string::npos);
  const temporary_dir dir;
  const std::string path = (dir / "r.html").string();
  REQUIRE(run_ulp("report tests/data/octaves/digits.ulp -o " + path).exit_code == 0);
  CHECK(read_file(path).find("<th>kind</th><th class=\"n\">gradients</th>") != std::string::npos);
  REQUIRE(run_ulp("report tests/data/octaves/digits.ulp " + groups + " -o " + path).exit_code == 0);
  const std::string html = read_file(path);
  CHECK(html.find("<th>group</th><th class=\"n\">gradients</th>") != std::string::npos);
  CHECK(html.find("Which groups lose most") != std::string::npos);
  CHECK(html.find("no counted tensor") == std::string::npos);
  const std::string empty = " --group 'nothing=^$' ";
  CHECK(run_ulp("advise tests/data/octaves/digits.ulp" + empty).err.find("no counted tensor is in nothing") !=
        std::string::npos);
  REQUIRE(run_ulp("report tests/data/octaves/digits.ulp" + empty + "-o " + path).exit_code == 0);
  CHECK(read_file(path).find("no counted tensor is in nothing") != std::string::npos);
  const auto of_log = run_ulp("advise tests/data/golden/inputs/loop_walk.csv" + empty);
  CHECK(of_log.exit_code == 2);
  CHECK(of_log.err.find("--group: ") != std::string::npos);
  // The command beside it gives the share of the page.
  const std::size_t begin = html.find("<pre>ulp outcomes ") + 5;
  REQUIRE(begin > 5);
  const std::string command = html.substr(begin, html.find("</pre>", begin) - begin);
  CHECK(command.find("--by group --group convolution=^conv --group linear=^fc") != std::string::npos);
  const auto rows = nlohmann::json::parse(run_shell(command + " --json").out);
  const auto linear = std::find_if(rows.begin(), rows.end(), [](const auto& row) {
    return row.at("group") == "linear" && row.at("format") == "float16";
  });
  REQUIRE(linear != rows.end());
  const double nonzero = linear->at("numel").get<double>() - linear->at("zero").get<double>();
  const std::string cell = "</td><td class=\"n\">";
  const std::size_t row = html.find("<td>linear</td>", html.find("Formats by group of tensors"));
  REQUIRE(row != std::string::npos);
  const std::size_t share = html.find(cell, html.find(cell, row) + 1) + cell.size();
  CHECK(std::stod(html.substr(html[share] == '[' ? share + 1 : share)) ==
        Approx(100 * linear->at("underflow_low").get<double>() / nonzero).epsilon(0.005));
}

TEST_CASE("a report of many dumps shows short commands, and the whole ones work") {
  const temporary_dir dir;
  std::string dumps;
  for (int i = 0; i < 5; ++i) {
    const auto dump = dir / ("it's step" + std::to_string(i) + ".safetensors");
    std::filesystem::copy(source_dir() / "examples/digits.step00100.safetensors", dump);
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
