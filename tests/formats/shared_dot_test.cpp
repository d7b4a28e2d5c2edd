// All sums and dot products that numpy and torch made: ../shared/golden/optim, see low-precision-states.md beside it.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "dot_golden.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/little.hpp"
#include "support/npz.hpp"

namespace ulp::test {
namespace {

namespace fs = std::filesystem;

// columns[i] gets element i of each row.
void append_columns(std::vector<std::vector<float>>& columns, const std::vector<float>& rows, std::size_t count,
                    std::size_t used) {
  const std::size_t width = rows.size() / count;
  for (std::size_t i = 0; i < width; ++i) {
    columns.emplace_back();
    for (std::size_t r = 0; r < used; ++r) columns.back().push_back(rows[r * width + i]);
  }
}

// A tensor of float32 by its name: a safetensors file is the size of a JSON object, that, and the data.
std::vector<float> tensor_of(const std::string& safetensors, const std::string& name) {
  const auto header_size = number_at<std::uint64_t>(safetensors);
  const std::string header = safetensors.substr(8, header_size);
  const std::string key = "\"data_offsets\":[";
  const std::size_t entry = header.find("\"" + name + "\"");
  REQUIRE(entry != std::string::npos);
  const std::size_t offsets = header.find(key, entry) + key.size();
  const std::size_t begin = std::stoul(header.substr(offsets));
  const std::size_t end = std::stoul(header.substr(header.find(',', offsets) + 1));
  return numbers_in<float>(std::string_view{safetensors}.substr(8 + header_size + begin, end - begin));
}

TEST_CASE("all recorded dot products come out bit by bit") {
  if (shared_dir().empty()) return;
  int files = 0;
  int arrays = 0;
  for (const auto& file : fs::directory_iterator(shared_dir() / "golden" / "optim" / "dot")) {
    if (file.path().extension() != ".npz") continue;
    arrays += check_dot_file(file);
    ++files;
  }
  CHECK(files == 16);
  CHECK(arrays == 16 * 17 + 8);  // numpy_dot is of float16 only
}

TEST_CASE("all recorded accumulations come out bit by bit") {
  if (shared_dir().empty()) return;
  const fs::path golden = shared_dir() / "golden" / "optim" / "accumulate";
  const fs::path data = shared_dir() / "data" / "cnn_digits";

  std::vector<std::vector<float>> addends;
  const std::string microbatches = read_file(data / "cnn_digits.microbatches_init.safetensors");
  for (const char* const name : {"bn2.weight", "conv1.weight", "conv2.weight", "fc1.bias", "fc2.weight"})
    append_columns(addends, tensor_of(microbatches, name), 32, 32);
  CHECK(check_accumulate_file(golden / "microbatches32.npz", addends) == 22);

  addends.clear();
  const auto trajectories = read_npz(data / "cnn_digits.trajectories.npz");
  for (const char* const name : {"conv1.weight", "bn1.weight"}) {
    const npz_array& tensor = trajectories.at(name);
    append_columns(addends, tensor.as<float>(), tensor.shape.at(0), 1024);
  }
  CHECK(check_accumulate_file(golden / "trajectory1024.npz", addends) == 17);
  for (std::vector<float>& column : addends)
    for (float& x : column) x = std::fabs(x);
  CHECK(check_accumulate_file(golden / "trajectory1024_abs.npz", addends) == 17);
}

}  // namespace
}  // namespace ulp::test
