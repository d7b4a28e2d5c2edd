// Pins the lines that eval, vectors and verify exchange, and what verify says of lines that differ or are none.
#include "support/catch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

std::string error_of(const std::string& arguments, const std::string& input) {
  const auto run = run_ulp(arguments, input);
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find('\n') == run.err.size() - 1);
  return run.err;
}

}  // namespace

TEST_CASE("lines of Berkeley TestFloat agree") {
  // testfloat_gen -rminMag -level 2 f16_add; f32_to_bf16.
  CHECK(run_ulp("verify --op add --format float16 --rounding toward-zero", "857F 74FB 74FA 01\n").exit_code == 0);
  CHECK(run_ulp("verify --op convert --format bf16 --from float32", "8683F7FF 8684 01\n").exit_code == 0);
  CHECK(run_ulp("verify --op mulAdd --format float16", "3C00 3C00 3C00 4000 00\n").out ==
        "standard input: 1 line, all agree\n");
}

// By IEEE 754-2019, in TestFloat's words: f16_to_i32(-3.14), f16_to_ui32(2.5), i32_to_f16(2049 and 65520), f16_lt of a quiet NaN,
// f16_eq of a signaling one, f16_roundToInt(0.5).
TEST_CASE("integers and comparisons are lines of TestFloat too") {
  CHECK(run_ulp("eval --op to_i32 --format float16", "C248").out == "C248 FFFFFFFD 00\n");
  CHECK(run_ulp("eval --op to_i32 --format float16 --exact", "C248").out == "C248 FFFFFFFD 01\n");
  CHECK(run_ulp("eval --op to_ui32 --format float16 --rounding ru", "4100").out == "4100 00000003 00\n");
  CHECK(run_ulp("eval --op to_ui64 --format float16", "BC00").out == "BC00 0000000000000000 10\n");
  CHECK(run_ulp("eval --op from_i32 --format float16", "801\nFFF0\nFFFFFFFF").out ==
        "00000801 6800 01\n0000FFF0 7C00 05\nFFFFFFFF BC00 00\n");
  CHECK(run_ulp("eval --op from_ui64 --format float32", "FFFFFFFFFFFFFFFF").out == "FFFFFFFFFFFFFFFF 5F800000 01\n");
  CHECK(run_ulp("eval --op lt --format float16", "3C00 7E00\n8000 1\n0 8000").out ==
        "3C00 7E00 0 10\n8000 0001 1 00\n0000 8000 0 00\n");
  CHECK(run_ulp("eval --op eq --format float16", "7E00 7E00\n7C01 3C00\n0 8000").out ==
        "7E00 7E00 0 00\n7C01 3C00 0 10\n0000 8000 1 00\n");
  CHECK(run_ulp("eval --op roundToInt --format float16", "3800\nBE00").out == "3800 0000 00\nBE00 C000 00\n");
  CHECK(run_ulp("eval --op mac --format float32 --from float16", "3C01 3C01 3F800000").out ==
        "3C01 3C01 3F800000 40002004 00\n");

  // What there is in place of an integer differs between processors; the flag does not.
  for (const std::string result : {"7FFFFFFF", "80000000", "00000000"})
    CHECK(run_ulp("verify --op to_i32 --format float16", "7E00 " + result + " 10").exit_code == 0);
  CHECK(run_ulp("verify --op to_i32 --format float16", "7E00 00000001 10").exit_code == 1);
  CHECK(run_ulp("verify --op to_i32 --format float16", "7E00 80000000 00").exit_code == 1);
  const auto differs = run_ulp("verify --op from_i32 --format float16", "FFFFF7FF E801 01");
  CHECK(differs.out ==
        "standard input: 1 line, 1 differs:\n"
        "line 1: FFFFF7FF E801 01\n"
        "  operands  FFFFF7FF = -2049\n"
        "  exactly   -2049\n"
        "  that is   half way between E800 and E801\n"
        "  expected  E800 = -2048  (inexact)\n"
        "  got       E801 = -2050  (inexact)\n");
  CHECK(run_ulp("verify --op le --format float16", "3C00 3C00 0 00").out ==
        "standard input: 1 line, 1 differs:\n"
        "line 1: 3C00 3C00 0 00\n"
        "  operands  3C00 = 1\n"
        "            3C00 = 1\n"
        "  expected  1 = true  (no flags)\n"
        "  got       0 = false  (no flags)\n");

  CHECK(error_of("eval --op lt --format float16 --from float32", "") == "ulp: --op lt has one format: remove --from\n");
  CHECK(error_of("eval --op lt --format float16 --rounding sr", "") ==
        "ulp: --op lt does not round: remove --rounding\n");
  CHECK(error_of("eval --op add --format float16 --exact", "") == "ulp: --exact: add does not round to an integer\n");
  CHECK(error_of("eval --op from_i32 --format float16", "100000000") ==
        "ulp: standard input: line 1: operand '100000000' does not fit the 32 bits of the integer\n");
  CHECK(error_of("verify --op eq --format float16", "0 0 2 00") ==
        "ulp: standard input: line 1: result '2' does not fit the bit of a comparison\n");
  CHECK(error_of("eval --op mac --format float16 --from e4m3fn", "38 38 10000") ==
        "ulp: standard input: line 1: operand 3 '10000' does not fit the 16 bits of float16\n");
}

