// A file of torch.save as a file of tensors: a zip with one folder that holds data.pkl, one member for each storage under data/,
// and the byte order. torch/serialization.py, caffe2/serialize/inline_container.cc.
#ifndef ULP_IO_DUMPS_PT_FILE_HPP
#define ULP_IO_DUMPS_PT_FILE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "bytes/zip.hpp"
#include "pickle.hpp"
#include "stored_file.hpp"

namespace ulp::io {

// nullptr where there is none.
[[nodiscard]] const zip_member* member_called(const zip_archive& archive, std::string_view name);
[[nodiscard]] const zip_member* find_pickle(const zip_archive& archive);
// What its folder is called, with a slash; empty where it is in none.
[[nodiscard]] std::string folder_of(const zip_member& pickle);
// The place of the pickle in errors.
[[nodiscard]] std::string place_of(const zip_member& pickle);
[[nodiscard]] std::vector<std::uint8_t> contents_of(const zip_archive& archive, const zip_member& member);

class pt_file final : public stored_file {
 public:
  // Checks that all tensors lie within their storages. `with_objects`: objects of other classes are no reason to refuse it.
  // Throws input_error.
  pt_file(const std::string& path, const read_limits& limits, bool with_objects);

  [[nodiscard]] const std::string& path() const override { return archive_.path(); }
  [[nodiscard]] const std::vector<stored_tensor>& stored() const override { return stored_; }
  [[nodiscard]] std::unique_ptr<byte_stream> open_stored(std::size_t index) const override;

  [[nodiscard]] std::uint64_t numel(std::size_t index) const { return views_.at(index).numel; }
  // Each value once, in any order, where expand() repeats them: values of stored()[index], and their stream. Throws input_error for
  // a part of a compressed storage.
  [[nodiscard]] std::uint64_t distinct(std::size_t index) const;
  [[nodiscard]] std::unique_ptr<byte_stream> open_distinct(std::size_t index) const;

  [[nodiscard]] const std::vector<pickled_object>& objects() const noexcept { return objects_; }
  // Reads all members but those of these tensors' storages, for their checksums.
  void check_all_but(const std::set<std::size_t>& tensors) const;

 private:
  // One dimension, in values.
  struct extent {
    std::uint64_t size;
    std::uint64_t stride;
  };
  struct view {
    const zip_member* storage;
    std::uint64_t offset;  // in values
    std::uint64_t numel;
    std::uint64_t size;            // of a value, in bytes
    std::vector<extent> all;       // as its values lie
    std::vector<extent> distinct;  // less those that repeat the same values
  };
  class stream;

  [[noreturn]] void fail(const zip_member& member, const std::string& reason) const;
  static std::vector<extent> merged(const std::vector<extent>& extents);
  static std::uint64_t values_in(const std::vector<extent>& extents);
  static bool is_whole(const view& v, const std::vector<extent>& extents);
  [[nodiscard]] std::unique_ptr<byte_stream> open_view(std::size_t index, const std::vector<extent>& extents) const;
  [[nodiscard]] bool spend(std::uint64_t& spent, std::optional<std::uint64_t> bytes, std::uint64_t more) const;
  void read_order(const zip_member& member);
  void add(const pickled_tensor& from, const zip_member* storage);

  zip_archive archive_;
  std::endian order_ = std::endian::little;
  std::vector<stored_tensor> stored_;
  std::vector<view> views_;  // of stored_
  std::vector<pickled_object> objects_;
  std::uint64_t all_bytes_ = 0;                  // of all tensors
  std::uint64_t read_bytes_ = 0;                 // of those, less what expand() repeats
  mutable std::set<const zip_member*> checked_;  // whose CRC was
};

}  // namespace ulp::io

#endif
