// Pins ulp precision accumulate, random-bits and dot on small files: what they say, and what they refuse.
#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include <ulp/io/arrays/npz.hpp>

#include "io/builders.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

json rows(const std::string& arguments) {
  const auto run = run_ulp("precision " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

json row_of(const json& all, const std::string& key, const std::string& value, const std::string& and_key = "",
            const std::string& and_value = "") {
  for (const json& row : all)
    if (row.at(key) == value && (and_key.empty() || row.at(and_key) == and_value)) return row;
  FAIL("no row with " << key << " " << value << " " << and_value);
  return {};
}

void check_refused(const std::string& arguments, const std::string& reason) {
  const auto run = run_ulp("precision " + arguments);
  CAPTURE(arguments, run.out, run.err);
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("ulp: "));
  CHECK(run.err.find(reason) != std::string::npos);
}

// A .npy of float32 with that header.
std::string npy_of(const std::string& shape, const std::vector<float>& numbers) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(118 - 1, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  return bytes;
}

}  // namespace

TEST_CASE("one dump of all micro-batches and a folder of one each are the same") {
  const std::string file = "examples/microbatches32.safetensors";
  const json all = rows("accumulate " + file + " --format bf16 --chunk 8");
  CHECK(all.size() == 3 * 5);  // two tensors and both; float32, sequential, chunks twice, Kahan
  for (const json& row : all) CHECK(row.at("microbatches") == 32);
  CHECK(all.back().at("tensor").is_null());
  CHECK(all.back().at("numel") == 96);

  // The numbers of bn2.weight, one micro-batch a file, whose names count without leading zeros.
  const temporary_dir folder;
  const std::string bytes = read_file(source_dir() / file);
  const auto header = static_cast<unsigned char>(bytes[0]);
  const std::size_t data = 8 + header;
  for (std::size_t k = 0; k < 32; ++k) {
    std::vector<float> numbers(32);
    std::memcpy(numbers.data(), bytes.data() + data + k * 128, 128);
    write_file(folder / ("batch" + std::to_string(k) + ".npy"), npy_of("(32,)", numbers));
  }
  const json files = rows("accumulate " + folder.path().string() + " --format bf16 --chunk 8");
  CHECK(files.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    const json& one = all[i];
    REQUIRE(one.at("tensor") == "bn2.weight");
    for (const char* const key : {"order", "relative_error", "bits_lost", "largest_error_ulps", "bias", "numel"})
      CHECK(files[i].at(key) == one.at(key));
  }
  const json first = rows("accumulate " + file + " --format bf16 --microbatches 1");
  CHECK(row_of(first, "tensor", "bn2.weight", "order", "Kahan").at("bits_lost") == 0);
}

TEST_CASE("accumulation of ones stops where it is published to") {
  const temporary_dir folder;
  write_file(folder / "ones.npy", npy_of("(1000, 1)", std::vector<float>(1000, 1)));
  const json all = rows("accumulate " + (folder / "ones.npy").string() + " --format bf16,cb16,fp16 --chunk 100");
  CHECK(row_of(all, "format", "bf16", "order", "sequential").at("bias") == (256.0 - 1000) / 1000);
  CHECK(row_of(all, "format", "bf16", "order", "sequential").at("swamped_share") == 0.744);
  CHECK(row_of(all, "format", "bf16", "order", "Kahan").at("swamped_share").is_null());
  CHECK(row_of(all, "format", "cb16", "order", "sequential").at("relative_error") == 0);
  CHECK(row_of(all, "format", "fp16", "order", "sequential").at("bits_lost").is_null());
}

TEST_CASE("a recording's accumulation is modelled and says so") {
  const auto run = run_ulp("precision accumulate examples/digits.ulp --microbatches 32 --format bf16 --tensor fc");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("~ ") != std::string::npos);
  CHECK(run.err.find("modelled") != std::string::npos);
  const json all = rows("accumulate examples/digits.ulp --microbatches 32 --format bf16 --tensor fc");
  for (const json& row : all) {
    CHECK(row.at("modelled") == true);
    CHECK(row.at("swamped_share").is_null());
    CHECK(row.at("bias").is_null());
  }
  // c = 2^-7 / sqrt(32 ln 2), 2 + ... + 32 and 32 addends.
  const double c = std::ldexp(1, -7) / std::sqrt(32 * std::log(2.0));
  CHECK(row_of(all, "format", "bf16", "order", "sequential").at("relative_error").get<double>() ==
        Approx(c * std::sqrt((527.0 + 32) / 32)));
}

