#include "table_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ulp/io/printable.hpp>

#include "overloaded.hpp"

namespace ulp {
namespace {

using json = nlohmann::ordered_json;

json number(double x) {
  if (std::isnan(x)) return nullptr;
  return std::isfinite(x) ? json(x) : json(shortest(x));
}

json object_of(const named_values& values);

// What a range spans; of what is none, the value itself.
struct ends {
  json low;
  json high;
  [[nodiscard]] json decided() const { return low == high ? low : json{}; }
};

ends ends_of(const table_value& value) {
  const auto both = [](const json& x) { return ends{x, x}; };
  return std::visit(overloaded{[&](std::monostate) { return both(nullptr); }, [&](bool b) { return both(b); },
                               [&](std::int64_t n) { return both(n); }, [&](double x) { return both(number(x)); },
                               [&](const std::string& s) { return both(s); },
                               [&](const named_values& v) { return both(object_of(v)); },
                               [](const count_range& c) {
                                 return ends{c.low, c.high};
                               },
                               [](const value_range& r) {
                                 return ends{number(r.low), number(r.high)};
                               },
                               [](const expected_count& c) {
                                 return ends{number(c.mean.low), number(c.mean.high)};
                               }},
                    value);
}

bool is_range(const table_value& v) {
  return std::holds_alternative<count_range>(v) || std::holds_alternative<value_range>(v) ||
         std::holds_alternative<expected_count>(v);
}

// Drawn but always the same: an integer as other counts are.
json certain(const expected_count& c) {
  const bool same = c.variance.high == 0 && c.mean.exact() && c.mean.low == std::floor(c.mean.low);
  return same ? json(static_cast<std::uint64_t>(c.mean.low)) : json{};
}

void add(json& to, const std::string& key, const table_value& value, bool with_range) {
  const ends of = ends_of(value);
  const auto* const drawn = std::get_if<expected_count>(&value);
  to[key] = drawn != nullptr ? certain(*drawn) : of.decided();
  if (!with_range) return;
  to[key + "_low"] = of.low;
  to[key + "_high"] = of.high;
  if (drawn != nullptr) to[key + "_mean"] = of.decided();
}

json object_of(const named_values& values) {
  json object = json::object();
  for (const named_value& v : values.all) add(object, v.name, v.value, is_range(v.value));
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
