// References between the values of a YAML file, as OmegaConf's documentation (docs/source/usage.rst, "Variable interpolation") and
// HyperPyYAML's (README, "!ref") have them.
#include <string>

#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string clipped_by(const std::string& value, const std::string& rest) {
  return "trainer:\n  precision: bf16-mixed\n  max_epochs: 3\n  gradient_clip_val: " + value + "\n" + rest;
}

}  // namespace

TEST_CASE("what a file says of another key of its own is followed") {
  const importer read;
  CHECK(read(clipped_by("${clip}", "clip: 0.35\n")) == "none in bfloat16, norm 0.35");
  CHECK(read(clipped_by("${vars.clip}", "vars: {clip: 0.6}\n")) == "none in bfloat16, norm 0.6");
  CHECK(read(clipped_by("${vars[clip]}", "vars: {clip: 0.6}\n")) == "none in bfloat16, norm 0.6");
  CHECK(read(clipped_by("${all[1]}", "all: [0.1, 0.2]\n")) == "none in bfloat16, norm 0.2");
  CHECK(read(clipped_by("${.most}", "  most: 0.4\n")) == "none in bfloat16, norm 0.4");
  CHECK(read(clipped_by("${..most}", "most: 0.5\n")) == "none in bfloat16, norm 0.5");
  CHECK(read(clipped_by("${a}", "a: ${b}\nb: ${vars.c}\nvars: {c: 2}\n")) == "none in bfloat16, norm 2");
  CHECK(read(clipped_by("${a.c}", "a: ${b}\nb: {c: 3}\n")) == "none in bfloat16, norm 3");
  CHECK(read("trainer:\n  precision: ${how}-mixed\n  max_epochs: 3\nhow: bf16\n") == "none in bfloat16");
}

TEST_CASE("what it does not say stays open") {
  const importer read;
  const std::string open = "c: line 4: trainer.gradient_clip_val is ";
  for (const std::string value : {"${clip}", "${oc.env:CLIP}", "${..clip}", "${....clip}", "${a.${b}}", "${vars.oc}"}) {
    CAPTURE(value);
    CHECK(read(clipped_by(value, "b: c\nvars: {oc: '${oc.env:X}'}\n")).starts_with(open));
  }
}

TEST_CASE("references in a circle are an error, however they go") {
  const importer read;
  CHECK(read(clipped_by("${a}", "a: ${trainer.gradient_clip_val}\n")) ==
        "c: line 4: '${a}' leads back to itself; write its value");
  CHECK(read("a: {b: '${a}'}\n") == "c: line 1: '${a}' leads back to itself; write its value");
  CHECK(read("a: ${a}\n") == "c: line 1: '${a}' leads back to itself; write its value");
  std::string chain;
  for (int i = 0; i < 100; ++i) chain += "k" + std::to_string(i) + ": ${k" + std::to_string(i + 1) + "}\n";
  CHECK(read(chain + "k100: 1\n").find("a chain of more than 64 references") != std::string::npos);
  // What doubles with each line.
  std::string doubling = "k0: [1, 1]\n";
  std::string text = "k0: aa\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "${k" + std::to_string(i - 1) + "}";
    doubling += "k" + std::to_string(i) + ": ['" + before + "', '" + before + "']\n";
    text += "k" + std::to_string(i) + ": " + before + before + "\n";
  }
  CHECK(read(doubling).find("holds references to more than 100000 values") != std::string::npos);
  CHECK(read(text).find("grows too long by its references") != std::string::npos);
}
