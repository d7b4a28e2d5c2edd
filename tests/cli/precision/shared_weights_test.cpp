// Pins lost updates of the weights and gradients of a real run to counts of exact rational arithmetic (Python's Fraction over
// the same files), from the dumps and from joint tables.
#include "support/catch.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

struct expected {
  int updates, lost, at_one, lost_at_one, changed;
};

json rows(const std::string& arguments) {
  const auto run = run_ulp("precision weights " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("cnn_digits: SGD with its learning rate, before steps 0 and 100") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const temporary_dir folder;
  const std::string base = (shared / "data/cnn_digits/cnn_digits.").string();
  const std::map<std::string, std::map<std::string, expected>> all{{"00000",
                                                                    {{"bf16", {38981, 8813, 112, 112, 40276}},
                                                                     {"fp16", {38981, 1469, 112, 83, 40249}},
                                                                     {"cb16", {38981, 2663, 112, 104, 40264}}}},
                                                                   {"00100",
                                                                    {{"bf16", {36368, 26584, 3, 3, 40505}},
                                                                     {"fp16", {36368, 8731, 1, 1, 40499}},
                                                                     {"cb16", {36368, 13588, 1, 1, 40503}}}}};
  for (const auto& [step, by_format] : all) {
    const std::string inputs = base + "weights_before" + step + ".safetensors " + base + "step" + step +
                               ".safetensors --steps-from '(?:step|before)(\\d+)' --scalars " + base + "scalars.csv";
    const std::string recording = (folder / (step + ".ulp")).string();
    const auto made = run_ulp("record " + inputs + " --joint -o " + recording);
    CAPTURE(made.err);
    REQUIRE(made.exit_code == 0);
    for (const std::string& from : {inputs, recording})
      for (const json& row : rows(from + " --format bf16,fp16,cb16 --by step")) {
        const expected& e = by_format.at(row.at("format"));
        CAPTURE(row.dump());
        CHECK(row.at("updates") == e.updates);
        CHECK(row.at("lost_low") == e.lost);
        CHECK(row.at("lost_high") == e.lost);
        CHECK(row.at("at_one_low") == e.at_one);
        CHECK(row.at("lost_at_one_high") == e.lost_at_one);
        if (from == inputs) CHECK(row.at("changed") == e.changed);
      }
  }
}

TEST_CASE("cnn_digits: the weights of two steps, whose difference is the update") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const std::string base = (shared / "data/cnn_digits/cnn_digits.weights_before").string();
  const json row = rows(base + "00000.safetensors " + base +
                        "00100.safetensors --steps-from 'before(\\d+)' --kind .=weight --format bf16 --by step")
                       .at(0);
  CHECK(row.at("origin") == "next_weights");
  CHECK(row.at("step") == 0);
  CHECK(row.at("numel") == 40506);
}
