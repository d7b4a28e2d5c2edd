// Pins the scalers with machines of their own to every golden trace, pattern and table of the shared set.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/golden_tables.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// Nested parameters are flat here.
void add_parameters(const nlohmann::json& object, parameters& all) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) add_parameters(value, all);
    if (value.is_number()) all.emplace_back(key, value.get<double>());
    if (value.is_string()) all.emplace_back(key, value.get<std::string>());
    if (value.is_boolean()) all.emplace_back(key, value.get<bool>());
    if (value.is_null()) all.emplace_back(key, std::monostate{});
  }
}

scaler made(const std::string& name, const nlohmann::json& object) {
  parameters all;
  add_parameters(object, all);
  return make_scaler(*find_scaler(name), all);
}

const std::vector<std::string> own{"cerebras_dls",   "flax_dynamic_scale",  "mxnet_amp",         "chainer_dynamic",
                                   "nnabla_updater", "openseq2seq_backoff", "openseq2seq_logmax"};

std::size_t differing(const golden_run& run, double first, const golden_trace& trace) {
  std::size_t wrong = 0;
  std::size_t change = 0;
  double expected = first;
  for (std::size_t i = 0; i < run.scales.size(); ++i) {
    if (change < trace.changes.size() && trace.changes[change].first == i) expected = trace.changes[change++].second;
    wrong += run.scales[i] == expected ? 0 : 1;
  }
  return wrong + (trace.changes.size() - change);
}

}  // namespace

TEST_CASE("every configuration of the scalers with machines of their own") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  std::size_t cases = 0;
  std::size_t traces = 0;
  for (const std::string& name : own) {
    for (const auto& file : std::filesystem::directory_iterator(shared / "golden" / name)) {
      if (file.path().extension() != ".json") continue;
      const auto config = nlohmann::json::parse(read_file(file.path()));
      for (const auto& [input_name, expected] : config.at("cases").items()) {
        CAPTURE(file.path().string(), input_name);
        golden_input input = read_input(shared / "golden/inputs" / (input_name + ".csv"));
        const bool raises = !expected.at("error").is_null();
        if (!raises) input.values.resize(expected.at("steps").get<std::size_t>());
        const scaler start = made(name, config.at("params"));
        const golden_run run = run_over(start, input);
        ++cases;
        CHECK(run.scales.size() == expected.at("steps").get<std::size_t>());
        CHECK(run.skipped == expected.at("skipped").get<std::size_t>());
        CHECK(run.scales.back() == expected.at("last_scale").get<double>());
        CHECK(run.error == (raises ? expected.at("error").get<std::string>() : ""));
        if (expected.contains("first_scale")) {
          CHECK(start.scale() == expected.at("first_scale").get<double>());
          CHECK(run.found == expected.at("found").get<std::size_t>());
          CHECK(*std::min_element(run.scales.begin(), run.scales.end()) == expected.at("min").get<double>());
          CHECK(*std::max_element(run.scales.begin(), run.scales.end()) == expected.at("max").get<double>());
        }
        const auto events = file.path().parent_path() / (input_name + "__" + file.path().stem().string() + ".events");
        if (!std::filesystem::exists(events)) continue;
        ++traces;
        CHECK(differing(run, start.scale(), read_events(events)) == 0);
      }
    }
  }
  CHECK(cases == 327);
  CHECK(traces == 33);
}

TEST_CASE("every pattern of ten steps of the scalers with machines of their own") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto dir = shared / "golden/exhaustive10";
  const auto all = nlohmann::json::parse(read_file(dir / "params.json"));
  const std::vector<std::pair<std::string, std::string>> files{{"flax_dynamic_scale", "flax_dynamic_scale"},
                                                               {"mxnet_amp", "mxnet_amp"},
                                                               {"chainer_dynamic", "chainer_dynamic"},
                                                               {"openseq2seq_backoff_after", "openseq2seq_backoff"},
                                                               {"openseq2seq_backoff_before", "openseq2seq_backoff"},
                                                               {"cerebras_dls", "cerebras_dls"},
                                                               {"cerebras_dls_tol0.3", "cerebras_dls"}};
  for (const auto& [file, name] : files) {
    CAPTURE(file);
    CHECK(differing_patterns(made(name, all.at(file)), dir / (file + ".csv")) == 0);
  }
}

TEST_CASE("every row of the golden tables") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto decisions = read_table(shared / "golden/popart_als/decision.csv");
  CHECK(decisions.size() == 80);
  CHECK(std::count_if(decisions.begin(), decisions.end(), decides_alike) == 80);
  const auto layers = read_table(shared / "golden/ada_loss_zhao/layer_scale.csv");
  CHECK(layers.size() == 480);
  CHECK(std::count_if(layers.begin(), layers.end(), scales_alike) == 480);
}
