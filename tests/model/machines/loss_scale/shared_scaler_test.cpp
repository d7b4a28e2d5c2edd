// Pins the scalers that share an engine to every golden trace and pattern of the shared set.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

scaler made(const std::string& name, const nlohmann::json& object) {
  parameters all;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number())
      all.emplace_back(key, value.get<double>());
    else if (value.is_boolean())
      all.emplace_back(key, value.get<bool>());
    else if (value.is_null())
      all.emplace_back(key, std::monostate{});
    else
      all.emplace_back(key, value.get<std::string>());
  }
  return make_scaler(*find_scaler(name), all);
}

// Python writes infinity and NaN where JSON has no word for them; they become strings.
nlohmann::json read_python_json(const std::filesystem::path& path) {
  std::string text = read_file(path);
  for (const auto& [word, string] : {std::pair{": Infinity", ": \"inf\""}, std::pair{": NaN", ": \"nan\""}})
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
      text.replace(at, std::string{word}.size(), string);
  return nlohmann::json::parse(text);
}

double number(const nlohmann::json& value) {
  return value.is_string() ? number_of(value.get<std::string>()) : value.get<double>();
}

// How many configurations each has, so that none is overlooked.
const std::map<std::string, std::size_t> configurations{{"apex_amp", 5},
                                                        {"apex_fp16_utils", 4},
                                                        {"apex_update_scale_hysteresis", 3},

                                                        {"colossalai_dynamic", 5},
                                                        {"composer_closure", 2},
                                                        {"deepspeed_dynamic", 7},
                                                        {"deepspeed_fused_nonzero", 4},
                                                        {"deepspeed_unfused", 2},
                                                        {"fairscale_dynamic", 2},
                                                        {"fairscale_layerwise", 3},
                                                        {"fairscale_sharded_cpu", 2},
                                                        {"fairseq_dynamic", 9},
                                                        {"jmp_dynamic", 4},
                                                        {"keras3_lso", 4},
                                                        {"megatron_constant", 1},
                                                        {"megatron_dynamic", 5},
                                                        {"metaseq_dynamic", 3},
                                                        {"mindspore_amp_scaler", 3},
                                                        {"mindspore_manager", 4},
                                                        {"mindspore_update_cell", 4},
                                                        {"nemo_gradscaler", 4},
                                                        {"paddle_dygraph", 4},
                                                        {"paddle_static", 4},
                                                        {"pytorch_fsdp_sharded_cpu", 4},
                                                        {"pytorch_gradscaler", 6},
                                                        {"pytorch_gradscaler_preguard", 2},
                                                        {"tf_contrib_exponential", 3},
                                                        {"tf_keras_dynamic", 4}};

}  // namespace

TEST_CASE("every configuration of the golden set goes as the original went") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  std::size_t cases = 0;
  std::size_t steps = 0;
  std::size_t traces = 0;
  for (const auto& [name, count] : configurations) {
    std::size_t seen = 0;
    for (const auto& file : std::filesystem::directory_iterator(shared / "golden" / name)) {
      if (file.path().extension() != ".json") continue;
      ++seen;
      const auto config = read_python_json(file.path());
      for (const auto& [input_name, expected] : config.at("cases").items()) {
        CAPTURE(file.path().string(), input_name);
        golden_input input = read_input(shared / "golden/inputs" / (input_name + ".csv"));
        input.values.resize(expected.at("steps").get<std::size_t>());
        const scaler start = made(name, config.at("params"));
        const golden_run run = run_over(start, input);
        CHECK(start.scale() == number(expected.at("first_scale")));
        CHECK(run.scales.size() == expected.at("steps").get<std::size_t>());
        CHECK(run.found == expected.at("found").get<std::size_t>());
        CHECK(run.skipped == expected.at("skipped").get<std::size_t>());
        CHECK(run.scales.back() == number(expected.at("last_scale")));
        CHECK(*std::min_element(run.scales.begin(), run.scales.end()) == number(expected.at("min")));
        CHECK(*std::max_element(run.scales.begin(), run.scales.end()) == number(expected.at("max")));
        // The kind of exception is the original's; the words behind it are not.
        const auto kind = [](const std::string& error) { return error.substr(0, error.find(':')); };
        CHECK(kind(run.error) == (expected.at("error").is_null() ? "" : kind(expected.at("error").get<std::string>())));
        ++cases;
        steps += run.scales.size();
        const auto events = file.path().parent_path() / (input_name + "__" + file.path().stem().string() + ".events");
        if (!std::filesystem::exists(events)) continue;
        CHECK(differing_steps(start, input, read_events(events)) == 0);
        ++traces;
      }
    }
    CAPTURE(name);
    CHECK(seen == count);
  }
  CHECK(cases == 1205);
  CHECK(steps == 3550505);
  CHECK(traces == 112);
}

