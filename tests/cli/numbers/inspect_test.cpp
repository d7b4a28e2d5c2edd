// Pins what inspect and formats say of a few numbers.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/program.hpp"

using namespace ulp::test;

TEST_CASE("a code is drawn by field with its exact value and neighbours") {
  const auto run = run_ulp("inspect 0x3C01 --format cbfloat16");
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "cbfloat16 0x3C01 = 0.5009765625\n"
        "\n"
        "  sign [15] | exponent [14:9]  | fraction [8:0]\n"
        "  0         | 011110           | 000000001\n"
        "  +         | 2^(30-31) = 2^-1 | 1 + 1/512\n"
        "\n"
        "  class        normal\n"
        "  exactly      0.5009765625\n"
        "  hexadecimal  0x1.008p-1\n"
        "  binary       1.000000001b*2^-1\n"
        "  shortest     0.501 (reads back as this number)\n"
        "  below        0x3C00  0.5\n"
        "  above        0x3C02  0.501953125\n"
        "  ulp          2^-10 = 0.0009765625\n");
}

TEST_CASE("formats of other kinds are drawn as they are") {
  const auto drawn = [](const std::string& arguments) { return run_ulp("inspect " + arguments).out; };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string scale = drawn("0x00 --format e8m0");
  CHECK_FALSE(has(scale, "sign"));
  CHECK_FALSE(has(scale, "fraction"));
  CHECK(has(scale, "2^(0-127) = 2^-127"));
  CHECK(has(scale, "below        none, this is the smallest"));
  CHECK(has(drawn("0x80 --format e4m3fnuz"), "NaN, in place of -0"));
  CHECK(has(drawn("0xFFFF --format dlfloat16"), "NaN, all ones"));
  CHECK(has(drawn("0x0001 --format dlfloat16"), "2^(0-31) = 2^-31 | 1 + 1/512"));
  CHECK(has(drawn("0x7 --format fp4"), "above        none, this is the largest"));
  CHECK(has(drawn("0x7C05 --format fp16"), "signaling, payload 0x5"));
  CHECK(has(drawn("0xFE05 --format fp16"), "quiet, payload 0x5"));
}

TEST_CASE("long decimals are cut on the screen only") {
  const auto run = run_ulp("inspect 5e-324 --format float64");
  CHECK(run.out.find("exactly      4.9406564584124654417...e-324 (751 digits), all with --json\n") !=
        std::string::npos);
  const auto exact = nlohmann::json::parse(run_ulp("inspect 5e-324 --format float64 --json").out).at(0).at("exact");
  CHECK(exact.get<std::string>().size() == 1076);
}

TEST_CASE("a decimal is rounded once, from its exact value") {
  const auto one = [](const std::string& arguments) {
    return nlohmann::json::parse(run_ulp("inspect " + arguments + " --json").out).at(0);
  };
  CHECK(one("0.1 --format cb16").at("code") == "0x3733");
  // A tie, and more by less than a double can tell.
  CHECK(one("1.00048828125 --format fp16").at("code") == "0x3C00");
  CHECK(one("1.00048828125000000000000000000000001 --format fp16").at("code") == "0x3C01");
  CHECK(one("-1e400 --format fp16").at("code") == "0xFC00");
  CHECK(one("-1e400 --format fp16").at("flags") == "inexact, overflow");
  CHECK(one("-1e400 --format fp16 --saturate").at("code") == "0xFBFF");
  CHECK(one("-1e400 --format fp16 --saturate-finite").at("code") == "0xFBFF");
  CHECK(one("inf --format fp16 --saturate").at("code") == "0x7BFF");
  CHECK(one("inf --format fp16 --saturate-finite").at("code") == "0x7C00");
  CHECK(one("2^-25 --format fp16").at("flags") == "inexact, underflow");
  CHECK(one("2^-15 --format fp16 --ftz before").at("code") == "0x0000");
  CHECK(one("1.1 --format fp16 --rounding ru").at("code") == "0x3C67");
  CHECK(one("1.1 --format fp16").at("error_ulp").get<double>() == Approx(-0.4));
  CHECK(one("nan --format e4m3fn").at("class") == "NaN");
  // 0x with a p is a number, without it a code.
  CHECK(one("0x1.8p-3 --format fp16").at("value") == "0.1875");
  CHECK(one("1.1b*2^-3 --format fp16").at("hexadecimal") == "0x1.8p-3");
  CHECK(one("0x3C01 --format fp16").at("binary") == "1.0000000001b*2^0");
  CHECK(one("0x3C01 --format fp16").at("bits") == "0 01111 0000000001");
  // The format's own rounding, where none is given: a tie away from zero.
  CHECK(one("1.0009765625 --format dlfloat16").at("code") == "0x3E01");
  CHECK(one("1.0009765625 --format dlfloat16 --rounding rne").at("code") == "0x3E00");
  CHECK(one("1e-400 --format fp16").at("flags") == "inexact, underflow");
}

