// Pins what ulp precision optimizer8 and ulp selfcheck optimizers say: the tensor whose weights run away, dumps of steps and
// one dump alike, and what they refuse.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string inputs = "tests/data/golden_optim/inputs.npz";

nlohmann::json rows_of(const std::string& arguments) {
  const auto run = run_ulp("precision optimizer8 " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return nlohmann::json::parse(run.out);
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

TEST_CASE("dumps of steps say what one dump of all steps says") {
  const temporary_dir dir;
  std::vector<float> all;
  const std::filesystem::path folder = dir / "steps";
  std::filesystem::create_directory(folder);
  for (int step = 0; step < 12; ++step) {
    const std::vector<float> g{1, 1e-4F * static_cast<float>(step % 5 == 0), -2, static_cast<float>(step)};
    all.insert(all.end(), g.begin(), g.end());
    write_file((folder / ("step" + std::to_string(step) + ".npz")).string(),
               zip({{.name = "wgrad/fc.npy", .contents = npy(npy_dict("<f4", "(4,)"), floats(g))}}));
  }
  const std::string whole = (dir / "step0.npy").string();
  write_file(whole, npy(npy_dict("<f4", "(12, 4)"), floats(all)));
  const std::string dialects = " --dialect bnb_cpu_default_adam8bit,torch_adam:bf16";
  const auto one = rows_of(whole + dialects);
  const auto many = rows_of(folder.string() + dialects);
  REQUIRE(one.size() == 2);
  for (std::size_t i = 0; i < one.size(); ++i)
    for (const char* key : {"relative_deviation", "largest_move", "runaway", "zeroed", "lost_update_share"})
      CHECK(one[i].at(key) == many.at(i).at(key));
  CHECK(one[0].at("runaway") == 1);
  CHECK(one[0].at("zeroed") == 1);
  // Smaller gradients move less, because of eps.
  const auto scaled = rows_of(whole + dialects + " --factor 2^40");
  CHECK(scaled[0].at("largest_float32_move").get<double>() < one[0].at("largest_float32_move").get<double>());
  const auto fewer = rows_of(whole + dialects + " --steps 2:5 --elements 1");
  CHECK(fewer[0].at("numel") == 1);
  CHECK(fewer[0].at("runaway") == 0);
}

TEST_CASE("--factor scale divides by the logged loss scale, as if gradients had not been multiplied by it") {
  const temporary_dir dir;
  std::string scalars = "step,scale\n";
  for (const char* const folder : {"true", "scaled"}) std::filesystem::create_directory(dir / folder);
  for (int step = 0; step < 8; ++step) {
    const float scale = step < 3 ? 65536 : step < 5 ? 32768 : 3;  // not only powers of two
    std::vector<float> g{1, -0.25F, static_cast<float>(step % 3), 0x1p-20F};
    const auto write = [&](const char* folder) {
      write_file((dir / folder / ("step" + std::to_string(step) + ".npz")).string(),
                 zip({{.name = "wgrad/fc.npy", .contents = npy(npy_dict("<f4", "(4,)"), floats(g))}}));
    };
    write("true");
    for (float& x : g) x *= scale;
    write("scaled");
    scalars += std::to_string(step) + "," + std::to_string(static_cast<int>(scale)) + "\n";
  }
  write_file(dir / "scalars.csv", scalars);
  const std::string dialects = " --dialect bnb_cpu_default_adam8bit,torch_adam:bf16,torch_sgd:bf16 --lr 0.5";
  const auto expected = rows_of((dir / "true").string() + dialects);
  const auto divided =
      rows_of((dir / "scaled").string() + dialects + " --factor scale --scalars " + (dir / "scalars.csv").string());
  const auto left = rows_of((dir / "scaled").string() + dialects);
  CHECK(divided == expected);
  CHECK(left[2].at("largest_float32_move").get<double>() > 1000 * expected[2].at("largest_float32_move").get<double>());
  // A step without a logged scale is none that can be divided.
  write_file(dir / "short.csv", "step,scale\n0,65536\n");
  CHECK(run_ulp("precision optimizer8 " + (dir / "scaled").string() + " --factor scale --scalars " +
                (dir / "short.csv").string())
            .exit_code == 2);
}

TEST_CASE("tensors whose weights run away are named, by the parts of a flat tensor too") {
  const auto run =
      run_ulp("precision optimizer8 " + inputs + " --dialect bnb_cpu_default_adam8bit,bnb_cuda_text_adam8bit");
  REQUIRE(run.exit_code == 0);
  CHECK(run.out.find("weights run away in ") != std::string::npos);
  const auto rows = rows_of(inputs + " --dialect bnb_cpu_default_adam8bit");
  const auto n = rows.at(0).at("numel").get<int>();
  const auto parts =
      rows_of(inputs + " --dialect bnb_cpu_default_adam8bit --by-tensor --parts one=1,rest=" + std::to_string(n - 1));
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].at("tensor") == "one");
  CHECK(parts[0].at("runaway").get<int>() + parts[1].at("runaway").get<int>() == rows.at(0).at("runaway").get<int>());
  CHECK(parts[2].at("runaway") == rows.at(0).at("runaway"));
}

