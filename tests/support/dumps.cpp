#include "dumps.hpp"

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "support/files.hpp"

namespace ulp::test {
namespace {

struct tensor {
  const char* name;
  const char* type;
  std::size_t size;  // of a value
  std::string values;
};

// A file in the layout of https://github.com/huggingface/safetensors: length of the header, header, values.
std::string file_of(const std::vector<tensor>& tensors) {
  std::string header = "{";
  std::string values;
  for (const tensor& t : tensors) {
    header += (values.empty() ? "\"" : ",\"") + std::string{t.name} + "\":{\"dtype\":\"" + t.type + "\",\"shape\":[" +
              std::to_string(t.values.size() / t.size) + "],\"data_offsets\":[" + std::to_string(values.size()) + "," +
              std::to_string(values.size() + t.values.size()) + "]}";
    values += t.values;
  }
  header += "}";
  std::string length;
  for (unsigned i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i));
  return length + header + values;
}

std::string part_of(const tensor& t, std::size_t part, std::size_t parts) {
  std::string values;
  for (std::size_t i = part; i < t.values.size() / t.size; i += parts) values += t.values.substr(i * t.size, t.size);
  return values;
}

}  // namespace

void write_dumps(const std::filesystem::path& folder, std::int64_t steps, std::size_t parts) {
  std::filesystem::create_directories(folder / "whole");
  for (std::size_t part = 0; part < parts; ++part)
    std::filesystem::create_directories(folder / ("part" + std::to_string(part)));
  for (std::int64_t step = 0; step < steps; ++step) {
    std::mt19937_64 random(static_cast<std::uint64_t>(step) + 1);
    std::vector<tensor> tensors{{"wgrad/a.weight", "F32", 4, ""},
                                {"wgrad/b.weight", "BF16", 2, ""},
                                {"agrad/c", "F16", 2, ""},
                                {"wgrad/d.bias", "F32", 4, ""}};
    const std::size_t sizes[] = {300, 200, 100, 7};
    for (std::size_t i = 0; i < tensors.size(); ++i)
      for (std::size_t byte = 0; byte < sizes[i] * tensors[i].size; ++byte)
        tensors[i].values += static_cast<char>(random());
    char name[32];
    std::snprintf(name, sizeof name, "step%05d.safetensors", static_cast<int>(step));
    write_file(folder / "whole" / name, file_of(tensors));
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<tensor> cut = tensors;
      for (tensor& t : cut) t.values = part_of(t, part, parts);
      write_file(folder / ("part" + std::to_string(part)) / name, file_of(cut));
    }
  }
}

}  // namespace ulp::test
