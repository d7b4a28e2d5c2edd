// What a framework's own configuration file means for a replay.
#ifndef ULP_IO_CONFIG_CONFIG_IMPORT_HPP
#define ULP_IO_CONFIG_CONFIG_IMPORT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// What the gradients of micro-batches are added up in.
struct said_accumulation {
  std::string format;   // a name of the catalogue
  std::string assumed;  // why, where no key says it and the framework's default is taken; else empty
};

// How 8-bit floats are scaled; what nothing says is empty.
struct said_float8 {
  std::string recipe;  // "delayed", "tensorwise", "rowwise", "blockwise", "mxfp8", as Megatron-LM names them
  std::string format;  // "hybrid", "e4m3"
  std::optional<std::uint64_t> history;    // amaxes that the next scale is from
  std::string algorithm;                   // "max" of these, "most_recent"
  std::optional<double> margin;            // powers of two that are left above the amax
  std::vector<std::string> kept_out;       // parts of the names of layers that have none
  std::string library = {};                // whose scales they are: "torchao", "MS-AMP"; empty: TransformerEngine's
  std::optional<bool> powers_of_two = {};  // whether scales are lowered to one
  friend bool operator==(const said_float8&, const said_float8&) = default;
};

struct imported_config {
  std::string framework;  // as it names itself: "DeepSpeed"
  // The name that configuration_lines() takes where it is not the framework's: "Accelerate with DeepSpeed", which keeps the loss
  // scale there. Empty: the framework's.
  std::string words;
  std::string scaler;  // a name of scaler_catalog(); "none" where the loss is not scaled
  std::vector<std::pair<std::string, parameter_value>> parameters;
  std::optional<std::string> format;  // of the scaled gradients, a name of the catalogue
  std::optional<double> clip_norm;    // at most one of the two
  std::optional<double> clip_value;
  // Of the weights that the optimizer updates: the format that they are kept in, float32 where there is a master copy; a name of
  // the catalogue. nullopt where it is not said.
  std::optional<std::string> weights_kept_in;
  bool weights_stochastic = false;                  // they are rounded stochastically
  std::optional<said_accumulation> accumulates_in;  // nullopt where neither a key nor a known default says it
  std::optional<std::uint64_t> microbatches;        // that are accumulated for one step, where it is said
  std::optional<said_float8> float8;                // nullopt where no matrix product is in it, or it is not said
  std::vector<std::string> meanings;                // one line for each key: "fp16.hysteresis = 4 -> ..."
  std::vector<std::string> notes;                   // what a user should know about it
};

// A file, and whose configuration it is: a name of configured_programs(), or empty, where its content says it.
struct config_file {
  std::string path;
  std::string framework;
  config_file() = default;
  config_file(std::string file) : path(std::move(file)) {}  // NOLINT(google-explicit-constructor)
  config_file(const char* file) : path(file) {}             // NOLINT(google-explicit-constructor)
  config_file(std::string file, std::string whose) : path(std::move(file)), framework(std::move(whose)) {}
  [[nodiscard]] bool empty() const noexcept { return path.empty(); }
};

// Those whose configurations are read, by name.
[[nodiscard]] std::vector<std::string> configured_programs();

// Reads the configuration of a framework: a file of its own, or a command line or shell script that starts it; which one
// it is, is read from what only it has. docs/configurations.md has the keys. A key that is not known is a note, one for all.
// Throws input_error: for what may be of several, for keys that are not known where they may change what would be a default, for a key that is nearly one that decides on the loss scale, for a key
// given twice, for a value that the framework refuses. "-" is standard input. `wanted` is the format that the user asks
// for, if any: it decides where a file leaves open ("auto") which one is enabled.
[[nodiscard]] imported_config import_config(const config_file& file, std::optional<format> wanted = {});

// What TransformerEngine prints of a recipe, or a call that makes one: "recipe_type=DelayedScaling, margin=0, format=HYBRID,
// amax_history_len=1024, ...", "DelayedScaling(margin=0, fp8_format=Format.E4M3)". nullopt where it names none of its recipes;
// versions before 2.0 print no name, and are known by amax_history_len. What it does not say is not filled in.
[[nodiscard]] std::optional<said_float8> parse_recipe(std::string_view text);

}  // namespace ulp

#endif
