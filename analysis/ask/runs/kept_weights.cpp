#include <ulp/ask/runs/kept_weights.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/joint_tables.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <utility>

namespace ulp {
namespace {

typed_treatment case_of(const std::string& format_name, bool stochastic) {
  const format to = format_named(format_name);
  const rounding mode{.direction = stochastic ? direction::stochastic : direction::nearest_even};
  return {format_name, {to, mode}, to_string(mode)};
}

// The 16-bit type of weights with updates, the first there is; unknown where there is none.
dtype narrow_type_of_weights(const run_text& run, const source_options& how) {
  dtype narrow = dtype::unknown;
  const auto see = [&](dtype type) {
    if (narrow == dtype::unknown && (type == dtype::bfloat16 || type == dtype::float16)) narrow = type;
  };
  if (are_dumps(run.inputs, how)) {
    try {
      const auto pairs = open_update_pairs(run.inputs, how, not_known);
      for (const update_pair& pair : pairs->all()) see(pair.weight_type);
    } catch (const input_error&) {  // of no weights, or of such that cannot be paired
      return dtype::unknown;
    }
  } else {
    read_joint_tables(run.inputs.front(), how.attempts,
                      [&](const step_key&, const step_scalars&, const joint_row& row) {
                        see(row.weight_type);
                        return narrow == dtype::unknown;
                      });
  }
  return narrow;
}

bool may_hold_weights(const run_text& run, const source_options& how) {
  std::error_code none;
  for (const std::string& input : run.inputs)
    if (!std::filesystem::is_regular_file(input, none)) return false;
  if (are_dumps(run.inputs, how)) return true;
  return run.inputs.size() == 1 && open_source(run.inputs, how)->kind() == source_kind::recording &&
         has_joint_tables(run.inputs.front());
}

}  // namespace

own_configuration own_configuration_of(const imported_config& said) {
  const bool is_static = said.scaler == "static" || said.scaler == "megatron_constant";
  return {.framework = said.framework,
          .format = said.format.value_or(""),
          .is_static = is_static,
          .static_scale = is_static ? make_scaler(*find_scaler(said.scaler), said.parameters).scale() : not_known,
          .is_scaled = said.scaler != "none",
          .is_float8 = said.scaler == "none" && said.float8.has_value(),
          .weights_kept_in = said.weights_kept_in,
          .weights_stochastic = said.weights_stochastic,
          .words = said.words};
}

std::optional<kept_weights> kept_weights_of(const run_text& run, const own_configuration& said) {
  const source_options how = run.how_to_read();
  if (!may_hold_weights(run, how)) return std::nullopt;
  const std::optional<std::string>& kept = said.weights_kept_in;
  const bool is_said = kept && *kept != "float32" && *kept != "float64";
  if (kept && !is_said) return std::nullopt;
  const dtype type = is_said ? dtype::unknown : narrow_type_of_weights(run, how);
  if (!is_said && type == dtype::unknown) return std::nullopt;
  const std::string name = is_said ? *kept : std::string{to_string(type)};
  counted_weights all;
  try {
    all = count_weights(run, {case_of(name, is_said && said.weights_stochastic)}, not_known, nobody());
  } catch (const input_error&) {  // no updates; what is damaged, the reading of the run has told
    return std::nullopt;
  } catch (const std::invalid_argument&) {  // none is selected
    return std::nullopt;
  }
  // Others, such as norms in float32, are not kept so.
  if (!is_said) std::erase_if(all.items, [&](const weights_item& i) { return i.weight_type != type; });
  const auto is_empty = [](const weights_item& i) { return i.of.front().lost.numel == 0; };
  if (std::ranges::all_of(all.items, is_empty)) return std::nullopt;
  return kept_weights{std::move(all), is_said ? said.framework : ""};
}

}  // namespace ulp
