// Codes with scales beside them in .pt and .npz: the numbers are those of the same tensors in a .safetensors, whose conventions
// tests/cli/numbers/checkpoints_test.cpp pins by definition, and products computed here.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using extents = std::vector<std::uint64_t>;

struct tensor {
  std::string name;
  std::string type;  // as PyTorch calls it
  extents shape;
  std::string values;
  extents strides = {};  // of a .pt, where they are not those of rows
};

std::string list_of(const extents& shape) {
  std::string text;
  for (const std::uint64_t n : shape) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

std::string in_safetensors(const std::vector<tensor>& all) {
  const auto type_of = [](const std::string& torch) {
    return std::string{torch == "float32"          ? "F32"
                       : torch == "bfloat16"       ? "BF16"
                       : torch == "uint8"          ? "U8"
                       : torch == "float8_e8m0fnu" ? "F8_E8M0"
                       : torch == "float8_e5m2"    ? "F8_E5M2"
                                                   : "F8_E4M3"};
  };
  std::string header;
  std::string values;
  for (const tensor& t : all) {
    const std::string begin = std::to_string(values.size());
    values += t.values;
    header += (header.empty() ? "{\"" : ",\"") + t.name + R"(":{"dtype":")" + type_of(t.type) + R"(","shape":[)" +
              list_of(t.shape) + R"(],"data_offsets":[)" + begin + "," + std::to_string(values.size()) + "]}";
  }
  return safetensors(header + "}", values);
}

// As PyTorch 2 saves it: untyped storages, types by name. `big`: on a machine that keeps the high byte first.
std::string in_pt(const std::vector<tensor>& all, bool big = false) {
  const auto text = [](const std::string& s) { return "X" + little(s.size(), 4) + s; };
  const auto global = [](const std::string& module, const std::string& what) {
    return "c" + module + "\n" + what + "\n";
  };
  const auto number = [](std::uint64_t n) { return "J" + little(n, 4); };
  const auto numbers = [&](const extents& of) {
    std::string items;
    for (const std::uint64_t n : of) items += number(n);
    return "(" + items + "t";
  };
  std::string pickle = "\x80\x02}";
  std::vector<zip_entry> members;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const tensor& t = all[i];
    extents strides = t.strides;
    if (strides.empty()) {
      strides.assign(t.shape.size(), 1);
      for (std::size_t k = t.shape.size(); k-- > 1;) strides[k - 1] = strides[k] * t.shape[k];
    }
    pickle += text(t.name) + global("torch._utils", "_rebuild_tensor_v3") + "((" + text("storage") +
              global("torch.storage", "UntypedStorage") + text(std::to_string(i)) + text("cpu") +
              number(t.values.size()) + "tQ" + number(0) + numbers(t.shape) + numbers(strides) + "\x89" +
              global("collections", "OrderedDict") + ")R" + global("torch", t.type) + "NtRs";
    const std::size_t size = t.type == "float32" ? 4 : t.type == "bfloat16" ? 2 : 1;
    members.push_back({.name = "a/data/" + std::to_string(i), .contents = big ? swapped(t.values, size) : t.values});
  }
  members.insert(members.begin(), {.name = "a/data.pkl", .contents = pickle + "."});
  members.push_back({.name = "a/byteorder", .contents = big ? "big" : "little"});
  return zip(members);
}

// 8-bit floats have no name there.
std::string in_npz(const std::vector<tensor>& all, bool by_columns = false) {
  std::vector<zip_entry> members;
  for (const tensor& t : all) {
    const std::string descr = t.type == "float32"    ? "<f4"
                              : t.type == "uint8"    ? "|u1"
                              : t.type == "bfloat16" ? "<V2"
                                                     : "|V1";
    const std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + (by_columns ? "True" : "False") +
                             ", 'shape': (" + list_of(t.shape) + (t.shape.empty() ? "" : ",") + "), }";
    members.push_back({.name = t.name + ".npy", .contents = npy(dict, t.values)});
  }
  return zip(members);
}

std::string some_codes(std::size_t size) {
  std::string codes(size, '\0');
  std::uint32_t state = 11;
  for (char& code : codes) {
    state = state * 1664525U + 1013904223U;
    code = static_cast<char>(state >> 24U);
  }
  return codes;
}
std::string floats(std::size_t size) {
  std::vector<float> all(size);
  for (std::size_t i = 0; i < size; ++i) all[i] = 0.01F + 0.3F / static_cast<float>(i + 2);
  return raw(all);
}
float e4m3(char byte) {
  const auto code = static_cast<std::uint8_t>(byte);
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return code >= 128 ? -magnitude : magnitude;
}

// Without the path before it.
std::vector<std::string> said(const contents& of) {
  std::vector<std::string> all;
  for (const std::string& note : of.notes) all.push_back(note.substr(note.find(": '") + 2));
  return all;
}

void check_same(const contents& a, const contents& b) {
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const tensor_info& t : b.tensors) {
    INFO(t.name);
    CHECK(a.tensor(t.name).shape == t.shape);
    CHECK(a.table(t.name) == b.table(t.name));
  }
  CHECK(said(a) == said(b));
}

