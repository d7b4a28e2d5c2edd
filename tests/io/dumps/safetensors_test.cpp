#include <limits>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string entry(const std::string& name, const std::string& type, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}
std::string one(const std::string& type, const std::string& shape, const std::string& offsets) {
  return "{" + entry("a", type, shape, offsets) + "}";
}

}  // namespace

TEST_CASE("safetensors: every type that is read gives the cells of its values") {
  const playground place;
  const std::vector<double> doubles{0.1, -3.0, 1e-310};
  const std::vector<float> floats{1.5F, -0.0F, std::numeric_limits<float>::infinity()};
  // 1, -2^-24, infinity; 1, -2^-133, NaN
  const std::vector<std::uint16_t> halves{0x3C00, 0x8001, 0x7C00};
  const std::vector<std::uint16_t> brains{0x3F80, 0x8001, 0x7FC0};
  const std::string header = "{" + entry("d", "F64", "[3]", "[0,24]") + "," + entry("f", "F32", "[3,1]", "[24,36]") +
                             "," + entry("h", "F16", "[1,3]", "[36,42]") + "," + entry("b", "BF16", "[3]", "[42,48]") +
                             "}";
  const contents read =
      place.open("a.safetensors", safetensors(header, raw(doubles) + raw(floats) + raw(halves) + raw(brains)));
  CHECK(read.description == "safetensors dump");
  CHECK(read.table("d") == count_cells(doubles));
  CHECK(read.table("f") == count_cells(floats));
  CHECK(read.table("h") == count_cells(std::vector<float>{1.0F, -0x1p-24F, std::numeric_limits<float>::infinity()}));
  CHECK(read.table("b") == count_cells(std::vector<float>{1.0F, -0x1p-133F, std::numeric_limits<float>::quiet_NaN()}));
  CHECK(read.tensor("f").shape == std::vector<std::uint64_t>{3, 1});
  const std::vector<dtype> types{dtype::float64, dtype::float32, dtype::float16, dtype::bfloat16};
  for (std::size_t i = 0; i < types.size(); ++i) CHECK(read.steps[0].tensors[i].type == types[i]);
}

TEST_CASE("safetensors: what the reference accepts") {
  const playground place;
  const std::string value = raw(std::vector<float>{2.0F});
  const cell_table two = count_cells(std::vector<float>{2.0F});
  const std::vector<std::string> headers{
      one("F32", "[]", "[0,4]"),
      " \n\t" + one("F32", "[1]", "[0,4]") + "    ",
      R"({"a":{"data_offsets":[0,4],"shape":[1],"dtype":"F32","more":{"deep":[[1],{"x":null}],"dtype":3}}})",
      R"({"__metadata__":{"step":"3"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{}})",
      "{" + entry("z", "F32", "[3,0]", "[4,4]") + "," + entry("a", "F32", "[1]", "[0,4]") + "}",
      "{" + entry("z", "F32", "[0]", "[0,0]") + "," + entry("y", "F32", "[0]", "[0,0]") + "," +
          entry("a", "F32", "[1]", "[0,4]") + "}",
  };
  for (const std::string& header : headers) {
    INFO(header);
    CHECK(place.open("a.safetensors", safetensors(header, value)).table("a") == two);
  }
}

