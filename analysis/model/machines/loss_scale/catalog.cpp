#include <algorithm>
#include <bit>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/name_suggestions.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/model/machines/scaler.hpp>

#include "policy.hpp"

namespace ulp {
namespace {

scalers::registration named(std::string_view name, scalers::registration row) {
  row.entry.name = name;
  return row;
}

const std::vector<scalers::registration>& rows() {
#define ULP_NAMED_ROW(name) named(#name, scalers::name##_row()),
  static const std::vector<scalers::registration> all{ULP_SCALERS(ULP_NAMED_ROW)};
#undef ULP_NAMED_ROW
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
