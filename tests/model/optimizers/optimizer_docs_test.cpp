// Pins docs/optimizers.md to the catalogues: the tables of dialects, of their defaults, and of quantizers.
#include "support/catch.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

#include "support/files.hpp"

namespace ulp {
namespace {

// The rows of the table below a heading, without its head.
std::string rows_below(std::string_view heading) {
  const std::string page = test::read_file(test::source_dir() / "docs" / "optimizers.md");
  std::size_t at = page.find("\n" + std::string{heading} + "\n");
  REQUIRE(at != std::string::npos);
  std::string rows;
  for (at = page.find('\n', at + 1) + 1; at < page.size() && !page.substr(at).starts_with("## ");) {
    const std::size_t end = page.find('\n', at);
    if (page.substr(at, end - at).starts_with("| `")) rows += page.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return rows;
}

std::string in_code(std::string_view text) { return "`" + std::string{text} + "`"; }

void compare(std::string_view heading, const std::string& expected) {
  INFO("the table as it has to be:\n" << expected);
  CHECK(rows_below(heading) == expected);
}

TEST_CASE("the table of dialects is the catalogue's") {
  std::string expected;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    expected += "| " + in_code(entry.name);
    for (std::size_t i = 0; i < entry.aliases.size(); ++i)
      expected += (i == 0 ? " (" : ", ") + in_code(entry.aliases[i]) + (i + 1 == entry.aliases.size() ? ")" : "");
    expected += " | " + std::string{entry.summary} + " | " + std::string{entry.states} + " | " +
                std::string{entry.source} + " |\n";
  }
  compare("## Dialects", expected);
}

TEST_CASE("the table of defaults is the catalogue's") {
  std::string expected;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    expected += "| " + in_code(entry.name) + " | ";
    for (std::size_t i = 0; i < entry.parameters.size(); ++i)
      expected += (i == 0 ? "" : ", ") + in_code(entry.parameters[i].name + "=" + to_string(entry.parameters[i].value));
    expected += " |\n";
  }
  compare("## Defaults", expected);
}

TEST_CASE("the table of quantizers is the catalogue's") {
  std::string expected;
  for (const block_row& entry : block_rows())
    expected += "| " + in_code(entry.name) + " | " + std::string{entry.summary} + " | " + std::string{entry.normalize} +
                " | " + std::string{entry.nearest} + " | " + std::string{entry.specials} + " |\n";
  compare("## Quantizers", expected);
}

}  // namespace
}  // namespace ulp
