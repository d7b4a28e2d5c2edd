// Pins docs/scalers.md to the catalogue: names, aliases and classes in the table of policies, and every default.
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

#include "support/files.hpp"

namespace ulp {
namespace {

// The rows of the table below a heading, without its head.
std::vector<std::string> rows_below(std::string_view heading) {
  const std::string page = test::read_file(std::string{std::getenv("ULP_SOURCE_DIR")} + "/docs/scalers.md");
  std::size_t at = page.find("\n" + std::string{heading} + "\n");
  REQUIRE(at != std::string::npos);
  std::vector<std::string> rows;
  for (at = page.find('\n', at + 1) + 1; at < page.size() && !page.substr(at).starts_with("## ");) {
    const std::size_t end = page.find('\n', at);
    const std::string line = page.substr(at, end - at);
    if (line.starts_with("| `")) rows.push_back(line);
    at = end + 1;
  }
  return rows;
}

// "`a` (`b`, `c`), `d` | A, B" as lines "a (b, c): A, B" and "d: A, B".
std::vector<std::string> policies_of(const std::string& row) {
  std::string names;
  for (const char c : row.substr(2, row.find(" | ") - 2))
    if (c != '`') names += c;
  const std::size_t second = row.find(" | ") + 3;
  const std::string family = row.substr(second, row.find(" | ", second) - second);
  std::vector<std::string> all(1);
  bool in_aliases = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    in_aliases = (in_aliases || names[i] == '(') && names[i] != ')';
    if (names[i] == ',' && !in_aliases) {
      all.emplace_back();
      ++i;
    } else {
      all.back() += names[i];
    }
  }
  for (std::string& name : all) name += ": " + family;
  return all;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string policy_of(const scaler_entry& entry) {
  std::string text{entry.name};
  if (!entry.aliases.empty()) text += " (" + joined({entry.aliases.begin(), entry.aliases.end()}) + ")";
  std::string family{entry.family};
  for (std::size_t at; (at = family.find(" / ")) != std::string::npos;) family.replace(at, 3, ", ");
  return text + ": " + family;
}

std::string defaults_row(const scaler_entry& entry) {
  std::vector<std::string> all;
  for (const scaler_parameter& p : entry.parameters) all.push_back("`" + p.name + "=" + to_string(p.value) + "`");
  return "| `" + std::string{entry.name} + "` | " + joined(all) + (all.empty() ? "|" : " |");
}

TEST_CASE("the table of policies has the catalogue's names, aliases and classes") {
  std::vector<std::string> written;
  for (const std::string& row : rows_below("## Policies"))
    for (const std::string& policy : policies_of(row)) written.push_back(policy);
  std::vector<std::string> expected;
  for (const scaler_entry& entry : scaler_catalog()) expected.push_back(policy_of(entry));
  for (std::size_t i = 0; i < std::min(written.size(), expected.size()); ++i) CHECK(written[i] == expected[i]);
  CHECK(written.size() == expected.size());
}

TEST_CASE("the table of defaults is the catalogue's") {
  std::string expected;
  for (const scaler_entry& entry : scaler_catalog()) expected += defaults_row(entry) + "\n";
  std::string written;
  for (const std::string& row : rows_below("## Defaults")) written += row + "\n";
  INFO("the table as it has to be:\n" << expected);
  CHECK(written == expected);
}

}  // namespace
}  // namespace ulp
