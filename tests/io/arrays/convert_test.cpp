// Files of every kind converted, and each element compared with encode(): what ulp::file_conversion promises.
#include <ulp/io/arrays/convert.hpp>

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/io/bytes/error.hpp>

#include "arrays/chunks.hpp"
#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/npz.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct converted {
  std::string bytes;  // of the output
  std::vector<array_conversion> arrays;
  std::vector<std::string> notes;
};

converted convert_file(const std::string& input_name, const std::string& input, const std::string& output_name,
                       file_conversion_options options) {
  const temporary_dir dir;
  write_file(dir / input_name, input);
  file_conversion made((dir / input_name).string(), output_name, std::move(options));
  std::uint64_t read = 0;
  atomic_file file((dir / output_name).string());
  made.write(file, [&](std::uint64_t bytes) { read += bytes; });
  file.finish();
  CHECK(read == made.bytes());
  return {read_file(dir / output_name), made.arrays(), made.notes()};
}

std::string refusal(const std::string& input_name, const std::string& input, const std::string& output_name,
                    const file_conversion_options& options) {
  try {
    convert_file(input_name, input, output_name, options);
  } catch (const input_error& problem) {
    const std::string text = problem.what();
    CHECK(text.find('\n') == std::string::npos);
    const std::size_t name = text.find(input_name);
    CHECK(name != std::string::npos);
    return text.substr(name);
  }
  return "";
}

// Ordinary ones, and all bit patterns of any kind.
std::vector<float> floats(std::size_t n) {
  std::mt19937 random(static_cast<std::uint32_t>(n));
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = i % 3 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(random()))
                        : std::ldexp(static_cast<float>(random()) - 2e9F, -50);
  return all;
}

std::uint64_t expected_code(const format& to, double x, const conversion& how, std::uint64_t stream, std::uint64_t i) {
  const rounding& mode = how.rounding;
  const std::uint32_t bits =
      mode.direction == direction::stochastic ? random_bits(how.random.seed, stream, i, mode.random_bits) : 0;
  return encode(to, x * how.scale, mode, bits).code;
}

// What follows the header of a .npy.
std::string values_of(const std::string& npy_file) {
  REQUIRE(npy_file.size() >= 10);
  return npy_file.substr(10 + static_cast<unsigned char>(npy_file[8]) + 256U * static_cast<unsigned char>(npy_file[9]));
}
std::string dict_of(const std::string& npy_file) {
  const std::string dict = npy_file.substr(10, npy_file.find('\n') - 10);
  return dict.substr(0, dict.find('}') + 1);
}

struct tensor_file {
  nlohmann::ordered_json header;
  std::string values;
  [[nodiscard]] std::string of(const std::string& name) const {
    const auto& at = header.at(name).at("data_offsets");
    return values.substr(at[0].get<std::size_t>(), at[1].get<std::size_t>() - at[0].get<std::size_t>());
  }
};
tensor_file tensors_in(const std::string& file) {
  const std::size_t size = numbers_in<std::uint64_t>(file.substr(0, 8))[0];
  CHECK(size % 8 == 0);
  return {nlohmann::ordered_json::parse(file.substr(8, size)), file.substr(8 + size)};
}

// NaNs keep what encode keeps of them.
template <class T>
void check_codes(const std::vector<T>& codes, const std::vector<float>& from, const format& to, const conversion& how,
                 std::string_view name) {
  REQUIRE(codes.size() == from.size());
  const std::uint64_t stream = stream_of(name, 0);
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (const std::uint64_t right = how.scale == 1 && how.rounding.direction != direction::stochastic
                                        ? encode(to, from[i], how.rounding).code
                                        : expected_code(to, from[i], how, stream, i);
        codes[i] != right && !std::isnan(from[i])) {
      CAPTURE(i, from[i], codes[i], right);
      FAIL("another code");
    }
}

// Three chunks, the last one odd.
const std::size_t many = 2 * io::chunk_elements + 12'347;

}  // namespace

