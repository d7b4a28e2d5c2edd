// Runs that the libraries' own code recorded, stepped again: which arrays differ.
#ifndef ULP_TESTS_MODEL_OPTIMIZERS_RECORDED_RUN_HPP
#define ULP_TESTS_MODEL_OPTIMIZERS_RECORDED_RUN_HPP

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include <ulp/model/optimizers/optimizer.hpp>

#include "support/npz.hpp"

namespace ulp::test {

using arrays = std::map<std::string, npz_array>;

// The dialect of a file: the longest beginning of its name, at an underscore, that names one. nullptr where there is none.
[[nodiscard]] const optimizer_entry* dialect_of(const std::filesystem::path& file);

// Steps a run as the file's numbers say, with the gradients, first weights and random bits of `inputs` or its own; the
// first `elements` of them where it says so. Compares every array that it holds, all bits. Returns what differs, a line
// each, and counts arrays compared.
[[nodiscard]] std::string differences_of(const std::filesystem::path& file, const arrays& inputs, int& compared);

}  // namespace ulp::test

#endif
