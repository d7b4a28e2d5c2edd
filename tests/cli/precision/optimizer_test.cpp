// ulp precision optimizer as it is typed: a recorded run of a library written array by array as the library's own, and
// what is refused without leaving a file.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include <ulp/io/arrays/npz.hpp>

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

TEST_CASE("--lr is --set lr=") {
  const temporary_dir dir;
  const std::string run = (golden / "inputs.npz").string() + " --dialect torch_adam --steps 2 ";
  CHECK(optimizer(dir.path(), run + "--lr 0.25 -o lr.npz").exit_code == 0);
  CHECK(optimizer(dir.path(), run + "--set lr=0.25 -o set.npz").exit_code == 0);
  CHECK(optimizer(dir.path(), run + "-o usual.npz").exit_code == 0);
  CHECK(read_file(dir / "lr.npz") == read_file(dir / "set.npz"));
  CHECK(read_file(dir / "lr.npz") != read_file(dir / "usual.npz"));
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
  refused(inputs + " --dialect torch_adam --lr nan", "'lr' must be a finite number");
  refused(inputs + " --dialect torch_adam --set beta=0.9", "near: beta1");
  refused(inputs + " --dialect torch_adam --steps 1,11", "step 11 is beyond it");
  refused(inputs + " --dialect torch_adam --elements 89", "has 88");
  refused(inputs + " --dialect torch_adam --weights float64", "float32 holds");
  refused("bad.npz bad.npz --dialect torch_adam", "--w0");
  refused(inputs + " " + inputs + " --dialect torch_adam", "several inputs are dumps of steps, each of one");
  refused(inputs + " --dialect torch_adam --elements -1", "--elements");
  refused(inputs + " --dialect torch_adam --set beta1=1", "must be below 1");
  refused(inputs + " --dialect torch_adam --csv o.npz", "-o and --csv both write to o.npz");
  refused(inputs + " --dialect torch_adam --csv ./o.npz", "-o and --csv both write to o.npz");
  const auto to_stdout = optimizer(dir.path(), inputs + " --dialect torch_adam -o -");
  CHECK(to_stdout.exit_code == 2);
  CHECK(to_stdout.err.find("name a file") != std::string::npos);
  CHECK(!fs::exists(dir / "-"));

  const auto write = [&](const char* name, const char* first_type, const std::vector<std::uint64_t>& bits_shape) {
    ulp::npz_writer to((dir / name).string());
    to.add("grads", "<f4", {2, 2}, bytes_of({1, 2, 3, 4}));
    to.add("w0", first_type, {2}, bytes_of({1, 2}));
    to.add("sr_bits", "<u2", bits_shape, std::string(2 * bits_shape[0] * bits_shape[1], 0));
    to.finish();
  };
  write("whole.npz", "<i4", {2, 2});
  write("short.npz", "<f4", {1, 2});
  refused("whole.npz --dialect torch_adam", "whole.npz: array 'w0'");
  refused("whole.npz --dialect torch_adam", "holds no floating-point numbers; save it as float32");
  refused("short.npz --dialect torch_adam", "short.npz: array 'sr_bits': has 1 row, and step 2 is asked for");
  refused("short.npz --dialect xla_zero1_master_fp32acc --set micro_batches=3",
          "short.npz: has 2 gradients, and a step takes 3");
}

// 1 + 2^-8 + 2^-30 is above the middle of two bfloat16 numbers, and float32 rounds it onto the middle.
TEST_CASE("float64 gradients are rounded to the weights' format once") {
  const temporary_dir dir;
  const double gradient = 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -30);
  const double zero = 0;
  ulp::npz_writer to((dir / "d.npz").string());
  to.add("grads", "<f8", {1, 1}, {reinterpret_cast<const char*>(&gradient), sizeof gradient});
  to.add("w0", "<f8", {1}, {reinterpret_cast<const char*>(&zero), sizeof zero});
  to.finish();
  const auto made = optimizer(dir.path(), "d.npz --dialect torch_sgd --weights bf16 --set lr=1 -o o.npz");
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(read_npz(dir / "o.npz").at("w").as<std::uint16_t>() == std::vector<std::uint16_t>{0xBF81});
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