TEST_CASE("a .npy longer than some chunks becomes the codes that encode gives, on every target and number of threads") {
  const std::vector<float> from = floats(many);
  const std::string input = npy(npy_dict("<f4", "(" + std::to_string(many) + ",)"), raw(from));
  const rounding drawn{.direction = direction::stochastic, .random_bits = 11};
  for (const auto& [to, mode, scale] : {std::tuple{float16, rounding{}, 1.0}, std::tuple{cbfloat16, drawn, 1.0},
                                        std::tuple{float8_e4m3fn, drawn, 1024.0}}) {
    file_conversion_options how{.to = to, .how = {.rounding = mode, .scale = scale, .random = {.seed = 7}}};
    CAPTURE(to_string(to));
    std::string first;
    for (const std::string_view target : targets()) {
      CAPTURE(std::string{target});
      force_target(target);
      for (const unsigned threads : {1U, 2U}) {
        how.how.threads = threads;
        const converted made = convert_file("w.npy", input, "out.npy", how);
        if (first.empty()) first = made.bytes;
        CHECK(made.bytes == first);
        CHECK(made.arrays.at(0).numel == many);
      }
    }
    force_target(targets().back());
    if (to == float8_e4m3fn)
      check_codes(numbers_in<std::uint8_t>(values_of(first)), from, to, how.how, "w");
    else
      check_codes(numbers_in<std::uint16_t>(values_of(first)), from, to, how.how, "w");
  }
}

TEST_CASE("types of every kind of file") {
  const std::vector<float> from = floats(24);
  const std::string input = npy(npy_dict("<f4", "(2, 3, 4)"), raw(from));
  const auto npy_of = [&](const format& to) {
    return dict_of(convert_file("w.npy", input, "o.npy", {.to = to}).bytes);
  };
  const std::string rest = ", 'fortran_order': False, 'shape': (2, 3, 4), }";
  CHECK(npy_of(float16) == "{'descr': '<f2'" + rest);
  CHECK(npy_of(bfloat16) == "{'descr': '<u2'" + rest);
  CHECK(npy_of(float8_e5m2) == "{'descr': '|u1'" + rest);
  CHECK(npy_of(tf32) == "{'descr': '<u4'" + rest);
  CHECK(npy_of(float32) == "{'descr': '<f4'" + rest);
  const auto tensor_type = [&](const format& to) {
    return tensors_in(convert_file("w.npy", input, "o.safetensors", {.to = to}).bytes).header.at("w").at("dtype");
  };
  CHECK(tensor_type(float16) == "F16");
  CHECK(tensor_type(bfloat16) == "BF16");
  CHECK(tensor_type(float8_e4m3fn) == "F8_E4M3");
  CHECK(tensor_type(float8_e5m2) == "F8_E5M2");
  CHECK(tensor_type(float8_e5m2fnuz) == "F8_E5M2FNUZ");
  CHECK(tensor_type(cbfloat16) == "U16");
  CHECK(tensor_type(float4_e2m1) == "U8");
  CHECK(tensor_type(tf32) == "U32");
  CHECK(convert_file("w.npy", input, "o.bin", {.to = cbfloat16}).bytes.size() == 48);
}

TEST_CASE("the header of a .npy is what numpy writes") {
  const auto header_of = [](const std::string& shape, const std::string& values) {
    return convert_file("w.npy", npy(npy_dict("<f4", shape), values), "o.npy", {.to = float16}).bytes;
  };
  const std::string one = header_of("(1,)", std::string(4, '\0'));
  CHECK(one.size() == 128 + 2);
  CHECK(one.substr(0, 10) == std::string("\x93NUMPY\1\0\x76\0", 10));
  CHECK(one.substr(10, 118) ==
        "{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }" + std::string(60, ' ') + "\n");
  CHECK(dict_of(header_of("()", std::string(4, '\0'))).find("'shape': (), }") != std::string::npos);
  CHECK(dict_of(header_of("(3, 0)", "")).find("'shape': (3, 0), }") != std::string::npos);
}

