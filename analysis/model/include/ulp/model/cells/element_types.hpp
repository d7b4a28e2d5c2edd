// The types of elements that values are recorded in. What recordings, PyTorch, NumPy and safetensors call a type, how wide
// it is and what its codes mean is in its row here and nowhere else in C++; python/ulpscope/_counting/types.py has the
// same table for a job without the compiled module.
#ifndef ULP_MODEL_CELLS_ELEMENT_TYPES_HPP
#define ULP_MODEL_CELLS_ELEMENT_TYPES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/format.hpp>

namespace ulp {

// Recordings keep these numbers: a new type comes last.
enum class dtype : std::uint8_t {
  unknown,
  float64,
  float32,
  float16,
  bfloat16,
  float8_e4m3fn,
  float8_e5m2,
  float8_e4m3fnuz,
  float8_e5m2fnuz,
};

struct element_type {
  dtype type;
  std::string_view name;  // in recordings, which is PyTorch's
  std::uint64_t bytes;    // of one value
  const format* of;       // whose numbers they are; nullptr for unknown
  bool keeps_codes;       // few enough that rows may keep the complete histogram of their codes, which is lossless
  // What others call it; empty where they have no such type.
  std::string_view torch_storage;  // the class of PyTorch's old storages
  std::string_view numpy;          // its descr, less the byte order
  std::string_view safetensors;
};

inline constexpr std::array element_types{
    element_type{dtype::unknown, "unknown", 0, nullptr, false, "", "", ""},
    element_type{dtype::float64, "float64", 8, &binary64, false, "DoubleStorage", "f8", "F64"},
    element_type{dtype::float32, "float32", 4, &binary32, false, "FloatStorage", "f4", "F32"},
    element_type{dtype::float16, "float16", 2, &float16, true, "HalfStorage", "f2", "F16"},
    element_type{dtype::bfloat16, "bfloat16", 2, &bfloat16, true, "BFloat16Storage", "", "BF16"},
    element_type{dtype::float8_e4m3fn, "float8_e4m3fn", 1, &float8_e4m3fn, true, "", "", "F8_E4M3"},
    element_type{dtype::float8_e5m2, "float8_e5m2", 1, &float8_e5m2, true, "", "", "F8_E5M2"},
    element_type{dtype::float8_e4m3fnuz, "float8_e4m3fnuz", 1, &float8_e4m3fnuz, true, "", "", "F8_E4M3FNUZ"},
    element_type{dtype::float8_e5m2fnuz, "float8_e5m2fnuz", 1, &float8_e5m2fnuz, true, "", "", "F8_E5M2FNUZ"},
};
inline constexpr dtype last_dtype = element_types.back().type;
static_assert(std::ranges::all_of(element_types, [](const element_type& row) {
  return &row == &element_types[static_cast<std::size_t>(row.type)];
}));

// Precondition, as of those that follow: type <= last_dtype.
[[nodiscard]] constexpr const element_type& properties_of(dtype type) noexcept {
  return element_types[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view to_string(dtype type) noexcept { return properties_of(type).name; }
// Of one value, in bytes; 0 for unknown.
[[nodiscard]] constexpr std::uint64_t size_of(dtype type) noexcept { return properties_of(type).bytes; }
// The format whose codes rows of that type keep; nullptr where they keep none.
[[nodiscard]] constexpr const format* format_of_codes(dtype type) noexcept {
  return properties_of(type).keeps_codes ? properties_of(type).of : nullptr;
}

}  // namespace ulp

#endif
