// SHA-256 (FIPS 180-4) of bytes that come in pieces.
#ifndef ULP_IO_BYTES_SHA256_HPP
#define ULP_IO_BYTES_SHA256_HPP

#include <memory>
#include <string>
#include <string_view>

namespace ulp::io {

class sha256 {
 public:
  sha256();
  ~sha256();
  sha256(const sha256&) = delete;
  sha256& operator=(const sha256&) = delete;

  void add(std::string_view bytes);
  // 64 hexadecimal digits; nothing is added afterwards.
  [[nodiscard]] std::string hex();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp::io

#endif
