#include <ulp/io/export/export.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <ulp/io/bytes/printable.hpp>

#include "bytes/text.hpp"
#include "encoding/bounds.hpp"

namespace ulp {
namespace {

using json = nlohmann::ordered_json;

std::string shortest(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

// RFC 4180.
std::string field(std::string_view text) {
  const bool plain = !text.empty() && text.front() != ' ' && text.back() != ' ';
  if (plain && text.find_first_of(",\"") == std::string_view::npos) return std::string{text};
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

std::string decimal(uint128 n) {
  std::string digits;
  do digits += static_cast<char>('0' + static_cast<int>(n % 10));
  while ((n /= 10) != 0);
  std::ranges::reverse(digits);
  return digits;
}

std::string decimal(int128 n) {
  return n < 0 ? "-" + decimal(-static_cast<uint128>(n)) : decimal(static_cast<uint128>(n));
}

// JSON has neither NaN nor infinity.
json number(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

// NaN that was logged is a text: null is what was not.
json logged(double x, bool is_nan) { return is_nan ? json("nan") : number(x); }

json flag(std::optional<bool> x) { return x ? json(*x) : json(nullptr); }

std::string_view name_of(cell_sign sign) {
  return sign == cell_sign::positive ? "+" : sign == cell_sign::negative ? "-" : "?";
}

std::string_view name_of(sum_quality quality) {
  return quality == sum_quality::exact ? "exact" : quality == sum_quality::reported ? "reported" : "estimated";
}

json cells_of(const cell_table& t) {
  json all = json::array();
  for (const cell& c : t.cells) {
    json one{{"sign", name_of(c.sign)}, {"exponent", c.exponent}};
    one["slot"] = c.slot == whole_binade ? json(nullptr) : json(c.slot);
    one["count"] = c.count;
    all.push_back(std::move(one));
  }
  return all;
}

json buckets_of(const cell_table& t) {
  json all = json::array();
  for (const bucket& b : t.buckets) all.push_back({{"low", b.low}, {"high", b.high}, {"count", b.count}});
  return all;
}

json sums_of(const cell_table& t) {
  json all = json::array();
  for (const binade_sums& s : t.sums)
    all.push_back({{"sign", name_of(s.sign)},
                   {"exponent", s.exponent},
                   {"significands", decimal(s.significands)},
                   {"squares", decimal(s.squares)}});
  return all;
}

json errors_of(const cell_table& t) {
  json all = json::array();
  for (const binade_errors& e : t.errors) {
    json squares = json::array();
    json products = json::array();
    for (const uint128& n : e.squares) squares.push_back(decimal(n));
    for (const int128& n : e.products) products.push_back(decimal(n));
    all.push_back({{"exponent", e.exponent}, {"squares", squares}, {"products", products}});
  }
  return all;
}

json edges_of(const cell_table& t) {
  json all = json::array();
  for (const edge_counts& e : t.edges)
    all.push_back({{"at", e.at}, {"above", e.above}, {"squares_above", decimal(e.squares_above)}});
  return all;
}

json codes_of(const tensor_row& row) {
  json all = json::array();
  for (const code_count& c : row.codes) all.push_back({{"code", c.code}, {"count", c.count}});
  return all;
}

json step_part(const step& row) {
  const step_scalars& x = row.scalars;
  json one{{"step", row.key.step},
           {"attempt", row.key.attempt},
           {"microbatch", row.key.microbatch},
           {"ranks", row.ranks},
           {"loss", logged(x.loss, x.loss_is_nan)},
           {"grad_norm", logged(x.grad_norm, x.grad_norm_is_nan)},
           {"lr", number(x.learning_rate)},
           {"loss_scale", number(x.loss_scale)},
           {"found_inf", flag(x.found_inf)},
           {"applied", flag(x.applied)}};
  if (row.max_abs) one["log_max_abs"] = std::isnan(*row.max_abs) ? json("nan") : number(*row.max_abs);
  if (row.bounds) one["log_max_abs_bounds"] = io::to_text(*row.bounds);
  if (row.bounds && !row.bounds->certain && x.found_inf) one["found_inf_certain"] = false;
  return one;
}

void add_sum(json& to, const std::string& key, const value_sum& sum) {
  to[key] = number(sum.value);
  to[key + "_is"] = name_of(sum.quality);
}

void add_tensor(json& to, const tensor_row& row, const tensor_info& info) {
  const cell_table& t = row.table;
  to["tensor"] = info.name;
  to["kind"] = to_string(info.kind);
  to["role"] = to_string(info.role);
  to["through"] = info.through;
  to["shape"] = info.shape;
  to["type"] = to_string(row.type);
  to["factor"] = number(row.factor);
  if (row.parts.known()) {
    to["parts_rounded"] = row.parts.rounded;
    to["parts_kept"] = row.parts.kept;
  }
  to["numel"] = t.numel;
  to["zero"] = t.zeros;
  to["positive_infinities"] = t.positive_infinities;
  to["negative_infinities"] = t.negative_infinities;
  to["unsigned_infinities"] = t.unsigned_infinities;
  to["nan"] = t.nans;
  to["max_abs"] = number(t.max_abs);
  to["min_abs"] = number(t.min_abs);
  add_sum(to, "sum_abs", magnitudes_sum(t));
  add_sum(to, "sum_sq", squares_sum(t));
  to["cells"] = cells_of(t);
  if (!t.buckets.empty()) {
    to["maybe_zero"] = t.maybe_zeros;
    to["buckets"] = buckets_of(t);
  }
  if (t.has_sums) {
    to["sums"] = sums_of(t);
    to["cut_significands"] = t.cut_significands;
  }
  if (t.has_errors) to["errors"] = errors_of(t);
  if (!t.edges.empty()) to["edges"] = edges_of(t);
  if (!row.codes.empty()) to["codes"] = codes_of(row);
}

std::string line_of(const json& value) {
  return printable_json(value.dump(-1, ' ', false, json::error_handler_t::replace)) + "\n";
}

// NaN where it is estimated: a reader's own estimate is as good.
std::string known(const value_sum& sum) { return sum.quality == sum_quality::estimated ? "nan" : shortest(sum.value); }

std::string line_of(const step& row, const tensor_row& t, const tensor_info& info) {
  const cell_table& table = t.table;
  if (!table.buckets.empty())
    throw std::invalid_argument("tensor " + io::in_quotes(info.name) +
                                " has counts between its own edges, which binades cannot express: use --json-lines");
  std::map<int, std::uint64_t> binades;
  for (const cell& c : table.cells) binades[c.exponent] += c.count;
  if (binades.empty() && table.nonzero_finite() > 0)
    throw std::invalid_argument("tensor " + io::in_quotes(info.name) +
                                " has values of an encoding that this program does not know");
  std::string line = std::to_string(row.key.step) + "," + field(info.name) + "," + std::string{to_string(info.kind)};
  for (const std::uint64_t n : {table.numel, table.zeros, table.nans, table.infinities()})
    line += "," + std::to_string(n);
  line += "," + shortest(table.max_abs) + "," + std::to_string(binades.empty() ? 0 : binades.begin()->first) + ",";
  if (!binades.empty()) {
    const int first = binades.begin()->first;
    for (int binade = first; binade <= binades.rbegin()->first; ++binade)
      line += (binade == first ? "" : " ") + std::to_string(binades[binade]);
  }
  return line + "," + known(magnitudes_sum(table)) + "," + known(squares_sum(table)) + "\n";
}

}  // namespace

std::string histogram_csv_header() { return "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts,sum_abs,sum_sq\n"; }

std::string histogram_csv_lines(const step& row, const std::vector<tensor_info>& tensors) {
  std::string lines;
  for (const tensor_row& t : row.tensors) lines += line_of(row, t, tensors[t.tensor]);
  return lines;
}

std::string json_lines(const step& row, const std::vector<tensor_info>& tensors) {
  const json common = step_part(row);
  if (row.tensors.empty()) return line_of(common);
  std::string lines;
  for (const tensor_row& t : row.tensors) {
    json one = common;
    add_tensor(one, t, tensors[t.tensor]);
    lines += line_of(one);
  }
  return lines;
}

}  // namespace ulp
