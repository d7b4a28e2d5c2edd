#include <ulp/formats/hardware_roundings.hpp>

#include <array>
#include <string>

#include <ulp/formats/catalog.hpp>

namespace ulp {
namespace {

constexpr rounding plain_with(int bits) noexcept {
  return {.direction = direction::stochastic, .definition = stochastic_definition::a, .random_bits = bits};
}

// "rounded toward zero or away from zero based on the carry out of the integer addition of the supplied random bits to
// the truncated off bits of mantissa"; that they meet the first of the discarded bits, also of subnormal results, was
// found by probing (Dao-AILab/quack, quack/rounding.py).
constexpr std::string_view nvidia = "PTX ISA, cvt.rs; its random bits' places: Dao-AILab/quack, quack/rounding.py";
// A software model; the instructions V_CVT_SR_{FP8,BF8}_F32 are said to do the same.
constexpr std::string_view amd = "ROCm/clr, hipamd/include/hip/amd_detail/amd_hip_fp8.h";

constexpr std::array presets{
    rounding_preset{"nvidia", "float16", float16, plain_with(13), nvidia},
    rounding_preset{"nvidia", "bfloat16", bfloat16, plain_with(16), nvidia},
    rounding_preset{"amd", "float8_e4m3fn", float8_e4m3fn, plain_with(20), amd},
    rounding_preset{"amd", "float8_e4m3fnuz", float8_e4m3fnuz, plain_with(20), amd},
    rounding_preset{"amd", "float8_e5m2", float8_e5m2, plain_with(21), amd},
    rounding_preset{"amd", "float8_e5m2fnuz", float8_e5m2fnuz, plain_with(21), amd},
};

}  // namespace

std::span<const rounding_preset> rounding_presets() noexcept { return presets; }

parsed<rounding> parse_rounding(std::string_view text, const format& to) {
  if (const auto mode = parse_rounding(text)) return {mode, ""};
  std::string documented;
  for (const rounding_preset& row : presets) {
    if (row.name != text) continue;
    if (row.to == to) return {row.rounding, ""};
    documented += (documented.empty() ? "" : ", ") + std::string{row.to_name};
  }
  if (!documented.empty()) return {{}, std::string{text} + " is documented for results in " + documented + " only"};
  const std::string_view head = text.substr(0, text.find_first_of(":,"));
  if (head == "stochastic" || head == "sr")
    return {{},
            "'" + std::string{text} +
                "': stochastic takes A, B or C, and bits=1 to bits=32 or bits=all, each at most once"};
  std::string names;
  for (const rounding_preset& row : presets)
    if (names.empty() || !names.ends_with(row.name)) names += (names.empty() ? "" : ", ") + std::string{row.name};
  return {{},
          "cannot be '" + std::string{text} +
              "': one of nearest-even, nearest-away, toward-zero, toward-positive, toward-negative, to-odd (rne rna rz "
              "ru rd ro), stochastic[:A|B|C][,bits=1..32|all] (sr), or of hardware: " +
              names};
}

}  // namespace ulp