TEST_CASE("the configuration says what gradients are accumulated in, and what it leaves open is said to be assumed") {
  const temporary_dir folder;
  const auto run_with = [&](const std::string& text, const std::string& arguments) {
    write_file(folder / "c.yaml", text);
    const auto run = run_ulp("precision accumulate " + arguments + " --config " + (folder / "c.yaml").string());
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    return run;
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    CAPTURE(text, part);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string file = "examples/microbatches32.safetensors";
  const std::string half = "trainer:\n  precision: bf16-true\n  accumulate_grad_batches: 32\n";
  const auto narrow = run_with(half, file);
  contains(narrow.out,
           "your configuration accumulates in bfloat16: the sums of 32 micro-batches have an rms error of ");
  contains(narrow.out, "bits beyond one rounding\n");
  CHECK(narrow.out.find("float16 ") == narrow.out.find("bfloat16 ") + 1);  // of the 16-bit formats that one alone
  const std::string error = narrow.out.substr(narrow.out.find("rms error of ") + 13, 8);
  const json all = rows("accumulate " + file + " --format bf16");
  CHECK(row_of(json(std::vector<json>(all.end() - 3, all.end())), "order", "sequential", "format", "bf16")
            .at("relative_error")
            .get<double>() == Approx(std::stod(error)).epsilon(0.005));

  const auto wide = run_with("trainer:\n  precision: bf16-mixed\n", file);
  contains(wide.out, "your configuration accumulates in float32: ");
  contains(wide.out, "; the table says what 16 bits would lose\n");
  contains(wide.out, "cbfloat16");
  contains(run_with("trainer:\n  precision: 64-true\n", file).out,
           "your configuration accumulates in float64: the table says what 16 bits would lose\n");
  contains(
      run_with("{\"fp16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 1}}", file).out,
      "your configuration is assumed to accumulate in float16 (data_types.grad_accum_dtype is not given: DeepSpeed "
      "takes the model's type): the sums of 32");
  contains(
      run_with("per_device_train_batch_size: 8\nbf16: true\n", file).out,
      "your configuration does not say what Hugging Face accumulates gradients in: the table is of formats that it "
      "may be\n");
  contains(run_with(half, file + " --format cb16").out,
           "your configuration accumulates in bfloat16, which --format leaves out\n");

  // Of a recording it says how many there are, too; to machines it is a note.
  const auto modelled = run_with(half, "examples/digits.ulp --tensor fc --json");
  contains(modelled.err,
           "your configuration accumulates in bfloat16: the sums of 32 micro-batches have an rms error of about ");
  for (const json& row : json::parse(modelled.out)) {
    CHECK(row.at("microbatches") == 32);
    CHECK((row.at("format") == "float32" || row.at("format") == "bfloat16"));
  }
}

TEST_CASE("random bits of a file's updates") {
  const std::string file = "examples/weights.step00100.safetensors --lr 0.05 ";
  const json all = rows("random-bits " + file + "--format bf16");
  CHECK(all.size() == 25);
  double last = 2;
  for (std::size_t n = 0; n < 25; ++n) {
    CHECK(all[n].at("random_bits") == n);
    CHECK(all[n].at("below_share").get<double>() <= last);
    last = all[n].at("below_share").get<double>();
    // What is below 2^-N of the distance is all that A may lose, and B and C lose less.
    CHECK(all[n].at("never_a_share").get<double>() <= last);
    CHECK(all[n].at("lost_mass_b_share").get<double>() <= all[n].at("lost_mass_c_share").get<double>());
  }
  // The first lines have the drift of the fewest bits.
  const auto drift_of = [&](const std::string& definition, std::size_t bits) {
    const double drift = 100 * all[bits].at("drift_" + definition).get<double>();
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%zu (drift %+.*f %%)", bits, std::abs(drift) < 10 ? 1 : 0, drift);
    return std::string(text.data());
  };
  const auto fewest_of = [&](const std::string& definition) {
    std::size_t n = 0;
    while (all[n].at("lost_mass_" + definition + "_share").get<double>() >= 0.01) ++n;
    return n;
  };
  const std::string said = run_ulp("precision random-bits " + file + "--format bf16").out;
  CAPTURE(said);
  CHECK(said.find("definition A " + drift_of("a", fewest_of("a")) + ", B " + drift_of("b", fewest_of("b")) + ", C " +
                  drift_of("c", fewest_of("c")) + "\n") != std::string::npos);
  // Nearest-even is what ulp precision weights counts too.
  const json weights = rows("weights " + file + "--format bf16 --by step");
  const json tensors = rows("random-bits " + file + "--format bf16 --by-tensor");
  double lost = 0;
  for (const json& t : tensors) lost += t.at("lost_nearest_share").get<double>() * t.at("updates").get<double>();
  CHECK(lost == Approx(weights[0].at("lost").get<double>()));
}

TEST_CASE("0 random bits that move every weight by truncation are told by their drift") {
  const temporary_dir folder;
  const std::string file = (folder / "step1.safetensors").string();
  const auto text_of = [&](float update) {
    write_file(file, safetensors(R"({"weight/a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                 R"("update/a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                                 raw(std::vector<float>{1, update})));
    return run_ulp("precision random-bits " + file + " --format bf16").out;
  };
  // 1 - 2^-12 is 1 - 2^-8 under A, sixteen times as far; 1 + 2^-7 is a number of bfloat16.
  CHECK(text_of(-0x1p-12F).find("definition A 0 (drift +1500 %), ") != std::string::npos);
  CHECK(text_of(0x1p-7F).find("definition A 0 (drift +0.0 %), B 0 (drift +0.0 %), C 0 (drift +0.0 %)\n") !=
        std::string::npos);
  CHECK(text_of(0x1p-40F).find("definition A more than 24, ") != std::string::npos);
}

TEST_CASE("dot products of made-up and recorded numbers") {
  const json made = rows("dot --generate uniform --length 1024 --rows 8 --format fp16,bf16");
  CHECK(row_of(made, "order", "bf16").at("largest_relative_error").get<double>() > 0.15);
  CHECK(row_of(made, "order", "precision_opt_level 1, matmul").at("basis") == "assumed");
  CHECK(row_of(made, "order", "hopper", "operands", "bf16").at("basis") == "measured");
  const json recorded = rows("dot tests/data/sums/microbatches32.npz --a addends --b addends --format bf16");
  CHECK(row_of(recorded, "order", "float32, fused products").at("largest_relative_error").get<double>() < 1e-6);
  const auto text = run_ulp("precision dot --generate constant --length 3 --rows 1 --format fp16");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("1 dot product of 3 elements") != std::string::npos);
}

