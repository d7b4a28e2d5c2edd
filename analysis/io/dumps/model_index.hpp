// In which file of a model a tensor lies, by the index beside its files (model.safetensors.index.json, pytorch_model.bin.index.json).
#ifndef ULP_IO_DUMPS_MODEL_INDEX_HPP
#define ULP_IO_DUMPS_MODEL_INDEX_HPP

#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include <ulp/io/bytes/limits.hpp>

#include "stored_file.hpp"

namespace ulp::io {

// A tensor and the file that it lies in.
struct placed_tensor {
  std::shared_ptr<const stored_file> file;  // nullptr: in the file at hand
  std::size_t index = 0;                    // there
  stored_tensor entry;
};

using open_stored_file = std::unique_ptr<stored_file> (*)(const std::string& path, const read_limits& limits);

class model_index {
 public:
  // Of the model that a file belongs to, whose other files `open` opens; empty where no index in its folder names that file. Throws
  // input_error where the index is damaged, beyond the limits, or names files outside its folder.
  model_index(const std::string& path, const read_limits& limits, open_stored_file open);

  // Names of tensors in other files, and these files' names.
  [[nodiscard]] const std::unordered_map<std::string, std::string>& elsewhere() const noexcept { return elsewhere_; }
  // Precondition: elsewhere() has the name. Throws input_error where its file has not, or cannot be read.
  [[nodiscard]] placed_tensor find(const std::string& name) const;

 private:
  std::string index_;
  std::string folder_;
  const read_limits& limits_;
  open_stored_file open_;
  std::unordered_map<std::string, std::string> elsewhere_;
  mutable std::map<std::string, std::shared_ptr<const stored_file>> files_;
};

}  // namespace ulp::io

#endif