TEST_CASE("either byte order, by rows and by columns, of no dimension and of no element") {
  const std::vector<float> from = floats(6);
  const std::string expected =
      values_of(convert_file("w.npy", npy(npy_dict("<f4", "(2, 3)"), raw(from)), "o.npy", {.to = float16}).bytes);
  check_codes(numbers_in<std::uint16_t>(expected), from, float16, {}, "w");
  const auto big =
      convert_file("w.npy", npy(npy_dict(">f4", "(2, 3)"), swapped(raw(from), 4)), "o.npy", {.to = float16});
  CHECK(values_of(big.bytes) == expected);
  CHECK(big.arrays.at(0).from == ">f4");
  const std::string by_columns = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", raw(from));
  const auto columns = convert_file("w.npy", by_columns, "o.npy", {.to = float16});
  CHECK(values_of(columns.bytes) == expected);
  CHECK(dict_of(columns.bytes).find("'fortran_order': True, 'shape': (2, 3)") != std::string::npos);
  CHECK(refusal("w.npy", by_columns, "o.safetensors", {.to = float16})
            .starts_with("w.npy: array 'w': is stored by columns (Fortran order)"));
  // Where it makes no difference.
  CHECK(convert_file("w.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 6), }", raw(from)),
                     "o.safetensors", {.to = float16})
            .arrays.size() == 1);
  const std::vector<double> wide{0.1, -1e300, 5e-324, 65519.999999999993, 65520};
  const std::string doubles = values_of(
      convert_file("w.npy", npy(npy_dict(">f8", "(5,)"), swapped(raw(wide), 8)), "o.npy", {.to = float16}).bytes);
  for (std::size_t i = 0; i < wide.size(); ++i)
    CHECK(numbers_in<std::uint16_t>(doubles)[i] == encode(float16, wide[i], rounding{}).code);
  CHECK(values_of(
            convert_file("w.npy", npy(npy_dict("<f4", "()"), raw(std::vector<float>{1.5F})), "o.npy", {.to = float16})
                .bytes) == little(0x3E00, 2));
  const auto none = convert_file("w.npy", npy(npy_dict("<f4", "(0, 7)"), ""), "o.npy", {.to = float16});
  CHECK(values_of(none.bytes).empty());
  CHECK(none.arrays.at(0).counts == conversion_counts{});
}

TEST_CASE("codes of a format become those of another") {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  const auto check = [&](const std::string& name, const std::string& input, const file_conversion_options& how,
                         const format& from, const std::function<std::string(const std::string&)>& values) {
    const auto made = numbers_in<std::uint8_t>(values(convert_file(name, input, "o" + name.substr(1), how).bytes));
    REQUIRE(made.size() == codes.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto right = encode(how.to, decode(from, codes[i]), rounding{}).code;
      if (made[i] != right) FAIL(i);
    }
  };
  const std::string shape = "(65536,)";
  const file_conversion_options of_cb16{.to = float8_e5m2, .from = cbfloat16};
  check("a.npy", npy(npy_dict("<u2", shape), raw(codes)), of_cb16, cbfloat16, values_of);
  check("a.npy", npy(npy_dict(">u2", shape), swapped(raw(codes), 2)), of_cb16, cbfloat16, values_of);
  check("a.npy", npy(npy_dict("|V2", shape), raw(codes)), {.to = float8_e5m2, .from = bfloat16}, bfloat16, values_of);
  check("a.npy", npy(npy_dict("<f2", shape), raw(codes)), {.to = float8_e5m2}, float16, values_of);
  check("a.safetensors", safetensors(R"({"w":{"dtype":"BF16","shape":[65536],"data_offsets":[0,131072]}})", raw(codes)),
        {.to = float8_e5m2}, bfloat16, [](const std::string& file) { return tensors_in(file).of("w"); });
  check("a.bin", raw(codes), {.to = float8_e5m2, .from = cbfloat16, .raw = raw_type::u16}, cbfloat16,
        [](const std::string& file) { return file; });
}

TEST_CASE("bits above a code are refused, with the element") {
  const std::vector<std::uint8_t> codes{0, 63, 64, 1};
  CHECK(refusal("a.npy", npy(npy_dict("|u1", "(4,)"), raw(codes)), "o.npy", {.to = float16, .from = float6_e2m3}) ==
        "a.npy: array 'a', element 2: has bits above the 6 of a code of float6_e2m3: is --from right?");
  std::vector<std::uint8_t> late(io::chunk_elements + 5);
  late.back() = 255;
  CHECK(refusal("a.npy", npy(npy_dict("|u1", "(" + std::to_string(late.size()) + ",)"), raw(late)), "o.npy",
                {.to = float16, .from = float6_e2m3})
            .starts_with("a.npy: array 'a', element " + std::to_string(late.size() - 1) + ":"));
}

