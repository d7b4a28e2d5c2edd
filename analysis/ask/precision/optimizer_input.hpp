// The gradients of a run, step by step, with the first weights and random bits: one .npz that holds them, or dumps.
#ifndef ULP_ASK_PRECISION_OPTIMIZER_INPUT_HPP
#define ULP_ASK_PRECISION_OPTIMIZER_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/io/arrays/npz.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/inputs/number_file.hpp>
#include <vector>

namespace ulp {

struct optimizer_input_options {
  std::vector<std::string> inputs;
  std::string weights;         // a dump with the first weights; empty: w0 of the .npz
  std::uint64_t elements = 0;  // the first of each step; 0: all
  format rounded_to;           // what numbers that float32 does not hold are rounded to, once
  read_limits limits;
};

class optimizer_input {
 public:
  // `to` is told of how numbers are read. Throws std::invalid_argument and input_error.
  optimizer_input(const optimizer_input_options& options, listener& to);

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }  // gradients
  [[nodiscard]] std::size_t size() const noexcept { return size_; }    // elements that are used
  [[nodiscard]] std::vector<float> first_weights() const;
  [[nodiscard]] bool has_bits() const noexcept { return bits_ != nullptr; }
  [[nodiscard]] std::uint64_t bit_rows() const noexcept { return bits_ == nullptr ? 0 : bits_->rows(); }

  // The next gradient, and the next row of bits.
  void read(std::span<float> gradient);
  void read_bits(std::span<std::uint16_t> bits);

 private:
  void open_arrays(const std::string& path);
  void open_dumps(const std::vector<std::string>& paths, listener& to);

  optimizer_input_options options_;
  std::unique_ptr<number_file> arrays_;  // of the .npz
  std::unique_ptr<number_stream> gradients_;
  std::unique_ptr<uint16_rows> bits_;
  std::vector<std::string> dumps_;  // in order of steps
  std::size_t next_dump_ = 0;
  std::uint64_t rows_ = 0;
  std::size_t width_ = 0;  // elements of a gradient in the file
  std::size_t size_ = 0;
};

}  // namespace ulp

#endif
