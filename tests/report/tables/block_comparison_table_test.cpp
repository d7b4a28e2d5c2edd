// Pins the comparison of formats of elements and of blocks: what stands in each, and that nothing is told that is not known.
#include <ulp/report/tables/block_comparison_table.hpp>

#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/report/tables/block_words.hpp>

#include <string>
#include <vector>

using namespace ulp;

namespace {

std::string told_in(const table& t, std::size_t row, const std::string& column) {
  for (std::size_t c = 0; c < t.columns.size(); ++c)
    if (t.columns[c].key == column || t.columns[c].title == column) return to_cell(t.rows[row][c]);
  FAIL("no column " << column);
  return "";
}

compared_blocks blocks_of(const std::string& name, block_basis basis) {
  compared_blocks of{.of = block_formats_named({name}, "").front(), .basis = basis, .counted = 1};
  of.outcomes.numel = 200;
  of.outcomes.underflow = {10, 20};
  of.outcomes.overflow = {1, 1};
  of.has_outcomes = basis == block_basis::scale;
  if (!of.has_outcomes) of.why_open = "unknown";
  return of;
}

}  // namespace

TEST_CASE("both kinds of formats stand side by side") {
  const std::vector<compared_format> formats{{"float16", float16, 65536, {.numel = 200, .underflow = {4, 4}}}};
  const table t = block_comparison_table(formats, {blocks_of("mxfp4", block_basis::scale),
                                                   blocks_of("fp8_128x128", block_basis::tensor_scale),
                                                   blocks_of("nvfp4", block_basis::none)});
  REQUIRE(t.rows.size() == 4);
  CHECK(told_in(t, 0, "format") == "float16");
  CHECK(told_in(t, 0, "least to largest") == "2^-24 to 65504");
  CHECK(told_in(t, 0, "scale") == "loss scale 2^16");
  CHECK(told_in(t, 0, "lost to zero") == "4 (2 %)");
  CHECK(told_in(t, 1, "format") == "mxfp4");
  CHECK(told_in(t, 1, "row") == "torchao_mxe2m1_floor");
  CHECK(told_in(t, 1, "bits") == "4.25");
  CHECK(told_in(t, 1, "least to largest") == "0.5 to 6");
  CHECK(told_in(t, 1, "block") == "1 x 32");
  CHECK(told_in(t, 1, "rule") == "FLOOR");
  CHECK(to_text(t).find("float8_e8m0, FLOOR") != std::string::npos);
  CHECK(told_in(t, 1, "lost to zero") == "[10, 20] ([5, 10] %)");
  CHECK(told_in(t, 1, "beyond the largest") == "1 (0.5 %)");
  // A bound tells how many may be lost, and nothing else.
  CHECK(told_in(t, 2, "lost to zero") == "[0, 20] ([0, 10] %)");
  CHECK(told_in(t, 2, "beyond the largest") == "?");
  CHECK(told_in(t, 3, "lost to zero") == "?");
  CHECK(told_in(t, 3, "open") == "unknown");
}

TEST_CASE("bits of a value have its share of the scales") {
  const auto bits = [](const char* name) { return bits_of_value(*find_block_format(name)); };
  CHECK(bits("mxfp8") == 8.25);
  CHECK(bits("mxfp6_e2m3") == 6.25);
  CHECK(bits("nvfp4") == 4.5);
  CHECK(bits("te_nvfp4_16x16") == 4.5);  // a scale for each row
  CHECK(bits("fp8_1x128") == 8.25);
  CHECK(bits("fp8_128x128") == 8 + 32.0 / (128 * 128));
  CHECK(bits("fp8_tensor") == 8);
  CHECK(bits("fp8_row") == 8);
}
