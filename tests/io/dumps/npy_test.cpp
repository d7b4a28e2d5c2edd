#include <cmath>
#include <limits>
#include <numbers>

#include <ulp/model/cells/cell_counter.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<float> floats{1.0F,
                                -0.0F,
                                0.0F,
                                -1.75F,
                                std::numbers::pi_v<float>,
                                std::numeric_limits<float>::denorm_min(),
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
const std::vector<double> doubles{0.1, -1e300, std::numeric_limits<double>::denorm_min(), 0.0, -HUGE_VAL, 1.5};

// IEEE 754 binary16 by its definition.
float half(std::uint32_t code) {
  const int field = static_cast<int>(code >> 10 & 31);
  const int fraction = static_cast<int>(code & 1023);
  const float sign = (code & 0x8000) != 0 ? -1.0F : 1.0F;
  if (field == 31) return fraction == 0 ? sign * HUGE_VALF : std::numeric_limits<float>::quiet_NaN();
  return sign * (field == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                            : std::ldexp(static_cast<float>(1024 + fraction), field - 25));
}

const std::string good = npy(npy_dict("<f4", "(10,)"), raw(floats));

}  // namespace

TEST_CASE("npy: every type, byte order and version gives the cells of its values") {
  const playground place;
  const cell_table singles = count_cells(floats);
  const cell_table wide = count_cells(doubles);
  for (const int version : {1, 2, 3}) {
    INFO("version " << version);
    CHECK(place.open("a.npy", npy(npy_dict("<f4", "(10,)"), raw(floats), version)).table("a") == singles);
    CHECK(place.open("a.npy", npy(npy_dict("<f8", "(2, 3)"), raw(doubles), version)).table("a") == wide);
  }
  CHECK(place.open("a.npy", npy(npy_dict(">f4", "(10,)"), swapped(raw(floats), 4))).table("a") == singles);
  CHECK(place.open("a.npy", npy(npy_dict(">f8", "(6,)"), swapped(raw(doubles), 8))).table("a") == wide);
  CHECK(place.open("a.npy", npy(npy_dict("=f4", "(10,)"), raw(floats))).table("a") == singles);
}

TEST_CASE("npy: all float16 codes, both byte orders") {
  const playground place;
  std::vector<std::uint16_t> codes;
  std::vector<float> values;
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    codes.push_back(static_cast<std::uint16_t>(code));
    values.push_back(half(code));
  }
  const cell_table expected = count_cells(values);
  const contents read = place.open("h.npy", npy(npy_dict("<f2", "(65536,)"), raw(codes)));
  CHECK(read.table("h") == expected);
  CHECK(read.steps[0].tensors[0].type == dtype::float16);
  CHECK(place.open("h.npy", npy(npy_dict(">f2", "(65536,)"), swapped(raw(codes), 2))).table("h") == expected);
  CHECK(expected.zeros == 2);
  CHECK(expected.infinities() == 2);
  CHECK(expected.nans == 2 * 1023);
  CHECK(expected.max_abs == 65504);
  CHECK(expected.min_abs == std::ldexp(1.0, -24));
}