TEST_CASE("safetensors: all other types are known by their size and left out") {
  const playground place;
  const std::vector<std::pair<std::string, int>> others{
      {"BOOL", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},   {"I8", 8},   {"F8_E8M0", 8},
      {"I16", 16}, {"U16", 16}, {"I32", 32},    {"U32", 32},    {"C64", 64}, {"I64", 64}, {"U64", 64}};
  CHECK(others.size() == 22 - 8);
  for (const auto& [type, bits] : others) {
    INFO(type);
    const std::string size = std::to_string(bits);  // bytes of 8 values
    const std::string end = std::to_string(bits + 4);
    const std::string header = "{" + entry("other", type, "[8]", "[0," + size + "]") + "," +
                               entry("a", "F32", "[1]", "[" + size + "," + end + "]") + "}";
    const contents read = place.open(
        "a.safetensors",
        safetensors(header, std::string(static_cast<std::size_t>(bits), '\x11') + raw(std::vector<float>{2.0F})));
    CHECK(read.tensors.size() == 1);
    CHECK(read.table("a").max_abs == 2.0);
    const std::string alone =
        safetensors(one(type, "[8]", "[0," + size + "]"), std::string(static_cast<std::size_t>(bits), '\0'));
    const contents none = place.open("a.safetensors", alone, empty_allowed());
    CHECK(none.notes.back() == place.path("a.safetensors") + ": not read: 'a' (" + type + ")");
  }
  const contents empty = place.open("a.safetensors", safetensors("{}", ""), empty_allowed());
  CHECK(empty.notes ==
        std::vector<std::string>{place.path("a.safetensors") + ": holds no readable tensor; its step is empty"});
  REQUIRE(empty.steps.size() == 1);
  CHECK(empty.steps[0].tensors.empty());
}

TEST_CASE("safetensors: 8-bit floats keep all their codes") {
  const playground place;
  // 1, the largest, the smallest, NaN, minus zero or NaN: of OCP OFP8 and of arXiv 2206.02915, whose biases are one more.
  const std::string bytes("\x38\x7E\x01\x7F\x80\x01", 6);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::tuple<std::string, dtype, std::vector<float>>> types{
      {"F8_E4M3", dtype::float8_e4m3fn, {1.0F, 448.0F, 0x1p-9F, nan, -0.0F, 0x1p-9F}},
      {"F8_E5M2", dtype::float8_e5m2, {0.5F, nan, 0x1p-16F, nan, -0.0F, 0x1p-16F}},
      {"F8_E4M3FNUZ", dtype::float8_e4m3fnuz, {0.5F, 224.0F, 0x1p-10F, 240.0F, nan, 0x1p-10F}},
      {"F8_E5M2FNUZ", dtype::float8_e5m2fnuz, {0.25F, 49152.0F, 0x1p-17F, 57344.0F, nan, 0x1p-17F}}};
  for (const auto& [name, type, values] : types) {
    INFO(name);
    const contents read = place.open("a.safetensors", safetensors(one(name, "[6]", "[0,6]"), bytes));
    CHECK(read.table("a") == count_cells(values));
    CHECK(read.tensors[0].through == to_string(type));
    const tensor_row& row = read.steps[0].tensors[0];
    CHECK(row.type == type);
    CHECK(row.codes == std::vector<code_count>{{0x01, 2}, {0x38, 1}, {0x7E, 1}, {0x7F, 1}, {0x80, 1}});
  }
}