TEST_CASE("what vectors prints, verify confirms") {
  for (const std::string arguments : {"--op add --format float16",
                                      "--op sub --format bf16 --rounding rd",
                                      "--op mul --format cb16 --rounding ro",
                                      "--op div --format e5m2 --rounding rz --saturate",
                                      "--op fma --format e2m3 --rounding ru",
                                      "--op sqrt --format tf32 --rounding rna",
                                      "--op rem --format float32",
                                      "--op rem --format dlfloat16",
                                      "--op mul --format float16 --tininess before --ftz after --daz",
                                      "--op add --format float8_e4m3fnuz",
                                      "--op convert --format bf16 --from float64",
                                      "--op convert --format float8_e8m0 --from float32",
                                      "--op convert --format float16 --from float8_e8m0",
                                      "--op add --format float16 --from float32",
                                      "--op mul --format float16 --rounding sr --seed 5",
                                      "--op div --format bf16 --rounding sr:B,bits=3",
                                      "--op convert --format float16 --from float32 --rounding nvidia",
                                      "--op mac --format float32 --from float16 --rounding rz",
                                      "--op mac --format bf16 --from e4m3fn --rounding sr:bits=all",
                                      "--op rint --format float16 --rounding rd",
                                      "--op roundToInt --format bf16 --exact --rounding sr:bits=all",
                                      "--op eq --format float16",
                                      "--op lt_quiet --format e5m2 --daz",
                                      "--op to_ui32 --format float16 --rounding rz",
                                      "--op to_i64 --format float32 --exact --rounding sr:bits=5",
                                      "--op from_ui64 --format float16 --rounding ru",
                                      "--op from_i32 --format cb16 --rounding sr:bits=all",
                                      "--op from_i64 --format float32 --saturate",
                                      "--op add --format bf16 --rounding sr:bits=all",
                                      "--op mul --format float64 --rounding ru"}) {
    CAPTURE(arguments);
    const auto run = run_shell("ulp vectors " + arguments + " >v.$$ && ulp verify " + arguments +
                               " v.$$; code=$?; rm v.$$; exit $code");
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    CHECK(run.out.find(" lines, all agree\n") != std::string::npos);
  }
}

TEST_CASE("eval prints what vectors prints") {
  for (const std::string arguments : {"--op mul --format float16", "--op sqrt --format e4m3fn --rounding sr:bits=7",
                                      "--op add --format cb16 --rounding sr:bits=all --seed 3"}) {
    CAPTURE(arguments);
    const auto vectors = run_ulp("vectors " + arguments);
    CHECK(vectors.exit_code == 0);
    std::string operands;
    std::istringstream lines(vectors.out);
    const std::size_t count = arguments.find("sqrt") != std::string::npos ? 1 : 2;
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string field;
      for (std::size_t i = 0; i < count; ++i) {
        fields >> field;
        operands += field + (i + 1 < count ? " " : "\n");
      }
    }
    CHECK(run_ulp("eval " + arguments, operands).out == vectors.out);
  }
}

