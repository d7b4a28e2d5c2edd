// Tables of amaxes: the names and separators that people give them.
#include <cmath>
#include <string>
#include <ulp/io/amax/amax_table.hpp>
#include <ulp/io/bytes/error.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using rows = std::vector<amax_row>;

// The rows, or the error; none where it is no such table.
rows read(const std::string& text, const std::vector<std::pair<std::string, std::string>>& told = {}) {
  const playground place;
  const auto table = amax_table::open(place.write("a.csv", text), {}, told);
  rows all;
  for (amax_row now; table && table->next(now);) all.push_back(now);
  return all;
}

const rows two{{0, "w", 2}, {1, "w", 0.5F}};

}  // namespace

TEST_CASE("tables of amaxes: separators and spellings") {
  for (const char* const header :
       {"step,tensor,amax", "Iteration,Name,AbsMax", "iter,tensor_name,abs-max",
        "\xEF\xBB\xBFglobal_step,\"Tensor Name\",max_abs", "step,name,amax_value", "_step,tensor,cur_amax"})
    CHECK(read(std::string{header} + "\n0,w,2\n1,w,0x1p-1\n") == two);
  CHECK(read("step;tensor;amax\n0;w;2\n1;w;0.5\n") == two);
  CHECK(read("iteration\tname\tabsmax\n0\tw\t2\n1\tw\t0.5\n") == two);
  CHECK(read("# note; a, b\nstep;tensor;amax\r\n0;w;2\r\n1;w;0.5\r\n") == two);
}

TEST_CASE("tables of amaxes: their own names count before others") {
  CHECK(read("iteration,step,name,tensor,max_abs,amax\n7,0,x,w,9,2\n8,1,x,w,9,0.5\n") == two);
}

TEST_CASE("tables of amaxes: what is ambiguous is refused, and told") {
  const std::string several = "step,name,absmax,max_abs\n0,w,2,9\n1,w,0.5,9\n";
  CHECK_THROWS_WITH(read(several),
                    Contains("line 1: both 'absmax' and 'max_abs' may be the column 'amax' of amaxes; say by "
                             "--columns value=NAME which it is"));
  CHECK(read(several, {{"value", "absmax"}}) == two);
  CHECK(read("at,of,peak\n0,w,2\n1,w,0.5\n", {{"step", "at"}, {"key", "of"}, {"value", "peak"}}) == two);
}

TEST_CASE("tables of amaxes: other tables are none") {
  for (const char* const header : {"step,amax", "tensor,amax", "step,tensor",
                                   "step,tensor,n,zero,nan,inf,max_abs,e_min,counts", "step tensor amax", ""})
    CHECK(read(std::string{header} + "\n0,w,2\n").empty());
}

TEST_CASE("tables of amaxes: what each text is as a float32") {
  const auto amax_of = [](const std::string& text) {
    const rows all = read("step,tensor,amax\n0,w," + text + "\n");
    REQUIRE(all.size() == 1);
    return all.front().amax;
  };
  for (const char* const zero : {"0", "-0", "-0.0", "-0x0p+0", "1e-46", "0x1p-150", "1e-400", "1e-99999999999999999999",
                                 "0x1p-99999999999", "0e400", "0x0p99999999999"})
    CHECK(amax_of(zero) == 0);
  CHECK(amax_of("0." + std::string(100000, '0') + "1") == 0);
  CHECK(amax_of("0x1.8p-150") == 0x1p-149F);
  CHECK(amax_of("0x1.000001p-127") == 0x1p-127F);
  CHECK(amax_of("0x1.fffffep127") == 0x1.fffffep127F);
  CHECK(amax_of("0x1.fffffe8p127") == 0x1.fffffep127F);
  CHECK(amax_of(std::string(1000, '0') + "1.5") == 1.5F);
  CHECK(amax_of("1" + std::string(2000, '0') + "e-2000") == 1);
  CHECK(std::isinf(amax_of("Infinity")));
  CHECK(std::isnan(amax_of("-nan")));
}

TEST_CASE("tables of amaxes: what is beyond float32, below 0 or no number is refused") {
  for (const std::string& text : {std::string{"3.5e38"}, std::string{"1e400"}, std::string{"1e99999999999999999999"},
                                  std::string{"0x1p99999999999"}, std::string{"0x1.ffffffp127"}, std::string(400, '1'),
                                  std::string{"-1"}, std::string{"-inf"}, std::string{"--0"}, std::string{"-1e400"},
                                  std::string{"1x"}, std::string{"0x"}, std::string{"1e400x"}, std::string{"1,5"}})
    CHECK_THROWS_WITH(read("step;tensor;amax\n0;w;" + text + "\n"), Contains("is not a largest magnitude"));
}