TEST_CASE("safetensors: each way a file can be wrong") {
  const playground place;
  const auto error_of = [&](const std::string& bytes) { return place.error("a.safetensors", bytes); };
  const auto header_error = [&](const std::string& header) { return error_of(safetensors(header, "1234")); };
  const std::string file = "a.safetensors: ";
  const std::string tensor = file + "tensor 'a': ";
  const std::string bad_shape = tensor + "'shape' must be a list of integers from 0 to 2^64 - 1; there is ";
  const std::string bad_offsets =
      tensor + "'data_offsets' must be a list of two integers from 0 to 2^64 - 1; there is ";

  CHECK(error_of("") == file + "is empty");
  CHECK(error_of("1234567") == file + "header: 8 bytes are needed for its length; the file has 7");
  CHECK(error_of(little(100'000'001, 8) + "{}") ==
        file + "header: its length is given as 100000001 bytes, but only 2 follow; the file was cut short");
  CHECK(error_of(little(~std::uint64_t{0}, 8) + "{}") ==
        file + "header: its length is given as 18446744073709551615 bytes, but only 2 follow; the file was cut short");
  CHECK(error_of(little(3, 8) + "{}") ==
        file + "header: its length is given as 3 bytes, but only 2 follow; the file was cut short");
  CHECK(header_error("") == file + "header: is not a JSON object");
  CHECK(header_error("   ") == file + "header: is not a JSON object");
  CHECK(header_error("[1,2]") == file + "header: is not a JSON object");
  CHECK(header_error("\xEF\xBB\xBF{}") == file + "header: is not a JSON object");
  CHECK(header_error("{\"a\":}") == file + "byte 13: the header is not valid JSON here");
  CHECK(header_error("{}{}") == file + "byte 10: the header is not valid JSON here");
  CHECK(header_error("{\"\xFF\":1}") == file + "byte 10: the header is not valid JSON here");
  CHECK(header_error("{\"a\":3}") == tensor + "must be an object, not a number");
  CHECK(header_error("{\"a\":[3]}") == tensor + "must be an object, not a list");
  CHECK(header_error("{\"a\":null}") == tensor + "must be an object, not null");
  CHECK(header_error("{\"a\":{}}") == tensor + "'dtype' is missing");
  CHECK(header_error(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})") == tensor + "'shape' is missing");
  CHECK(header_error(R"({"a":{"dtype":"F32","shape":[1]}})") ==
        tensor + "'data_offsets' must be given as [begin, end]");
  CHECK(header_error(one("F32", "[1]", "[0]")) == tensor + "'data_offsets' must be given as [begin, end]");
  CHECK(header_error(one("F32", "[1]", "[0,4,4]")) == tensor + "'data_offsets' must be given as [begin, end]");
  CHECK(header_error(R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})") ==
        tensor + "'dtype' must be a string, not a number");
  CHECK(header_error(one("F33", "[1]", "[0,4]")) == tensor + "unknown dtype 'F33'");
  CHECK(header_error(one("F32", "1", "[0,4]")) == bad_shape + "a number");
  CHECK(header_error(one("F32", "\"1\"", "[0,4]")) == bad_shape + "a string");
  CHECK(header_error(one("F32", "{}", "[0,4]")) == bad_shape + "an object");
  CHECK(header_error(one("F32", "[1.0]", "[0,4]")) == bad_shape + "a number that is not a 64-bit integer");
  CHECK(header_error(one("F32", "[18446744073709551616]", "[0,4]")) ==
        bad_shape + "a number that is not a 64-bit integer");
  CHECK(header_error(one("F32", "[-1]", "[0,4]")) == bad_shape + "a negative number");
  CHECK(header_error(one("F32", "[true]", "[0,4]")) == bad_shape + "a boolean");
  CHECK(header_error(one("F32", "[[1]]", "[0,4]")) == bad_shape + "a list");
  CHECK(header_error(one("F32", "[{}]", "[0,4]")) == bad_shape + "an object");
  CHECK(header_error(one("F32", "[\"1\"]", "[0,4]")) == bad_shape + "a string");
  CHECK(header_error(one("F32", "[1]", "[-4,0]")) == bad_offsets + "a negative number");
  CHECK(header_error(one("F32", "[1]", "[0,null]")) == bad_offsets + "null");
  CHECK(header_error(one("F32", "[1]", "[4,0]")) ==
        tensor + "its values are given as bytes 4 to 0, where byte 0 is next");
  CHECK(header_error(one("F32", "[2,18446744073709551615]", "[0,4]")) ==
        tensor + "its shape holds more values than 64 bits can count");
  CHECK(header_error(one("F32", "[576460752303423488]", "[0,4]")) ==
        tensor + "its shape holds more values than 64 bits can count");
  CHECK(header_error(one("F32", "[2]", "[0,4]")) == tensor + "its shape needs 8 bytes, its offsets give 4");
  CHECK(header_error(one("F4", "[3]", "[0,2]")) == tensor + "its values end inside a byte");
  CHECK(header_error(one("U8", "[3]", "[0,3]")) ==
        file + "end of file: the tensors need 3 bytes of values, but 4 follow the header: 1 too many");
  CHECK(header_error(one("U8", "[9]", "[0,9]")) == file +
                                                       "end of file: the tensors need 9 bytes of values, but 4 follow "
                                                       "the header: 5 missing; the file was cut short");
  CHECK(header_error("{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[0,4]") + "}") ==
        file + "tensor 'b': its values are given as bytes 0 to 4, where byte 4 is next");
  CHECK(header_error("{" + entry("a", "U8", "[1]", "[0,1]") + "," + entry("b", "U8", "[1]", "[2,3]") + "}") ==
        file + "tensor 'b': its values are given as bytes 2 to 3, where byte 1 is next");
  CHECK(header_error("{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("a", "U8", "[4]", "[0,4]") + "}") ==
        file + "header: the key 'a' appears twice");
  CHECK(header_error(R"({"a":{"dtype":"F32","dtype":"F32"}})") == tensor + "the key 'dtype' appears twice");
  CHECK(header_error(R"({"__metadata__":{"k":"1","k":"2"}})") == file + "'__metadata__': the key 'k' appears twice");
  CHECK(header_error(R"({"__metadata__":{},"__metadata__":{}})") ==
        file + "header: the key '__metadata__' appears twice");
  CHECK(header_error(R"({"__metadata__":{"step":3}})") == file + "'__metadata__': holds strings only, not a number");
  CHECK(header_error(R"({"__metadata__":{"step":{}}})") == file + "'__metadata__': holds strings only, not an object");
  CHECK(header_error(R"({"__metadata__":"3"})") == file + "'__metadata__': must be an object, not a string");
  CHECK(header_error(R"({"a\u0000b":{}})") == file + "header: the tensor name 'a\\x00b' has control characters");
  CHECK(header_error("{\"" + std::string(1025, 'x') + "\":{}}").ends_with("...' is longer than 1024 bytes"));
  std::string ones = "[";
  for (int i = 0; i < 64; ++i) ones += "1,";
  CHECK(header_error(one("F32", ones + "1]", "[0,4]")) == tensor + "has more than 64 dimensions");
}