TEST_CASE("npy: arrays larger than a chunk") {
  const playground place;
  std::vector<double> many;
  for (int i = 0; i < 100'003; ++i) many.push_back(std::ldexp(i % 977 - 400, i % 60 - 40));
  const std::string shape = "(" + std::to_string(many.size()) + ",)";
  CHECK(place.open("a.npy", npy(npy_dict("<f8", shape), raw(many))).table("a") == count_cells(many));
}

TEST_CASE("npy: what numpy and others write as a header") {
  const playground place;
  const std::string one = raw(std::vector<float>{2.0F});
  const cell_table two = count_cells(std::vector<float>{2.0F});
  const std::vector<std::string> dicts{
      "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
      "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
      "{'shape':(1L,1L),'fortran_order':False,'descr':'<f4'}",
      "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (1, 1, 1,)}",
  };
  for (const std::string& dict : dicts) {
    INFO(dict);
    CHECK(place.open("a.npy", npy(dict, one)).table("a") == two);
  }
  const contents empty = place.open("a.npy", npy(npy_dict("<f4", "(3, 0)"), ""));
  CHECK(empty.table("a").numel == 0);
  CHECK(empty.tensor("a").shape == std::vector<std::uint64_t>{3, 0});
}

TEST_CASE("npy: the tensor is named as the file") {
  const playground place;
  const contents read = place.open("blk.0.qkv.weight.npy", good);
  CHECK(read.description == "npy dump");
  CHECK(read.tensor("blk.0.qkv.weight").numel == 10);
  CHECK(read.steps[0].tensors[0].type == dtype::float32);
}

TEST_CASE("npy: each way a file can be wrong") {
  const playground place;
  const auto error_of = [&](const std::string& bytes) { return place.error("a.npy", bytes); };
  const auto dict_error = [&](const std::string& dict) { return error_of(npy(dict, std::string(8, '\0'))); };
  const std::string header = "a.npy: npy header: ";

  CHECK(error_of("") == "a.npy: is empty");
  CHECK(error_of("NUMPY and more") == header + "does not begin with the bytes 93 'NUMPY'");
  CHECK(error_of("\x93NUMPY\x01") == header + "8 bytes are needed, but only 7 are left");
  CHECK(error_of("\x93NUMPY\x04" + little(0, 1) + little(2, 4) + "{}") ==
        header + "version 4 is unknown; 1, 2 and 3 are read");
  CHECK(error_of("\x93NUMPY" + little(1, 2) + little(100, 2) + "{}") ==
        header + "100 bytes are needed, but only 2 are left");
  CHECK(error_of("\x93NUMPY" + little(2, 2) + little(0xFFFFFFF0, 4) + "{}") ==
        header + "its length is given as 4294967280 bytes, more than the 10000 that numpy allows");
  CHECK(dict_error("[]") == header + "character 0: '{' is expected");
  CHECK(dict_error("{'descr': '<f4'") == header + "character 54: '}' is expected");
  CHECK(dict_error("{'descr': '<f4") == header + "character 10: the type has no closing quote");
  CHECK(dict_error("{'descr': '<\\x66'") == header + "character 10: the type has a backslash in it");
  CHECK(dict_error("{'descr' '<f4'}") == header + "character 9: ':' is expected");
  CHECK(dict_error("{'descr': __import__('os')}") == header + "character 10: the type in quotes is expected");
  CHECK(dict_error("{descr: '<f4'}") == header + "character 1: a key in quotes is expected");
  CHECK(dict_error("{'type': '<f4'}") == header + "character 8: unknown key 'type'");
  CHECK(dict_error("{'descr': '<f4', 'descr': '<f4'}") == header + "character 25: the key 'descr' appears twice");
  CHECK(dict_error("{'fortran_order': False, 'shape': (2,)}") == header + "the key 'descr' is missing");
  CHECK(dict_error("{'descr': '<f4', 'shape': (2,)}") == header + "the key 'fortran_order' is missing");
  CHECK(dict_error("{'descr': '<f4', 'fortran_order': False}") == header + "the key 'shape' is missing");
  CHECK(dict_error("{'descr': '<f4', 'fortran_order': 0}") == header + "character 34: True or False is expected");
  CHECK(dict_error(npy_dict("<f4", "(2,)") + "+1") == header + "character 57: nothing may follow the closing '}'");
  CHECK(dict_error(npy_dict("<f4", "(2)")) == header + "character 53: a shape of one dimension is written (n,)");
  CHECK(dict_error(npy_dict("<f4", "2")) == header + "character 50: '(' is expected");
  CHECK(dict_error(npy_dict("<f4", "(1 2)")) == header + "character 53: ',' or ')' is expected");
  CHECK(dict_error(npy_dict("<f4", "(-2,)")) ==
        header + "character 51: a dimension (a number not below zero) is expected");
  CHECK(dict_error(npy_dict("<f4", "(18446744073709551616,)")) ==
        header + "character 51: a dimension does not fit into 64 bits");
  std::string ones = "(";
  for (int i = 0; i < 65; ++i) ones += "1,";
  CHECK(dict_error(npy_dict("<f4", ones + ")")) == header + "character 180: more than 64 dimensions");
  CHECK(dict_error(npy_dict("<f4", "(4611686018427387905, 4)")) ==
        header + "the shape holds more values than 64 bits can count");
  CHECK(dict_error(npy_dict("<f8", "(2305843009213693952,)")) ==
        header + "the shape holds more values than 64 bits can count");
  CHECK(dict_error(npy_dict("<g4", "(2,)")) == header + "'<g4' is not a numpy type; the file is damaged");
  CHECK(dict_error(npy_dict("|O", "(1,)")) ==
        "a.npy: an object array is a Python pickle, which can run any code; it is never unpacked; save it as a float "
        "array");
  CHECK(dict_error("{'descr': [('a', '<f4'") == header + "character 54: ')' is expected");
}

TEST_CASE("npy: the length is that of header and values, exactly") {
  const playground place;
  CHECK(place.error("a.npy", good + "!") == "a.npy: the array needs 40 bytes of values, but 41 follow: 1 too many");
  CHECK(place.error("a.npy", good.substr(0, good.size() - 3)) ==
        "a.npy: the array needs 40 bytes of values, but 37 follow: 3 missing; the file was cut short");
  CHECK(
      place.error("a.npy", npy(npy_dict("<f4", "(3000000000,)"), std::string(8, '\0'))) ==
      "a.npy: the array needs 12000000000 bytes of values, but 8 follow: 11999999992 missing; the file was cut short");
}

TEST_CASE("npy: arrays that hold no floating-point numbers are named") {
  const playground place;
  const auto not_read = [&](const std::string& bytes, const std::string& why) {
    const contents read = place.open("a.npy", bytes, empty_allowed());
    REQUIRE(read.steps.size() == 1);
    CHECK(read.steps[0].tensors.empty());
    CHECK(read.tensors.empty());
    CHECK(read.notes == std::vector<std::string>{place.path("a.npy") + ": holds no readable tensor; its step is empty",
                                                 place.path("a.npy") + ": not read: 'a' (" + why + ")"});
  };
  const std::vector<std::pair<std::string, std::size_t>> types{
      {"|u1", 1}, {"<i8", 8},     {"|b1", 1},      {"?", 1},   {"<c8", 8}, {"<U5", 20},  {"|S3", 3},
      {"|S0", 0}, {"<M8[ns]", 8}, {"<m8[25s]", 8}, {"<m8", 8}, {"|V7", 7}, {"<f16", 16}, {"<c32", 32}};
  for (const auto& [descr, size] : types) {
    INFO(descr);
    not_read(npy(npy_dict(descr, "(1,)"), std::string(size, '.')), descr);
  }
  const auto structured = [&](const std::string& descr, std::size_t size) {
    INFO(descr);
    not_read(npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", std::string(size, '.')),
             "a structured type");
  };
  structured("[('x', '<f4'), ('y', '<i8')]", 12);
  structured("[(('title', 'x'), '<f4', (2, 3)), ('', '|V4'),]", 28);
  structured("[('in', [('x', '<f8'), ('y', '|b1')], (2,))]", 18);
  structured("('<f4', (2,))", 8);
  not_read(npy(npy_dict("|V1", "(1,)"), "."), "|V1");  // float8 of any kind
  CHECK(place.error("a.npy", npy("{'descr': [('x', '<f4'), ('y', '|O')], 'fortran_order': False, 'shape': (1,)}", ""))
            .find("Python pickle") != std::string::npos);
}

TEST_CASE("npy: every prefix of a good file is rejected") {
  const playground place;
  REQUIRE(place.error("a.npy", good).empty());
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    CHECK(place.error("a.npy", good.substr(0, size)).starts_with("a.npy: "));
  }
}

