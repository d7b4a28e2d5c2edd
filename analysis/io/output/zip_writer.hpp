// A zip archive of stored members, written front to back, with zip64 where a size, an offset or a count needs it.
#ifndef ULP_IO_OUTPUT_ZIP_WRITER_HPP
#define ULP_IO_OUTPUT_ZIP_WRITER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/output/atomic_file.hpp>

namespace ulp::io {

class zip_writer {
 public:
  // Sizes and offsets from `zip64_from` on, and as many members as `most_members`, are said as zip64: tests lower these.
  explicit zip_writer(atomic_file& to, std::uint64_t zip64_from = 0xFFFFFFFF, std::uint64_t most_members = 0xFFFF)
      : to_(to), zip64_from_(zip64_from), most_members_(most_members) {}

  // Names are UTF-8 and distinct. What follows are exactly `size` bytes by write().
  void begin(const std::string& name, std::uint64_t size);
  void write(std::string_view bytes);
  // The CRC-32 is put into the header that stands before them.
  void end();
  // The directory; the file itself is finished by its owner.
  void finish();

 private:
  struct member {
    std::string name;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;  // of its header
    std::uint32_t crc = 0;
  };
  void put(const std::string& bytes);

  atomic_file& to_;
  std::uint64_t zip64_from_;
  std::uint64_t most_members_;
  std::uint64_t written_ = 0;
  std::uint64_t left_ = 0;  // of the member that is open
  std::vector<member> members_;
};

}  // namespace ulp::io

#endif
