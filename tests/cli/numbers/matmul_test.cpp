// Pins ulp matmul on small files: what it says and writes, and what it refuses.
#include "support/catch.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/inputs/number_file.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

std::string written(const temporary_dir& folder, const std::string& name, const std::vector<std::uint64_t>& shape,
                    const std::vector<float>& numbers) {
  const std::string path = (folder / name).string();
  ulp::write_npy(path, "<f4", shape, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  return path;
}

json answer(const std::string& arguments) {
  const auto run = run_ulp("matmul " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out).at(0);
}

}  // namespace

TEST_CASE("a product as a unit makes it") {
  const temporary_dir folder;
  // 1 + 2^-12 * 2^-12 twice: an H100 keeps 25 bits below 1, a V100 23.
  const std::string a = written(folder, "a.npy", {2, 3}, {1, 0x1p-12F, 0x1p-12F, 1, 0, 2});
  const std::string b = written(folder, "b.npy", {3, 1}, {1, 0x1p-12F, 0x1p-12F});
  const std::string c = (folder / "c.npy").string();
  const json h100 = answer(a + " " + b + " --unit H100 --format fp16 -o " + c);
  CHECK(h100.at("unit") == "hopper");
  CHECK(h100.at("rows") == 2);
  CHECK(h100.at("depth") == 3);
  CHECK(h100.at("columns") == 1);
  CHECK(h100.at("differing") == 0);
  const ulp::number_file file(c);
  CHECK(file.arrays().at(0).shape == std::vector<std::uint64_t>{2, 1});
  std::vector<double> numbers(2);
  file.open(0)->read(numbers);
  CHECK(numbers == std::vector<double>{1 + 0x1p-23, 1 + 0x1p-11});
  const json v100 = answer(a + " " + b + " --unit V100 --format fp16");
  CHECK(v100.at("differing") == 1);
  CHECK(v100.at("largest_error_ulps") == 1);
  CHECK(v100.at("largest_row") == 0);

  const json half = answer(a + " " + b + " --unit H100 --format fp16 --accumulate fp16 -o " + c);
  CHECK(half.at("result") == "float16");
  CHECK(ulp::number_file(c).arrays().at(0).type == ulp::dtype::float16);
  CHECK(answer(a + " " + b + " --unit H100 --format e4m3fn --promote 4").at("split_k") == 1);
  // K is one group.
  const auto cut = run_ulp("matmul " + a + " " + b + " --unit H100 --format e4m3fn --split-k 9 --json");
  CHECK(json::parse(cut.out).at(0).at("split_k") == 1);
  CHECK(cut.err.find("--split-k 9: K makes 1 part ") != std::string::npos);
  const std::vector<float> hundred(100, 0.5F);
  CHECK(answer(written(folder, "long_a.npy", {1, 100}, hundred) + " " +
               written(folder, "long_b.npy", {100, 1}, hundred) + " --unit H100 --format e4m3fn --split-k 2")
            .at("split_k") == 2);
  const auto text = run_ulp("matmul " + a + " " + b + " --unit V100 --format fp16");
  CHECK(text.out.find("largest      1 ulp of float32, at [0, 0]") != std::string::npos);
  CHECK(text.out.find("differing    1 of 2 elements from the exact product rounded once, 50 %") != std::string::npos);
}

