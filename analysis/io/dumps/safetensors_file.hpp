// A .safetensors as a file of tensors.
#ifndef ULP_IO_DUMPS_SAFETENSORS_FILE_HPP
#define ULP_IO_DUMPS_SAFETENSORS_FILE_HPP

#include "safetensors_header.hpp"
#include "stored_file.hpp"

namespace ulp::io {

class safetensors_file final : public stored_file {
 public:
  // Checks the whole header. Throws input_error.
  safetensors_file(const std::string& path, const read_limits& limits);

  [[nodiscard]] const std::string& path() const override { return file_.path(); }
  [[nodiscard]] const std::vector<stored_tensor>& stored() const override { return stored_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open_stored(std::size_t index) const override;

  [[nodiscard]] const safetensors_header& header() const noexcept { return header_; }

 private:
  file_reader file_;
  safetensors_header header_;
  std::vector<stored_tensor> stored_;  // of the header's entries
};

[[nodiscard]] std::unique_ptr<stored_file> open_safetensors_file(const std::string& path, const read_limits& limits);

}  // namespace ulp::io

#endif