TEST_CASE("rounded numbers instead of codes") {
  const std::vector<float> from = floats(1000);
  const file_conversion_options how{.to = cbfloat16, .values = true};
  const auto check = [&](const std::vector<float>& made) {
    REQUIRE(made.size() == from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const float right = to_float(cbfloat16, encode(cbfloat16, from[i], rounding{}).code);
      if (!(made[i] == right || (std::isnan(made[i]) && std::isnan(right)))) FAIL(i);
    }
  };
  const auto single = convert_file("w.npy", npy(npy_dict("<f4", "(1000,)"), raw(from)), "o.npy", how);
  CHECK(dict_of(single.bytes).find("'<f4'") != std::string::npos);
  check(numbers_in<float>(values_of(single.bytes)));
  const std::vector<double> wide(from.begin(), from.end());
  const auto twice = convert_file("w.npy", npy(npy_dict("<f8", "(1000,)"), raw(wide)), "o.safetensors", how);
  check(numbers_in<float>(tensors_in(twice.bytes).of("w")));
  CHECK(tensors_in(twice.bytes).header.at("w").at("dtype") == "F32");
  CHECK(tensors_in(twice.bytes).header.at("__metadata__").at("ulp.holds") == "values");
  CHECK(single.arrays.at(0).counts == twice.arrays.at(0).counts);
  CHECK(refusal("w.npy", npy(npy_dict("<f4", "(1,)"), "1234"), "o.npy", {.to = ieee_format(10, 10), .values = true})
            .starts_with("w.npy: float32 does not hold all numbers of e10m10"));
}

TEST_CASE("two codes in a byte") {
  const std::vector<float> from{0.5F, 1, -6, 3, 0, 2};
  const auto packed = [&](const std::string& shape, const std::string& output, bool by_columns = false) {
    const std::string dict = std::string("{'descr': '<f4', 'fortran_order': ") + (by_columns ? "True" : "False") +
                             ", 'shape': " + shape + ", }";
    const std::size_t odd = shape == "(5,)" ? 5 : 6;
    return convert_file("w.npy", npy(dict, raw(std::vector<float>(from.begin(), from.begin() + odd))), output,
                        {.to = float4_e2m1, .packed = true})
        .bytes;
  };
  CHECK(values_of(packed("(6,)", "o.npy")) == "\x21\x5F\x40");
  CHECK(values_of(packed("(5,)", "o.npy")) == std::string("\x21\x5F\x00", 3));
  CHECK(dict_of(packed("(5,)", "o.npy")).find("'shape': (3,)") != std::string::npos);
  CHECK(dict_of(packed("(3, 2)", "o.npy")).find("'shape': (3, 1)") != std::string::npos);
  CHECK(dict_of(packed("(2, 3)", "o.npy", true)).find("'shape': (1, 3)") != std::string::npos);
  CHECK(packed("(2, 3)", "o.bin") == "\x21\x5F\x40");
  CHECK(refusal("w.npy", npy(npy_dict("<f4", "(2, 3)"), raw(from)), "o.npy", {.to = float4_e2m1, .packed = true})
            .starts_with("w.npy: array 'w': its rows have 3 elements"));
  CHECK(refusal("w.npy", npy(npy_dict("<f4", "(2, 3)"), raw(from)), "o.npy", {.to = float16, .packed = true}) ==
        "w.npy: codes of float16 have 16 bits: two in a byte have at most 4");
}

TEST_CASE("a .safetensors keeps names, other tensors and its metadata, and says what was done") {
  const std::vector<float> from = floats(3);
  const std::string ids = little(1, 8) + little(2, 8);
  const std::string input = safetensors(R"({"__metadata__":{"format":"pt","ulp.format":"old","note":"\u00e9\"\\"},)"
                                        R"("flags":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},)"
                                        R"("b\u00e9":{"dtype":"F32","shape":[3],"data_offsets":[3,15]},)"
                                        R"("ids":{"dtype":"I64","shape":[2,1],"data_offsets":[15,31]}})",
                                        std::string("\1\0\1", 3) + raw(from) + ids);
  const converted made = convert_file("m.safetensors", input, "o.safetensors",
                                      {.to = float8_e4m3fn, .how = {.scale = 4, .random = {.seed = 5}}});
  const tensor_file file = tensors_in(made.bytes);
  CHECK(file.of("ids") == ids);
  CHECK(file.of("flags") == std::string("\1\0\1", 3));
  CHECK(file.header.at("ids").at("shape") == std::vector<int>{2, 1});
  CHECK(file.header.at("ids").at("data_offsets")[0] == 0);  // the widest first
  check_codes(numbers_in<std::uint8_t>(file.of("b\xC3\xA9")), from, float8_e4m3fn, {.scale = 4}, "b\xC3\xA9");
  const auto& said = file.header.at("__metadata__");
  CHECK(said.at("format") == "pt");
  CHECK(said.at("note") == "\xC3\xA9\"\\");
  CHECK(said.at("ulp.format") == "float8_e4m3fn");
  CHECK(said.at("ulp.holds") == "codes");
  CHECK(said.at("ulp.scale") == "4");
  CHECK(said.at("ulp.rounding") == "nearest-even");
  CHECK_FALSE(said.contains("ulp.seed"));
  CHECK(made.notes.at(0) == "copied as they are: 'flags' (BOOL), 'ids' (I64)");
  REQUIRE(made.arrays.size() == 3);
  CHECK_FALSE(made.arrays[0].converted);
  CHECK(made.arrays[1].converted);
}

