// Configurations that people brought (../shared/data/reports beside the project, with INDEX.csv): what each means, worked out by hand
// from the programs' sources, or the error. Skipped where the folder is missing.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

const std::string torch =
    "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16";

// By the name's number; what begins with '!' is a part of the error.
const std::map<std::string, std::string> expected{
    {"30", "sd-scripts: " + torch + ", norm 1, weights float16"},
    {"31", "MMEngine: " + torch + ", norm 0.1, weights float32"},
    {"33",
     "PaddleClas: paddle_dygraph init_loss_scaling=128 incr_every_n_steps=2000 decr_every_n_nan_or_inf=1 in float16, "
     "weights float32"},
    {"34", "PaddleNLP: paddle_dygraph init_loss_scaling=1024 in float16, norm 1, weights float32"},
    {"35",
     "MindFormers: mindspore_update_cell loss_scale_value=65536 scale_factor=2 scale_window=1000 in float16, norm 1"},
    {"36", "OpenSeq2Seq: openseq2seq_backoff in float16, norm 32768, weights float32"},
    {"38", "Hugging Face: " + torch + ", norm 0.3"},
    {"39", "torchtune: none in bfloat16, norm 1, weights bfloat16, sums bfloat16"},
    {"41", "LLM Foundry: " + torch + ", norm 1, weights float32"},
    {"42", "ESPnet: " + torch + ", norm 5, weights float32"},
    {"43", "timm: " + torch + ", norm 1, weights float32"},
    {"45", "!depends on $pr_options, which is assigned on lines 12 and 20 with different values, as $PR decides"},
    {"46", "OpenRLHF: none in bfloat16, norm 0.5, weights float32"},
    {"47", "Accelerate: " + torch},
    {"48", "torchtitan: none in bfloat16, norm 1, weights float32"},
    {"49", "Megatron-LM: none in bfloat16, norm 1, sums bfloat16"},
    {"50", "!fp16.enabled is 'auto'"},
    {"51", "ultralytics: " + torch + ", norm 10, weights float32"},
    {"52",
     "NeMo 2: megatron_dynamic initial_scale=65536 min_scale=1 growth_interval=500 hysteresis=2 in float16, norm 1, "
     "weights float32"},
    {"53", "Hugging Face: " + torch + ", norm 1"},
    {"54", "icefall: icefall_gradscaler in float16, weights float32"},
    {"56",
     "metaseq: metaseq_dynamic init_scale=4 scale_window=256 min_loss_scale=0.015625 in float16, norm 1, weights float16"},
    {"57", "Hugging Face: none in bfloat16, norm 1, weights bfloat16"},
    {"59", "Hugging Face: " + torch + ", norm 0.3"},
};

std::filesystem::path folder() {
  const char* const source = std::getenv("ULP_SOURCE_DIR");
  REQUIRE(source != nullptr);
  return std::filesystem::path{source} / ".." / "shared" / "data" / "reports";
}

std::string said(const std::filesystem::path& file, std::optional<format> wanted = {}) {
  imported_config c;
  try {
    c = import_config(file.string(), wanted);
  } catch (const input_error& problem) {
    return std::string{"!"} + problem.what();
  }
  CHECK_NOTHROW(make_scaler(*find_scaler(c.scaler), c.parameters));
  std::string text = c.framework + ": " + c.scaler;
  for (const auto& [name, value] : c.parameters) text += " " + name + "=" + to_string(value);
  text += " in " + c.format.value_or("?");
  if (c.clip_norm) text += ", norm " + to_string(parameter_value{*c.clip_norm});
  if (c.clip_value) text += ", value " + to_string(parameter_value{*c.clip_value});
  if (c.weights_kept_in) text += ", weights " + *c.weights_kept_in;
  if (c.accumulates_in && c.accumulates_in->assumed.empty()) text += ", sums " + c.accumulates_in->format;
  return text;
}

bool is_missing() {
  if (std::filesystem::is_directory(folder())) return false;
  WARN("skipped: " << folder().string() << " is not there");
  return true;
}

}  // namespace

TEST_CASE("what people brought is read rightly, or refused") {
  if (is_missing()) return;
  std::ifstream index(folder() / "INDEX.csv");
  std::size_t found = 0;
  for (std::string line; std::getline(index, line);) {
    const std::string name = line.substr(0, line.find(','));
    const auto row = expected.find(name.substr(0, 2));
    if (row == expected.end() || name.size() < 3 || name[2] != '_') continue;
    ++found;
    CAPTURE(name);
    const std::string result = said(folder() / name);
    CAPTURE(result);
    if (row->second.starts_with('!'))
      CHECK((result.starts_with('!') && result.find(row->second.substr(1)) != std::string::npos));
    else
      CHECK(result == row->second);
  }
  CHECK(found == expected.size());
}

TEST_CASE("what the Trainer fills in is decided by the format that is asked for") {
  if (is_missing()) return;
  const auto file = folder() / "50_ds_auto_both.json";
  CHECK(said(file, bfloat16) == "DeepSpeed: none in bfloat16, weights bfloat16");
  CHECK(said(file, float16) ==
        "DeepSpeed: deepspeed_dynamic init_scale=65536 scale_window=1000 delayed_shift=2 consecutive_hysteresis=false "
        "min_scale=1 in float16, weights float32");
}
