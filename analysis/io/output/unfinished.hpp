// Names in folders that are not to stay when the program ends before its time.
#ifndef ULP_IO_OUTPUT_UNFINISHED_HPP
#define ULP_IO_OUTPUT_UNFINISHED_HPP

#include <cstddef>
#include <string>

namespace ulp::io {

// From its construction on, which comes before that of the file, the name is removed by remove_unfinished() and by the
// destructor.
class unfinished {
 public:
  enum class kind { file, folder };

  // `folder` is a descriptor that stays open for as long.
  unfinished(int folder, const std::string& name, kind what) noexcept;
  ~unfinished();
  unfinished(const unfinished&) = delete;
  unfinished& operator=(const unfinished&) = delete;

  // It stays.
  void keep() noexcept;

 private:
  std::size_t slot_;
};

}  // namespace ulp::io

#endif