TEST_CASE("codes are not read against what a .safetensors says of them, and scales multiply") {
  const std::string input =
      safetensors(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", raw(std::vector<float>{1, 2, 3, 4}));
  const auto as_file = [&](const file_conversion_options& how) {
    return convert_file("m.safetensors", input, "o.safetensors", how).bytes;
  };
  CHECK(refusal("p.safetensors", as_file({.to = float4_e2m1, .packed = true}), "o.npy",
                {.to = float32, .from = float4_e2m1})
            .find("two in a byte") != std::string::npos);
  const std::string eighths = as_file({.to = cbfloat16, .how = {.scale = 8}});
  CHECK(refusal("c.safetensors", eighths, "o.npy", {.to = float32, .from = dlfloat16})
            .find("codes of cbfloat16, not of dlfloat16: give --from cbfloat16") != std::string::npos);
  const converted again =
      convert_file("c.safetensors", eighths, "o.safetensors", {.to = float16, .how = {.scale = 4}, .from = cbfloat16});
  CHECK(tensors_in(again.bytes).header.at("__metadata__").at("ulp.scale") == "32");
}

TEST_CASE("a .npz keeps what is not converted byte for byte") {
  const std::vector<float> from = floats(5);
  const std::string ids = npy(npy_dict("<i8", "(1,)"), std::string(8, '\1'));
  const std::string objects = npy(npy_dict("|O", "(1,)"), "pickled");
  const std::string input =
      zip({{.name = "w.npy", .contents = npy(npy_dict("<f4", "(5,)"), raw(from)), .deflated = true},
           {.name = "ids.npy", .contents = ids, .deflated = true},
           {.name = "o.npy", .contents = objects},
           {.name = "README", .contents = "text", .local_zip64 = true},
           {.name = "\xC3\xA9.npy", .contents = npy(npy_dict("<f2", "()"), little(0x3C00, 2))}});
  const converted made = convert_file("m.npz", input, "o.npz", {.to = float16});
  CHECK(made.notes.at(0) == "copied as they are: 'ids' (<i8), 'o' (pickled objects), 'README' (not a .npy)");
  const temporary_dir dir;
  write_file(dir / "o.npz", made.bytes);
  CHECK(made.bytes.find(ids) != std::string::npos);
  CHECK(made.bytes.find(objects) != std::string::npos);
  // Again, to safetensors: what is converted alone.
  const converted single = convert_file("m.npz", made.bytes, "o.safetensors", {.to = bfloat16});
  CHECK(single.notes.at(0) ==
        "left out, since a .npz file becomes a .safetensors file: 'ids' (<i8), 'o' (pickled objects), 'README' (not a "
        ".npy)");
  const tensor_file file = tensors_in(single.bytes);
  CHECK(file.header.size() == 3);
  CHECK(file.of("\xC3\xA9") == little(0x3F80, 2));
  const auto halves = numbers_in<std::uint16_t>(file.of("w"));
  for (std::size_t i = 0; i < from.size(); ++i)
    CHECK((std::isnan(from[i]) ||
           halves[i] == encode(bfloat16, decode(float16, encode(float16, from[i], rounding{}).code), rounding{}).code));
}

TEST_CASE("some tensors alone") {
  const std::string input = zip({{.name = "a.npy", .contents = npy(npy_dict("<f4", "(1,)"), raw(std::vector{1.0F}))},
                                 {.name = "b.npy", .contents = npy(npy_dict("<f4", "(1,)"), raw(std::vector{2.0F}))}});
  const file_conversion_options only_b{.to = float16, .selects = [](std::string_view name) { return name == "b"; }};
  const temporary_dir dir;
  write_file(dir / "o.npz", convert_file("m.npz", input, "o.npz", only_b).bytes);
  const auto arrays = read_npz(dir / "o.npz");
  CHECK(arrays.at("a").type == "<f4");
  CHECK(arrays.at("b").type == "<f2");
  CHECK(values_of(convert_file("m.npz", input, "o.npy", only_b).bytes) == little(0x4000, 2));
  CHECK(refusal("m.npz", input, "o.npy", {.to = float16}) ==
        "m.npz: holds 2 arrays that can be converted, and a .npy file holds one: name the output .npz or .safetensors, "
        "or choose one by --tensor, of 'a', 'b'");
  CHECK(refusal("m.npz", input, "o.npz", {.to = float16, .selects = [](std::string_view) { return false; }}) ==
        "m.npz: --tensor selects nothing that can be converted: it holds 'a' (<f4), 'b' (<f4)");
}

TEST_CASE("counts are those of encode_array, and sums of copies are none") {
  const std::vector<float> from{0, -0.0F, 1e-9F, 6e-8F, 1e-5F, 0.1F, 1, 70000, HUGE_VALF, NAN};
  const auto made = convert_file("w.npy", npy(npy_dict("<f4", "(10,)"), raw(from)), "o.npy", {.to = float16});
  CHECK(made.arrays.at(0).counts ==
        conversion_counts{.zeros = 2, .newly_zero = 1, .subnormal = 2, .inexact = 5, .overflowed = 1, .nan = 1});
}

TEST_CASE("damaged and hostile inputs, and what cannot be converted, are one line") {
  const file_conversion_options how{.to = float16};
  const std::string good = npy(npy_dict("<f4", "(4,)"), std::string(16, '\0'));
  CHECK(refusal("w.npy", good.substr(0, good.size() - 1), "o.npy", how) ==
        "w.npy: the array needs 16 bytes of values, but 15 follow: 1 missing; the file was cut short");
  CHECK(refusal("w.npy", npy(npy_dict("<f4", "(4611686018427387904,)"), ""), "o.npy", how)
            .find("more values than 64 bits can count") != std::string::npos);
  CHECK(refusal("w.npy", npy(npy_dict("<i4", "(1,)"), "1234"), "o.npy", how) ==
        "w.npy: holds no floating-point numbers: it holds 'w' (<i4); if integers are codes, say of which format by "
        "--from");
  CHECK(refusal("w.npy", npy(npy_dict("<u4", "(1,)"), "1234"), "o.npy", {.to = float16, .from = cbfloat16})
            .find("nor unsigned integers of 16 bits, which codes of cbfloat16 are") != std::string::npos);
  CHECK(refusal("w.npy", npy(npy_dict("|O", "(1,)"), "1234"), "o.npy", how).find("never unpacked") !=
        std::string::npos);
  CHECK(refusal("w.npy", good, "o.npy", {.to = float16, .raw = raw_type::f32})
            .starts_with("w.npy: is a .npy file, which says itself"));
  CHECK(refusal("w.npy", "nonsense", "o.npy", how).find("does not begin with the bytes 93 'NUMPY'") !=
        std::string::npos);
  CHECK(refusal("w.bin", "nonsense", "o.npy", how).find("give the element type with --dtype") != std::string::npos);
  CHECK(refusal("w.bin", "12345", "o.npy", {.to = float16, .raw = raw_type::f32}).find("no whole number of elements") !=
        std::string::npos);
  CHECK(refusal("w.bin", "1234", "o.npy", {.to = float16, .raw = raw_type::u16}).find("--from") != std::string::npos);
  CHECK(refusal("w.bin", "1234", "o.npy", {.to = float64, .raw = raw_type::f32})
            .starts_with("w.bin: codes of float64 have 64 bits"));
  CHECK(refusal("w.safetensors",
                safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                            R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                            "12345678"),
                "o.safetensors", how)
            .find("tensor 'b': its values are given as bytes 4 to 8") != std::string::npos);
  CHECK(refusal("w.safetensors", safetensors(R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "1234"),
                "o.safetensors", how)
            .find("unknown dtype 'F31'") != std::string::npos);
  const std::string zeros = npy(npy_dict("<f4", "(100000000,)"), std::string(400'000'000, '\0'));
  CHECK(refusal("w.npz", zip({{.name = "w.npy", .contents = zeros, .deflated = true}}), "o.npz", how)
            .find("--limit inflate-ratio=N raises it") != std::string::npos);
  CHECK(refusal("w.npz", zip({{.name = "w.npy", .contents = good, .crc_error = 1}}), "o.npz", how).find("CRC-32") !=
        std::string::npos);
  CHECK(refusal("w.npz", zip({{.name = "a\x1B.npy", .contents = good}}), "o.npz", how) != "");
}

