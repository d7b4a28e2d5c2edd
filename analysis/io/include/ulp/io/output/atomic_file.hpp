// Output files that are whole or absent: written beside their place under a name nobody can guess, then renamed.
#ifndef ULP_IO_OUTPUT_ATOMIC_FILE_HPP
#define ULP_IO_OUTPUT_ATOMIC_FILE_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// What was there stays until finish(), which keeps its permissions (and owner, group and ACL, as far as this process
// may set them); else the file gets those that any new file gets. A link is followed: what it points to is replaced. A
// link of another user is refused, and in a sticky folder that all may write, such as /tmp, his files and pipes are too. A pipe or a device is
// written directly, and so are this process's own descriptors (/dev/stdout, /dev/fd/3). A recording is not replaced. Throws
// input_error.
class atomic_file {
 public:
  explicit atomic_file(const std::string& path);
  // Removes what was not finished.
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  void write(std::string_view text);
  // Over what was written before: where can_go_back(), which pipes, devices and descriptors of this process cannot.
  void write_at(std::uint64_t offset, std::string_view text);
  [[nodiscard]] bool can_go_back() const noexcept;
  // On the disk when it returns.
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// A file that is whole or absent too, but written under a name, with others beside it (a database and its journal): it is made in a
// folder of its own that no other user may enter. It takes the place of nothing, of an empty file or, where that is wanted, of a
// recording that nobody writes to; whoever reads that one goes on reading it.
class whole_database {
 public:
  enum class takes_place_of : std::uint8_t { nothing, a_recording };

  explicit whole_database(const std::string& path, takes_place_of what = takes_place_of::nothing);
  // Removes what was not finished.
  ~whole_database();
  whole_database(const whole_database&) = delete;
  whole_database& operator=(const whole_database&) = delete;

  // The file to create.
  [[nodiscard]] const std::string& path() const noexcept;
  void finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Whether an output would replace one of the files that are read, by whatever name.
[[nodiscard]] bool is_one_of(const std::string& output, const std::vector<std::string>& inputs);

// Whether two outputs would be one file, by whatever names, there or not. Never of "", of "-" and of devices.
[[nodiscard]] bool is_one_output(const std::string& a, const std::string& b);

// For what is written in place: throws where atomic_file would refuse what another user put there.
void refuse_planted(const std::string& path);

// Removes what is being written, for handlers of signals: async-signal-safe. The objects are of no use afterwards.
void remove_unfinished() noexcept;

}  // namespace ulp

#endif