TEST_CASE("stochastic rounding is reproducible from its seed") {
  const auto code = [](const std::string& seed) {
    return run_ulp("inspect 1.00048828125 --format fp16 --rounding sr --seed " + seed).out.substr(0, 11);
  };
  CHECK(code("1") == code("1"));
  bool other = false;
  for (int seed = 2; seed < 20; ++seed) other = other || code(std::to_string(seed)) != code("1");
  CHECK(other);
}

TEST_CASE("hardware's roundings are for its formats") {
  const auto run = run_ulp("inspect 0.1 --format bf16 --rounding nvidia");
  CHECK(run.out.find("nvidia (stochastic:A,bits=16)") != std::string::npos);
  CHECK(run.out.find(" of 0..65535 (seed 0)") != std::string::npos);
  const auto other = run_ulp("inspect 0.1 --format cb16 --rounding nvidia");
  CHECK(other.exit_code == 2);
  CHECK(other.err == "ulp: --rounding: nvidia is documented for results in float16, bfloat16 only\n");
}

TEST_CASE("all random bits are drawn for numbers that end") {
  CHECK(run_ulp("inspect 2^-60 --format cb16 --rounding sr,bits=all").out.find("21 bits (seed 0)") !=
        std::string::npos);
  CHECK(run_ulp("inspect 0.1 --format cb16 --rounding sr,bits=all").exit_code == 2);
}

TEST_CASE("a name that OCP uses for another format has a note") {
  const auto run = run_ulp("inspect 300 --format e4m3");
  CHECK(run.err.find("e4m3 is IEEE-style, with infinities, and ends at 240; OCP's E4M3 is float8_e4m3fn") !=
        std::string::npos);
  CHECK(run.out.find("infinity") != std::string::npos);
  const auto ocp = run_ulp("inspect 300 --format E4M3");
  CHECK(ocp.err.find("E4M3 is OCP's: float8_e4m3fn") != std::string::npos);
  CHECK(ocp.out.starts_with("E4M3 0x79 = 288\n"));
  CHECK(run_ulp("inspect 300 --format e4m3fn").err.empty());
  CHECK(run_ulp("inspect 1 --format FP8").err ==
        "ulp: format 'FP8': ambiguous name; use one of E4M3 (float8_e4m3fn) and E5M2 (float8_e5m2)\n");
  CHECK(run_ulp("formats e4m3").err.find("note: e4m3 is IEEE-style") != std::string::npos);
}

TEST_CASE("formats lists the catalogue and describes any format") {
  const auto all = nlohmann::json::parse(run_ulp("formats --json").out);
  CHECK(all.size() == 18);
  CHECK(all.at(0).at("format") == "float16");
  const auto run = run_ulp("formats e4m3");
  CHECK(run.out.find("0x77  240") != std::string::npos);
  CHECK(run_ulp("formats e4m3fn").out.find("0x7E  448") != std::string::npos);
  std::stringstream lines(run_ulp("formats").out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 140);

  const auto card_has = [](const std::string& name, const char* part) {
    return run_ulp("formats " + name).out.find(part) != std::string::npos;
  };
  CHECK(card_has("fp16", "|x| <= 2^-25 = 2.98023223876953125e-8 (nearest-even)"));
  CHECK(card_has("fp16", "|x| >= 65520, becomes infinity"));
  CHECK(card_has("e4m3fn", "|x| > 464, becomes NaN"));
  CHECK(card_has("e4m3fnuz", "0x80 only, in place of -0"));
  CHECK(card_has("fp4", "|x| >= 7, becomes the largest number"));
  CHECK(card_has("dlfloat16", "|x| >= 8577351680, becomes NaN"));
  CHECK(card_has("dlfloat16", "|x| < 4.6611603465862572193145751953125e-10 (nearest-away)"));
  CHECK(card_has("e8m0", "no sign, 8 exponent, 0 fraction"));
  CHECK(card_has("e6m9,bias=30,specials=none", "0x7FFF  17163091968"));
  CHECK(card_has("e4m3fnuz,max=224", "0x7E  224"));
  CHECK(card_has("e4m3fnuz,max=224", "one code, up to 240: read as numbers, never a result"));
  CHECK(card_has("e4m3fnuz,max=224", "|x| > 232, becomes NaN"));
  CHECK(card_has("binary8p4se", "0x7F"));
  CHECK(card_has("binary8p4se", "|x| > 232, becomes infinity"));
  CHECK(run_ulp("inspect 230 --format e4m3fnuz,max=224").out.find("0x7E = 224") != std::string::npos);
  CHECK(run_ulp("inspect 0x7F --format e4m3fnuz,max=224").out.find("240 (never a result of this format)") !=
        std::string::npos);
}
