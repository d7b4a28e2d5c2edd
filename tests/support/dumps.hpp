// A made run of gradient dumps, whole and in parts.
#ifndef ULP_TESTS_SUPPORT_DUMPS_HPP
#define ULP_TESTS_SUPPORT_DUMPS_HPP

#include <cstdint>
#include <filesystem>

namespace ulp::test {

// Writes FOLDER/whole/step00000.safetensors and so on, with tensors of float32, bfloat16 and float16 of any bits, and, where
// parts > 0, FOLDER/part<r>/step00000.safetensors with every parts-th value of each tensor from value r on.
void write_dumps(const std::filesystem::path& folder, std::int64_t steps, std::size_t parts = 0);

}  // namespace ulp::test

#endif
