// The numbers of a dump, element by element: .npy, .npz, .safetensors, .pt.
#ifndef ULP_IO_INPUTS_NUMBER_FILE_HPP
#define ULP_IO_INPUTS_NUMBER_FILE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/bytes/limits.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

struct number_array {
  std::string name;  // the file's own
  dtype type = dtype::unknown;
  std::vector<std::uint64_t> shape;
  std::uint64_t numel = 0;
};

// The elements of one array, the last index of its shape varying fastest, as double: exact for every dtype.
class number_stream {
 public:
  number_stream() = default;
  number_stream(const number_stream&) = delete;
  number_stream& operator=(const number_stream&) = delete;
  virtual ~number_stream() = default;

  // The next elements, no more than there are. Throws input_error where the file does not give them.
  virtual void read(std::span<double> into) = 0;
};

// Not thread-safe. Its streams must not outlive it.
class number_file {
 public:
  // Reads and checks the header. Throws input_error where the file is no dump, damaged, or beyond the limits.
  explicit number_file(const std::string& path, const read_limits& limits = {});
  ~number_file();
  number_file(number_file&&) noexcept;
  number_file& operator=(number_file&&) noexcept;

  [[nodiscard]] const std::string& path() const noexcept;
  // In the file's order. Arrays of integers and others that hold no floating-point numbers are left out, and named with the
  // reason in ignored().
  [[nodiscard]] const std::vector<number_array>& arrays() const noexcept;
  [[nodiscard]] const std::vector<std::string>& ignored() const noexcept;

  // What a user should know of how its numbers are read.
  [[nodiscard]] std::vector<std::string> notes() const;

  // Throws input_error where an array of that name is among ignored().
  void refuse_without_numbers(std::string_view name) const;

  // Throws input_error, also where the elements are stored in another order than row by row.
  [[nodiscard]] std::unique_ptr<number_stream> open(std::size_t index) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Whether its content is that of a dump. Throws input_error where it cannot be read or is of no known kind.
[[nodiscard]] bool is_dump(const std::string& path, const read_limits& limits = {});

}  // namespace ulp

#endif
