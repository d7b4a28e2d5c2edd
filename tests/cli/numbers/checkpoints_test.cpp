// Pins what ulp makes of published checkpoints: codes with scales beside them, each convention with numbers by definition, and
// everything else refused in a line. Arithmetic is float32 in the order of the originals' code (scale_conventions.cpp).
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

using shape = std::vector<std::size_t>;
using bytes = std::vector<std::uint8_t>;

struct tensor {
  std::string name;
  std::string type;
  shape of;
  std::string contents;
};

std::string text_of(const shape& of) {
  std::string text;
  for (const std::size_t n : of) text += (text.empty() ? "" : ",") + std::to_string(n);
  return "[" + text + "]";
}

std::string checkpoint(const std::vector<tensor>& tensors) {
  std::string header;
  std::string values;
  for (const tensor& t : tensors) {
    const std::string begin = std::to_string(values.size());
    values += t.contents;
    header += (header.empty() ? "{" : ",") + ("\"" + t.name) + R"(":{"dtype":")" + t.type + R"(","shape":)" +
              text_of(t.of) + R"(,"data_offsets":[)" + begin + "," + std::to_string(values.size()) + "]}";
  }
  return safetensors(header + "}", values);
}

// Codes of all kinds, without a pattern that fits blocks.
bytes some_codes(std::size_t size) {
  bytes codes(size);
  std::uint32_t state = 7;
  for (std::uint8_t& code : codes) {
    state = state * 1664525U + 1013904223U;
    code = static_cast<std::uint8_t>(state >> 24U);
  }
  return codes;
}
std::vector<float> some_scales(std::size_t size) {
  std::vector<float> scales(size);
  for (std::size_t i = 0; i < size; ++i) scales[i] = 0.01F + 0.1F / static_cast<float>(i + 3);
  return scales;
}

