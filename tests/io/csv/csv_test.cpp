// What all CSV inputs share: lines, fields, numbers, gzip.
#include <unistd.h>

#include <cmath>
#include <fstream>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string good = "step,found_inf,maxabs\n0,0,1.5\n1,1,nan\n";

void check_good(const contents& read) {
  REQUIRE(read.steps.size() == 2);
  CHECK(read.steps[0].scalars.found_inf == false);
  CHECK(read.steps[0].max_abs == 1.5);
  CHECK(read.steps[1].scalars.found_inf == true);
  CHECK(std::isnan(read.steps[1].max_abs.value()));
}

}  // namespace

TEST_CASE("CSV: plain, gzip, line ends, blanks, quotes, a byte order mark") {
  const playground place;
  check_good(place.open("a.csv", good));
  check_good(place.open("a.csv", gzip(good)));
  check_good(place.open("a.csv", gzip(good.substr(0, 25)) + gzip(good.substr(25))));
  check_good(place.open("a.csv", good.substr(0, good.size() - 1)));
  check_good(place.open("a.csv", "\xEF\xBB\xBFstep,found_inf,maxabs\r\n0,0,1.5\r\n\r\n1,1,nan\r\n\n"));
  check_good(place.open("a.csv", "step, found_inf , maxabs\n 0, 0,1.5\n1 ,1 , NaN \n"));
  check_good(place.open("a.csv", "\"step\",\"found_inf\",\"lo\"\"ss\",maxabs\n0,0,\"a, b\",\"1.5\"\n1,1,,nan\n"));
  check_good(place.open("no extension", good));
}

TEST_CASE("CSV: standard input and pipes") {
  const playground place;
  const std::string path = place.write("a.csv", gzip(good));
  const int kept = ::dup(STDIN_FILENO);
  REQUIRE(std::freopen(path.c_str(), "rb", stdin) != nullptr);
  const auto from_stdin = open_source({"-"});
  check_good(read_all(*from_stdin));
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
  source_options options;
  options.scalars = "-";
  CHECK_THROWS_WITH(open_source({"-"}, options), "-: standard input cannot be both the input and the scalars");
}

TEST_CASE("CSV: each way a line can be wrong") {
  const playground place;
  const auto error_of = [&](const std::string& rows) { return place.error("a.csv", "step,found_inf,maxabs\n" + rows); };
  CHECK(error_of("") == "a.csv: holds no rows below its header");
  CHECK(error_of("0,0,1.5,7\n") == "a.csv: line 2: has 4 fields, but the header names 3");
  CHECK(error_of("0\n") == "a.csv: line 2, column 'found_inf': the field is missing; the line has 1");
  CHECK(error_of("0,0,1\n\n1,0,abc\n") == "a.csv: line 4, column 'maxabs': 'abc' is not a number");
  CHECK(error_of("0,0,1,5\n") == "a.csv: line 2: has 4 fields, but the header names 3");
  CHECK(error_of("0,0,1.5x\n") == "a.csv: line 2, column 'maxabs': '1.5x' is not a number");
  CHECK(error_of("0,0,1e999\n") == "a.csv: line 2, column 'maxabs': '1e999' is beyond the range of float64");
  CHECK(error_of("0,2,1\n") == "a.csv: line 2, column 'found_inf': '2' is not one of 0, 1, true, false");
  CHECK(error_of("0.5,0,1\n") == "a.csv: line 2, column 'step': '0.5' is not an integer");
  CHECK(error_of("-1,0,1\n") == "a.csv: line 2, column 'step': the step -1 is below zero");
  CHECK(error_of("9223372036854775808,0,1\n") ==
        "a.csv: line 2, column 'step': '9223372036854775808' is not an integer");
  CHECK(error_of("0,0,\"1\n") == "a.csv: line 2: a quote is not closed");
  CHECK(error_of("0,0,\"1\"2\n") == "a.csv: line 2: a closing quote must end its field");
  CHECK(error_of("0,0,\x7F\n") == "a.csv: line 2, column 'maxabs': '\\x7F' is not a number");
  CHECK(error_of("0,0," + std::string((1 << 20) + 1, '1')) ==
        "a.csv: line 2: is longer than 1 MiB; this is not a CSV file");
  CHECK(place.error("a.csv", "step,found_inf,step\n0,0,0\n") == "a.csv: line 1: the column 'step' appears twice");
  CHECK(
      place.error("a.csv", "a,b\n0,0\n") ==
      "a.csv: line 1: names the columns of neither a histogram CSV (step, tensor, n, zero, nan, inf, max_abs, e_min, "
      "counts), a step log (step and found_inf or maxabs), a table of a run (a step or epoch, and a loss, norm or scale), "
      "nor one of amaxes (step, tensor, amax): --columns says which columns these are, such as step=NAME,loss=NAME");
}

TEST_CASE("CSV: damaged gzip data is told from its end") {
  const playground place;
  std::string text = "step,maxabs\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "," + std::to_string((i * 7919) % 10'007) + "\n";
  const std::string whole = gzip(text);
  CHECK(place.open("a.csv", whole).steps.size() == 20'000);
  CHECK(
      place.error("a.csv", whole.substr(0, whole.size() / 2)).find("the gzip data ends here; the file was cut short") !=
      std::string::npos);
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 1);  // in the CRC
  CHECK(place.error("a.csv", damaged).ends_with(": the gzip data is damaged after this line"));
  for (std::size_t size = 0; size < whole.size(); size += size < 40 ? 1 : 997) {
    INFO(size << " bytes");
    CHECK(place.error("a.csv", whole.substr(0, size)).starts_with("a.csv: "));
  }
}

TEST_CASE("CSV: every prefix is rejected or a valid shorter file") {
  const playground place;
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    place.write("a.csv", good.substr(0, size));
    const std::string error = place.error(std::vector<std::string>{"a.csv"});
    if (error.empty())
      CHECK(place.open(std::vector<std::string>{"a.csv"}).steps.size() <= 2);
    else
      CHECK(error.starts_with("a.csv: "));
  }
}