TEST_CASE("what the commands refuse") {
  const temporary_dir folder;
  const std::string empty = (folder / "empty").string();
  std::filesystem::create_directory(empty);
  const std::string one = (folder / "one.npy").string();
  write_file(one, npy_of("(2, 3)", {1, 2, 3, 4, 5, 6}));
  const std::string other = (folder / "other.npy").string();
  write_file(other, npy_of("(3, 2)", {1, 2, 3, 4, 5, 6}));
  const std::string scalar = (folder / "scalar.npy").string();
  write_file(scalar, npy_of("()", {1}));
  const std::string nothing = (folder / "nothing.npy").string();
  write_file(nothing, npy_of("(0, 3)", {}));
  check_refused("accumulate " + empty, "holds no file");
  check_refused("accumulate " + one + " " + other, "another shape");
  check_refused("accumulate " + scalar, "is a single number, without an index of micro-batches");
  check_refused("accumulate " + nothing, "has 0 values");
  const std::string none = (folder / "none.npy").string();
  write_file(none, npy_of("(0,)", {}));
  check_refused("accumulate " + none + " " + none, "its gradients have no elements");
  check_refused("accumulate " + one + " --microbatches 3", "--microbatches 3");
  check_refused("accumulate " + one + " --chunk 0", "--chunk");
  check_refused("accumulate " + one + " --format float64", "32");
  check_refused("accumulate " + one + " --tensor zzz", "selected tensors");
  check_refused("accumulate examples/digits.ulp", "--microbatches N");
  check_refused("accumulate examples/digits.ulp --microbatches 4 --rounding rz", "model");
  check_refused("accumulate /nonexistent", "/nonexistent");
  check_refused("random-bits examples/digits.ulp", "element by element");
  check_refused("random-bits " + one, "weight");
  check_refused("random-bits examples/weights.step00100.safetensors --lr 0.05 --lose 2", "--lose");
  check_refused("dot", "--generate");
  check_refused("dot " + one + " --generate normal", "one of these");
  check_refused("dot " + one + " --a x", "has no array of this name");
  const std::string whole = (folder / "whole.npz").string();
  ulp::npz_writer integers(whole);
  integers.add("a", "<i4", {1}, std::string(4, 1));
  integers.add("b", "<f4", {1}, std::string(4, 1));
  integers.finish();
  check_refused("dot " + whole + " --a a --b b", "array 'a'");
  check_refused("dot " + whole + " --a a --b b", "holds no floating-point numbers");
  check_refused("dot " + one + " " + other, "--length K");
  check_refused("dot " + one + " " + other + " --length 7", "fewer than one row");
  check_refused("dot " + scalar + " " + one + " " + one, "more than two");
  check_refused("dot --generate normal --length 100000000 --rows 100000000", "memory");
  check_refused("dot --generate normal --format float64", "32");
}

