#include <cmath>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string header = "step,tensor,kind,n,zero,nan,inf,sum_abs,sum_sq,max_abs,e_min,counts\n";

cell binade(int exponent, std::uint64_t count) {
  return {.sign = cell_sign::unknown,
          .slot = whole_binade,
          .exponent = static_cast<std::int16_t>(exponent),
          .count = count};
}

}  // namespace

TEST_CASE("histogram CSV: octaves, classes, sums and kinds as printed") {
  const playground place;
  const contents read = place.open("a.hist.csv", header +
                                                     "0,fc.weight,wgrad,12,2,1,3,2.5,1.25,0.75,-3,1 0 5\n"
                                                     "0,fc,agrad,4,4,0,0,0.0,0.0,0.0,,\n"
                                                     "5,fc.weight,wgrad,3,0,3,0,0.0,0.0,0.0,,\n"
                                                     "5,fc,agrad,2,0,0,0,4.5,10.25,2.5,0,0 2 0\n");
  CHECK(read.description == "histogram CSV");
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensors[0].name == "fc.weight");
  CHECK(read.tensors[0].kind == tensor_kind::weight_grad);
  CHECK(read.tensors[1].kind == tensor_kind::activation_grad);
  REQUIRE(read.steps.size() == 2);
  CHECK(read.steps[0].key == step_key{.step = 0});
  CHECK(read.steps[1].key.step == 5);

  const cell_table& weight = read.steps[0].tensors[0].table;
  CHECK(weight.numel == 12);
  CHECK(weight.zeros == 2);
  CHECK(weight.nans == 1);
  CHECK(weight.unsigned_infinities == 3);
  CHECK(weight.infinities() == 3);
  CHECK(weight.cells == std::vector{binade(-3, 1), binade(-1, 5)});
  CHECK(weight.max_abs == 0.75);
  CHECK(std::isnan(weight.min_abs));
  CHECK_FALSE(weight.has_sums);
  CHECK(weight.reported_abs_sum == 2.5);
  CHECK(weight.reported_square_sum == 1.25);

  const cell_table& zeros = read.steps[0].tensors[1].table;
  CHECK(zeros.cells.empty());
  CHECK(zeros.max_abs == 0);
  CHECK(zeros.min_abs == 0);
  CHECK(read.steps[1].tensors[0].table.nans == 3);
  CHECK(read.steps[1].tensors[1].table.cells == std::vector{binade(1, 2)});
}

TEST_CASE("histogram CSV: what is optional") {
  const playground place;
  // Columns in any order, unknown ones, no kinds, no sums; kinds by the prefix of names.
  const contents read = place.open("a.csv",
                                   "counts,max_abs,comment,tensor,nan,inf,zero,n,e_min,step\n"
                                   "1,1.5,x,agrad/fc,0,0,0,1,0,3\n");
  REQUIRE(read.steps.size() == 1);
  CHECK(read.tensors[0].kind == tensor_kind::activation_grad);
  const cell_table& table = read.table("agrad/fc");
  CHECK(table.cells == std::vector{binade(0, 1)});
  CHECK(std::isnan(table.reported_abs_sum));
  CHECK(place.open("a.csv.gz", gzip(header + "0,t,,1,0,0,0,1,1,1,0,1\n")).tensor("t").kind == tensor_kind::unknown);
}

TEST_CASE("histogram CSV: a tensor whose size varies has no numel of its own") {
  const playground place;
  const contents read = place.open("a.csv", header + "0,x,agrad,1,1,0,0,0,0,0,,\n" + "1,x,agrad,2,2,0,0,0,0,0,,\n");
  CHECK(read.tensor("x").numel == 0);
  CHECK(read.steps[1].tensors[0].table.numel == 2);
}

TEST_CASE("histogram CSV: the ends of float64") {
  const playground place;
  const contents read =
      place.open("a.csv", header + "0,x,wgrad,1,0,0,0,0,0,5e-324,-1074,1\n" + "0,y,wgrad,1,0,0,0,0,0,1.7e308,1023,1\n");
  CHECK(read.table("x").cells == std::vector{binade(-1074, 1)});
  CHECK(read.table("y").cells == std::vector{binade(1023, 1)});
}

