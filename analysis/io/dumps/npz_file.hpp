// A .npz as a file of tensors: those of its members that are arrays.
#ifndef ULP_IO_DUMPS_NPZ_FILE_HPP
#define ULP_IO_DUMPS_NPZ_FILE_HPP

#include <string>
#include <utility>
#include <vector>

#include "npy.hpp"
#include "stored_file.hpp"

namespace ulp::io {

class npz_file final : public stored_file {
 public:
  npz_file(const std::string& path, const read_limits& limits);

  [[nodiscard]] const std::string& path() const override { return archive_.path(); }
  [[nodiscard]] const std::vector<stored_tensor>& stored() const override { return stored_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open_stored(std::size_t index) const override;

  struct array {
    const zip_member* member;
    npy_header header;
  };
  [[nodiscard]] const std::vector<array>& arrays() const noexcept { return arrays_; }  // of stored()
  [[nodiscard]] const std::vector<const zip_member*>& others() const noexcept { return others_; }
  [[nodiscard]] const zip_archive& archive() const noexcept { return archive_; }
  [[noreturn]] void fail(const zip_member& member, const std::string& reason) const;

 private:
  [[nodiscard]] npy_header header_of(byte_stream& in, const zip_member& member) const;

  zip_archive archive_;
  std::vector<array> arrays_;
  std::vector<stored_tensor> stored_;
  std::vector<const zip_member*> others_;
};

}  // namespace ulp::io

#endif