TEST_CASE("where nothing counts there is no number, and a sentence says why") {
  const temporary_dir folder;
  const std::string file = (folder / "x.npy").string();
  const auto text_of = [&](const std::vector<float>& numbers) {
    write_file(file, npy_of("(2, " + std::to_string(numbers.size() / 2) + ")", numbers));
    const auto run = run_ulp("precision accumulate " + file + " --format fp16");
    CHECK(run.exit_code == 0);
    CHECK(run.out.find("nan ") == std::string::npos);
    CHECK(run.out.find(" inf ") == std::string::npos);
    return run.out;
  };
  const std::string over = text_of({6e4F, 1, 6e4F, 1});
  CHECK(over.find("fp16: sums one after the other are exact; 1 of 2 sums overflows\n") != std::string::npos);
  const std::string none = "fp16: sums one after the other have no relative error: ";
  CHECK(text_of({6e4F, 6e4F}).starts_with(none + "1 of 1 sum overflows\n"));
  json all = rows("accumulate " + file + " --format fp16");
  for (const char* const key : {"relative_error", "largest_error_ulps", "bias"})
    CHECK(row_of(all, "order", "sequential", "format", "fp16").at(key).is_null());
  CHECK(text_of({0, 0}).starts_with(none + "the exact sums are zero\n"));
  CHECK(text_of({NAN, 1}).starts_with(none + "1 of 1 sum has infinite or NaN gradients\n"));
  CHECK(text_of({6e4F, NAN, 1, 6e4F, 1, -1})
            .starts_with(none +
                         "1 of 3 sums overflows, 1 of 3 sums has infinite or NaN gradients, the other exact sums are "
                         "zero\n"));
  CHECK(
      text_of({NAN, 1, 1, 1}).starts_with("fp16: sums one after the other are exact; 1 of 2 sums has infinite or NaN"));
  // Two that cancel, and are rounded to different numbers.
  write_file(file, npy_of("(3, 1)", {1 + 0x1p-8F, -1 - 0x1p-8F - 0x1p-20F, 0x1p-20F}));
  all = rows("accumulate " + file + " --format bf16");
  for (const char* const key : {"relative_error", "largest_error_ulps", "bias"})
    CHECK(row_of(all, "order", "sequential", "format", "bf16").at(key).is_null());
  CHECK(run_ulp("precision accumulate " + file + " --format bf16")
            .out.starts_with("bf16: sums one after the other have no relative error: the exact sums are zero and the "
                             "results are not\n"));

  // The sum of 10^6 products of 1 is beyond float16; of chunks too.
  const json dots = rows("dot --generate constant --rows 1 --length 100000 --format fp16");
  for (const char* const key : {"largest_relative_error", "rms_relative_error", "bias", "largest_error_ulps"})
    CHECK(row_of(dots, "order", "fp16, chunks of 64").at(key).is_null());
  const auto text = run_ulp("precision dot --generate constant --rows 1 --length 100000 --format fp16");
  CHECK(text.out.find("nan") == std::string::npos);
  CHECK(row_of(dots, "order", "float32").at("largest_relative_error") == 0);
}