TEST_CASE("npy: what is no numpy type is an error and loses no array") {
  const playground place;
  const std::string value(8, '\0');
  for (const std::string descr :
       {"<f=",    "<f",      "<f3", "<f6", "<d4", "<i3", "<i", "<b4", "|b",   "<c4",  "<M4[ns]", "<M8[xs]",
        "<M8[ns", "<f4[ns]", "|U",  "|Q4", "4",   "",    "|",  "f4<", "<<f4", "<f4 ", "|O2",     "int8"}) {
    INFO(descr);
    const std::string error = place.error("a.npy", npy(npy_dict(descr, "(1,)"), value), empty_allowed());
    CHECK(error == "a.npy: npy header: '" + descr + "' is not a numpy type; the file is damaged");
  }
  CHECK(place.error("a.npy", npy(npy_dict("<f1", "(8,)"), value)) ==
        "a.npy: npy header: '<f1' is not a numpy type, which has no float8; save float32 or safetensors");
  const auto structured = [&](const std::string& descr) {
    return place.error("a.npy", npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", value),
                       empty_allowed());
  };
  CHECK(structured("[('x', '<f=')]") == "a.npy: npy header: '<f=' is not a numpy type; the file is damaged");
  for (const std::string descr : {"['<f4']", "[('x')]", "[('x', '<f4', 2)]", "[(('t',), '<f4')]", "('<f4')",
                                  "[('x' '<f4')]", "[(3, '<f4')]", "[('x', '|V18446744073709551616')]"}) {
    INFO(descr);
    CHECK(structured(descr).starts_with("a.npy: npy header: "));
  }
  CHECK(structured("[('x', " + std::string(40, '[') + "]") != "");
  // Types that numpy reads as the processor's own.
  const std::string two = raw(std::vector<float>{2.0F});
  for (const std::string descr : {"f4", "=f4", "|f4"})
    CHECK(place.open("a.npy", npy(npy_dict(descr, "(1,)"), two)).table("a").max_abs == 2);
}

