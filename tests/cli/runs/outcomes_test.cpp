// Pins the outcome table: its keys, that dump and recording agree, what the scale multiplies, and selections.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "io/tf_builders.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

const std::string dump = "examples/digits.step00100.safetensors";

json rows(const std::string& arguments) {
  const auto run = run_ulp("outcomes " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("rows have the documented keys, formats as typed") {
  const json all = rows(dump + " --format fp16,e5m2 --scale 1,2^15 --rounding rz");
  CHECK(all.size() == 13 * 2 * 2);
  for (const char* const key : {"tensor", "step", "format", "rounding", "scale", "numel", "zero", "nonfinite",
                                "underflow", "subnormal", "overflow"})
    CHECK(all.at(0).contains(key));
  CHECK(all.at(0).at("step") == 100);
  CHECK(all.at(0).at("format") == "fp16");
  CHECK(all.at(0).at("rounding") == "rz");
  CHECK(all.at(1).at("scale") == 32768);
}

TEST_CASE("rows are sorted by a key, largest first, and cut") {
  const json all = rows(dump + " --format fp16");
  std::vector<std::pair<double, std::string>> expected;  // by hand: of equal ones the first stays first
  for (const json& row : all) expected.emplace_back(row.at("underflow").get<double>(), row.at("tensor"));
  std::ranges::stable_sort(expected, std::ranges::greater{}, &std::pair<double, std::string>::first);
  const json top = rows(dump + " --format fp16 --sort underflow --top 4");
  REQUIRE(top.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(top.at(i).at("tensor") == expected[i].second);
  CHECK(expected[0].first > expected[4].first);
  const auto text = run_ulp("outcomes " + dump + " --format fp16 --sort underflow --top 4");
  CHECK(text.err.find("ulp: note: --top 4: 9 of 13 rows are left out\n") != std::string::npos);
  CHECK(rows(dump + " --format fp16 --sort underflow --top 13").size() == 13);
  CHECK(run_ulp("outcomes " + dump + " --format fp16 --top 13").err.find("left out") == std::string::npos);
  CHECK(rows(dump + " --format fp16 --top 12").size() == 12);
}

TEST_CASE("a key that is none, or holds no numbers, is named") {
  const auto mistyped = run_ulp("outcomes " + dump + " --format fp16 --sort undeflow");
  CHECK(mistyped.exit_code == 2);
  CHECK(
      mistyped.err.starts_with("ulp: --sort: no column has the key 'undeflow'; did you mean 'underflow'? (of group, "));
  CHECK(run_ulp("outcomes " + dump + " --format fp16 --sort tensor").err ==
        "ulp: --sort: 'tensor' has no numbers here; sort by another key\n");
  CHECK(run_ulp("outcomes " + dump + " --format fp16 --top 0").exit_code == 2);
}

TEST_CASE("a list of formats keeps the options of each together") {
  const json all =
      rows(dump + " --format fp16,e6m9,bias=30,specials=none,dlf16 --format e4m3,specials=fn,e4m3fn --by kind");
  REQUIRE(all.size() == 5);
  CHECK(all.at(0).at("format") == "fp16");
  CHECK(all.at(1).at("format") == "e6m9,bias=30,specials=none");
  CHECK(all.at(2).at("format") == "dlf16");
  CHECK(all.at(3).at("format") == "e4m3,specials=fn");
  CHECK(all.at(3).at("underflow") == all.at(4).at("underflow"));
}

TEST_CASE("each format of a list has its own rounding where none is given") {
  const json own = rows(dump + " --format fp16,dlf16 --by kind");
  CHECK(own.at(0).at("rounding") == "nearest-even");
  CHECK(own.at(1).at("rounding") == "nearest-away");
  const json given = rows(dump + " --format fp16,dlf16 --rounding rne --by kind");
  CHECK(given.at(1).at("rounding") == "rne");
  CHECK(run_ulp("outcomes " + dump + " --format fp16,dlf16 --by kind").out.find("rounded as listed") !=
        std::string::npos);
  CHECK(run_ulp("outcomes " + dump + " --format fp16,bf16 --rounding nvidia --by kind").exit_code == 0);
}

TEST_CASE("the recording of a dump gives the dump's counts and digest") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  REQUIRE(run_ulp("record " + dump + " -o " + run).exit_code == 0);
  const std::string question = " --format float16,cbfloat16 --scale 1,2^8 --rounding to-odd";
  CHECK(rows(dump + question) == rows(run + question));
  CHECK(run_ulp("info --digest " + dump).out == run_ulp("info --digest " + run).out);
}

TEST_CASE("the scale is the loss scale on the true gradient where the factor is known") {
  const json plain = rows(dump + " --format fp16 --scale 256 --by kind");
  CHECK(plain.at(0).at("scale_of") == "recorded");
  const json with_factor = rows(dump + " --factor 1024 --format fp16 --scale 2^18 --by kind");
  CHECK(with_factor.at(0).at("scale_of") == "true_gradient");
  CHECK(with_factor.at(0).at("underflow") == plain.at(0).at("underflow"));
  const json as_recorded = rows(dump + " --factor 1024 --as-recorded --format fp16 --scale 256 --by kind");
  CHECK(as_recorded.at(0).at("underflow") == plain.at(0).at("underflow"));
}

TEST_CASE("what is not decided is null between bounds, and sums over groups are consistent") {
  const json by_kind = rows("tests/data/octaves/digits.ulp --format fp16 --by kind");
  CHECK(by_kind.size() == 2);
  CHECK(by_kind.at(0).at("underflow").is_null());
  CHECK(by_kind.at(0).at("step").is_null());
  const json by_tensor = rows("tests/data/octaves/digits.ulp --format fp16 --kind weight_grad");
  std::int64_t low = 0;
  for (const json& row : by_tensor) low += row.at("underflow_low").get<std::int64_t>();
  CHECK(low == by_kind.at(0).at("underflow_low"));
}

TEST_CASE("in CSV what is not decided has two columns") {
  const temporary_dir dir;
  const std::string buckets = (dir / "events.out.tfevents.1").string();
  // Of 1 | 2 4: no zeros, and their sum is between 5 and 10.
  write_file(
      buckets,
      tf_begin() +
          tf_event(1, {tf_histogram(
                          "grad/w",
                          {.min = 1, .max = 4, .num = 3, .sum_squares = 21, .limits = {2, 8}, .counts = {1, 2}})}));
  const auto header = [](const std::string& input) {
    const std::string csv = run_ulp("outcomes " + input + " --format fp16 --csv -").out;
    return csv.substr(0, csv.find('\n'));
  };
  CHECK(header(buckets).find(",numel,zero,nonfinite,") != std::string::npos);
  CHECK(header(buckets).ends_with(",l1_low,l1_high,l2"));
  CHECK(header(dump).ends_with(",l1,l2"));
}

TEST_CASE("selections") {
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --steps 10:20 --by step").size() == 10);
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --steps 10 --by step").size() == 1);
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --steps :100 --every 10 --by step").size() == 10);
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --tensor '^fc' --by tensor").size() == 6);
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --role '^fc=low' --role low --by tensor").size() == 6);
  CHECK(rows("tests/data/octaves/digits.ulp --format fp16 --steps 10:12 --by tensor,step --tensor fc1").size() == 6);
}

TEST_CASE("SQNR is exact from dumps and recordings with errors, marked where it is modelled") {
  const temporary_dir dir;
  const std::string plain = (dir / "plain.ulp").string();
  const std::string with = (dir / "with.ulp").string();
  CHECK(run_ulp("record " + dump + " -o " + plain).exit_code == 0);
  CHECK(run_ulp("record " + dump + " --with-errors -o " + with).exit_code == 0);
  const std::string question = " --format bf16,cb16 --scale 2^8";
  const json exact = rows(dump + question);
  CHECK(rows(with + question) == exact);
  const json modelled = rows(plain + question);
  REQUIRE(exact.size() == modelled.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i]["numel"] == exact[i]["zero"]) continue;
    CHECK(exact[i]["noise_exact"] == true);
    CHECK(modelled[i]["noise_exact"] == false);
    CHECK(modelled[i]["sqnr_db_low"].get<double>() <= exact[i]["sqnr_db"].get<double>());
    CHECK(std::abs(modelled[i]["sqnr_db"].get<double>() - exact[i]["sqnr_db"].get<double>()) < 3);
  }
  CHECK(run_ulp("outcomes " + plain + " --format bf16").out.find("~") != std::string::npos);
  CHECK(run_ulp("record tests/data/octaves/digits.ulp --with-errors -o " + (dir / "x.ulp").string()).err ==
        "ulp: --with-errors: tests/data/octaves/digits.ulp holds no raw values; remove this option\n");
}

