#include <ulp/report/tables/scaler_table.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {
namespace {

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string{name};
  return text;
}

std::string defaults_of(const scaler_entry& entry) {
  std::string text;
  for (const auto& p : entry.parameters) text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
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

table scaler_table() {
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
      {"defaults", "", defaults_of},
      {"", "defaults", [](const row& e) { return first_defaults(defaults_of(e)); }},
      {"window", "", [](const row& e) { return text_of(e.window); }},
      {"rules", "", [](const row& e) { return text_of(e.rules); }},
      {"quirks", "", [](const row& e) { return text_of(e.quirks); }},
      {"source", "", [](const row& e) { return text_of(e.source); }},
  };
  return table_of(columns, scaler_catalog());
}

table parameter_table(const scaler_entry& entry) {
  using row = scaler_parameter;
  const std::vector<column<row>> columns = {
      {"scaler", "", [&](const row&) { return text_of(entry.name); }},
      {"parameter", "", &row::name},
      {"default", "", [](const row& p) { return to_string(p.value); }},
      {"meaning", "", [](const row& p) { return p.meaning; }},
  };
  return table_of(columns, entry.parameters);
}

}  // namespace ulp
