// Pins that every cause has what tells of it: a card, a row in docs/diagnosis.md and its numbers in the help of ulp advise.
// That it has words is the compiler's: told_of() is called for each.
#include <ulp/report/findings/cards.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <ulp/model/causes/diagnosis.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

std::string text_of(const std::string& path) {
  const char* const folder = std::getenv("ULP_SOURCE_DIR");
  REQUIRE(folder != nullptr);
  std::ifstream in(folder + path);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("every cause has a card, a row in the document and a line of the help") {
  const std::string document = text_of("/docs/diagnosis.md");
  const std::string help = text_of("/cli/runs/advise.cpp");
  CHECK(cause_names().size() == std::variant_size_v<cause>);
  for (const std::string_view name : cause_names()) {
    INFO(name);
    CHECK(find_card(name) != nullptr);
    CHECK(document.find("\n| `" + std::string{name} + "` |") != std::string::npos);
    CHECK(help.find("\"    " + std::string{name} + " ") != std::string::npos);
  }
  CHECK(find_card("toothache") == nullptr);
}

TEST_CASE("a cause is called by its row") {
  CHECK(name_of(divergence{}) == "divergence");
  CHECK(name_of(gradient_overflow{}) == "gradient_overflow");
  CHECK(name_of(recorded_wrongly{}) == "recorded_wrongly");
  CHECK(cause_names().back() == "gradient_overflow");  // what the scaler handled is told last
}

TEST_CASE("a topic has one card") {
  std::set<std::string_view> topics;
  for (const card_row& row : card_rows()) CHECK(topics.insert(row.topic).second);
}
