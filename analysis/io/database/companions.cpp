#include "companions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include <ulp/io/bytes/error.hpp>

#include "output/locks.hpp"

namespace ulp::io {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& reason) { throw input_error(file, "", reason); }

// Its state; nothing where it is not there. `owner`: of the recording.
std::optional<struct stat> state_of(const std::string& file, uid_t owner) {
  struct stat found {};
  if (lstat(file.c_str(), &found) != 0) {
    if (errno == ENOENT) return std::nullopt;
    refuse(file, std::string{"cannot be examined: "} + std::strerror(errno));
  }
  if (!S_ISREG(found.st_mode))
    refuse(file, "is not a regular file, and would be read as a part of the recording: remove it");
  if (found.st_uid != owner && found.st_uid != 0 && found.st_uid != geteuid())
    refuse(
        file,
        "belongs to another user than the recording, and would be read as a part of it: remove it, or give it to the "
        "owner of the recording if it is one");
  return found;
}

}  // namespace

std::string resolved(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(path, failed);
  return failed ? path : whole.string();
}

companions look_for_companions(const std::string& path, const std::string& resolved) {
  struct stat main {};
  if (stat(resolved.c_str(), &main) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(main.st_mode)) refuse(path, "is not a regular file, as a recording must be");
  companions found;
  const auto look = [&](const char* suffix) -> std::optional<std::uint64_t> {
    const auto state = state_of(resolved + suffix, main.st_uid);
    if (!state) return std::nullopt;
    found.linked = found.linked || state->st_nlink > 1;
    return static_cast<std::uint64_t>(state->st_size);
  };
  found.log = look("-wal");
  found.journal = look("-journal");
  static_cast<void>(look("-shm"));
  return found;
}

void refuse_super_journal(const std::string& shown, const std::string& resolved) {
  constexpr std::string_view mark = "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7";
  const std::string file = resolved + "-journal";
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  std::array<char, mark.size()> end{};
  if (!in || in.tellg() < std::streamoff{mark.size()}) return;
  in.seekg(-std::streamoff{mark.size()}, std::ios::end);
  if (!in.read(end.data(), end.size())) refuse(file, "cannot be read");
  if (std::string_view(end.data(), end.size()) == mark)
    refuse(file, "tells SQLite to delete another file, which no journal of a recording does: it was put beside " +
                     shown + " to do harm, or by mistake; remove it to read the recording as it is");
}

bool is_connected(const std::string& resolved) {
  constexpr off_t deadman_switch = 128;
  return is_locked(resolved + "-shm", deadman_switch);
}

void refuse_cut_index(const std::string& resolved) {
  const std::string file = resolved + "-shm";
  const auto is_whole = [&] {
    constexpr off_t piece = 32768;
    constexpr off_t begun = 3;  // what SQLite cuts it to, in unixLockSharedMemory
    struct stat index {};
    return stat(file.c_str(), &index) != 0 || index.st_size == begun || index.st_size % piece == 0;
  };
  for (int tries = 0; tries < 200; ++tries) {
    if (is_whole()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  refuse(file,
         "was cut short while the recording is in use, and would hide steps: close the programs that use it, and "
         "remove this file");
}

}  // namespace ulp::io