TEST_CASE("every pattern of ten steps") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto dir = shared / "golden/exhaustive10";
  const auto all = nlohmann::json::parse(read_file(dir / "params.json"));
  const std::map<std::string, std::string> scalers{{"apex_amp", "apex_amp"},
                                                   {"apex_fp16_utils", "apex_fp16_utils"},
                                                   {"apex_update_scale_hysteresis", "apex_update_scale_hysteresis"},
                                                   {"colossalai_dynamic_h2", "colossalai_dynamic"},
                                                   {"deepspeed_dynamic_h2", "deepspeed_dynamic"},
                                                   {"deepspeed_dynamic_h2_consec", "deepspeed_dynamic"},
                                                   {"deepspeed_dynamic_h3_consec", "deepspeed_dynamic"},
                                                   {"deepspeed_dynamic_raise", "deepspeed_dynamic"},
                                                   {"deepspeed_fused_nonzero", "deepspeed_fused_nonzero"},
                                                   {"fairseq_min", "fairseq_dynamic"},
                                                   {"fairseq_tol0", "fairseq_dynamic"},
                                                   {"fairseq_tol0.5", "fairseq_dynamic"},
                                                   {"jmp_dynamic", "jmp_dynamic"},
                                                   {"keras3_lso", "keras3_lso"},
                                                   {"megatron_dynamic_h2", "megatron_dynamic"},
                                                   {"megatron_dynamic_h3", "megatron_dynamic"},
                                                   {"metaseq", "metaseq_dynamic"},
                                                   {"mindspore_amp_scaler", "mindspore_amp_scaler"},
                                                   {"mindspore_manager", "mindspore_manager"},
                                                   {"mindspore_update_cell", "mindspore_update_cell"},
                                                   {"nemo_gradscaler", "nemo_gradscaler"},
                                                   {"paddle_dygraph_d2", "paddle_dygraph"},
                                                   {"paddle_static_d2", "paddle_static"},
                                                   {"pytorch_fsdp_sharded_cpu", "pytorch_fsdp_sharded_cpu"},
                                                   {"pytorch_gradscaler", "pytorch_gradscaler"},
                                                   {"tf_contrib_exponential", "tf_contrib_exponential"},
                                                   {"tf_keras_dynamic", "tf_keras_dynamic"}};
  for (const auto& [file, name] : scalers) {
    CAPTURE(file);
    CHECK(differing_patterns(made(name, all.at(file)), dir / (file + ".csv")) == 0);
  }
}

TEST_CASE("fairseq raises at its minimum, and at every overflow after it") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto special = read_python_json(shared / "golden/specials.json");
  scaler s = made("fairseq_dynamic", {{"init_scale", 4.0}, {"scale_window", 3}, {"min_loss_scale", 1.0}});
  for (const auto& row : special.at("fairseq_continue_after_min_scale")) {
    CHECK(s.scale() == row.at(0).get<double>());
    const std::string error = s.update({.found_inf = true}).error;
    const std::string expected = row.at(2).is_null() ? "" : row.at(2).get<std::string>();
    CHECK(error.substr(0, error.find(':')) == expected.substr(0, expected.find(':')));
    CHECK(s.scale() == row.at(3).get<double>());
    const auto& counters = row.at(4);
    for (const auto& [name, value] : s.state())
      if (name.starts_with('_')) CHECK(value == counters.at(name.substr(1)).get<double>());
  }
}

TEST_CASE("metaseq's window shrinks and grows with the scale") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  const auto special = read_python_json(shared / "golden/specials.json");
  const auto& rows = special.at("metaseq_scale_window_shrinks");
  scaler s = made("metaseq_dynamic", nlohmann::json::object());
  for (std::size_t i = 0; i < 4; ++i) {
    s.update({.found_inf = true});
    CHECK(s.scale() == rows.at(i).at(0).get<double>());
    CHECK(s.state().at(1) == std::pair<std::string, double>{"scale_window", rows.at(i).at(1).get<double>()});
  }
}
