// Pins the rows of the element types to the formats they name, and Python's table of them to this one.
#include <ulp/model/cells/element_types.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "support/catch.hpp"

using namespace ulp;

TEST_CASE("a row has the width of its format, and few codes are kept") {
  CHECK(properties_of(dtype::unknown).of == nullptr);
  CHECK(size_of(dtype::unknown) == 0);
  for (const element_type& t : element_types) {
    if (t.type == dtype::unknown) continue;
    INFO(t.name);
    CHECK(t.of->width() == static_cast<int>(8 * t.bytes));
    CHECK(t.keeps_codes == (t.bytes <= 2));
    CHECK(format_of_codes(t.type) == (t.keeps_codes ? t.of : nullptr));
    CHECK(to_string(t.type) == t.name);
  }
}

TEST_CASE("Python's table of types has the same numbers, widths, fractions and biases") {
  const char* const folder = std::getenv("ULP_SOURCE_DIR");
  REQUIRE(folder != nullptr);
  std::ifstream in(std::string{folder} + "/python/ulpscope/_counting/types.py");
  REQUIRE(in.good());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = text.find("\nTYPES = {");
  REQUIRE(begin != std::string::npos);
  std::string table = text.substr(begin, text.find("\n}", begin) - begin);
  std::erase(table, ' ');  // columns are aligned
  std::size_t rows = 0;
  for (std::size_t at = table.find("(\""); at != std::string::npos; at = table.find("(\"", at + 1)) ++rows;
  CHECK(rows == element_types.size() - 1);
  for (const element_type& t : element_types) {
    if (t.type == dtype::unknown) continue;
    const std::string row = "(\"" + std::string{t.name} + "\"," + std::to_string(static_cast<int>(t.type)) + "," +
                            std::to_string(8 * t.bytes) + "," + std::to_string(t.of->fraction_bits) + "," +
                            std::to_string(t.of->bias) + ",";
    INFO(row);
    CHECK(table.find(row) != std::string::npos);
  }
}