TEST_CASE("a product of blocks with their scales") {
  const temporary_dir folder;
  // A block of 32 and a short one. Under FLOOR 448 has the scale 1, 896 the scale 2; in mxfp8 17 becomes 16, in two blocks.
  std::vector<float> numbers(40, 0);
  numbers[0] = 448;
  numbers[1] = 17;
  numbers[32] = 896;
  numbers[33] = 34;
  std::vector<float> ones(40, 0);
  ones[1] = ones[33] = 1;
  const std::string a = written(folder, "a.npy", {1, 40}, numbers);
  const std::string b = written(folder, "b.npy", {40, 1}, ones);
  const std::string c = (folder / "c.npy").string();
  const auto product = [&](const std::string& more) {
    const json said = answer(a + " " + b + " --unit B200 -o " + c + " " + more);
    CHECK(said.at("differing") == 0);
    std::vector<double> read(1);
    ulp::number_file(c).open(0)->read(read);
    return read.front();
  };
  CHECK(product("--format mxfp8") == 48);
  CHECK(product("--format microxcaling_fp8_e4m3_nearest") == 54);
  CHECK(product("--format mxfp8 --split-k 2") == 48);
  CHECK(answer(a + " " + b + " --unit B200 --format mxfp8").at("unit") == "blackwell scaled by float8_e8m0 of 32");

  // In nvfp4 the tensor's scale is amax / 2688, of blocks 448 is the largest: 6 448 1/448 is exact.
  std::vector<float> halves(32, 0);
  halves[0] = 2688;
  halves[16] = 1344;
  const std::string x = written(folder, "x.npy", {1, 32}, halves);
  const std::string y = written(folder, "y.npy", {32, 1}, halves);
  const json of_fours = answer(x + " " + y + " --unit GB200 --format nvfp4 -o " + c);
  CHECK(of_fours.at("unit") == "blackwell scaled by float8_e4m3fn of 16");
  std::vector<double> read(1);
  ulp::number_file(c).open(0)->read(read);
  CHECK(read.front() == 2688.0 * 2688 + 1344.0 * 1344);

  const auto check_refused = [&](const std::string& arguments, const std::string& reason) {
    const auto run = run_ulp("matmul " + a + " " + b + " " + arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(reason) != std::string::npos);
  };
  check_refused("--unit H100 --format mxfp8", "'H100' with operands in float8_e4m3fn scaled by float8_e8m0 of 32");
  check_refused("--unit B200 --format mxint8", "their elements are integers");
  check_refused("--unit B200 --format fp8_1x128", "their scales are float32 numbers");
  check_refused("--unit B200 --format te_nvfp4_1x16_rht_columnwise", "they are of the transpose");
}

TEST_CASE("what ulp matmul refuses") {
  const temporary_dir folder;
  const std::string a = written(folder, "a.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string line = written(folder, "line.npy", {6}, {1, 2, 3, 4, 5, 6});
  const std::string empty = written(folder, "empty.npy", {0, 3}, {});
  const auto check_refused = [](const std::string& arguments, const std::string& reason) {
    const auto run = run_ulp("matmul " + arguments);
    CAPTURE(arguments, run.out, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(reason) != std::string::npos);
  };
  check_refused(a + " " + a + " --unit H100 --format fp16", "2 x 3 and 2 x 3 are no product");
  check_refused(line + " " + a + " --unit H100 --format fp16", "has 1 dimension, not the two of a matrix");
  check_refused(empty + " " + a + " --unit H100 --format fp16", "has no elements");
  check_refused(a + " " + a + " " + a + " --unit H100", "one dump with both");
  check_refused(a + " " + a + " --format fp16", "--unit");
  const std::string b = written(folder, "b.npy", {3, 2}, {1, 2, 3, 4, 5, 6});
  check_refused(a + " " + b + " --unit H100", "it takes float16");
  check_refused(a + " " + b + " --unit H100 --format fp16 --accumulate bf16", "into bfloat16");
  check_refused(a + " " + b + " --unit H100 --format fp16 --split-k 0", "--split-k");
  check_refused(a + " " + b + " --unit H100 --format fp16 -o " + b, "is an input");
  check_refused(a + " " + b + " --unit H100 --format fp16 -o -", "name a file");
  check_refused(a + " " + b + " --unit MI250 --format fp16 --promote 4", "promote is of blocks");
  const std::string dot = "precision dot --generate normal --format fp16 --rows 1 --length 8 ";
  CHECK(run_ulp(dot + "--promote 4").err.find("name it with --unit") != std::string::npos);
  CHECK(run_ulp(dot + "--unit H100 --accumulate fp16 --promote 4").out.find("hopper into float16, 4 groups") !=
        std::string::npos);
}
