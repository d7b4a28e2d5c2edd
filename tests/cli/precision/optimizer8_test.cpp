// Pins what ulp precision optimizer8 and ulp selfcheck optimizers say: the tensor whose weights run away, dumps of steps and
// one dump alike, and what they refuse.
#include <filesystem>
#include <limits>
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

std::string conclusions_of(const std::string& arguments) {
  const auto run = run_ulp("precision optimizer8 " + arguments);
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return run.out;
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

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
  // Steps have the numbers of the run: the first is 0 here.
  CHECK(says(conclusions_of(folder.string() + dialects), "(1 element, from step 0 on)"));
  CHECK(says(conclusions_of(folder.string() + dialects + " --steps 5:"), "(1 element, from step 5 on)"));
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
        {"--lr -1", "must not be negative"},
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

namespace {

// One dump of all steps: four elements, a row a step, and first weights that bfloat16 rounds.
std::string stack(const temporary_dir& dir, const std::string& name, const std::vector<std::vector<float>>& steps,
                  const std::vector<float>& first) {
  std::vector<float> all;
  for (const auto& g : steps) all.insert(all.end(), g.begin(), g.end());
  const std::string width = std::to_string(first.size());
  const std::string path = (dir / name).string();
  write_file(
      path,
      zip({{.name = "fc.npy",
            .contents = npy(npy_dict("<f4", "(" + std::to_string(steps.size()) + ", " + width + ")"), floats(all))},
           {.name = "w0.npy", .contents = npy(npy_dict("<f4", "(" + width + ",)"), floats(first))}}));
  return path;
}

constexpr float nan_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("conclusions tell rounding from running away") {
  const temporary_dir dir;
  const std::string still =
      stack(dir, "a.npz", std::vector(5, std::vector<float>{1, -1, 1, 2}), {1.003F, -0.9985F, 1.0101F, 0.503F});
  const std::string text = conclusions_of(still + " --lr 3e-4 --dialect torch_adam:bf16,torch_adam:bf16:kahan");
  CHECK(!says(text, "run away in"));
  CHECK(says(text, "torch_adam:bf16: no weight moves: 100 % of the updates are lost."));
  CHECK(says(text, "torch_adam:bf16:kahan: no weight runs away; their final distance from float32's is "));
  CHECK(says(text, ", and rounding the first weights alone makes "));
  CHECK(says(conclusions_of(still + " --dialect torch_adam"), "torch_adam: the weights end as in float32."));
  CHECK(says(conclusions_of(still + " --lr 0 --dialect torch_adam:bf16"), "no weight moves, nor does it in float32"));
}

TEST_CASE("conclusions do not divide by the way of a float32 that came back") {
  const temporary_dir dir;
  const std::string back = stack(dir, "b.npz", {{1}, {-1.5F}, {0.5F}}, {0});
  CHECK(says(conclusions_of(back + " --lr 0.5 --dialect bnb_cpu_default_sgd8bit:momentum=0.5"),
             "no weight runs away; float32's end where they began, and the largest move here is 0.00"));
}

TEST_CASE("that the libraries quantize no small tensors is said where small ones are quantized") {
  const temporary_dir dir;
  const auto of_size = [&](std::size_t n) {
    return stack(dir, "n" + std::to_string(n) + ".npz", std::vector(2, std::vector<float>(n, 1)),
                 std::vector<float>(n, 0));
  };
  const std::string small = of_size(4095);
  CHECK(says(conclusions_of(small + " --dialect bnb_cpu_default_adam8bit"),
             "bitsandbytes quantizes no states of tensors below 4,096 elements; here they are quantized, in fc."));
  CHECK(!says(conclusions_of(small + " --dialect torch_adam,bnb_cpu_default_adam32bit"), "below 4,096 elements"));
  const std::string both = conclusions_of(small + " --elements 512 --dialect bnb_cpu_default_adam8bit,ao_adam8bit");
  CHECK(says(both, "bitsandbytes and torchao quantize no states of tensors below 4,096 elements"));
  CHECK(!says(conclusions_of(of_size(4096) + " --elements 512 --dialect bnb_cpu_default_adam8bit,ao_adam8bit"),
              "below 4,096 elements"));
}

TEST_CASE("conclusions judge what stays finite, and say why the rest does not") {
  const temporary_dir dir;
  std::vector<std::vector<float>> steps(6, {1, 0, 0, 1});
  steps[0] = {1, 1e-4F, 0, 1};
  const std::string healthy = stack(dir, "h.npz", steps, {0, 0, 0, 0});
  steps[2][2] = nan_number;
  const std::string broken = stack(dir, "n.npz", steps, {0, 0, 0, 0});
  const std::string text = conclusions_of(broken + " --dialect bnb_cuda_text_adam8bit,bnb_cpu_default_adam8bit");
  CHECK(says(text, "bnb_cuda_text_adam8bit: weights run away in fc (1 of 4): the largest move there is "));
  CHECK(says(text,
             "1 weight is left out, not finite in float32 either: 1 gradient is infinite or NaN, the first in "
             "step 2; steps that the run skipped are left out by --steps"));
  CHECK(says(text,
             "bnb_cpu_default_adam8bit: weights become infinite or NaN that are finite in float32, in fc (3 of "
             "4)"));
  const auto rows = rows_of(broken + " --dialect bnb_cuda_text_adam8bit");
  CHECK(rows.at(0).at("float32_nonfinite") == 1);
  CHECK(rows.at(0).at("nonfinite_gradients") == 1);
  // Parameters that no weight survives: the gradients are not blamed.
  for (const char* parameters : {"--lr 1e39", "--set weight_decay=1e300"}) {
    const std::string why = conclusions_of(healthy + " --dialect torch_adam " + parameters);
    CAPTURE(parameters, why);
    CHECK(says(why, "all gradients are finite, so the parameters or the first weights make them so"));
    CHECK(!says(why, "infinite or NaN"));
  }
}

TEST_CASE("steps that the run skipped are not stepped") {
  const temporary_dir dir;
  const std::filesystem::path all = dir / "all";
  const std::filesystem::path applied = dir / "applied";
  std::filesystem::create_directory(all);
  std::filesystem::create_directory(applied);
  std::string scalars = "step,scale,found_inf,applied\n";
  for (int step = 0; step < 6; ++step) {
    const bool skipped = step == 3;
    const std::vector<float> g{1, skipped ? std::numeric_limits<float>::infinity() : 0.5F, -1, 2};
    const std::string dump = zip({{.name = "wgrad/fc.npy", .contents = npy(npy_dict("<f4", "(4,)"), floats(g))}});
    const std::string name = "step" + std::to_string(step) + ".npz";
    write_file((all / name).string(), dump);
    if (!skipped) write_file((applied / name).string(), dump);
    scalars += std::to_string(step) + ",1," + (skipped ? "1,0" : "0,1") + "\n";
  }
  const std::string csv = (dir / "s.csv").string();
  write_file(csv, scalars);
  const std::string dialect = " --dialect bnb_cpu_default_adam8bit";
  const auto run = run_ulp("precision optimizer8 " + all.string() + " --scalars " + csv + dialect + " --json");
  CAPTURE(run.err);
  REQUIRE(run.exit_code == 0);
  CHECK(says(run.err, "step 3 is left out: the run skipped it"));
  auto rows = nlohmann::json::parse(run.out);
  auto expected = rows_of(applied.string() + dialect);
  rows.at(0).erase("notes");
  expected.at(0).erase("notes");
  CHECK(rows == expected);
  CHECK(
      says(conclusions_of(all.string() + dialect),
           "1 gradient is infinite or NaN, the first in step 3; steps that the run skipped are left out by applied in "
           "--scalars, or by --steps"));
  const auto none = run_ulp("precision optimizer8 " + all.string() + " --scalars " + csv + dialect + " --steps 3:4");
  CHECK(none.exit_code == 2);
  CHECK(says(none.err, "the run skipped all that are selected"));
}

TEST_CASE("what is not quantized, or cannot be compared, is not judged as if it were") {
  const std::string text = conclusions_of(inputs + " --dialect ao_adam8bit,ao_adam8bit:fp32:block_size=44");
  CHECK(says(text,
             "ao_adam8bit: not judged: the size of 1 tensor is not a multiple of the block, so its "
             "states are not quantized"));
  CHECK(!says(text, "ao_adam8bit: no weight"));
  CHECK(!says(text, "block_size=44: not judged"));
  // Codes of float8 and of the dynamic map mean different numbers; those of two code paths are comparable.
  const auto rows = rows_of(inputs +
                            " --elements 64 --block-size 32 --dialect ao_adam8bit,ao_adamfp8,"
                            "bnb_cpu_default_adam8bit");
  CHECK(rows.at(1).at("m_codes_differ").is_null());
  CHECK(rows.at(2).at("m_codes_differ").is_number());
  const auto sgd = run_ulp("precision optimizer8 " + inputs + " --quantizers --dialect torch_sgd");
  CHECK(sgd.exit_code == 2);
  CHECK(says(sgd.err, "torch_sgd keeps no first and second moments"));
  CHECK(says(conclusions_of(inputs + " --dialect torch_adam:bf16"),
             "1 never falls to one half; in exact arithmetic it takes 693 steps"));
}

// Each row of nothing is a step, and a file of 300 bytes may name 10^12 of them.
TEST_CASE("steps and micro-batches without end, or without elements, are refused") {
  const temporary_dir dir;
  const auto array = [&](const std::string& name, const std::string& key, const std::string& shape,
                         const std::vector<float>& values) {
    const std::string path = (dir / name).string();
    write_file(path, zip({{.name = key + ".npy", .contents = npy(npy_dict("<f4", shape), floats(values))},
                          {.name = "w0.npy", .contents = npy(npy_dict("<f4", "(1,)"), floats({1}))}}));
    return path;
  };
  const std::string none = array("none.npz", "grads", "(1000000000000, 0)", {});
  const std::string many = array("many.npz", "grads", "(4, 1)", {1, 2, 3, 4});
  const std::string out = " --dialect torch_adam -o " + (dir / "o.npz").string();
  for (const std::string& command : {"optimizer " + none + out, "optimizer8 " + none, "accumulate " + none}) {
    const auto run = run_ulp("precision " + command);
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    CHECK(says(run.err, none + ": "));
    CHECK(says(run.err, "'grads': has no elements: 1000000000000 rows of 0"));
  }
  for (const std::string& command :
       {"optimizer " + many + out, "optimizer8 " + many, "accumulate --tensor grads " + many}) {
    const auto run = run_ulp("precision " + command + " --limit rows=3");
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    CHECK(says(run.err, "'grads': has 4 rows, each a step or micro-batch; the limit is 3 rows; --limit rows=N raises"));
    CHECK(run_ulp("precision " + command).exit_code == 0);
  }
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

TEST_CASE("where float32 itself does not train no mode is called the worst") {
  const auto run = run_ulp(
      "selfcheck optimizers --model mlp --steps 5 --seeds 1 --lr 1e30 --json --modes torch_adam,torch_adam:bf16");
  CHECK(run.exit_code == 1);
  const auto summary = nlohmann::json::parse(run.out).at("summary");
  CHECK(summary.at("worst_mode").is_null());
  CHECK(summary.at("worst_mode_open").is_null());
  CHECK(summary.at("agreeing_seeds") == 0);
  const auto text =
      run_ulp("selfcheck optimizers --model mlp --steps 5 --seeds 1 --lr 1e30 --modes torch_adam,torch_adam:bf16");
  CHECK(says(text.out, "cannot be told: the loss of float32 itself is not finite in 1 of 1 seed; give a smaller --lr"));
  CHECK(says(text.out, "undefined for loss change and harm"));
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
