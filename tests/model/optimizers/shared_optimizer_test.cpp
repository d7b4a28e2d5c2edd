// All maps, blockwise quantizations and optimizer runs that the originals' own code produced: ../shared/golden/optim, see
// low-precision-states.md beside it. Every array of every file, all bits.
#include "support/catch.hpp"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>
#include <ulp/model/optimizers/ao_stochastic.hpp>

#include "recorded_run.hpp"
#include "support/files.hpp"

namespace ulp::test {
namespace {

namespace fs = std::filesystem;

fs::path golden() { return shared_dir() / "golden" / "optim"; }

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_CASE("all maps come out bit by bit") {
  if (shared_dir().empty()) return;
  int maps = 0;
  for (const auto& file : fs::directory_iterator(golden() / "maps")) {
    const std::string stem = file.path().stem().string();
    if (file.path().extension() != ".hex") continue;
    std::vector<float> theirs;
    std::ifstream lines(file.path());
    for (std::string line; lines >> line;) {
      const auto bits = static_cast<std::uint32_t>(std::stoul(line, nullptr, 16));
      float x = 0;
      std::memcpy(&x, &bits, sizeof x);
      theirs.push_back(x);
    }
    for (const map_arithmetic how :
         {map_arithmetic::torch26_nofma, map_arithmetic::torch26_fma, map_arithmetic::correctly_rounded}) {
      if (!stem.ends_with("." + std::string{to_string(how)})) continue;
      INFO(stem);
      CHECK(same_bits(dynamic_map(stem.find("unsigned") == std::string::npos, how), theirs));
      ++maps;
    }
  }
  CHECK(maps == 6);
}

TEST_CASE("all blockwise quantizations come out bit by bit") {
  if (shared_dir().empty()) return;
  int quantized = 0;
  for (const auto& file : fs::directory_iterator(golden() / "blockwise")) {
    const std::string stem = file.path().stem().string();
    const arrays run = read_npz(file.path());
    const auto block_size = static_cast<std::size_t>(run.at("block_size").as<std::int64_t>()[0]);
    std::vector<float> map;
    if (run.contains("map")) {
      map = run.at("map").as<float>();
      CHECK(same_bits(map, dynamic_map(stem.find("unsigned") == std::string::npos)));
    }
    for (const block_row& entry : block_rows()) {
      const auto theirs = run.find("codes__" + std::string{entry.name});
      if (theirs == run.end()) continue;
      INFO(stem << " " << entry.name);
      const block_codec codec{entry.quantizer, map};
      std::vector<float> x = run.at("x").as<float>();
      x.resize(theirs->second.size());
      std::vector<std::uint8_t> codes(x.size());
      std::vector<float> absmax(block_count(x.size(), block_size));
      codec.quantize(x, block_size, codes, absmax);
      CHECK(codes == theirs->second.as<std::uint8_t>());
      CHECK(same_bits(absmax, run.at("absmax__" + std::string{entry.name}).as<float>()));
      const auto dequantized = run.find("deq__" + std::string{entry.name});
      if (dequantized != run.end()) {
        std::vector<float> back(x.size());
        codec.dequantize(codes, absmax, block_size, back);
        const std::vector<float> expected = dequantized->second.as<float>();
        std::size_t differing = 0;
        for (std::size_t i = 0; i < back.size(); ++i)
          if (std::memcmp(&back[i], &expected[i], sizeof(float)) != 0 &&
              !(back[i] != back[i] && expected[i] != expected[i]))  // NaN of either sign
            ++differing;
        CHECK(differing == 0);
      }
      ++quantized;
    }
    if (run.contains("cast_x")) {
      const block_codec codec{block_quantizer::ao_fp8, {}};
      std::vector<std::uint8_t> codes;
      for (const float x : run.at("cast_x").as<float>()) codes.push_back(codec.code_of(x));
      CHECK(codes == run.at("cast_codes").as<std::uint8_t>());
    }
  }
  CHECK(quantized == 6 * 6 + 1);
}

TEST_CASE("torchao's stochastic rounding comes out bit by bit") {
  if (shared_dir().empty()) return;
  const arrays run = read_npz(golden() / "optim" / "ao_fp32_to_bf16_sr.npz");
  const auto bits = run.at("x_bits").as<std::uint32_t>();
  const auto random = run.at("rand").as<std::uint16_t>();
  std::vector<std::uint16_t> codes;
  for (std::size_t i = 0; i < bits.size(); ++i) codes.push_back(ao_stochastic_bfloat16(bits[i], random[i]));
  CHECK(codes == run.at("out").as<std::uint16_t>());
}

TEST_CASE("all optimizer runs come out bit by bit") {
  if (shared_dir().empty()) return;
  const arrays inputs = read_npz(golden() / "optim" / "inputs.npz");
  int runs = 0;
  int compared = 0;
  for (const auto& file : fs::directory_iterator(golden() / "optim")) {
    const std::string stem = file.path().stem().string();
    if (file.path().extension() != ".npz" || stem == "inputs" || stem == "ao_fp32_to_bf16_sr") continue;
    INFO(stem);
    CHECK(differences_of(file.path(), inputs, compared) == "");
    ++runs;
  }
  CHECK(runs == 80);
  CHECK(compared > 4 * runs - 80);
}

}  // namespace
}  // namespace ulp::test