TEST_CASE("lines are padded to the widths of their formats") {
  CHECK(run_ulp("eval --op add --format float16", "3C00 3C00").out == "3C00 3C00 4000 00\n");
  CHECK(run_ulp("eval --op convert --format e2m1 --from float32", "40400000").out == "40400000 5 00\n");
  CHECK(run_ulp("eval --op convert --format tf32 --from e4m3fn", "01").out == "01 1D800 00\n");
  CHECK(run_ulp("eval --op mul --format float64", "1 2").out ==
        "0000000000000001 0000000000000002 0000000000000000 03\n");
  CHECK(run_ulp("eval --op div --format float16", "3C00 8000\n0 0").out == "3C00 8000 FC00 08\n0000 0000 7E00 10\n");
}

TEST_CASE("lines are read leniently") {
  const std::string file = "0x3c00\t3C00   4000 0\r\n  3c00 0X3c00 4000 00  \r\n3C00 3C00 4000 00";
  CHECK(run_ulp("verify --op add --format float16", file).out == "standard input: 3 lines, all agree\n");
  const temporary_dir dir;
  write_file(dir / "v.txt", file);
  const std::string path = (dir / "v.txt").string();
  CHECK(run_ulp("verify --op add --format float16 " + path).out == path + ": 3 lines, all agree\n");
  // A NaN is any NaN.
  CHECK(run_ulp("verify --op sqrt --format float16", "BC00 FFFF 10").exit_code == 0);
}

TEST_CASE("a line that differs is explained") {
  auto run = run_ulp("verify --op add --format float16", "3C00 3C00 4000 00\n3C00 3C01 4001 00\n3C00 3C01 4000 00\n");
  CHECK(run.exit_code == 1);
  CHECK(run.err.empty());
  CHECK(run.out ==
        "standard input: 3 lines, 2 differ, 1 of them in the flags only:\n"
        "  2 of 2 inexact results\n"
        "  2 of 2 ties\n"
        "line 2: 3C00 3C01 4001 00\n"
        "  operands  3C00 = 1\n"
        "            3C01 = 1.0009765625\n"
        "  exactly   2.0009765625\n"
        "  that is   half way between 4000 and 4001\n"
        "  expected  4000 = 2  (inexact)\n"
        "  got       4001 = 2.001953125  (no flags)\n"
        "line 3: 3C00 3C01 4000 00\n"
        "  operands  3C00 = 1\n"
        "            3C01 = 1.0009765625\n"
        "  exactly   2.0009765625\n"
        "  that is   half way between 4000 and 4001\n"
        "  expected  4000 = 2  (inexact)\n"
        "  got       4000 = 2  (no flags)\n"
        "no line raises a flag: --ignore-flags compares the results alone\n");
  run = run_ulp("verify --op add --format float16 --show 1", "3C00 3C01 4001 00\n3C00 3C01 4000 00\n");
  CHECK(run.out.starts_with("standard input: 2 lines, 2 differ, 1 of them in the flags only, 1 shown:\n"));
  CHECK(run.out.find("\nline 1: ") != std::string::npos);
  CHECK(run.out.find("line 2") == std::string::npos);
  run = run_ulp("verify --op add --format float16 --show 0", "3C00 3C01 4000 00");
  CHECK(run.out ==
        "standard input: 1 line, 1 differs, in the flags only\n"
        "no line raises a flag: --ignore-flags compares the results alone\n");
  run = run_ulp("verify --op add --format float16 --show 0 --json", "3C00 3C01 4000 00");
  CHECK(run.out.find("\"first_line\":1") != std::string::npos);
  CHECK(run_ulp("verify --op add --format float16 --ignore-flags", "3C00 3C01 4000 00").exit_code == 0);

  // One wrong line among many.
  run = run_shell(
      "ulp vectors --op mul --format float16 | sed '12345s/ [0-9A-F]* \\([0-9A-F]*\\)$/ 3555 \\1/' | "
      "ulp verify --op mul --format float16");
  CHECK(run.exit_code == 1);
  CHECK(run.out.find(" lines, 1 differs:\n  1 of ") != std::string::npos);
  CHECK(run.out.find("\nline 12345: ") != std::string::npos);
}

