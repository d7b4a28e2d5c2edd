#include <algorithm>
#include <bit>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/similar.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/model/scaler.hpp>

#include "policy.hpp"

namespace ulp {
namespace {

const std::vector<scalers::registration>& rows() {
  using namespace scalers;
  static const std::vector<registration> all{pytorch_gradscaler_row(),
                                             pytorch_gradscaler_preguard_row(),
                                             pytorch_fsdp_sharded_cpu_row(),
                                             composer_closure_row(),
                                             fairscale_sharded_cpu_row(),
                                             nemo_gradscaler_row(),
                                             nemo_megatron_row(),
                                             apex_update_scale_hysteresis_row(),
                                             apex_amp_row(),
                                             apex_fp16_utils_row(),
                                             deepspeed_dynamic_row(),
                                             deepspeed_row(),
                                             deepspeed_fused_nonzero_row(),
                                             deepspeed_fused_row(),
                                             deepspeed_unfused_row(),
                                             megatron_dynamic_row(),
                                             megatron_constant_row(),
                                             colossalai_dynamic_row(),
                                             colossalai_mixin_row(),
                                             fairseq_dynamic_row(),
                                             fairseq_cli_row(),
                                             metaseq_dynamic_row(),
                                             fairscale_dynamic_row(),
                                             fairscale_layerwise_row(),
                                             jmp_dynamic_row(),
                                             flax_dynamic_scale_row(),
                                             tf_keras_dynamic_row(),
                                             keras3_lso_row(),
                                             tf_contrib_exponential_row(),
                                             mxnet_amp_row(),
                                             paddle_dygraph_row(),
                                             paddle_ampscaler_row(),
                                             paddle_static_row(),
                                             mindspore_manager_row(),
                                             mindspore_update_cell_row(),
                                             mindspore_amp_scaler_row(),
                                             openseq2seq_backoff_row(),
                                             openseq2seq_logmax_row(),
                                             chainer_dynamic_row(),
                                             nnabla_updater_row(),
                                             cerebras_dls_row(),
                                             cerebras_tf_legacy_row(),
                                             cerebras_gpu_row(),
                                             popart_als_row(),
                                             ada_loss_zhao_row(),
                                             static_scale_row(),
                                             no_scaling_row()};
  return all;
}

}  // namespace

namespace scalers {

std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string_view>& names) {
  std::string list;
  for (const std::string_view n : names) list += (list.empty() ? "" : ", ") + std::string{n};
  return "no " + std::string{what} + " '" + std::string{name} + "'" +
         (names.empty() ? "; it has none" : "; near: " + std::string{nearest_name(name, names)} + "; it has " + list);
}

}  // namespace scalers

std::string to_string(const parameter_value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "none";
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const double* const number = std::get_if<double>(&value))
    return shortest_decimal(binary64, std::bit_cast<std::uint64_t>(*number));
  return std::get<std::string>(value);
}

parameter_value parse_parameter(std::string_view text) {
  if (text == "none") return std::monostate{};
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto x = parse_number(text)) return std::bit_cast<double>(encode(binary64, *x).code);
  return std::string{text};
}

std::span<const scaler_entry> scaler_catalog() {
  static const std::vector<scaler_entry> entries = [] {
    std::vector<scaler_entry> all;
    for (const auto& row : rows()) all.push_back(row.entry);
    return all;
  }();
  return entries;
}

const scaler_entry* find_scaler(std::string_view name) {
  for (const scaler_entry& entry : scaler_catalog())
    if (entry.name == name || std::find(entry.aliases.begin(), entry.aliases.end(), name) != entry.aliases.end())
      return &entry;
  return nullptr;
}

scaler make_scaler(const scaler_entry& entry, const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  for (const auto& row : rows())
    if (row.entry.name == entry.name) {
      std::vector<std::pair<std::string, parameter_value>> all;
      for (const auto& p : entry.parameters) all.emplace_back(p.name, p.value);
      all.insert(all.end(), parameters.begin(), parameters.end());
      return {entry, row.make(all)};
    }
  throw parameter_error("no scaler '" + std::string{entry.name} + "'");
}

}  // namespace ulp