TEST_CASE("scales of blocks go into the values, and not into the output") {
  const std::string codes("\x38\x40\x38\xC0", 4);  // 1 2 1 -2
  const std::string file = safetensors(R"({"w":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]},)"
                                       R"("w_scale_inv":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})",
                                       codes + raw(std::vector<float>{0.5F, 3.0F}));
  const converted all = convert_file("a.safetensors", file, "b.npz", {.to = float16});
  REQUIRE(all.arrays.size() == 2);
  CHECK((all.arrays[0].converted && all.arrays[1].left_out));
  CHECK(all.notes == std::vector<std::string>{
                         "'w': values are codes times their _scale_inv, one for each block of 1x2, as in DeepSeek"});
  const converted one = convert_file("a.safetensors", file, "b.npy", {.to = float16});
  CHECK(numbers_in<std::uint16_t>(values_of(one.bytes)) == std::vector<std::uint16_t>{0x3800, 0x3C00, 0x4200, 0xC600});
  const converted scales = convert_file("a.safetensors", file, "b.safetensors",
                                        {.to = float16, .selects = [](std::string_view name) { return name != "w"; }});
  CHECK((!scales.arrays[0].converted && scales.arrays[1].converted));
  CHECK(scales.bytes.find(codes) != std::string::npos);
}