TEST_CASE("histogram CSV: each way a row can be wrong") {
  const playground place;
  const auto error_of = [&](const std::string& rows) { return place.error("a.csv", header + rows); };
  const std::string row = "a.csv: line 2, column ";
  CHECK(error_of("") == "a.csv: holds no rows below its header");
  CHECK(error_of("x,t,wgrad,1,0,0,0,1,1,1,0,1\n") == row + "'step': 'x' is not an integer");
  CHECK(error_of("0,,wgrad,1,0,0,0,1,1,1,0,1\n") == row + "'tensor': the field is empty");
  CHECK(error_of("0,t,bias,1,0,0,0,1,1,1,0,1\n") ==
        row + "'kind': 'bias' is not one of wgrad, agrad, weight_grad, activation_grad, weight, update, activation");
  CHECK(error_of("0,t,wgrad,-1,0,0,0,1,1,1,0,1\n") == row + "'n': '-1' is not a count");
  CHECK(error_of("0,t,wgrad,1.0,0,0,0,1,1,1,0,1\n") == row + "'n': '1.0' is not a count");
  CHECK(error_of("0,t,wgrad,2,0,0,0,1,1,1,0,1\n") == row + "'n': n = 2, but zero + nan + inf + counts = 1");
  CHECK(error_of("0,t,wgrad,0,18446744073709551615,1,0,1,1,0,,\n") ==
        row + "'n': n = 0, but zero + nan + inf + counts = more than 64 bits can count");
  CHECK(error_of("0,t,wgrad,1,0,0,0,x,1,1,0,1\n") == row + "'sum_abs': 'x' is not a number");
  CHECK(error_of("0,t,wgrad,1,0,0,0,1,x,1,0,1\n") == row + "'sum_sq': 'x' is not a number");
  CHECK(error_of("0,t,wgrad,1,0,0,0,1,1,1,,1\n") == row + "'e_min': '' is not an integer");
  CHECK(error_of("0,t,wgrad,1,0,0,0,1,1,1,0,1x\n") == row + "'counts': '1x' is not a count");
  CHECK(error_of("0,t,wgrad,1,0,0,0,1,1,1,0,2 -1\n") == row + "'counts': '-1' is not a count");
  CHECK(error_of("0,t,wgrad,2,0,0,0,1,1,1,1023,1 1\n") ==
        row + "'counts': reaches the binade 1024, outside those of float64");
  CHECK(error_of("0,t,wgrad,2,0,0,0,1,1,1,-1075,1 1\n") ==
        row + "'counts': reaches the binade -1075, outside those of float64");
  CHECK(error_of("0,t,wgrad,2,0,0,0,1,1,1,9223372036854775807,1 1\n") ==
        row + "'counts': reaches the binade 9223372036854775807, outside those of float64");
  CHECK(error_of("0,t,wgrad,1,1,0,0,0,0,1,,\n") == row + "'max_abs': must be 0 where counts are empty");
  const std::string outside = " does not lie in the highest binade of counts, from 2^0 to 2^1";
  for (const std::string value : {"0.9", "2", "0", "-1", "inf", "nan"}) {
    INFO(value);
    CHECK(error_of("0,t,wgrad,1,0,0,0,1,1," + value + ",-1,0 1 0\n") == row + "'max_abs': '" + value + "'" + outside);
  }
  const std::string good = "0,t,wgrad,1,0,0,0,1,1,1,0,1\n";
  CHECK(error_of(good + good) == "a.csv: line 3, column 'tensor': 't' appears twice in step 0");
  CHECK(error_of("1,t,wgrad,1,0,0,0,1,1,1,0,1\n" + good) ==
        "a.csv: line 3, column 'step': step 0 follows step 1; steps must ascend");
  CHECK(error_of(good + "1,t,agrad,1,0,0,0,1,1,1,0,1\n") ==
        "a.csv: line 3, column 'kind': 't' was weight_grad in an earlier step");
  CHECK(error_of("0,a\tb,wgrad,1,0,0,0,1,1,1,0,1\n") ==
        "a.csv: tensor 'a\\x09b': the tensor name 'a\\x09b' has control characters");
  CHECK(place.error("a.csv", "step,tensor,n,zero,nan,inf,max_abs,counts\n") ==
        "a.csv: line 1: the column 'e_min' is missing");
}

TEST_CASE("histogram CSV: a mistake in the last row shows before the first step is given") {
  const playground place;
  const std::string path =
      place.write("a.csv", header + "0,t,wgrad,1,0,0,0,1,1,1,0,1\n1,t,wgrad,1,0,0,0,1,1,1,0,1\n1,u,x\n");
  CHECK_THROWS(open_source({path}));
}

TEST_CASE("histogram CSV: tensors of later steps are known from the first on") {
  const playground place;
  const std::string path = place.write(
      "a.csv", header + "0,t,agrad,1,0,0,0,1,1,1,0,1\n1,t,agrad,2,1,0,0,1,1,1,0,1\n1,u,wgrad,1,0,0,0,1,1,1,0,1\n");
  const auto from = open_source({path});
  CHECK(from->tensors().size() == 2);
  CHECK(from->tensors()[0].numel == 0);  // it varies
  step next;
  CHECK(from->next(next));
  CHECK(next.tensors.size() == 1);
  CHECK(from->next(next));
  CHECK(next.tensors.at(1).tensor == 1);
}

TEST_CASE("histogram CSV: every prefix is rejected or a valid shorter file") {
  const playground place;
  const std::string good = header + "0,t,wgrad,3,0,0,0,1,1,1.5,-1,1 2\n7,t,wgrad,1,0,0,0,1,1,1,0,1\n";
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    place.write("a.csv", good.substr(0, size));
    const std::string error = place.error(std::vector<std::string>{"a.csv"});
    CHECK((error.empty() || error.starts_with("a.csv: ")));
    const bool ends_with_row = size + 1 == good.size() || size + 1 == good.find("7,t") || size == good.find("7,t");
    CHECK(error.empty() == ends_with_row);
  }
}