const tensor weight{"l.weight", "float8_e4m3fn", {200, 161}, some_codes(200 * 161)};

}  // namespace

TEST_CASE("a .pt with codes and scales is read as a .safetensors of the same tensors is") {
  const playground place;
  const std::string pairs = some_codes(6 * 32);
  const std::vector<std::vector<tensor>> all{
      {weight, {"l.weight_scale_inv", "float32", {2, 2}, floats(4)}, {"l.bias", "float32", {3}, floats(3)}},
      {weight, {"l.weight_scale_inv", "bfloat16", {2, 2}, std::string("\x80\x3F\x81\x3E\xC0\x3D\x11\x40")}},
      {weight, {"l.weight_scale", "float32", {200, 1}, floats(200)}, {"l.input_scale", "float32", {}, floats(1)}},
      {weight, {"l.weight_scale", "float32", {}, floats(1)}},
      {{"w", "float8_e5m2", {4, 64}, some_codes(256)}, {"w_scale", "float8_e8m0fnu", {4, 2}, some_codes(8)}},
      {{"w", "float8_e4m3fn", {4, 64}, some_codes(256)}, {"w_scale", "uint8", {4, 2}, some_codes(8)}},
      {{"l.weight", "uint8", {6, 32}, pairs}, {"l.weight_scale", "uint8", {6, 2}, some_codes(12)}},
      {{"e.up_blocks", "uint8", {2, 3, 2, 16}, pairs}, {"e.up_scales", "uint8", {2, 3, 2}, some_codes(12)}},
      {{"l.weight", "uint8", {6, 32}, pairs},
       {"l.weight_scale", "float8_e4m3fn", {6, 4}, some_codes(24)},
       {"l.weight_scale_2", "float32", {}, floats(1)}},
      {{"l.weight_packed", "uint8", {6, 32}, pairs},
       {"l.weight_scale", "float8_e4m3fn", {6, 4}, some_codes(24)},
       {"l.weight_global_scale", "float32", {1}, floats(1)}}};
  for (const auto& tensors : all) {
    INFO(tensors[1].name << " " << tensors[1].type);
    const contents expected = place.open("a.safetensors", in_safetensors(tensors));
    REQUIRE(said(expected)[0].find("values are codes") != std::string::npos);
    check_same(place.open("a.pt", in_pt(tensors)), expected);
    check_same(place.open("a.bin", in_pt(tensors, /*big=*/true)), expected);
  }
}

TEST_CASE("a .pt with codes and scales that do not lie row by row") {
  const playground place;
  const std::size_t rows = 130;
  const std::size_t columns = 300;
  const std::string codes = some_codes(rows * columns);
  std::vector<float> scales(6);
  for (std::size_t i = 0; i < 6; ++i) scales[i] = 0.3F + static_cast<float>(i);
  const std::vector<float> by_columns{scales[0], scales[3], scales[1], scales[4], scales[2], scales[5]};
  std::vector<float> numbers;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) numbers.push_back(e4m3(codes[c * rows + r]) * scales[r / 128 * 3 + c / 128]);
  for (const bool scales_too : {false, true}) {
    const tensor beside{"w_scale_inv",
                        "float32",
                        {2, 3},
                        raw(scales_too ? by_columns : scales),
                        scales_too ? extents{1, 2} : extents{}};
    const contents read =
        place.open("a.pt", in_pt({{"w", "float8_e4m3fn", {rows, columns}, codes, {1, rows}}, beside}));
    CHECK(read.tensor("w").shape == extents{rows, columns});
    CHECK(read.table("w") == count_cells(numbers));
  }
  // One row of codes for all rows, which have scales of their own.
  std::vector<float> repeated;
  for (const std::size_t r : {0, 1, 2})
    for (std::size_t c = 0; c < 8; ++c) repeated.push_back(e4m3(codes[c]) * scales[r]);
  CHECK(place
            .open("a.pt",
                  in_pt({{"w", "float8_e4m3fn", {3, 8}, codes.substr(0, 8), {0, 1}},
                         {"w_scale", "float32", {3, 1}, raw(std::vector<float>(scales.begin(), scales.begin() + 3))}}))
            .table("w") == count_cells(repeated));
  CHECK(place
            .error("a.pt", in_pt({{"w_packed", "uint8", {16, 2}, some_codes(32), {1, 16}},
                                  {"w_scale", "uint8", {2, 1}, "\x7F\x7F"}}))
            .find("and its bytes do not lie row by row: save it with contiguous()") != std::string::npos);
}