TEST_CASE("safetensors: nesting is cut before it costs anything") {
  const playground place;
  const std::string deep = R"({"a":{"x":)" + std::string(1'000'000, '[');
  CHECK(place.error("a.safetensors", safetensors(deep, "")) ==
        "a.safetensors: header: is nested deeper than 16 levels");
}

TEST_CASE("safetensors: every prefix of a good file is rejected") {
  const playground place;
  const std::string good = safetensors(
      "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F16", "[]", "[8,10]") + "}", "0123456789");
  REQUIRE(place.error("a.safetensors", good).empty());
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    CHECK(place.error("a.safetensors", good.substr(0, size)).starts_with("a.safetensors: "));
  }
}

TEST_CASE("safetensors: no change of a byte is read past the file's bounds") {
  const playground place;
  const std::string good = safetensors(
      "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F16", "[]", "[8,10]") + "}", "0123456789");
  // Accepted or not, under the sanitizers it must not fault.
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char byte : {'\x00', '9', '"', '{', '\xFF'}) {
      std::string file = good;
      file[at] = byte;
      static_cast<void>(place.error("a.safetensors", file));
    }
}

TEST_CASE("safetensors: a loss scale in the metadata is a hint") {
  const playground place;
  const auto notes_of = [&](const std::vector<std::string>& metadata, source_options options = {}) {
    std::vector<std::string> names;
    for (const std::string& text : metadata) {
      names.push_back("a.step" + std::to_string(names.size()) + ".safetensors");
      place.write(names.back(),
                  safetensors("{\"__metadata__\":{" + text + "}," + entry("a", "F32", "[1]", "[0,4]") + "}", "1234"));
    }
    std::string all;
    for (const std::string& note : place.open(names, options).notes) all += note.substr(note.rfind('/') + 1) + "\n";
    return all;
  };
  CHECK(
      notes_of({R"("format":"pt","loss_scale":"65536")"}) ==
      "a.step0.safetensors: its metadata says loss_scale 65536: give --factor 65536 if the values were recorded under "
      "it\n");
  for (const char* const key : {"scale", "loss-scale"})
    CHECK(notes_of({"\"" + std::string{key} + "\":\"1e3\""}).find("give --factor 1000 ") != std::string::npos);
  CHECK(notes_of({R"("scale":"4")", R"("scale":"4")"}).find("give --factor 4 ") != std::string::npos);
  const std::string differ = notes_of({R"("scale":"4")", R"("scale":"8")"});
  CHECK(differ.find("says loss_scale 4, other files another") != std::string::npos);
  CHECK(differ.find("--factor scale") != std::string::npos);
  for (const char* const no_number : {R"("scale":"many")", R"("scale":"0")", R"("scale":"-4")", R"("scale":"inf")",
                                      R"("scale":"4 ")", R"("scale":"")", R"("scaled":"4")"})
    CHECK(notes_of({no_number}).empty());
  source_options known;
  known.factor = 2;
  CHECK(notes_of({R"("scale":"4")"}, known).empty());
}