TEST_CASE("the sums of each format are told in a sentence") {
  const auto of = [](const std::string& arguments) { return run_ulp("precision accumulate " + arguments).out; };
  CHECK(of("examples/microbatches32.safetensors --format fp16,bf16")
            .starts_with("fp16: sums one after the other have an rms error of 7.85e-04, 2.0 bits beyond one rounding; "
                         "least has Kahan: 2.71e-04\nbf16: "));
  const std::string modelled = "examples/digits.ulp --format bf16 --tensor fc --microbatches ";
  const std::string few = of(modelled + "32");
  CHECK(few.starts_with("bf16: sums one after the other have an rms error of about 6.9"));
  CHECK(few.find("sums one after") == few.rfind("sums one after"));  // not once more below the heading
  // 4^8 is the most for 7 fraction bits.
  CHECK(of(modelled + "65536").find("too many") == std::string::npos);
  const auto many = run_ulp("precision accumulate " + modelled + "65537");
  CHECK(many.out.starts_with(
      "bf16: one after the other 65,537 micro-batches are too many for the model; least has Kahan: about "));
  CHECK(many.err.find("no number where the model does not hold, for too many micro-batches: bf16 (sequential)") !=
        std::string::npos);
  const json all = rows("accumulate " + modelled + "65537");
  CHECK(row_of(all, "format", "bf16", "order", "sequential").at("relative_error").is_null());
  CHECK(row_of(all, "format", "bf16", "order", "Kahan").at("relative_error").is_number());
  const json one = rows("accumulate " + modelled + "1");
  CHECK(row_of(one, "format", "bf16", "order", "Kahan").at("relative_error") ==
        row_of(one, "format", "bf16", "order", "sequential").at("relative_error"));
}

TEST_CASE("the configuration's line and its format's say the same") {
  const temporary_dir folder;
  const std::string config = (folder / "c.yaml").string();
  write_file(config, "trainer:\n  precision: 16-true\n");
  const std::string file = (folder / "x.npy").string();
  const auto lines_of = [&](const std::vector<float>& numbers, const std::string& more = "") {
    write_file(file, npy_of("(2, " + std::to_string(numbers.size() / 2) + ")", numbers));
    const std::string out = run_ulp("precision accumulate " + file + " --config " + config + more).out;
    return out.substr(0, out.find("\n\n"));
  };
  const std::string sums = "your configuration accumulates in float16: the sums of 2 micro-batches ";
  const std::string format = "\nfloat16: sums one after the other ";
  for (const auto& [numbers, said] : std::vector<std::pair<std::vector<float>, std::string>>{
           {{6e4F, 6e4F}, "have no relative error: 1 of 1 sum overflows"},
           {{INFINITY, 1}, "have no relative error: 1 of 1 sum has infinite or NaN gradients"},
           {{0, 0}, "have no relative error: the exact sums are zero"},
           {{1, 1}, "are exact"},
           {{6e4F, 1, 6e4F, 1}, "are exact; 1 of 2 sums overflows"}})
    CHECK(lines_of(numbers) == sums + said + format + said);
  const std::string many =
      run_ulp("precision accumulate examples/digits.ulp --tensor fc --microbatches 5000000 --config " + config).out;
  CHECK(many.starts_with(
      "your configuration accumulates in float16: one after the other 5,000,000 micro-batches are too many for the "
      "model\nfloat16: one after the other 5,000,000 micro-batches are too many for the model; least has Kahan: "
      "about "));
  // Of several tensors all of them together, though the first has no error.
  ulp::npz_writer two((folder / "two.npz").string());
  two.add("a", "<f4", {2, 1}, raw(std::vector<float>{NAN, 1}));
  two.add("b", "<f4", {2, 1}, raw(std::vector<float>{1, 0x1p-12F}));
  two.finish();
  CHECK(run_ulp("precision accumulate " + (folder / "two.npz").string() + " --config " + config)
            .out.starts_with(sums + "have an rms error of 2.44e-04; 1 of 2 sums has infinite or NaN gradients\n"));
}

