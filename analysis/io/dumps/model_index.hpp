// In which file of a model a tensor lies, by the index beside its files (model.safetensors.index.json).
#ifndef ULP_IO_DUMPS_MODEL_INDEX_HPP
#define ULP_IO_DUMPS_MODEL_INDEX_HPP

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "safetensors_header.hpp"

namespace ulp::io {

// A tensor and the file that it lies in.
struct placed_tensor {
  std::shared_ptr<const file_reader> file;  // nullptr: in the file at hand
  std::uint64_t data = 0;                   // where the values of the file begin
  safetensors_entry entry;
};

class model_index {
 public:
  // Of the model that a file belongs to; empty where no index in its folder names that file. Throws input_error where the index
  // is damaged, beyond the limits, or names files outside its folder.
  model_index(const std::string& path, const read_limits& limits);

  // Names of tensors in other files, and these files' names.
  [[nodiscard]] const std::unordered_map<std::string, std::string>& elsewhere() const noexcept { return elsewhere_; }
  // Precondition: elsewhere() has the name. Throws input_error where its file has not, or cannot be read.
  [[nodiscard]] placed_tensor find(const std::string& name) const;

 private:
  struct opened {
    std::shared_ptr<const file_reader> file;
    safetensors_header header;
  };

  std::string index_;
  std::string folder_;
  const read_limits& limits_;
  std::unordered_map<std::string, std::string> elsewhere_;
  mutable std::map<std::string, opened> files_;
};

}  // namespace ulp::io

#endif
