// The golden tables of scalers that have no traces: what each row says and how it is compared.
#ifndef ULP_TESTS_MODEL_GOLDEN_TABLES_HPP
#define ULP_TESTS_MODEL_GOLDEN_TABLES_HPP

#include <ulp/model/machines/ada_loss.hpp>

#include <map>

#include "model/golden.hpp"

namespace ulp::test {

using table_row = std::map<std::string, std::string>;

inline std::vector<table_row> read_table(const std::filesystem::path& path) {
  std::stringstream in(read_file(path));
  std::string line;
  std::getline(in, line);
  const auto columns = fields_of(line);
  std::vector<table_row> rows;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    table_row row;
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = i < fields.size() ? fields[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

// popart_als/decision.csv
inline bool decides_alike(const table_row& row) {
  scaler s =
      make_scaler(*find_scaler("popart_als"), {{"thresholdUpperCountProportion", number_of(row.at("threshold"))}});
  const scaler_verdict verdict =
      s.update({.above_edge = number_of(row.at("upper")), .up_to_edge = number_of(row.at("lower"))});
  return s.scale() == number_of(row.at("factor")) && !verdict.skipped && verdict.error.empty();
}

// ada_loss_zhao/layer_scale.csv, by the function and as a scaler whose parameters are the statistics.
inline bool scales_alike(const table_row& row) {
  parameters set{{"loss_scale_method", row.at("method")}, {"use_bound", row.at("use_bound") == "1"}};
  for (const char* name : {"g_mean", "g_std", "w_mean", "w_std", "g_min", "g_max", "w_min", "w_max", "g_absmin_nz",
                           "w_absmin_nz", "fan_in"})
    set.emplace_back(name, number_of(row.at(name)));
  scaler s = make_scaler(*find_scaler("ada_loss_zhao"), set);

  const auto of = [&](const char* name) { return number_of(row.at(name)); };
  const layer_statistics layer{.g_mean = of("g_mean"),
                               .g_std = of("g_std"),
                               .w_mean = of("w_mean"),
                               .w_std = of("w_std"),
                               .g_min = of("g_min"),
                               .g_max = of("g_max"),
                               .w_min = of("w_min"),
                               .w_max = of("w_max"),
                               .g_absmin_nz = of("g_absmin_nz"),
                               .w_absmin_nz = of("w_absmin_nz"),
                               .fan_in = of("fan_in")};
  ada_loss_settings settings{.use_bound = row.at("use_bound") == "1"};
  if (row.at("method") == "abs_range") settings.loss_scale_method = ada_loss_method::abs_range;
  const ada_loss_scale scale = ada_loss_scale_of(layer, settings);
  const std::string& bound = row.at("scale_bound");
  const double final = of("scale_final_pow2_fp16");
  return scale.unbound == of("scale_unbound") && scale.bound.has_value() == !bound.empty() &&
         (!scale.bound || *scale.bound == number_of(bound)) && scale.final == final && s.scale() == final &&
         s.update({.found_inf = true}).error.empty() && s.scale() == final;
}

}  // namespace ulp::test

#endif