TEST_CASE("what numpy calls V2 is converted as bfloat16 unless --from says otherwise") {
  const std::string file = npy(npy_dict("|V2", "(2,)"), raw(std::vector<std::uint16_t>{0x3F80, 0xC000}));
  const converted all = convert_file("a.npy", file, "b.npy", {.to = float16});
  CHECK(numbers_in<std::uint16_t>(values_of(all.bytes)) == std::vector<std::uint16_t>{0x3C00, 0xC000});
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0].starts_with("'a': |V2 is read as bfloat16"));
  const converted codes = convert_file("a.npy", file, "b.npy", {.to = binary32, .from = cbfloat16});
  CHECK(numbers_in<float>(values_of(codes.bytes))[0] == static_cast<float>(to_double(cbfloat16, 0x3F80)));
  CHECK(codes.notes.empty());
}

// 1 + k/8 between the neighbours 1 and 1.5 of float8_e5m2 with a fraction of 2 bits, whose distance is 1/4: with one random
// bit definition A rounds the part 1/2 up in one of two draws, and no smaller part.
TEST_CASE("the bias of few random bits is that of all draws") {
  const std::vector<float> values{1.0F, 1.0625F, 1.125F, 1.1875F, 0.0F};  // parts 0, 1/4, 1/2, 3/4
  const std::string file = npy(npy_dict("<f4", "(5,)"), raw(values));
  const auto bias = [&](stochastic_definition by, int bits) {
    file_conversion_options how{.to = float8_e5m2};
    how.how.rounding = {.direction = direction::stochastic, .definition = by, .random_bits = bits};
    return convert_file("a.npy", file, "b.npy", how).arrays[0].bias;
  };
  CHECK(bias(stochastic_definition::a, 1).values == 5);
  CHECK(bias(stochastic_definition::a, 1).sum == -0.5);  // 0, -1/4, 0, -1/4
  CHECK(bias(stochastic_definition::b, 1).sum == 0.5);   // 0, 1/4, 0, 1/4: ties go up
  CHECK(bias(stochastic_definition::a, 2).sum == 0);
  CHECK(bias(stochastic_definition::a, 24).values == 0);  // not asked
  file_conversion_options nearest{.to = float8_e5m2};
  CHECK(convert_file("a.npy", file, "b.npy", nearest).arrays[0].bias.values == 0);
}
