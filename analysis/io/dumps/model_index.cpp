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

// As Hugging Face names them: NAME-00001-of-00003.safetensors goes with NAME.safetensors.index.json.
std::vector<std::string> names_of_index(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  const std::string ending = fs::path(file).extension().string() + ".index.json";
  std::vector<std::string> names;
  if (const std::size_t of = stem.rfind("-of-"); of != std::string::npos && of > 0) {
    const std::size_t number = stem.rfind('-', of - 1);
    if (number != std::string::npos) names.push_back(stem.substr(0, number) + ending);
  }
  for (const char* const usual : {"model", "pytorch_model"}) names.push_back(usual + ending);
  return names;
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find_first_of(std::string_view{"/\\\0", 3}) == std::string::npos;
}

}  // namespace

model_index::model_index(const std::string& path, const read_limits& limits, open_stored_file open)
    : folder_(fs::path(path).parent_path().string()), limits_(limits), open_(open) {
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
  const std::string& in = elsewhere_.at(name);
  std::shared_ptr<const stored_file>& file = files_[in];
  if (file == nullptr) file = open_((fs::path(folder_) / in).string(), limits_);
  const auto& all = file->stored();
  const auto found = std::ranges::find(all, name, &stored_tensor::name);
  if (found == all.end())
    throw input_error(file->path(), "", "has no tensor " + in_quotes(name) + ", though " + index_ + " says so");
  return {file, static_cast<std::size_t>(found - all.begin()), *found};
}

}  // namespace ulp::io
