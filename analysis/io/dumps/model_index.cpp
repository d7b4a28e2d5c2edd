#include "model_index.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view ending = ".safetensors.index.json";

// As Hugging Face names them: NAME-00001-of-00003.safetensors goes with NAME.safetensors.index.json.
std::vector<std::string> names_of_index(const std::string& file) {
  std::vector<std::string> names;
  std::string stem = file.substr(0, file.find(".safetensors"));
  if (const std::size_t of = stem.rfind("-of-"); of != std::string::npos) {
    const std::size_t number = stem.rfind('-', of - 1);
    if (of > 0 && number != std::string::npos) names.push_back(stem.substr(0, number) + std::string{ending});
  }
  names.push_back("model" + std::string{ending});
  return names;
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find_first_of(std::string_view{"/\\\0", 3}) == std::string::npos;
}

}  // namespace

model_index::model_index(const std::string& path, const read_limits& limits)
    : folder_(fs::path(path).parent_path().string()), limits_(limits) {
  const std::string file = fs::path(path).filename().string();
  for (const std::string& name : names_of_index(file)) {
    index_ = (fs::path(folder_) / name).string();
    std::error_code none;
    if (!fs::is_regular_file(index_, none)) continue;
    const file_reader in(index_);
    if (in.size() > limits.header)
      throw input_error(index_, "",
                        "has " + std::to_string(in.size()) + " bytes; " + limit_text(limits, &read_limits::header));
    const auto bytes = in.read(0, in.size());
    const auto json = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
    if (json.is_discarded()) throw input_error(index_, "", "is not valid JSON");
    const auto map = json.is_object() ? json.find("weight_map") : json.end();
    if (!json.is_object() || map == json.end() || !map->is_object())
      throw input_error(index_, "", "has no object 'weight_map' of tensors and their files");
    bool has_this = false;
    for (const auto& [tensor, in_file] : map->items()) {
      if (!in_file.is_string() || !is_plain(in_file.get<std::string>()))
        throw input_error(index_, "weight_map: " + in_quotes(tensor), "is not the name of a file in the same folder");
      if (in_file == file)
        has_this = true;
      else
        elsewhere_.emplace(tensor, in_file.get<std::string>());
    }
    if (has_this) return;
    elsewhere_.clear();
  }
}

placed_tensor model_index::find(const std::string& name) const {
  const std::string& file = elsewhere_.at(name);
  auto found = files_.find(file);
  if (found == files_.end()) {
    auto reader = std::make_shared<const file_reader>((fs::path(folder_) / file).string());
    safetensors_header header = read_safetensors_header(*reader, limits_);
    found = files_.emplace(file, opened{std::move(reader), std::move(header)}).first;
  }
  const auto& entries = found->second.header.entries;
  const auto entry = std::ranges::find(entries, name, &safetensors_entry::name);
  if (entry == entries.end())
    throw input_error(found->second.file->path(), "",
                      "has no tensor " + in_quotes(name) + ", though " + index_ + " says so");
  return {found->second.file, found->second.header.data, *entry};
}

}  // namespace ulp::io