TEST_CASE("lines that differ are counted by class, and each class has an example first") {
  // Subnormal sums, of which two are flushed; half way between 4000 and 4001, and between 4001 and 4002.
  const std::string lines =
      "0001 0001 0002 00\n0001 0002 0000 00\n0001 0003 0000 00\n3C00 3C01 4001 01\n3C00 3C03 4002 01\n";
  const std::string counts =
      "  2 of 3 exact results\n"
      "  2 of 3 subnormal results\n"
      "  1 of 2 inexact results\n"
      "  1 of 2 ties\n";
  const temporary_dir dir;
  write_file(dir / "v.txt", lines);
  const std::string verify = "verify --op add --format float16 --show 2 ";
  for (const std::string& out : {run_ulp(verify, lines).out, run_ulp(verify + (dir / "v.txt").string()).out}) {
    CAPTURE(out);
    CHECK(out.find(": 5 lines, 3 differ, 2 shown:\n" + counts + "line 2: 0001 0002 0000 00\n") != std::string::npos);
    CHECK(out.find("\nline 3: ") == std::string::npos);
    CHECK(out.find("\nline 4: 3C00 3C01 4001 01\n") != std::string::npos);
  }
  const auto row =
      nlohmann::json::parse(run_ulp("verify --op add --format float16 --json " + (dir / "v.txt").string()).out).at(0);
  const auto expected =
      nlohmann::json::parse(R"({"exact":{"lines":3,"differ":2},"subnormal result":{"lines":3,"differ":2},)"
                            R"("inexact":{"lines":2,"differ":1},"tie":{"lines":2,"differ":1}})");
  CHECK(row.at("classes") == expected);

  CHECK(run_ulp("verify --op eq --format float16 --show 0", "0 0 0 00\n0 0 0 00\n").out ==
        "standard input: 2 lines, 2 differ\n");

  // A kernel that flushes subnormal results, counted here.
  std::istringstream all(run_ulp("vectors --op mul --format float16").out);
  std::string flushed;
  int subnormal = 0;
  for (std::string line; std::getline(all, line); flushed += line + '\n') {
    const unsigned long magnitude = std::stoul(line.substr(10, 4), nullptr, 16) & 0x7FFF;
    if (magnitude == 0 || magnitude >= 0x0400) continue;
    ++subnormal;
    line.replace(11, 3, "000");
    line[10] = line[10] < '8' ? '0' : '8';
  }
  REQUIRE(subnormal > 9'999);
  write_file(dir / "flushed.txt", flushed);
  std::string n = std::to_string(subnormal);
  n.insert(n.size() - 3, ",");
  const std::string of_all = " lines, " + n + " differ, 3 shown:\n  " + n + " of " + n + " subnormal results\n";
  const std::string mul = "verify --op mul --format float16 --show 3 ";
  CHECK(run_ulp(mul, flushed).out.find(of_all) != std::string::npos);
  CHECK(run_ulp(mul + (dir / "flushed.txt").string()).out.find(of_all) != std::string::npos);
}

// What NVIDIA's processors gave, measured: 0x7FFF of float16 and bfloat16, 0x7F of both 8-bit formats, 0x7FFFFFFF in 32
// bits, whose upper 19 are those of tf32.
TEST_CASE("every NaN is the canonical one where that is asked for") {
  const std::string canonical = " --nan canonical";
  CHECK(run_ulp("eval --op add --format float16" + canonical, "7C01 0\nFE05 0\n7C00 FC00\n3C00 3C00\n").out ==
        "7C01 0000 7FFF 10\nFE05 0000 7FFF 00\n7C00 FC00 7FFF 10\n3C00 3C00 4000 00\n");
  CHECK(run_ulp("eval --op mul --format bf16" + canonical, "7F80 0").out == "7F80 0000 7FFF 10\n");
  CHECK(run_ulp("eval --op fma --format float32" + canonical, "FFC00001 0 0").out ==
        "FFC00001 00000000 00000000 7FFFFFFF 00\n");
  const std::string convert = "eval --op convert --from float32 --format ";
  CHECK(run_ulp(convert + "e4m3fn" + canonical, "FFC00000").out == "FFC00000 7F 00\n");
  CHECK(run_ulp(convert + "e5m2" + canonical, "FFC00000").out == "FFC00000 7F 00\n");
  CHECK(run_ulp(convert + "tf32" + canonical, "FFC00000").out == "FFC00000 3FFFF 00\n");
  CHECK(run_ulp(convert + "e4m3fnuz" + canonical, "FFC00000").out == "FFC00000 80 00\n");
  CHECK(run_ulp(convert + "e4m3fn --nan any", "FFC00000").out == "FFC00000 FF 00\n");

  const std::string verify = "verify --op add --format float16";
  CHECK(run_ulp(verify + canonical, "7E00 0 7FFF 00\n3C00 3C00 4000 00\n").exit_code == 0);
  CHECK(run_ulp(verify, "7E00 0 7FFF 00").exit_code == 0);
  CHECK(run_ulp(verify, "7E00 0 7E00 00").exit_code == 0);
  for (const std::string other : {"7E00", "FFFF", "7C01"}) {
    const auto run = run_ulp(verify + canonical, "7E00 0 " + other + " 00");
    CHECK(run.exit_code == 1);
    CHECK(run.out.find("\n  expected  7FFF = nan  (no flags)\n") != std::string::npos);
  }
  CHECK(run_shell(
            "ulp vectors --op fma --format bf16 --nan canonical | ulp verify --op fma --format bf16 --nan canonical")
            .exit_code == 0);
  CHECK(run_shell("ulp vectors --op div --format e5m2 | ulp verify --op div --format e5m2 --nan canonical").exit_code ==
        1);

  CHECK(error_of("eval --op lt --format float16" + canonical, "") ==
        "ulp: --nan canonical: no result of lt in float16 is NaN\n");
  CHECK(error_of("eval --op to_i32 --format float16" + canonical, "") ==
        "ulp: --nan canonical: no result of to_i32 in float16 is NaN\n");
  CHECK(error_of("vectors --op add --format float4_e2m1" + canonical, "") ==
        "ulp: --nan canonical: no result of add in float4_e2m1 is NaN\n");
}

TEST_CASE("lines may lack the flags that are ignored") {
  const std::string verify = "verify --op add --format float16";
  CHECK(run_ulp(verify + " --ignore-flags", "3C00 3C01 4000\n3C00 3C01 4000 00\n3C00 3C01 4000 1 \r\n").out ==
        "standard input: 3 lines, all agree\n");
  CHECK(run_ulp(verify + " --ignore-flags", "3C00 3C01 4000\n3C00 3C00 4001 \n").out ==
        "standard input: 2 lines, 1 differs:\n"
        "  1 of 1 exact result\n"
        "line 2: 3C00 3C00 4001 \n"
        "  operands  3C00 = 1\n"
        "            3C00 = 1\n"
        "  exactly   2\n"
        "  that is   a number of the format\n"
        "  expected  4000 = 2\n"
        "  got       4001 = 2.001953125\n");
  CHECK(run_ulp(verify + " --ignore-flags --rounding sr:bits=4", "3C00 0C00 C 3C01\n").exit_code == 0);
  CHECK(error_of(verify + " --ignore-flags", "3C00 3C01\n") ==
        "ulp: standard input: line 1: has 2 fields, not 3 or 4: 2 operands, result, flags or not\n");
  CHECK(error_of(verify + " --ignore-flags", "3C00 3C01 4000 0 0\n") ==
        "ulp: standard input: line 1: has 5 fields, not 3 or 4: 2 operands, result, flags or not\n");
  CHECK(error_of(verify + " --ignore-flags", "3C00 3C01 4000 x\n") ==
        "ulp: standard input: line 1: flags 'x' is not hexadecimal\n");
  CHECK(
      error_of(verify, "3C00 3C01 4000\n") ==
      "ulp: standard input: line 1: has 3 fields, not 4: 2 operands, result, flags (--ignore-flags compares results alone)\n");
}

TEST_CASE("coverage tells what the lines exercise, and what they do not") {
  // A tie, a subnormal sum, 1 - 1, 1 - (1 - 2^-11), an overflow, inf - inf, a quiet and a signaling NaN.
  const auto run = run_ulp("verify --op add --format float16 --coverage",
                           "3C00 3C01 4000 01\n0001 0001 0002 00\n3C00 BC00 0000 00\n3C00 BBFF 1000 00\n"
                           "7BFF 7BFF 7C00 05\n7C00 FC00 7E00 10\n7E00 0000 7E00 00\n7C01 0000 7E00 10\n");
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "standard input: 8 lines, all agree\n"
        "lines by class:\n"
        "  exact             2\n"
        "  inexact           2\n"
        "  tie               1\n"
        "  subnormal result  1\n"
        "  overflow          1\n"
        "  cancellation      1\n"
        "  cancelled to zero 1\n"
        "  infinite operand  1\n"
        "  quiet NaN         1\n"
        "  signaling NaN     1\n"
        "  NaN of numbers    1\n"
        "  not exercised:    largest\n");
  CHECK(run_shell("ulp vectors --op mul --format float16 | ulp verify --op mul --format float16 --coverage")
            .out.ends_with("  not exercised:    none of those that ulp vectors has\n"));
  CHECK(run_ulp("verify --op sqrt --format float16 --coverage", "4400 4000 00\n")
            .out.ends_with("not exercised:    inexact, infinite operand, quiet NaN, signaling NaN, NaN of numbers\n"));
  CHECK(run_ulp("verify --op add --format float16 --json --coverage", "").exit_code == 2);
}

