#include "program.hpp"

#include <algorithm>
#include <set>

#include "programs/rows.hpp"

namespace ulp::io {
namespace {

std::string plain_name(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-' || c == '_') c = ' ';
  }
  return result;
}

}  // namespace

std::span<const program_row> program_rows() {
#define ULP_MADE_PROGRAM(NAME) NAME##_program(),
  static const std::vector<program_row> rows{ULP_CONFIG_PROGRAMS(ULP_MADE_PROGRAM)};
#undef ULP_MADE_PROGRAM
  return rows;
}

const program_row* program_named(std::string_view name) {
  for (const program_row& row : program_rows())
    if (plain_name(row.name) == plain_name(name)) return &row;
  return nullptr;
}

std::string names_of_programs() {
  std::set<std::string_view> names;
  for (const program_row& row : program_rows()) names.insert(row.name);
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string{name};
  return all;
}

std::vector<std::string> keys_of(const program_row& row) {
  std::vector<std::string> all;
  const auto add = [&](std::string_view key) {
    if (!key.empty() && std::ranges::find(all, key) == all.end()) all.emplace_back(key);
  };
  const auto add_conditions = [&](conditions when) {
    for (const std::string_view word : words_of(when)) add(parsed(word).key);
  };
  for (const std::string_view key : words_of(row.keys.read)) add(key);
  for (const precision_case& c : row.precision) add_conditions(c.when);
  for (const scaler_key& k : row.scale) add(k.key);
  for (const clipping_case& c : row.clipping) {
    add(c.key);
    add_conditions(c.when);
  }
  for (const remark& r : row.remarks) add_conditions(r.when);
  add(row.microbatches);
  return all;
}

}  // namespace ulp::io

std::vector<std::string> ulp::configured_programs() {
  std::set<std::string> names;
  for (const io::program_row& row : io::program_rows()) names.emplace(row.name);
  return {names.begin(), names.end()};
}
