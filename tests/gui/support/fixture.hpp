// What tests of the viewer share: the example run, small inputs, waiting, and how much ink a picture has.
#ifndef ULP_TESTS_GUI_SUPPORT_FIXTURE_HPP
#define ULP_TESTS_GUI_SUPPORT_FIXTURE_HPP

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "viewmodel/document.hpp"

namespace ulp::test {

// tests/data/octaves/digits.ulp: 800 steps from 0 of 18 tensors; read once in each program.
[[nodiscard]] std::string digits_path();
[[nodiscard]] const std::shared_ptr<const gui::loaded_run>& digits();

// PyTorch's scaler from 2^24, of which the example run skips the first steps.
[[nodiscard]] scenario_text skipping_spec();
// What is replayed where nothing is said, in another format.
[[nodiscard]] scenario_text in_format(const std::string& name);
// With its result. Those of the example run are computed once in each program.
[[nodiscard]] gui::replay_entry replayed(const gui::loaded_run& run, const scenario_text& spec);

struct dumped_tensor {
  std::string name;
  std::vector<float> values;
  bool is_bfloat16 = false;  // which holds them
};
[[nodiscard]] std::string safetensors_of(const std::vector<dumped_tensor>& tensors);

// A recording with joint tables, in the folder: bfloat16 weights of 1, block.a and block.b, and their updates in the steps 0 to 7.
// Those of a are lost from step 4 on, in float16 none; those of b never; in step 2 there is no b. Needs the program ulp.
[[nodiscard]] std::string weights_that_stop(const temporary_dir& dir);

// A one-dimensional float32 array.
[[nodiscard]] std::string npy_of(const std::vector<float>& values);

// One file each in `dir`, all refused: damaged, foreign, empty. A recording that was cut, one whose pages are garbage,
// a PNG, a database of another program, an empty file, a text that is no CSV of ours, a folder, a name that is not
// there.
[[nodiscard]] std::vector<std::filesystem::path> bad_inputs(const std::filesystem::path& dir);

}  // namespace ulp::test

#endif
