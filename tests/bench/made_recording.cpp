// Writes a recording of made-up gradients, for measuring: FILE STEPS TENSORS VALUES.
//   build/release/tests/bench/made_recording /tmp/long.ulp 100000 60 4096
#include <cmath>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <vector>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

namespace {

using namespace ulp;

void write(const std::string& path, std::int64_t steps, std::size_t tensors, std::size_t values) {
  constexpr std::size_t variants = 64;  // counting is not what is measured
  std::mt19937 random(1);
  std::normal_distribution<float> exponent(-20, 4);
  std::vector<float> of(values);
  std::vector<cell_table> tables;
  for (std::size_t i = 0; i < variants; ++i) {
    for (float& x : of) x = std::exp2(exponent(random) - static_cast<float>(i % 8));
    tables.push_back(count_cells(of));
  }
  std::vector<tensor_info> all;
  step now;
  for (std::size_t t = 0; t < tensors; ++t) {
    all.push_back({.name = "layer" + std::to_string(t) + ".weight", .kind = tensor_kind::weight_grad});
    now.tensors.push_back({.tensor = static_cast<std::uint32_t>(t), .type = dtype::float32, .factor = 1});
  }
  recording_writer to(path, recording_writer::mode::create, {.run_id = "made up"});
  for (std::int64_t i = 0; i < steps; ++i) {
    now.key.step = i;
    for (std::size_t t = 0; t < tensors; ++t) now.tensors[t].table = tables[random() % variants];
    to.write(now, all);
  }
  to.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("made_recording FILE STEPS TENSORS VALUES\n", stderr);
    return 2;
  }
  try {
    write(argv[1], std::stoll(argv[2]), std::stoull(argv[3]), std::stoull(argv[4]));
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 2;
  }
}
