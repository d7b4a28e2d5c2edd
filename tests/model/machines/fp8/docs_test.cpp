// Pins docs/scalers.md to the catalogues of policies that scale each tensor, and of their recipes.
#include "support/catch.hpp"

#include <ulp/model/recipe/fp8_recipe.hpp>

#include <string>

#include "support/files.hpp"

using namespace ulp;

namespace {

std::string in_code(std::string_view name) { return "`" + std::string{name} + "`"; }

// Whether some line of the page begins with this cell.
bool has_row(const std::string& page, const std::string& cell) { return page.find("\n| " + cell) != std::string::npos; }

}  // namespace

TEST_CASE("docs/scalers.md has a row for each policy, with its aliases, and for each recipe, with its variants") {
  const std::string page = test::read_file(test::source_dir() / "docs/scalers.md");
  for (const fp8_scaler_entry& e : fp8_scaler_catalog()) {
    std::string cell = in_code(e.name);
    for (const std::string_view alias : e.aliases) cell += (alias == e.aliases.front() ? " (" : ", ") + in_code(alias);
    if (!e.aliases.empty()) cell += ")";
    CAPTURE(cell);
    CHECK(has_row(page, cell + " |"));
  }
  for (const fp8_recipe_entry& e : fp8_recipe_catalog()) {
    std::string row = in_code(e.name);
    if (e.unfit.empty()) {
      row += " | ";
      for (const std::string_view v : e.variants) row += (v == e.variants.front() ? "" : ", ") + std::string{v};
      CAPTURE(row);
      CHECK(has_row(page, row + " | " + in_code(e.policy)));
    } else {
      CAPTURE(row);
      CHECK(page.find(row) != std::string::npos);
    }
  }
}
