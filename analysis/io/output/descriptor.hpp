// A file descriptor that is closed.
#ifndef ULP_IO_OUTPUT_DESCRIPTOR_HPP
#define ULP_IO_OUTPUT_DESCRIPTOR_HPP

#include <unistd.h>

#include <utility>

namespace ulp::io {

class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
  // Errors of writing may come as late as here: 0, or -1 and errno.
  [[nodiscard]] int close() noexcept { return ::close(std::exchange(number_, -1)); }

 private:
  int number_ = -1;
};

}  // namespace ulp::io

#endif