TEST_CASE("a .pt whose codes and scales leave a doubt is refused, and --raw-codes reads it") {
  const playground place;
  const std::vector<tensor> misfit{weight, {"l.weight_scale_inv", "float32", {3, 5}, floats(15)}};
  const std::string reason =
      "tensor 'l.weight' (float8_e4m3fn [200, 161]): has 'l.weight_scale_inv' (float32 [3, 5]) beside it, and the shape of "
      "'l.weight_scale_inv' fits no blocks of it: it is not decoded without its scales; --raw-codes reads codes and scales as "
      "tensors of their own";
  CHECK(place.error("a.pt", in_pt(misfit)) == "a.pt: " + reason);
  CHECK(place
            .error("a.pt", in_pt({weight,
                                  {"m.weight", "float8_e4m3fn", {2}, "\x38\x38"},
                                  {"m.weight_scale", "float32", {}, floats(1)}}))
            .find("'l.weight' (float8_e4m3fn [200, 161]): has no scales beside it, as 'm.weight' has") !=
        std::string::npos);
  source_options raw_codes;
  raw_codes.limits.raw_codes = true;
  const contents read = place.open("a.pt", in_pt(misfit), raw_codes);
  CHECK(read.tensors.size() == 2);
  CHECK(read.notes.empty());
  CHECK(read.steps[0].tensors[0].type == dtype::float8_e4m3fn);
}

TEST_CASE("scales in another .bin of the model are found by its index") {
  const playground place;
  const std::vector<tensor> tensors{weight, {"l.weight_scale_inv", "float32", {2, 2}, floats(4)}};
  const contents expected = place.open("a.safetensors", in_safetensors(tensors));
  place.write("pytorch_model.bin.index.json", R"({"weight_map":{"l.weight":"pytorch_model-00001-of-00002.bin",)"
                                              R"("l.weight_scale_inv":"pytorch_model-00002-of-00002.bin"}})");
  place.write("pytorch_model-00001-of-00002.bin", in_pt({tensors[0]}));
  place.write("pytorch_model-00002-of-00002.bin", in_pt({tensors[1]}));
  const contents read = place.open({"pytorch_model-00001-of-00002.bin"});
  CHECK(read.table("l.weight") == expected.table("l.weight"));
  CHECK(said(read)[0].ends_with("pytorch_model-00002-of-00002.bin"));
}

TEST_CASE("a .npz with bytes and scales is read as a .safetensors is; 8-bit floats have no name there") {
  const playground place;
  const std::string pairs = some_codes(6 * 32);
  const std::vector<std::vector<tensor>> decided{
      {{"l.weight", "uint8", {6, 32}, pairs}, {"l.weight_scale", "uint8", {6, 2}, some_codes(12)}},
      {{"e.up_blocks", "uint8", {2, 3, 2, 16}, pairs}, {"e.up_scales", "uint8", {2, 3, 2}, some_codes(12)}},
      {{"l.weight", "uint8", {6, 32}, pairs}, {"l.weight_scale", "float8_e8m0fnu", {6, 2}, some_codes(12)}},
      {{"l.weight_packed", "uint8", {6, 32}, pairs},
       {"l.weight_scale", "float8_e4m3fn", {6, 4}, some_codes(24)},
       {"l.weight_global_scale", "float32", {1}, floats(1)},
       {"l.bias", "float32", {3}, floats(3)}}};
  for (const auto& tensors : decided) {
    INFO(tensors[1].name << " " << tensors[1].type);
    check_same(place.open("a.npz", in_npz(tensors)), place.open("a.safetensors", in_safetensors(tensors)));
  }
  const std::vector<tensor> named{weight, {"l.weight_scale_inv", "float32", {2, 2}, floats(4)}};
  CHECK(
      place.error("a.npz", in_npz(named)) ==
      "a.npz: tensor 'l.weight' (|V1 [200, 161]): has 'l.weight_scale_inv' (<f4 [2, 2]) beside it, and |V1 does not say of "
      "which format its codes are: save it as .safetensors, or name the format by --from of ulp convert: it is not decoded "
      "without its scales; --raw-codes reads codes and scales as tensors of their own");
  source_options raw_codes;
  raw_codes.limits.raw_codes = true;
  const contents read = place.open("a.npz", in_npz(named), raw_codes);
  CHECK(read.tensors.size() == 1);
  CHECK(said(read) == std::vector<std::string>{"'l.weight' (|V1)"});
  // Bytes whose scales are nobody's convention are no codes.
  CHECK(place
            .open("a.npz", in_npz({{"codes", "uint8", {4}, "1234"},
                                   {"scale", "uint8", {1}, "5"},
                                   {"x", "float32", {1}, floats(1)}}))
            .tensors.size() == 1);
}
