#include "table_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/report/tables/plain_values.hpp>

#include "tables/overloaded.hpp"

namespace ulp {
namespace {

using json = nlohmann::ordered_json;

json number(double x) {
  if (std::isnan(x)) return nullptr;
  return std::isfinite(x) ? json(x) : json(shortest(x));
}

json object_of(const named_values& values);

json of_plain(const plain_value& value) {
  return std::visit(overloaded{[](std::monostate) { return json{}; }, [](double x) { return number(x); },
                               [](const named_values* values) { return object_of(*values); },
                               [](const auto& plain) { return json(plain); }},
                    value);
}

void add(json& to, const std::string& key, const table_value& value, bool ranged) {
  for_each_plain(value, ranged, [&](std::string_view suffix, const plain_value& plain) {
    to[key + std::string{suffix}] = of_plain(plain);
  });
}

json object_of(const named_values& values) {
  json object = json::object();
  for (const named_value& v : values.all) add(object, v.name, v.value, is_ranged(v.value));
  return object;
}

void add_row(json& to, const table& t, const std::vector<table_value>& row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if (const table_column& c = t.columns[i]; !c.key.empty()) add(to, c.key, row[i], c.range != range_keys::none);
}

json begun(std::string_view schema) {
  json object = json::object();
  if (!schema.empty()) object["schema"] = schema;
  return object;
}

std::string dumped(const json& value) {
  return printable_json(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

std::string to_json(const named_values& values) { return dumped(object_of(values)); }

std::string to_json(const table& t, std::string_view schema, const std::vector<std::string>& notes) {
  std::string out = "[";
  for (const auto& row : t.rows) {
    json object = begun(schema);
    add_row(object, t, row);
    const bool first = &row == &t.rows.front();
    if (first && !notes.empty()) object["notes"] = notes;
    out += (first ? "\n " : ",\n ") + dumped(object);
  }
  if (t.rows.empty() && !notes.empty()) {
    json object = begun(schema);
    object["notes"] = notes;
    out += "\n " + dumped(object);
  }
  return out + "\n]\n";
}

std::string to_json(const named_values& summary, std::string_view key, const table& t, std::string_view schema,
                    const std::vector<std::string>& notes) {
  json object = begun(schema);
  object["summary"] = object_of(summary);
  object["notes"] = notes;
  std::string out = dumped(object);
  out.pop_back();
  out += ",\n" + dumped(json(key)) + ":[";
  for (const auto& row : t.rows) {
    json line = json::object();
    add_row(line, t, row);
    out += (&row == &t.rows.front() ? "\n " : ",\n ") + dumped(line);
  }
  return out + "\n]}\n";
}

}  // namespace ulp
