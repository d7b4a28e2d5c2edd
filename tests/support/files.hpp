// Where tests find files: the project, the shared data of the house, and a folder of their own.
#ifndef ULP_TESTS_SUPPORT_FILES_HPP
#define ULP_TESTS_SUPPORT_FILES_HPP

#include <filesystem>
#include <string>

namespace ulp::test {

// The project's root.
[[nodiscard]] std::filesystem::path source_dir();

// ../shared beside the project, or empty where it is absent; then says so on a line that makes ctest report a skip.
// Tests that need it live in programs of their own, named shared_*.
[[nodiscard]] std::filesystem::path shared_dir();

// A new empty folder, removed with everything in it at the end of its life.
class temporary_dir {
 public:
  temporary_dir();
  ~temporary_dir();
  temporary_dir(const temporary_dir&) = delete;
  temporary_dir& operator=(const temporary_dir&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace ulp::test

#endif