TEST_CASE("the counts are there for machines") {
  const auto run = run_ulp("verify --op add --format fp16 --json", "3C00 3C00 4000 00\n3C00 3C01 4000 00\n");
  CHECK(run.exit_code == 1);
  const auto row = nlohmann::json::parse(run.out).at(0);
  CHECK(row.at("op") == "add");
  CHECK(row.at("format") == "fp16");
  CHECK(row.at("rounding") == "nearest-even");
  CHECK(row.at("lines") == 2);
  CHECK(row.at("differ") == 1);
  CHECK(row.at("differ_in_flags") == 1);
  CHECK(row.at("first_line") == 2);
}

TEST_CASE("malformed lines are errors that name the line") {
  const std::string verify = "verify --op add --format float16";
  const std::string good = "3C00 3C00 4000 00\n";
  const std::string place = "ulp: standard input: line 2: ";
  const std::string wanted = "2 operands, result, flags\n";
  CHECK(error_of(verify, good + "3C00 3C00 4000\n") ==
        place + "has 3 fields, not 4: 2 operands, result, flags (--ignore-flags compares results alone)\n");
  CHECK(error_of(verify, good + "3C00 3C00 4000 00 00\n") == place + "has 5 fields, not 4: " + wanted);
  CHECK(error_of(verify, good + "\n" + good) == place + "is empty: expected " + wanted);
  CHECK(error_of(verify, good + "3C00 3G00 4000 00\n") == place + "operand 2 '3G00' is not hexadecimal\n");
  CHECK(error_of(verify, good + "3C00 3C00 -4000 00\n") == place + "result '-4000' is not hexadecimal\n");
  CHECK(error_of(verify, good + "3C00 0x 4000 00\n") == place + "operand 2 '0x' is not hexadecimal\n");
  CHECK(error_of(verify, good + "13C00 3C00 4000 00\n") ==
        place + "operand 1 '13C00' does not fit the 16 bits of float16\n");
  CHECK(error_of(verify, good + "10000000000003C00 3C00 4000 00\n") ==
        place + "operand 1 '10000000000003C00' does not fit the 16 bits of float16\n");
  CHECK(error_of(verify, good + "3C00 3C00 4000 20\n") == place + "flags '20' exceed 1F, all five flags\n");
  CHECK(error_of(verify, "") == "ulp: standard input: is empty: nothing was checked\n");
  CHECK(error_of(verify, std::string(200'000, '3')) ==
        "ulp: standard input: line 1: is longer than 65,536 characters\n");
  CHECK(error_of("verify --op convert --format float4_e2m1 --from tf32", "80000 0 00\n") ==
        "ulp: standard input: line 1: operand '80000' does not fit the 19 bits of tf32\n");
  CHECK(error_of(verify + " nosuch.txt", "") == "ulp: nosuch.txt: No such file or directory\n");
  CHECK(error_of(verify + " tests", "") == "ulp: tests: cannot be read: Is a directory\n");

  const std::string eval = "eval --op add --format float16";
  CHECK(error_of(eval, "3C00\n") == "ulp: standard input: line 1: has 1 field, not 2: 2 operands\n");
  CHECK(error_of(eval, "") == "ulp: standard input: is empty: there are no operands\n");
  // What came before a malformed line was printed.
  const auto run = run_ulp(eval, "3C00 3C00\n3C00 3C00 4000 00\n3C00 3C00\n");
  CHECK(run.exit_code == 2);
  CHECK(run.out == "3C00 3C00 4000 00\n");
  CHECK(run.err == place + "has 4 fields, not 2: 2 operands\n");
}

TEST_CASE("stochastic lines carry their random bits") {
  const std::string add = " --op add --format float16 --rounding sr:bits=4";
  // 1 + 2^-12, a quarter of a step: 1100 and more go up.
  CHECK(run_ulp("eval" + add, "3C00 0C00 B\n3C00 0C00 C\n").out == "3C00 0C00 B 3C00 01\n3C00 0C00 C 3C01 01\n");
  CHECK(run_ulp("verify" + add, "3C00 0C00 C 3C01 01\n").exit_code == 0);
  const auto wrong = run_ulp("verify" + add, "3C00 0C00 B 3C01 01\n");
  CHECK(wrong.exit_code == 1);
  CHECK(wrong.out.find("  random    B\n") != std::string::npos);
  CHECK(error_of("verify" + add, "3C00 0C00 10 3C01 01\n") ==
        "ulp: standard input: line 1: the random number '10' is not below 2^4\n");
  CHECK(error_of("verify" + add, "3C00 0C00 3C01 01\n") ==
        "ulp: standard input: line 1: has 4 fields, not 5: 2 operands, random bits, result, flags (--ignore-flags "
        "compares results alone)\n");

  // Drawn from the seed by the number of the line, given or not in the lines before.
  const auto drawn = run_ulp("eval --seed 9" + add, "3C00 0C00\n3C00 0C00\n3C00 0C00\n");
  CHECK(run_ulp("eval --seed 9" + add, "3C00 0C00\n3C00 0C00\n3C00 0C00\n").out == drawn.out);
  CHECK(run_ulp("eval --seed 9" + add, "3C00 0C00 0\n3C00 0C00 0\n3C00 0C00\n").out.substr(40) == drawn.out.substr(40));
  CHECK(run_ulp("verify" + add, drawn.out).exit_code == 0);

  // All bits: a string whose first digit are the first four after the point. 1 + 2^-10 (2^-1 + 2^-11).
  const std::string all = " --op add --format float16 --rounding sr:bits=all";
  CHECK(run_ulp("eval" + all, "3C00 1001 7FD\n3C00 1001 7FE\n3C00 1001 7FDF\n3C00 1001 8\n").out ==
        "3C00 1001 7FD 3C00 01\n3C00 1001 7FE 3C01 01\n3C00 1001 7FDF 3C00 01\n3C00 1001 8 3C01 01\n");
}

TEST_CASE("an operation wants formats that have it") {
  CHECK(error_of("vectors --op convert --format bf16", "") ==
        "ulp: --op convert also needs --from F, the format of the operand\n");
  CHECK(
      error_of("vectors --op ad --format bf16", "") ==
      "ulp: --op: unknown 'ad': one of add, sub, mul, div, sqrt, fma, rem, convert, mac, rint, eq, le, lt, "
      "eq_signaling, le_quiet, lt_quiet, to_ui32, to_ui64, to_i32, to_i64, from_ui32, from_ui64, from_i32, from_i64\n");
  CHECK(error_of("vectors --op add --format e8m0", "") ==
        "ulp: e8m0 has no sign and no zero: convert is its only operation\n");
  CHECK(error_of("vectors --op add --format fp16 --from e8m0", "") ==
        "ulp: e8m0 has no sign and no zero: convert is its only operation\n");
}

TEST_CASE("a level 2 file is confirmed") {
  const auto run = run_shell("ulp vectors --op add --format float16 --level 2 | ulp verify --op add --format float16");
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("standard input: 97"));
}
