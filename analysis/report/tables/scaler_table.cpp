#include <ulp/report/tables/scaler_table.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulp {
namespace {

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string{name};
  return text;
}

std::string defaults_of(const std::vector<scaler_parameter>& parameters) {
  std::string text;
  for (const auto& p : parameters) text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

// People get the gist in one line each: what stands before the first semicolon, and the first defaults.
std::string gist(std::string_view text) { return std::string{text.substr(0, text.find(';'))}; }
std::string first_defaults(const std::string& all) {
  constexpr std::size_t most = 60;
  return all.size() <= most ? all : all.substr(0, all.rfind(' ', most)) + " ...";
}

std::string text_of(std::string_view text) { return std::string{text}; }

}  // namespace

table loss_scaler_table() {
  using row = scaler_entry;
  const std::vector<column<row>> columns = {
      {"scaler", "scaler", [](const row& e) { return text_of(e.name); }},
      {"aliases", "", [](const row& e) { return joined(e.aliases); }},
      {"class", "class", [](const row& e) { return text_of(e.family); }},
      {"summary", "", [](const row& e) { return text_of(e.summary); }},
      {"tests", "", [](const row& e) { return text_of(e.overflow_test); }},
      {"", "looks for overflow in", [](const row& e) { return gist(e.overflow_test); }},
      {"floor", "", [](const row& e) { return text_of(e.floor); }},
      {"", "floor", [](const row& e) { return gist(e.floor); }},
      {"ceiling", "", [](const row& e) { return text_of(e.ceiling); }},
      {"", "ceiling", [](const row& e) { return gist(e.ceiling); }},
      {"defaults", "", [](const row& e) { return defaults_of(e.parameters); }},
      {"", "defaults", [](const row& e) { return first_defaults(defaults_of(e.parameters)); }},
      {"window", "", [](const row& e) { return text_of(e.window); }},
      {"rules", "", [](const row& e) { return text_of(e.rules); }},
      {"quirks", "", [](const row& e) { return text_of(e.quirks); }},
      {"source", "", [](const row& e) { return text_of(e.source); }},
  };
  return table_of(columns, scaler_catalog());
}

table fp8_scaler_table() {
  using row = fp8_scaler_entry;
  const std::vector<column<row>> columns = {
      {"scaler", "policy", [](const row& e) { return text_of(e.name); }},
      {"aliases", "", [](const row& e) { return joined(e.aliases); }},
      {"summary", "", [](const row& e) { return text_of(e.summary); }},
      {"nonfinite", "", [](const row& e) { return text_of(e.nonfinite); }},
      {"", "infinity and NaN", [](const row& e) { return gist(e.nonfinite); }},
      {"defaults", "", [](const row& e) { return defaults_of(e.parameters); }},
      {"", "defaults", [](const row& e) { return first_defaults(defaults_of(e.parameters)); }},
      {"divides", "", &row::divides},
      {"rules", "", [](const row& e) { return text_of(e.rules); }},
      {"quirks", "", [](const row& e) { return text_of(e.quirks); }},
      {"source", "", [](const row& e) { return text_of(e.source); }},
  };
  return table_of(columns, fp8_scaler_catalog());
}

table fp8_recipe_table() {
  using row = fp8_recipe_entry;
  const std::vector<column<row>> columns = {
      {"recipe", "recipe", [](const row& e) { return text_of(e.name); }},
      {"variants", "variants", [](const row& e) { return joined(e.variants); }},
      {"policy", "policy", [](const row& e) { return text_of(e.policy); }},
      {"summary", "", [](const row& e) { return text_of(e.summary); }},
      {"replayed", "replayed",
       [](const row& e) { return std::string{e.unfit.empty() ? "yes" : "no: " + text_of(e.unfit)}; }},
      {"source", "", [](const row& e) { return text_of(e.source); }},
  };
  return table_of(columns, fp8_recipe_catalog());
}

table scaler_table() {
  table all;
  const auto column_of = [&](const table_column& wanted) {
    const auto found = std::ranges::find(all.columns, wanted.key, &table_column::key);
    const auto index = static_cast<std::size_t>(found - all.columns.begin());
    if (found == all.columns.end()) all.columns.push_back(wanted);
    return index;
  };
  for (const auto& [of, part] : {std::pair{"run", loss_scaler_table()}, std::pair{"tensor", fp8_scaler_table()}}) {
    std::vector<std::size_t> to;
    for (const table_column& c : part.columns) to.push_back(c.key.empty() ? 0 : column_of(c));
    const std::size_t scope = column_of({.key = "scope"});
    for (const auto& values : part.rows) {
      auto& row = all.rows.emplace_back(all.columns.size());
      for (std::size_t i = 0; i < to.size(); ++i)
        if (!part.columns[i].key.empty()) row[to[i]] = values[i];
      row[scope] = std::string{of};
    }
  }
  for (auto& row : all.rows) row.resize(all.columns.size());
  return all;
}

table parameter_table(std::string_view policy, const std::vector<scaler_parameter>& parameters) {
  using row = scaler_parameter;
  const std::vector<column<row>> columns = {
      {"scaler", "", [&](const row&) { return text_of(policy); }},
      {"parameter", "", &row::name},
      {"default", "", [](const row& p) { return to_string(p.value); }},
      {"meaning", "", [](const row& p) { return p.meaning; }},
  };
  return table_of(columns, parameters);
}

}  // namespace ulp
