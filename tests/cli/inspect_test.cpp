// Pins what inspect and formats say of a few numbers.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace ulp::test;

TEST_CASE("a code is drawn by field with its exact value and neighbours") {
  const auto run = run_ulp("inspect 0x3C01 --format cbfloat16");
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "cbfloat16 0x3C01 = 0.5009765625\n"
        "\n"
        "  sign  exponent          fraction\n"
        "  0     011110            000000001\n"
        "  +     2^(30-31) = 2^-1  1 + 1/512\n"
        "\n"
        "  class     normal\n"
        "  exactly   0.5009765625\n"
        "            1.000000001b*2^-1\n"
        "  shortest  0.501 (reads back as this number)\n"
        "  below     0x3C00     0.5\n"
        "  above     0x3C02     0.501953125\n"
        "  ulp       2^-10 = 0.000976562\n");
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
  CHECK(one("2^-25 --format fp16").at("flags") == "inexact, underflow");
  CHECK(one("2^-15 --format fp16 --ftz before").at("code") == "0x0000");
  CHECK(one("1.1 --format fp16 --rounding ru").at("code") == "0x3C67");
  CHECK(one("1.1 --format fp16").at("error_ulp").get<double>() == Approx(-0.4));
  CHECK(one("nan --format e4m3fn").at("class") == "NaN");
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

TEST_CASE("formats lists the catalogue and describes any format") {
  const auto all = nlohmann::json::parse(run_ulp("formats --json").out);
  CHECK(all.size() == 8);
  CHECK(all.at(0).at("format") == "float16");
  const auto run = run_ulp("formats e4m3");
  CHECK(run.out.find("0x77  240") != std::string::npos);
  CHECK(run_ulp("formats e4m3fn").out.find("0x7E  448") != std::string::npos);
}
