// Pins the three dynamic scalers to every golden trace and pattern of the shared set whose parameters they have.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

parameters parameters_from(const nlohmann::json& object) {
  parameters all;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number())
      all.emplace_back(key, value.get<double>());
    else if (value.is_string())
      all.emplace_back(key, value.get<std::string>());
  }
  return all;
}

}  // namespace

TEST_CASE("every configuration of the golden set ends where the original ended") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  for (const std::string name : {"pytorch_gradscaler", "cerebras_dls", "tf_keras_dynamic"}) {
    for (const auto& file : std::filesystem::directory_iterator(shared / "golden" / name)) {
      if (file.path().extension() != ".json") continue;
      const auto config = nlohmann::json::parse(read_file(file.path()));
      for (const auto& [input_name, expected] : config.at("cases").items()) {
        CAPTURE(file.path().string(), input_name);
        golden_input input = read_input(shared / "golden/inputs" / (input_name + ".csv"));
        input.values.resize(expected.at("steps").get<std::size_t>());
        scaler s = make_scaler(*find_scaler(name), parameters_from(config.at("params")));
        CHECK(s.scale() == expected.at("first_scale").get<double>());
        std::size_t skipped = 0;
        for (const double value : input.values) {
          const bool found = input.closed_loop ? !(s.scale() * value < 65520) : value != 0;
          skipped += s.update({.found_inf = found}).skipped ? 1 : 0;
        }
        CHECK(skipped == expected.at("skipped").get<std::size_t>());
        CHECK(s.scale() == expected.at("last_scale").get<double>());
        const auto events = file.path().parent_path() / (input_name + "__" + file.path().stem().string() + ".events");
        if (std::filesystem::exists(events))
          CHECK(differing_steps(make_scaler(*find_scaler(name), parameters_from(config.at("params"))), input,
                                read_events(events)) == 0);
      }
    }
  }
}

TEST_CASE("every pattern of ten steps") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto dir = shared / "golden/exhaustive10";
  const auto all = nlohmann::json::parse(read_file(dir / "params.json"));
  for (const std::string name : {"pytorch_gradscaler", "cerebras_dls", "cerebras_dls_tol0.3", "tf_keras_dynamic"}) {
    CAPTURE(name);
    const std::string scaler_name = name.substr(0, name.find("_tol"));
    CHECK(differing_patterns(make_scaler(*find_scaler(scaler_name), parameters_from(all.at(name))),
                             dir / (name + ".csv")) == 0);
  }
}
