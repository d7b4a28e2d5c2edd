// ulp precision optimizer as it is typed: a recorded run of a library written array by array as the library's own, and
// what is refused without leaving a file.
#include <cstdint>
#include <filesystem>
#include <string>

#include <ulp/io/npz.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

const fs::path golden = source_dir() / "tests" / "data" / "golden_optim";

program_result optimizer(const fs::path& folder, const std::string& arguments) {
  return run_shell("cd " + folder.string() + " && ulp precision optimizer " + arguments);
}

std::string bytes_of(const std::vector<float>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)};
}

}  // namespace

TEST_CASE("what is written is what the library's own run holds") {
  const temporary_dir dir;
  const auto check = [&](const fs::path& run, const std::string& inputs, const std::string& arguments) {
    const auto made = optimizer(dir.path(), inputs + " " + arguments + " -o o.npz");
    CAPTURE(run.string(), made.err);
    REQUIRE(made.exit_code == 0);
    const auto ours = read_npz(dir / "o.npz");
    for (const auto& [name, theirs] : read_npz(run)) {
      INFO(name);
      REQUIRE(ours.contains(name));
      CHECK(ours.at(name).type == theirs.type);
      CHECK(ours.at(name).shape == theirs.shape);
      CHECK(ours.at(name).bytes == theirs.bytes);
    }
  };
  const std::string inputs = (golden / "inputs.npz").string();
  check(golden / "bnb_cpu_default_adamw8bit_b2_0.999_fp32.npz", inputs,
        "--dialect bnb_cpu_default_adamw8bit --set weight_decay=0.01 --steps 10,1,1");
  check(golden / "torch_adam_b2_0.999_fp16.npz", inputs, "--dialect torch_adam --weights fp16 --steps 1,10");
  check(golden / "nxd_adamw_fp32optim_downcast1_b2_0.999_bf16.npz", inputs,
        "--dialect nxd_adamw_fp32optim_downcast1 --weights bf16 --set weight_decay=0.01 --steps 1,10");
  check(golden / "xla_zero1_master_fp32acc.npz", inputs, "--dialect xla_zero1_master_fp32acc --weights bf16 --steps 2");
}

TEST_CASE("dumps of steps are stepped as their arrays in one file are") {
  const temporary_dir dir;
  const std::vector<float> g1{0.5F, -1, 2}, g2{1, 1, -0.25F}, w{1, 2, 3};
  fs::create_directory(dir / "grads");
  const auto write = [](const fs::path& path, const std::vector<float>& x) {
    ulp::npz_writer to(path.string());
    to.add("a", "<f4", {2}, bytes_of({x[0], x[1]}));
    to.add("b", "<f4", {1}, bytes_of({x[2]}));
    to.finish();
  };
  write(dir / "grads" / "step2.npz", g1);
  write(dir / "grads" / "step10.npz", g2);
  write(dir / "w.npz", w);
  ulp::npz_writer all((dir / "all.npz").string());
  all.add("grads", "<f4", {2, 3}, bytes_of({0.5F, -1, 2, 1, 1, -0.25F}));
  all.add("w0", "<f4", {3}, bytes_of(w));
  all.finish();
  CHECK(optimizer(dir.path(), "grads --w0 w.npz --dialect torch_adamw --weights bf16 -o a.npz").exit_code == 0);
  CHECK(optimizer(dir.path(), "all.npz --dialect torch_adamw --weights bf16 -o b.npz").exit_code == 0);
  CHECK(read_file(dir / "a.npz") == read_file(dir / "b.npz"));
  CHECK(read_npz(dir / "a.npz").at("w").shape == std::vector<std::size_t>{2, 3});
}

TEST_CASE("what cannot be stepped is refused in one line, and leaves no file") {
  const temporary_dir dir;
  ulp::npz_writer bad((dir / "bad.npz").string());
  bad.add("grads", "<f4", {3}, bytes_of({1, 2, 3}));
  bad.add("w0", "<f4", {3}, bytes_of({1, 2, 3}));
  bad.finish();
  const std::string inputs = (golden / "inputs.npz").string();
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const auto made = optimizer(dir.path(), arguments + " -o o.npz");
    CAPTURE(arguments, made.err);
    CHECK(made.exit_code == 2);
    CHECK(made.out.empty());
    CHECK(made.err.find(words) != std::string::npos);
    CHECK(made.err.find('\n') == made.err.size() - 1);
    CHECK(!fs::exists(dir / "o.npz"));
  };
  refused("bad.npz --dialect torch_adam", "[steps, elements]");
  refused(inputs, "--dialect is missing");
  refused(inputs + " --dialect torch_adem", "did you mean 'torch_adam'");
  refused(inputs + " --dialect torch_adam --set lr=nan", "finite");
  refused(inputs + " --dialect torch_adam --set beta=0.9", "near: beta1");
  refused(inputs + " --dialect torch_adam --steps 1,11", "step 11 is beyond it");
  refused(inputs + " --dialect torch_adam --elements 89", "has 88");
  refused(inputs + " --dialect torch_adam --weights float64", "float32 holds");
  refused("bad.npz bad.npz --dialect torch_adam", "--w0");
}

TEST_CASE("dialects are listed and described") {
  const temporary_dir dir;
  const auto list = optimizer(dir.path(), "--dialect list");
  CHECK(list.out.find("torch_adam.avx2") != std::string::npos);
  CHECK(optimizer(dir.path(), "--json").out.find("\"dialect\":\"bnb_cuda_text_adam8bit\"") != std::string::npos);
  const auto card = optimizer(dir.path(), "--dialect torch_sgd");
  CHECK(card.exit_code == 0);
  CHECK(card.out.find("momentum") != std::string::npos);
  CHECK(card.out.find("Quirks") != std::string::npos);
}