TEST_CASE("less than a twentieth of a bit is not told") {
  const temporary_dir folder;
  const std::string file = (folder / "x.npy").string();
  const auto text_of = [&](std::size_t others) {
    // In ulps of 1: 1.2 is 1 when rounded once; 0.6 is 1, and 1.6 is 2. The others are 0.25, rounded once.
    std::vector<float> first(others, 1 + 0x1p-12F);
    std::vector<float> second(others, 0);
    first.push_back(1 + 0.6F * 0x1p-10F);
    second.push_back(0.6F * 0x1p-10F);
    first.insert(first.end(), second.begin(), second.end());
    write_file(file, npy_of("(2, " + std::to_string(others + 1) + ")", first));
    return run_ulp("precision accumulate " + file + " --format fp16").out;
  };
  CHECK(text_of(40).find(", 0.2 bits beyond one rounding") != std::string::npos);
  CHECK(text_of(400).find("bits beyond") == std::string::npos);
  CHECK(text_of(400).starts_with("fp16: sums one after the other have an rms error of 2.4"));
}

TEST_CASE("a format in which no update counts leaves the others their answer") {
  const temporary_dir folder;
  const std::string big = (folder / "step1.safetensors").string();
  write_file(big, safetensors(R"({"weight/a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("update/a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                              raw(std::vector<float>{1e6F, 2e6F, 1, 1})));
  const std::string none = "fp16: no update counts: all 2 weights are beyond fp16";
  const auto both = run_ulp("precision random-bits " + big + " --format fp16,bf16");
  CHECK(both.exit_code == 0);
  CHECK(both.err.find("note: " + none) != std::string::npos);
  CHECK(both.out.starts_with("bf16: 2 updates of 2 weights"));
  CHECK(rows("random-bits " + big + " --format fp16,bf16").size() == 25);
  CHECK(rows("random-bits " + big + " --format fp16,bf16 --by-tensor").size() == 2);
  check_refused("random-bits " + big + " --format fp16", none);
  check_refused("random-bits " + big + " --format bf16 --tensor nothing",
                "--tensor, --kind, --steps and --every select");
  write_file(big, safetensors(R"({"weight/a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                              R"("update/a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                              ""));
  check_refused("random-bits " + big + " --format bf16", "its weights have no elements");
}

TEST_CASE("elements that are no whole row are told") {
  const temporary_dir folder;
  const std::string file = (folder / "x.npy").string();
  write_file(file, npy_of("(60,)", std::vector<float>(60, 1)));
  const auto run = run_ulp("precision dot " + file + " --a x --b x --format fp16 --length 7");
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("the last 4 elements are left out: 60 are no whole number of rows of 7") != std::string::npos);
  CHECK(run_ulp("precision dot " + file + " --a x --b x --format fp16 --length 6").err.empty());
  const auto one = run_ulp("precision dot --generate constant --length 1 --rows 1 --format fp16");
  CHECK(one.out.starts_with("1 dot product of 1 element: "));
}

TEST_CASE("--help names the inputs that a command takes") {
  for (const char* const command : {"weights", "random-bits", "accumulate", "optimizer8"}) {
    const std::string help = run_ulp(std::string("precision ") + command + " --help").out;
    CAPTURE(command);
    CHECK(help.find("TensorBoard") == std::string::npos);
    CHECK(help.find("a folder of them") != std::string::npos);
  }
}

TEST_CASE("numbers that are none are told apart") {
  const temporary_dir folder;
  const std::string file = (folder / "bad.npy").string();
  write_file(file, npy_of("(2, 3)", {NAN, INFINITY, 1, 1, 1, 1}));
  const json all = rows("accumulate " + file + " --format fp16");
  CHECK(row_of(all, "order", "sequential", "format", "fp16").at("nonfinite") == 2);
  const json dots = rows("dot " + file + " --a bad --b bad --format fp16");
  CHECK(row_of(dots, "order", "fp16").at("nonfinite") == 1);
}