TEST_CASE("npy: an array that is not read has the bytes of its shape") {
  const playground place;
  const auto error_of = [&](const std::string& descr, const std::string& values) {
    return place.error("a.npy", npy(npy_dict(descr, "(2,)"), values), empty_allowed());
  };
  CHECK(error_of("<i4", std::string(8, '.')) == "");
  CHECK(error_of("<i8", std::string(8, '.')) ==
        "a.npy: the array needs 16 bytes of values, but 8 follow: 8 missing; the file was cut short");
  CHECK(error_of("<U2", std::string(8, '.')) ==
        "a.npy: the array needs 16 bytes of values, but 8 follow: 8 missing; the file was cut short");
}

// numpy.save(file, numpy.ones(3, ml_dtypes.bfloat16)) writes '<V2', older versions '|V2'.
TEST_CASE("npy: two bytes of no type are bfloat16, and are said to be read so") {
  const playground place;
  const std::vector<std::uint16_t> codes{0x3F80, 0xC000, 0x0001};
  for (const std::string descr : {"<V2", "|V2"}) {
    INFO(descr);
    const contents read = place.open("a.npy", npy(npy_dict(descr, "(3,)"), raw(codes)));
    CHECK(read.table("a") == count_cells(std::vector<float>{1.0F, -2.0F, 0x1p-133F}));
    CHECK(read.steps[0].tensors[0].type == dtype::bfloat16);
    CHECK(read.notes ==
          std::vector<std::string>{place.path("a.npy") + ": " + descr +
                                   " is read as bfloat16: numpy saves that type of ml_dtypes without its name"});
  }
}
