// .npz files as numpy's: written array by array, and their integers read. Floating-point numbers of a file: number_file.hpp.
#ifndef ULP_IO_ARRAYS_NPZ_HPP
#define ULP_IO_ARRAYS_NPZ_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

namespace ulp {

// Whole or absent, as atomic_file; members are stored, not compressed. Throws input_error.
class npz_writer {
 public:
  explicit npz_writer(const std::string& path);
  ~npz_writer();
  npz_writer(const npz_writer&) = delete;
  npz_writer& operator=(const npz_writer&) = delete;

  // `type` is numpy's ("<f4", "|u1"), the shape of a scalar is empty, the last index varies fastest. Names are distinct.
  // Precondition: as many bytes as the shape has elements of that type.
  void add(const std::string& name, const std::string& type, const std::vector<std::uint64_t>& shape,
           std::string_view bytes);
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// A .npy of one array, as an npz_writer's. Throws input_error.
void write_npy(const std::string& path, const std::string& type, const std::vector<std::uint64_t>& shape,
               std::string_view bytes);

// An array of unsigned 16-bit integers ("<u2") in a .npz, row by row.
class uint16_rows {
 public:
  // nullptr where the file is no .npz or has no array of that name. Throws input_error where it is of another type, has
  // not two dimensions, or is stored by columns.
  [[nodiscard]] static std::unique_ptr<uint16_rows> open(const std::string& path, std::string_view name,
                                                         const read_limits& limits = {});
  ~uint16_rows();

  [[nodiscard]] std::uint64_t rows() const noexcept;
  [[nodiscard]] std::uint64_t width() const noexcept;
  // The next row. Throws input_error where there is none. Precondition: into.size() is width().
  void read(std::span<std::uint16_t> into);

 private:
  struct state;
  explicit uint16_rows(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
