// Fields as people and their tools spell them.
#include "table/cell_value.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp::io;
using kind = cell_value::kind;

TEST_CASE("cell value: numbers in every spelling") {
  for (const auto& [text, number] : std::vector<std::pair<std::string, double>>{{"2.5", 2.5},
                                                                                {"  2.5 ", 2.5},
                                                                                {"+2.5", 2.5},
                                                                                {"1e-4", 1e-4},
                                                                                {"65536.", 65536},
                                                                                {"\"2.5\"", 2.5},
                                                                                {"tensor(2.5)", 2.5},
                                                                                {"tensor(2.5, device='cuda:0')", 2.5},
                                                                                {"[2.5]", 2.5},
                                                                                {"np.float64(2.5)", 2.5},
                                                                                {"1,234.5", 1234.5},
                                                                                {"1,234,567", 1234567},
                                                                                {"1.234,5", 1234.5},
                                                                                {"0,5", 0.5},
                                                                                {"True", 1},
                                                                                {"false", 0},
                                                                                {"-Infinity", -HUGE_VAL},
                                                                                {"inf", HUGE_VAL},
                                                                                {"1.#INF", HUGE_VAL},
                                                                                {"\xE2\x88\x9E", HUGE_VAL}}) {
    INFO(text);
    const cell_value value = value_of(text);
    CHECK(value.what == kind::number);
    CHECK(value.number == number);
  }
}

TEST_CASE("cell value: NaN is a number, an empty field is none") {
  for (const char* const text : {"nan", "NaN", "NAN", "-nan", "-nan(ind)", "1.#QNAN", "tensor(nan)"}) {
    INFO(text);
    CHECK(value_of(text).what == kind::number);
    CHECK(std::isnan(value_of(text).number));
  }
  for (const char* const text : {"", " ", "None", "null", "N/A", "NA", "<NA>", "-", "\"\""}) {
    INFO(text);
    CHECK(value_of(text).what == kind::nothing);
  }
  for (const char* const text : {"oops", "1 2", "1e400", "1,23,4", "00:12", "3.4G", "nano"}) {
    INFO(text);
    CHECK(value_of(text).what == kind::text);
  }
}

TEST_CASE("cell value: a comma before three digits is left open, but where semicolons part the fields") {
  CHECK(value_of("1,234").what == kind::ambiguous);
  CHECK(value_of("1,234").number == 1234);
  CHECK(value_of("1,234", true).number == 1.234);
  CHECK(value_of("0,234").number == 0.234);
}