TEST_CASE("formats of blocks are counted from block tables, in a recording as in the dump") {
  const temporary_dir dir;
  const std::string run = (dir / "run.ulp").string();
  const std::string plain = (dir / "plain.ulp").string();
  REQUIRE(run_ulp("record " + dump + " --blocks 32,128x128 --axis both -o " + run).exit_code == 0);
  REQUIRE(run_ulp("record " + dump + " -o " + plain).exit_code == 0);
  for (const std::string asked :
       {" --format mxfp8,mxfp8_e5m2,mxfp4 --json", " --format mxfp8 --axis other --rounding rz --json",
        " --format fp8_128x128 --by kind --json"}) {
    CAPTURE(asked);
    const auto recorded = run_ulp("outcomes " + run + asked);
    CHECK(recorded.exit_code == 0);
    CHECK(recorded.out == run_ulp("outcomes " + dump + asked).out);
  }
  CHECK(run_ulp("info " + run).out.find("blocks of 1x32") != std::string::npos);
  CHECK(run_ulp("check " + run).exit_code == 0);
  CHECK(run_ulp("outcomes " + plain + " --format mxfp8").err ==
        "ulp: " + plain +
            ": recorded without blocks of 1x32: record with --blocks 32, or in training with "
            "ulpscope.Recorder(..., blocks=32), or give the dumps\n");
  CHECK(run_ulp("outcomes " + plain + " --format mxfp8 --axis other")
            .err.find("blocks of 32x1: record with --blocks 32 --axis other, or in training with "
                      "ulpscope.Recorder(..., blocks=32, axis=\"other\"), or give the dumps\n") != std::string::npos);
  CHECK(run_ulp("outcomes " + run + " --format mxfp8,fp16").err ==
        "ulp: --format: mxfp8 has blocks that share a scale, fp16 has not: ask for them one after the other\n");
  CHECK(run_ulp("outcomes " + run + " --format nvfp4").err ==
        "ulp: --format nvfp4: block tables cannot answer this: its scales are no powers of two, and follow from "
        "the whole tensor; give the dumps\n");
  CHECK(run_ulp("outcomes " + run + " --format mxfp8 --with-errors").err ==
        "ulp: --with-errors: block tables cannot answer this, only the values can; remove it, or give the dumps\n");
  CHECK(run_ulp("outcomes " + dump + " --format fp16 --with-errors").exit_code == 2);
  CHECK(run_ulp("record " + dump + " --blocks 0 -o " + (dir / "none.ulp").string()).exit_code == 2);
  CHECK(run_ulp("record " + plain + " --blocks 32 -o " + (dir / "none.ulp").string()).err ==
        "ulp: --blocks: " + plain + " holds no raw values; remove this option\n");
}

