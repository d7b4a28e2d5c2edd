// Pins ulp probe on files: what is written is what `ulp matmul` multiplies, and its products name the unit; what is refused.
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

// a, and b transposed, of a probe, as files of their own.
struct operands {
  std::string a;
  std::string b;
};
operands operands_of(const std::string& probe, const temporary_dir& folder) {
  const ulp::number_file file(probe);
  operands written{(folder / "a.npy").string(), (folder / "b.npy").string()};
  for (std::size_t i = 0; i < file.arrays().size(); ++i) {
    const auto& array = file.arrays()[i];
    if (array.name != "a" && array.name != "b") continue;
    const std::uint64_t rows = array.shape.at(0);
    const std::uint64_t depth = array.shape.at(1);
    std::vector<double> numbers(array.numel);
    file.open(i)->read(numbers);
    std::vector<float> floats(numbers.begin(), numbers.end());
    if (array.name == "b")
      for (std::uint64_t r = 0; r < rows; ++r)
        for (std::uint64_t k = 0; k < depth; ++k) floats[k * rows + r] = static_cast<float>(numbers[r * depth + k]);
    const std::vector<std::uint64_t> shape = array.name == "a" ? array.shape : std::vector<std::uint64_t>{depth, rows};
    ulp::write_npy(array.name == "a" ? written.a : written.b, "<f4", shape,
                   {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)});
  }
  return written;
}

}  // namespace

TEST_CASE("a kernel is named from the whole product of a probe") {
  const temporary_dir folder;
  const std::string probe = (folder / "probe.npz").string();
  const std::string c = (folder / "c.npy").string();
  const auto written = run_ulp("probe --format fp16 -k 128 -o " + probe);
  CAPTURE(written.err);
  REQUIRE(written.exit_code == 0);
  CHECK(written.out.find("256 x 128 in fp16") != std::string::npos);
  const operands x = operands_of(probe, folder);
  const auto named = [&](const std::string& options) {
    const auto made = run_ulp("matmul " + x.a + " " + x.b + " --format fp16 -o " + c + " " + options);
    CAPTURE(options, made.err);
    REQUIRE(made.exit_code == 0);
    const auto run = run_ulp("probe " + probe + " --results " + c + " --json");
    CAPTURE(run.err);
    REQUIRE(run.exit_code == 0);
    return json::parse(run.out);
  };
  const json hopper = named("--unit H100");
  REQUIRE(hopper.size() == 1);
  CHECK(hopper[0].at("unit") == "hopper or blackwell");
  CHECK(hopper[0].at("order") == "one sum");
  CHECK(hopper[0].at("rounding") == "toward zero");
  const json half = named("--unit A100 --accumulate fp16 --split-k 3");
  REQUIRE(half.size() == 1);
  CHECK(half[0].at("unit") == "turing into float16 or ampere into float16 or ada into float16");
  CHECK(half[0].at("order").get<std::string>().find("one sum, split in 3") != std::string::npos);
  const json amd = named("--unit MI300X --promote 2");
  REQUIRE(amd.size() == 1);
  CHECK(amd[0].at("unit") == "cdna3");
  CHECK(amd[0].at("order").get<std::string>().find("every 2 groups added in float32") != std::string::npos);

  const auto text = run_ulp("probe " + probe + " --results " + c);
  CHECK(text.out.starts_with("256 dot products of 128 products in float16: 1 of "));

  // Nobody's: all of them once more.
  const ulp::number_file file(c);
  std::vector<double> numbers(file.arrays().at(0).numel);
  file.open(0)->read(numbers);
  std::vector<float> twice;
  for (const double n : numbers) twice.push_back(static_cast<float>(2 * n));
  ulp::write_npy(c, "<f4", {256, 256}, {reinterpret_cast<const char*>(twice.data()), twice.size() * sizeof(float)});
  const auto unknown = run_ulp("probe " + probe + " --results " + c);
  CHECK(unknown.exit_code == 1);
  CHECK(unknown.out.find(": none of ") != std::string::npos);
  CHECK(unknown.out.find("products that meet product 0 before product K does") != std::string::npos);
}

TEST_CASE("what ulp probe refuses") {
  const temporary_dir folder;
  const std::string probe = (folder / "probe.npz").string();
  const std::string other = (folder / "other.npz").string();
  REQUIRE(run_ulp("probe --format bf16 -k 32 -o " + probe).exit_code == 0);
  const auto check_refused = [](const std::string& arguments, const std::string& reason) {
    const auto run = run_ulp("probe " + arguments);
    CAPTURE(arguments, run.out, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(reason) != std::string::npos);
  };
  check_refused("--format bf16 -k 1 -o " + other, "not from 2");
  check_refused("--format bf16 -k 0 -o " + other, "--depth");
  check_refused("--format fp64 -k 32 -o " + other, "at most 32 bits");
  check_refused("--format e5m8 -k 32 -o " + other, "not one of the catalogue");
  check_refused("--format bf16 -k 32", "-o PROBE.npz");
  check_refused("--format bf16 -k 32 -o -", "name a file");
  check_refused(probe, "--results");
  check_refused("--results " + probe, "give the probe");
  check_refused(probe + " --results " + probe + " -k 3", "one of these");
  check_refused("examples/microbatches32.safetensors --results " + probe, "has no array of this name");
  const std::vector<float> three{1, 2, 3};
  const std::string few = (folder / "few.npy").string();
  ulp::write_npy(few, "<f4", {3}, {reinterpret_cast<const char*>(three.data()), 12});
  check_refused(probe + " --results " + few, "has 3 elements; the probe has 192 rows");
}