TEST_CASE("what cannot be compared is refused in one line") {
  const std::string command = "precision optimizer8 " + inputs + " ";
  for (const auto& [arguments, says] :
       {std::pair<std::string, std::string>{"--dialect torch_adm", "did you mean 'torch_adam'"},
        {"--dialect torch_adam:bf17", "bf17"},
        {"--dialect torch_adam:bf16:up", "not 'up'"},
        {"--dialect torch_adam:bf16:own:own", "not of the form"},
        {"--dialect torch_adam:foo=1", "foo"},
        {"--dialect xla_zero1_master_fp32acc:bf16", "micro_batches=1"},
        {"--set foo=1", "no dialect"},
        {"--lr -1", "not negative"},
        {"--parts a=1", "--parts: 1 elements"},
        {"--parts a=x", "NAME=N"},
        {"--mark 1000000", "beyond"},
        {"--steps 1000000:", "no step"},
        {"--w0 nosuch.npz", "nosuch.npz"}}) {
    CAPTURE(arguments);
    const auto run = run_ulp(command + arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(says) != std::string::npos);
    CHECK(run.out.empty());
  }
  CHECK(run_ulp("precision optimizer8 examples/digits.ulp").exit_code == 2);
  CHECK(run_ulp("selfcheck optimizers --scaler pytorch --steps 5 --model mlp").exit_code == 2);
  CHECK(run_ulp("selfcheck optimizers --modes torch_adam:lr=1 --steps 5 --model mlp").exit_code == 2);
  CHECK(run_ulp("selfcheck closed-loop --modes torch_adam --steps 5 --model mlp").exit_code == 2);
}

TEST_CASE("the trainings and the open loop agree on the mode that trains worst") {
  const auto run = run_ulp(
      "selfcheck optimizers --model mlp --steps 100 --seeds 2 --lr 0.0005 --json --modes "
      "torch_adam,bnb_cpu_default_adam32bit:bf16,bnb_cpu_default_adam32bit:bf16:kahan,bnb_cpu_default_adam8bit");
  CHECK(run.exit_code == 0);
  const auto all = nlohmann::json::parse(run.out);
  CHECK(all.at("summary").at("worst_mode") == "bnb_cpu_default_adam32bit:bf16");
  CHECK(all.at("summary").at("worst_mode_open") == "bnb_cpu_default_adam32bit:bf16");
  CHECK(all.at("summary").at("agreeing_seeds") == 2);
  CHECK(all.at("summary").at("rank_correlation_layers").get<double>() > 0);
}

TEST_CASE("the closed loop takes an optimizer of the catalogue") {
  const std::string command = "selfcheck closed-loop --model mlp --steps 20 --seeds 1 --json";
  const auto usual = run_ulp(command);
  const auto low = run_ulp(command + " --optimizer torch_adam:bf16");
  CHECK(low.exit_code == 0);
  CHECK(nlohmann::json::parse(low.out).at("summary").at("self_replay_identical") == true);
  CHECK(nlohmann::json::parse(low.out).at("loops").at(0).at("last_loss") !=
        nlohmann::json::parse(usual.out).at("loops").at(0).at("last_loss"));
  CHECK(run_ulp(command + " --optimizer torch_adm").exit_code == 2);
}
