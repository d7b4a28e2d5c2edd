#include <algorithm>
#include <vector>

#include <ulp/formats/codec.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>

#include "policy.hpp"

namespace ulp {
namespace {

fp8::registration named(std::string_view name, fp8::registration row) {
  row.entry.name = name;
  return row;
}

const std::vector<fp8::registration>& rows() {
#define ULP_NAMED_ROW(name) named(#name, fp8::name##_row()),
  static const std::vector<fp8::registration> all{ULP_FP8_SCALERS(ULP_NAMED_ROW)};
#undef ULP_NAMED_ROW
  return all;
}

}  // namespace

std::span<const fp8_scaler_entry> fp8_scaler_catalog() {
  static const std::vector<fp8_scaler_entry> entries = [] {
    std::vector<fp8_scaler_entry> all;
    for (const auto& row : rows()) all.push_back(row.entry);
    return all;
  }();
  return entries;
}

const fp8_scaler_entry* find_fp8_scaler(std::string_view name) {
  const auto entries = fp8_scaler_catalog();
  const auto found = std::ranges::find_if(entries, [&](const fp8_scaler_entry& e) {
    return e.name == name || std::ranges::find(e.aliases, name) != e.aliases.end();
  });
  return found == entries.end() ? nullptr : &*found;
}

fp8_scaler make_fp8_scaler(const fp8_scaler_entry& entry, const format& of,
                           const std::vector<std::pair<std::string, parameter_value>>& parameters) {
  const auto row = std::ranges::find(rows(), entry.name, [](const auto& r) { return r.entry.name; });
  if (row == rows().end()) throw parameter_error("no policy '" + std::string{entry.name} + "'");
  return {entry, row->make(parameters, static_cast<float>(to_double(of, of.max_finite_code())))};
}

}  // namespace ulp