namespace {

// Elements of codes of 4 bits with the largest one, where the scale of their 16 is zero; none of other codes.
std::uint64_t beyond_a_zero_scale(const std::map<std::string, npz_array>& written, const std::string& tensor) {
  const npz_array& scales = written.at(tensor + ".scale");
  const npz_array& of_codes = written.at(tensor + ".codes");
  if (scales.type != "|u1") return 0;
  const auto scale = scales.as<std::uint8_t>();
  const auto codes = of_codes.as<std::uint8_t>();
  const std::size_t columns = of_codes.shape.back();
  const std::size_t across = (columns + 15) / 16;
  std::uint64_t found = 0;
  if (scale.size() != codes.size() / columns * across) return 0;  // blocks of 32
  for (std::size_t i = 0; i < codes.size(); ++i)
    found += scale[i / columns * across + i % columns / 16] == 0 && (codes[i] & 7U) == 7 ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("formats of blocks of all kinds are counted of dumps, as ulp convert counts them") {
  const temporary_dir dir;
  for (const std::string name : {"mxfp8", "nvfp4", "torchao_nvfp4_twolevel", "te_nvfp4_4over6_mse256", "fp8_1x128"}) {
    CAPTURE(name);
    const auto converted =
        json::parse(run_ulp("convert " + dump + " " + (dir / "o.npz").string() + " --to " + name + " --json").out);
    const auto written = read_npz(dir / "o.npz");
    const auto counted = run_ulp("outcomes " + dump + " --format " + name + " --by tensor --with-errors --json");
    CAPTURE(counted.err);
    REQUIRE(counted.exit_code == 0);
    const json rows = json::parse(counted.out);
    std::size_t compared = 0;
    for (const json& array : converted["tensors"])
      for (const json& row : rows) {
        if (row["tensor"] != array["tensor"]) continue;
        ++compared;
        CHECK(row["numel"] == array["numel"]);
        CHECK(row["zero"] == array["zero"]);
        CHECK(row["underflow"] == array["underflow"]);
        // ulp convert counts codes beyond the largest element, in blocks whose scale is zero too, which underflow.
        CHECK(row["overflow"].get<std::uint64_t>() + beyond_a_zero_scale(written, array["tensor"]) ==
              array["overflow"]);
        CHECK(row["blocks"] == array["blocks"]);
        CHECK(row["underflow_low"] == row["underflow_high"]);
        CHECK(std::abs(row["sqnr_db"].get<double>() - array["sqnr_db"].get<double>()) < 1e-9);
        CHECK(std::abs(row["sqnr_db"].get<double>() + 10 * std::log10(row["relative_squared_error"].get<double>())) <
              1e-9);
      }
    CHECK(compared == converted["tensors"].size());
    CHECK(rows.size() == compared);
  }
  // Along the other axis, in all at once, and by a draw that another seed changes.
  const std::string both = " --format nvfp4,mxfp4 --axis other --by kind";
  CHECK(run_ulp("outcomes " + dump + both + " --json").exit_code == 0);
  const std::string drawn = "outcomes " + dump + " --format nvfp4 --rounding sr --with-errors --json --seed ";
  CHECK(run_ulp(drawn + "1").out == run_ulp(drawn + "1").out);
  CHECK(run_ulp(drawn + "1").out != run_ulp(drawn + "2").out);
  const auto text = run_ulp("outcomes " + dump + " --format nvfp4,mxfp8 --with-errors").out;
  CHECK(text.find("each value as recorded, quantized. underflow") != std::string::npos);
  CHECK(text.find("SQNR dB") != std::string::npos);
}