// As DeepSeek-V3's weight_dequant multiplies them (inference/kernel.py): block i, j of 128x128 by scale i, j.
TEST_CASE("safetensors: 8-bit floats with scales of blocks are the products") {
  const playground place;
  const auto file = [&](std::size_t rows, std::size_t columns, const std::string& shape,
                        const std::vector<float>& scales) {
    const std::size_t n = rows * columns;
    std::string codes(n, '\x38');  // 1
    codes[0] = '\x40';             // 2
    codes[n - 1] = '\xC0';         // -2
    const std::string end = std::to_string(n + 4 * scales.size());
    return safetensors("{" +
                           entry("w", "F8_E4M3", "[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
                                 "[0," + std::to_string(n) + "]") +
                           "," + entry("w_scale_inv", "F32", shape, "[" + std::to_string(n) + "," + end + "]") + "}",
                       codes + raw(scales));
  };
  const auto check = [&](std::size_t rows, std::size_t columns, std::size_t of_rows, std::size_t of_columns,
                         const std::string& shape, const std::vector<float>& scales, const std::string& blocks) {
    INFO(rows << "x" << columns << " with scales " << shape);
    std::vector<float> values;
    const std::size_t in_a_row = (columns + of_columns - 1) / of_columns;
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) {
        const bool is_first = r + c == 0;
        const bool is_last = r + 1 == rows && c + 1 == columns;
        values.push_back((is_first ? 2.0F : is_last ? -2.0F : 1.0F) * scales[r / of_rows * in_a_row + c / of_columns]);
      }
    const contents read = place.open("a.safetensors", file(rows, columns, shape, scales));
    REQUIRE(read.tensors.size() == 1);
    CHECK(read.table("w") == count_cells(values));
    CHECK(read.steps[0].tensors[0].type == dtype::float32);
    CHECK(read.notes ==
          std::vector<std::string>{place.path("a.safetensors") + ": 'w': values are codes times their _scale_inv" +
                                   blocks + ", as in DeepSeek"});
  };
  const std::string of_128 = ", one for each block of 128x128";
  check(4, 6, 4, 6, "[1,1]", {0.1F}, "");
  check(4, 6, 4, 6, "[]", {3.0F}, "");
  check(256, 384, 128, 128, "[2,3]", {1.0F, 0.1F, 0.3F, 7.0F, 1e-30F, 1e30F}, of_128);
  check(200, 130, 128, 128, "[2,2]", {1.0F, 0.1F, 0.3F, 7.0F}, of_128);
  check(4, 6, 2, 3, "[2,2]", {1.0F, 0.1F, 0.3F, 7.0F}, ", one for each block of 2x3");
  check(3, 4, 1, 4, "[3,1]", {1.0F, 0.1F, 0.3F}, ", one for each block of 1x4");

  // Without a shape that fits they are codes where that is asked for, and nothing else.
  const std::string misfit = file(4, 6, "[3,5]", std::vector<float>(15, 2.0F));
  CHECK(place.error("a.safetensors", misfit).find("the shape of 'w_scale_inv' fits no blocks of it") !=
        std::string::npos);
  source_options as_they_are;
  as_they_are.limits.raw_codes = true;
  const contents raw_codes = place.open("a.safetensors", misfit, as_they_are);
  CHECK(raw_codes.tensors.size() == 2);
  CHECK(raw_codes.steps[0].tensors[0].type == dtype::float8_e4m3fn);
}