// By the formats' definitions.
float e4m3(std::uint8_t code) {
  const int exponent = code >> 3 & 15;
  const int fraction = code & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                        : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return code >= 128 ? -magnitude : magnitude;
}
float e5m2(std::uint8_t code) {
  const int exponent = code >> 2 & 31;
  const int fraction = code & 3;
  float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -16)
                                  : std::ldexp(static_cast<float>(4 + fraction), exponent - 17);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return code >= 128 ? -magnitude : magnitude;
}
float e2m1(const bytes& pairs, std::size_t i) {
  constexpr float numbers[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const unsigned code = pairs[i / 2] >> (i % 2 * 4) & 15U;
  return code >= 8 ? -numbers[code - 8] : numbers[code];
}

bool same(float a, float b) {
  return (a != a && b != b) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class folder {
 public:
  void write(const std::string& name, const std::vector<tensor>& tensors) const {
    write_file(dir_ / name, checkpoint(tensors));
  }
  void write_text(const std::string& name, const std::string& text) const { write_file(dir_ / name, text); }
  program_result run(const std::string& command) const {
    std::filesystem::remove(dir_ / "o.npz");
    return run_shell("cd " + dir_.path().string() + " && ulp " + command);
  }
  bool has_output() const { return std::filesystem::exists(dir_ / "o.npz"); }

  // What a.safetensors converts to: NAME alone, with these numbers, said to be read as `how`.
  void check(const std::string& name, const shape& of, const std::vector<float>& numbers,
             const std::string& how) const {
    INFO(name << ": " << how);
    const auto made = run("convert a.safetensors o.npz");
    CAPTURE(made.err);
    REQUIRE(made.exit_code == 0);
    CHECK(made.err.find("'" + name + "': " + how + "\n") != std::string::npos);
    const auto all = read_npz(dir_ / "o.npz");
    REQUIRE(all.size() == 1);
    const npz_array& array = all.begin()->second;
    CHECK(all.begin()->first == name);
    CHECK(array.type == "<f4");
    CHECK(array.shape == of);
    const auto given = array.as<float>();
    REQUIRE(given.size() == numbers.size());
    std::size_t differ = 0;
    for (std::size_t i = 0; i < given.size(); ++i) differ += same(given[i], numbers[i]) ? 0U : 1U;
    CHECK(differ == 0);
  }
  void refuse(const std::vector<tensor>& tensors, const std::string& message) const {
    write("a.safetensors", tensors);
    for (const std::string command :
         {"convert a.safetensors o.npz", "record a.safetensors -o o.npz", "info a.safetensors"}) {
      const auto made = run(command);
      CAPTURE(command, message, made.err);
      CHECK(made.exit_code == 2);
      CHECK(made.err.find(message) != std::string::npos);
      CHECK(made.err.find("--raw-codes") != std::string::npos);
      CHECK_FALSE(has_output());
    }
  }

 private:
  temporary_dir dir_;
};

// Blocks of rows x columns over a matrix.
template <class Code, class Scale>
std::vector<float> in_blocks(std::size_t rows, std::size_t columns, std::size_t down, std::size_t across, Code code,
                             Scale scale) {
  const std::size_t of_row = (columns + across - 1) / across;
  std::vector<float> numbers;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      numbers.push_back(code(r * columns + c) * scale(r / down * of_row + c / across));
  return numbers;
}

tensor f32(const std::string& name, const shape& of, const std::vector<float>& numbers) {
  return {name, "F32", of, raw(numbers)};
}
tensor codes_of(const std::string& name, const std::string& type, const shape& of, const bytes& codes) {
  return {name, type, of, raw(codes)};
}

}  // namespace

TEST_CASE("FP8 with scales of blocks, rows and the tensor, under the names of each program") {
  const folder place;
  const std::size_t rows = 200;
  const std::size_t columns = 161;
  const bytes codes = some_codes(rows * columns);
  const auto code = [&](std::size_t i) { return e4m3(codes[i]); };
  const std::vector<float> scales = some_scales(1000);
  const auto check = [&](const std::string& name, const shape& of, std::size_t down, std::size_t across,
                         const std::string& how) {
    std::size_t count = 1;
    for (const std::size_t n : of) count *= n;
    place.write("a.safetensors",
                {codes_of("l.weight", "F8_E4M3", {rows, columns}, codes),
                 f32(name, of, {scales.begin(), scales.begin() + static_cast<std::ptrdiff_t>(count)})});
    place.check("l.weight", {rows, columns},
                in_blocks(rows, columns, down, across, code, [&](std::size_t i) { return scales[i]; }),
                "values are codes times their " + how);
  };
  const std::string squares = ", one for each block of 128x128, as in ";
  const std::string each_row = ", one for each block of 1x161, as in ";
  check("l.weight_scale_inv", {2, 2}, 128, 128, "_scale_inv" + squares + "DeepSeek");
  check("l.scale", {2, 2}, 128, 128, ".scale" + squares + "DeepSeek");
  const std::string both = "compressed-tensors and ModelOpt";
  check("l.weight_scale", {2, 2}, 128, 128, "_scale" + squares + both);
  check("l.weight_scale", {}, rows, columns, "_scale, as in " + both);
  check("l.weight_scale", {1}, rows, columns, "_scale, as in " + both);
  check("l.weight_scale", {rows, 1}, 1, columns, "_scale" + each_row + both);
  check("l.weight_scale", {rows}, 1, columns, "_scale" + each_row + both);
  check("l.scale_weight", {}, rows, columns, ".scale_weight, as in ComfyUI");
  check("l.qscale_weight", {}, rows, columns, ".qscale_weight, as in Mistral");
}

TEST_CASE("FP8 of other types, and scales of 16 bits and of powers of two") {
  const folder place;
  const bytes codes = some_codes(64 * 96);
  const std::vector<std::uint16_t> brains{0x3DCD, 0xBE4D, 0x3F80, 0x0001};  // 0.100098, -0.2002, 1, 2^-133
  const auto brain = [&](std::size_t i) { return std::bit_cast<float>(std::uint32_t{brains[i]} << 16U); };
  place.write("a.safetensors",
              {codes_of("w", "F8_E5M2", {64, 96}, codes), {"w_scale_inv", "BF16", {2, 2}, raw(brains)}});
  place.check("w", {64, 96},
              in_blocks(
                  64, 96, 32, 48, [&](std::size_t i) { return e5m2(codes[i]); }, brain),
              "values are codes times their _scale_inv, one for each block of 32x48, as in DeepSeek");
  // UE8M0: of DeepSeek-V3.1 for squares, of MX for 32 in a row, as a type of its own or as bytes.
  const bytes powers = some_codes(64 * 3);
  const auto power = [&](std::size_t i) { return powers[i] == 255 ? NAN : std::ldexp(1.0F, powers[i] - 127); };
  const auto code = [&](std::size_t i) { return e4m3(codes[i]); };
  place.write("a.safetensors",
              {codes_of("w", "F8_E4M3", {64, 96}, codes), codes_of("w_scale_inv", "F8_E8M0", {1, 1}, {powers[0]})});
  place.check("w", {64, 96}, in_blocks(64, 96, 64, 96, code, power),
              "values are codes times their _scale_inv, as in DeepSeek");
  for (const std::string type : {"F8_E8M0", "U8"}) {
    place.write("a.safetensors",
                {codes_of("w", "F8_E4M3", {64, 96}, codes), codes_of("w_scale", type, {64, 3}, powers)});
    place.check("w", {64, 96}, in_blocks(64, 96, 1, 32, code, power),
                "values are codes times their _scale, one for each block of 1x32, as in " +
                    std::string{type == "U8" ? "MXFP8 of compressed-tensors" : "compressed-tensors and ModelOpt"});
  }
}

TEST_CASE("experts in one tensor have scales of their own") {
  const folder place;
  const bytes codes = some_codes(3 * 4 * 5);
  const std::vector<float> scales = some_scales(12);
  for (const bool each_row : {false, true}) {
    std::vector<float> numbers;
    for (std::size_t i = 0; i < codes.size(); ++i) numbers.push_back(e4m3(codes[i]) * scales[i / (each_row ? 5 : 20)]);
    const std::size_t count = each_row ? 12 : 3;
    place.write("a.safetensors", {codes_of("e.up", "F8_E4M3", {3, 4, 5}, codes),
                                  f32("e.up_scale", each_row ? shape{3, 4, 1} : shape{3},
                                      {scales.begin(), scales.begin() + static_cast<std::ptrdiff_t>(count)})});
    place.check("e.up", {3, 4, 5}, numbers,
                std::string{"values are codes times their _scale, one for each block of "} +
                    (each_row ? "1x1x5" : "1x4x5") + ", as in compressed-tensors and ModelOpt");
  }
}

TEST_CASE("NVFP4: ModelOpt multiplies by the tensor's scale, compressed-tensors divides") {
  const folder place;
  const bytes pairs = some_codes(6 * 24);  // 6 x 48 codes
  bytes scales = some_codes(6 * 3);
  for (std::uint8_t& s : scales) s &= 0x7F;
  const float second = 0.003F;
  const auto code = [&](std::size_t i) { return e2m1(pairs, i); };
  place.write("a.safetensors",
              {codes_of("l.weight", "U8", {6, 24}, pairs), codes_of("l.weight_scale", "F8_E4M3", {6, 3}, scales),
               f32("l.weight_scale_2", {}, {second})});
  place.check(
      "l.weight", {6, 48}, in_blocks(6, 48, 1, 16, code, [&](std::size_t i) { return e4m3(scales[i]) * second; }),
      "values are codes, two in a byte, times their _scale times _scale_2, one for each block of 1x16, as in NVFP4 of "
      "ModelOpt");
  place.write("a.safetensors",
              {codes_of("l.weight_packed", "U8", {6, 24}, pairs), codes_of("l.weight_scale", "F8_E4M3", {6, 3}, scales),
               f32("l.weight_global_scale", {1}, {1 / second})});
  place.check(
      "l.weight", {6, 48}, in_blocks(6, 48, 1, 16, code, [&](std::size_t i) { return e4m3(scales[i]) / (1 / second); }),
      "values are codes, two in a byte, times their _scale over _global_scale, one for each block of 1x16, as in NVFP4 "
      "of compressed-tensors");
}

TEST_CASE("MXFP4 under the names of each program") {
  const folder place;
  const bytes pairs = some_codes(2 * 3 * 32);  // 2 x 3 x 64 codes
  const bytes powers{0, 1, 127, 128, 254, 255, 120, 121, 122, 123, 124, 125};
  const auto number = [&](std::size_t i) {
    return e2m1(pairs, i) * (powers[i / 32] == 255 ? NAN : std::ldexp(1.0F, powers[i / 32] - 127));
  };
  std::vector<float> numbers;
  for (std::size_t i = 0; i < 2 * pairs.size(); ++i) numbers.push_back(number(i));
  const auto check = [&](const std::string& codes, const std::string& scales, const shape& of_codes,
                         const shape& of_scales, const std::string& name, const shape& of, const std::string& how) {
    place.write("a.safetensors", {codes_of(codes, "U8", of_codes, pairs), codes_of(scales, "U8", of_scales, powers)});
    place.check(name, of, numbers, "values are codes, two in a byte, times their " + how);
  };
  const std::string each = ", one for each block of 1x1x32, as in MXFP4 of gpt-oss";
  check("e.up_blocks", "e.up_scales", {2, 3, 2, 16}, {2, 3, 2}, "e.up", {2, 3, 64}, "_scales" + each);
  check("e.up.blocks", "e.up.scales", {2, 3, 2, 16}, {2, 3, 2}, "e.up", {2, 3, 64}, ".scales" + each);
  const std::string one = ", one for each block of 1x32, as in MXFP4";
  check("l.weight", "l.weight_scale", {6, 32}, {6, 2}, "l.weight", {6, 64}, "_scale" + one);
  check("l.weight", "l.weight_scale", {6, 32}, {12, 1}, "l.weight", {6, 64}, "_scale" + one);
  check("l.weight_packed", "l.weight_scale", {6, 32}, {6, 2}, "l.weight", {6, 64},
        "_scale" + one + " of compressed-tensors");
}

TEST_CASE("scales of activations are not the weight's, and no scale of another tensor is taken") {
  const folder place;
  const bytes codes = some_codes(4 * 6);
  std::vector<float> numbers;
  for (const std::uint8_t c : codes) numbers.push_back(e4m3(c) * 0.5F);
  const auto write = [&](const std::vector<tensor>& others) {
    std::vector<tensor> all{codes_of("l.weight", "F8_E4M3", {4, 6}, codes)};
    all.insert(all.end(), others.begin(), others.end());
    place.write("a.safetensors", all);
  };
  write({f32("l.weight_scale", {}, {0.5F})});
  place.check("l.weight", {4, 6}, numbers,
              "values are codes times their _scale, as in compressed-tensors and ModelOpt");
  for (const std::string other : {"l.input_scale", "l.output_scale", "l.k_scale", "l.v_scale", "l.scale_input"}) {
    CAPTURE(other);
    write({f32("l.weight_scale", {}, {0.5F}), f32(other, {}, {7})});
    REQUIRE(place.run("convert a.safetensors o.npz --tensor weight").exit_code == 0);
    // Alone it scales nothing of the weight.
    write({f32(other, {}, {7})});
    const auto made = place.run("convert a.safetensors o.npz");
    CHECK(made.exit_code == 0);
    CHECK(made.err.empty());
  }
  // gate_up_scale is of gate_up, not of gate.
  place.write("a.safetensors", {codes_of("e.gate", "F8_E4M3", {4, 6}, codes),
                                codes_of("e.gate_up", "F8_E5M2", {4, 6}, codes), f32("e.gate_up_scale", {}, {0.5F})});
  const auto made = place.run("convert a.safetensors o.npz");
  CAPTURE(made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.err.find("'e.gate_up': values are codes times their _scale") != std::string::npos);
}

TEST_CASE("what cannot be decided is refused, and --raw-codes reads it") {
  const folder place;
  const bytes codes = some_codes(4 * 6);
  const tensor weight = codes_of("l.weight", "F8_E4M3", {4, 6}, codes);
  const std::string name = "tensor 'l.weight' (F8_E4M3 [4, 6])";
  // A scale that was cut short, or is of another tensor.
  place.refuse(
      {weight, f32("l.weight_scale_inv", {3, 5}, std::vector<float>(15, 2))},
      name + ": has 'l.weight_scale_inv' (F32 [3, 5]) beside it, and the shape of 'l.weight_scale_inv' fits no blocks");
  place.refuse({weight, f32("l.weight_scale", {3}, {1, 2, 3})}, "the shape of 'l.weight_scale' fits no blocks of it");
  place.refuse({weight, f32("l.weight_scale", {6}, {1, 2, 3, 4, 5, 6})},
               "the shape of 'l.weight_scale' fits no blocks of it");
  place.refuse({weight, f32("l.weight_scale", {0}, {})}, "the shape of 'l.weight_scale' fits no blocks of it");
  place.refuse({weight, {"l.weight_scale", "I32", {}, std::string(4, '\1')}},
               "as scales 'l.weight_scale' has the wrong type");
  place.refuse({weight, codes_of("l.weight_scale", "U8", {4, 6}, codes)},
               "the shape of 'l.weight_scale' fits no blocks of it");
  // Two that exclude each other, and one that nobody knows.
  place.refuse({weight, f32("l.weight_scale", {}, {2}), f32("l.weight_scale_inv", {}, {0.5F})},
               "has 'l.weight_scale' (F32 []), 'l.weight_scale_inv' (F32 []) beside it, which do not go together");
  place.refuse({weight, f32("l.weight_scale", {}, {2}), f32("l.pre_quant_scale", {6}, some_scales(6))},
               "which do not go together");
  place.refuse({weight, f32("l.smooth_scale", {}, {2})},
               "has 'l.smooth_scale' (F32 []) beside it, and no convention that is known says what that scales");
  place.refuse({weight, f32("l.weight.scale", {}, {2})}, "no convention that is known says what that scales");
  // NVFP4 without its second level, or with both; 2-bit codes with a scale of their own (BitNet).
  const bytes pairs = some_codes(4 * 8);
  const tensor packed = codes_of("l.weight", "U8", {4, 8}, pairs);
  const tensor scale = codes_of("l.weight_scale", "F8_E4M3", {4, 1}, {56, 56, 56, 56});
  place.refuse({packed, scale}, "and 'l.weight_scale_2', by which NVFP4 of ModelOpt scales the tensor, is missing");
  place.refuse({packed, scale, f32("l.weight_scale_2", {2}, {1, 2})}, "'l.weight_scale_2' is not one float32 number");
  place.refuse({packed, scale, f32("l.weight_scale_2", {}, {1}), f32("l.weight_global_scale", {}, {1})},
               "which do not go together");
  place.refuse({packed, {"l.weight_scale", "BF16", {1}, "\x80\x3F"}}, "as scales 'l.weight_scale' has the wrong type");
  // One that has its scale, and one that lacks it.
  place.refuse({weight, codes_of("m.weight", "F8_E4M3", {4, 6}, codes), f32("m.weight_scale", {}, {2})},
               name + ": has no scales beside it, as 'm.weight' has in 'm.weight_scale'");
  place.refuse({codes_of("l.weight_packed", "U8", {4, 8}, pairs), scale, f32("l.weight_global_scale", {}, {1}),
                f32("l.weight", {1}, {1})},
               "decodes to 'l.weight', which there is already");

  place.write("a.safetensors", {weight, f32("l.weight_scale_inv", {3, 5}, std::vector<float>(15, 2))});
  const auto made = place.run("convert a.safetensors o.npz --raw-codes");
  CAPTURE(made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.out.find("l.weight_scale_inv") != std::string::npos);
  CHECK(place.run("info a.safetensors --raw-codes").exit_code == 0);
}

TEST_CASE("by which convention codes were read is in the JSON of every command, and --raw-codes in all of them") {
  const folder place;
  const bytes codes = some_codes(64 * 64);
  place.write("a.safetensors", {codes_of("w", "F8_E4M3", {64, 64}, codes), f32("w_scale_inv", {1, 1}, {0.5F})});
  const std::string how = "a.safetensors: 'w': values are codes times their _scale_inv, as in DeepSeek";
  for (const std::string command :
       {"info a.safetensors --json", "outcomes a.safetensors --format fp16 --json",
        "outcomes a.safetensors --format mxfp8,nvfp4 --json", "convert a.safetensors o.npz --to bf16 --json",
        "convert a.safetensors o.npz --to mxfp8 --json", "diff a.safetensors --to mxfp8 --dialects torchao,te --json",
        "matmul a.safetensors a.safetensors --a w --b w --unit H100 --format bf16 --json",
        "precision dot a.safetensors a.safetensors --a w --b w --json",
        "precision optimizer a.safetensors --w0 a.safetensors --dialect torch_adamw -o o.npz --json"}) {
    CAPTURE(command);
    const auto made = place.run(command);
    CAPTURE(made.err);
    CHECK(made.exit_code == 0);
    const auto notes = nlohmann::json::parse(made.out);
    const auto& holder = notes.is_array() ? notes.at(0) : notes;
    REQUIRE(holder.contains("notes"));
    CHECK(holder["notes"][0] == how);
    CHECK(made.err.find("ulp: note: " + how) != std::string::npos);
    CHECK(place.run(command + " --raw-codes").err.find("values are codes") == std::string::npos);
  }
}

TEST_CASE("--from says what codes in bytes are, whose scales are applied then") {
  const folder place;
  const bytes codes = some_codes(4 * 6);
  std::vector<float> numbers;
  for (const std::uint8_t c : codes) numbers.push_back(e4m3(c) * 0.5F);
  place.write("a.safetensors", {codes_of("w", "U8", {4, 6}, codes), f32("w_scale_inv", {1, 1}, {0.5F})});
  const auto made = place.run("convert a.safetensors o.npz --from float8_e4m3fn");
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(made.err.find("'w': values are codes times their _scale_inv, as in DeepSeek") != std::string::npos);
  CHECK(place.run("convert a.safetensors o.npz --from float8_e4m3fn --raw-codes").err.find("values are codes") ==
        std::string::npos);
  // In numpy's files, which have no names for these types; of a .npy only the names of files tell.
  const std::string shape_of_codes = "{'descr': '|V1', 'fortran_order': False, 'shape': (4, 6), }";
  const std::string shape_of_scales = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
  const std::string scales = npy(shape_of_scales, raw(std::vector<float>{0.5F}));
  place.write_text("b.npz", zip({{.name = "w.npy", .contents = npy(shape_of_codes, raw(codes))},
                                 {.name = "w_scale_inv.npy", .contents = scales}}));
  const auto named = place.run("convert b.npz o.npz --from float8_e4m3fn --values --to float32");
  CAPTURE(named.err);
  CHECK(named.exit_code == 0);
  CHECK(named.err.find("'w': values are codes times their _scale_inv, as in DeepSeek") != std::string::npos);
  place.write_text("w.npy", npy(shape_of_codes, raw(codes)));
  CHECK(place.run("convert w.npy o.npz --from float8_e4m3fn").err.empty());
  place.write_text("w_scale_inv.npy", scales);
  CHECK(place.run("convert w.npy o.npz --from float8_e4m3fn")
            .err.find("'w': codes are read without the scales that may be in w_scale_inv.npy beside them") !=
        std::string::npos);
  // Six bits of a byte.
  const auto narrow = place.run("convert a.safetensors o.npz --from float6_e3m2fn");
  CHECK(narrow.exit_code == 2);
  CHECK(narrow.err.find("tensor 'w': has bits above those of a code: is --from right?") != std::string::npos);
}

TEST_CASE("scales in another file of the model are found by its index, or missed") {
  const folder place;
  const bytes codes = some_codes(4 * 6);
  const tensor weight = codes_of("l.weight", "F8_E4M3", {4, 6}, codes);
  std::vector<float> numbers;
  for (const std::uint8_t c : codes) numbers.push_back(e4m3(c) * 0.7F);
  const std::string index = "model.safetensors.index.json";
  const std::string map = R"({"weight_map":{"l.weight":"a.safetensors","l.weight_scale_inv":")";
  place.write("b.safetensors", {f32("l.weight_scale_inv", {1, 1}, {0.7F})});
  place.write("a.safetensors", {weight});
  place.write_text(index, map + R"(b.safetensors"}})");
  place.check("l.weight", {4, 6}, numbers,
              "values are codes times their _scale_inv, as in DeepSeek; scales are in b.safetensors");
  CHECK(place.run("info a.safetensors").err.find("scales are in b.safetensors") != std::string::npos);

  const auto refused = [&](const std::string& message) {
    for (const std::string command : {"convert a.safetensors o.npz", "record a.safetensors -o o.npz"}) {
      const auto made = place.run(command);
      CAPTURE(made.err, message);
      CHECK(made.exit_code == 2);
      CHECK(made.err.find(message) != std::string::npos);
      CHECK_FALSE(place.has_output());
    }
  };
  place.write_text(index, map + R"(c.safetensors"}})");
  refused("c.safetensors: No such file or directory");
  place.write("c.safetensors", {f32("other", {1}, {1})});
  refused("c.safetensors: has no tensor 'l.weight_scale_inv', though model.safetensors.index.json says so");
  for (const std::string outside : {"../c.safetensors", "/etc/passwd", "", ".."}) {
    place.write_text(index, map + outside + R"("}})");
    refused("is not the name of a file in the same folder");
  }
  place.write_text(index, "{");
  refused("model.safetensors.index.json: is not valid JSON");
  place.write_text(index, R"({"weight_map":[]})");
  refused("has no object 'weight_map'");
  // The index of another model says nothing of this file: codes are as they are.
  place.write_text(index, R"({"weight_map":{"l.weight_scale_inv":"b.safetensors"}})");
  CHECK(place.run("convert a.safetensors o.npz").exit_code == 0);
  // NVFP4, parts of which lie elsewhere, under the names of a shard.
  const bytes pairs = some_codes(2 * 8);
  std::vector<float> small;
  for (std::size_t i = 0; i < 32; ++i) small.push_back(e2m1(pairs, i) * (e4m3(0x30) * 3));
  std::filesystem::path unused;
  place.write("n-00001-of-00002.safetensors", {codes_of("x.weight", "U8", {2, 8}, pairs)});
  place.write("n-00002-of-00002.safetensors",
              {codes_of("x.weight_scale", "F8_E4M3", {2, 1}, {0x30, 0x30}), f32("x.weight_scale_2", {}, {3})});
  place.write_text(
      "n.safetensors.index.json",
      R"({"weight_map":{"x.weight":"n-00001-of-00002.safetensors","x.weight_scale":"n-00002-of-00002.safetensors",)"
      R"("x.weight_scale_2":"n-00002-of-00002.safetensors"}})");
  const auto made = place.run("convert n-00001-of-00002.safetensors o.npz");
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(made.err.find("as in NVFP4 of ModelOpt; scales are in n-00002-of-00002.safetensors") != std::string::npos);
}

TEST_CASE("codes that are not converted are copied with their scales, whatever their numbers are called") {
  const folder place;
  const bytes pairs = some_codes(2 * 16);
  const bytes powers{127, 130};
  place.write("a.safetensors", {codes_of("e.up_blocks", "U8", {2, 1, 16}, pairs),
                                codes_of("e.up_scales", "U8", {2, 1}, powers), f32("bias", {2}, {1, 2})});
  REQUIRE(place.run("convert a.safetensors o.safetensors --tensor bias --to fp16").exit_code == 0);
  const auto made = place.run("convert o.safetensors o.npz");
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(made.err.find("as in MXFP4 of gpt-oss") != std::string::npos);
  // Their blocks in another format are those of their numbers.
  REQUIRE(place.run("convert a.safetensors o.npz --to mxfp4 --tensor up").exit_code == 0);
}
