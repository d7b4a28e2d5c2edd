#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <vector>

#include "descriptor.hpp"
#include "locks.hpp"
#include "output_place.hpp"
#include "unfinished.hpp"

namespace ulp {
namespace {

using io::descriptor;
using io::output_place;
using io::unfinished;

// "report.html.3f7a09c1d2e4b856.part"
std::string secret_name(const output_place& place) {
  constexpr std::size_t most = 200;  // of the 255 bytes of a name
  std::array<std::uint8_t, 8> bytes{};
  if (getentropy(bytes.data(), bytes.size()) != 0) place.fail();
  std::string name = place.name.substr(0, most) + ".";
  for (const std::uint8_t byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) name += "0123456789abcdef"[digit];
  return name + ".part";
}

// File systems without it refuse it in several ways.
void to_disk(int file, const output_place& place) {
  if (fsync(file) != 0 && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EROFS) place.fail();
}

void copy_acl(int from_folder, const std::string& name, int to) {
  constexpr const char* acl = "system.posix_acl_access";
  const descriptor from(openat(from_folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!from) return;
  std::array<char, 4096> value{};
  const ssize_t size = fgetxattr(from.get(), acl, value.data(), value.size());
  if (size > 0)
    static_cast<void>(fsetxattr(to, acl, value.data(), static_cast<std::size_t>(size), 0));
  else if (size < 0 && errno == ENODATA)
    static_cast<void>(fremovexattr(to, acl));  // what the folder gives to new files
}

// Another user's file says nothing of who may read ours. The superuser gives the file back to whom it was.
bool keeps_permissions(const output_place& place) {
  return place.there && (place.there->st_uid == geteuid() || geteuid() == 0);
}

// Of the file that is replaced. What a group may do that cannot be kept, no other group may.
void take_over_permissions(const output_place& place, int file) {
  const struct stat& old = *place.there;
  mode_t mode = old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  if (fchown(file, old.st_uid, old.st_gid) != 0 && fchown(file, static_cast<uid_t>(-1), old.st_gid) != 0)
    mode &= ~static_cast<mode_t>(S_IRWXG);
  else
    copy_acl(place.folder.get(), place.name, file);
  if (fchmod(file, mode) != 0) place.fail();
}

// By its first bytes.
bool is_recording(const output_place& place) {
  const descriptor file(openat(place.folder.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, 72> head{};
  constexpr std::size_t application_at = 68;  // https://www.sqlite.org/fileformat.html, 1.3
  constexpr std::string_view application = "ulpr";
  const bool is_read = file && pread(file.get(), head.data(), head.size(), 0) == ssize_t{head.size()};
  return is_read && std::string_view(head.data() + application_at, application.size()) == application;
}

void refuse_being_written(const output_place& place) {
  if (io::is_being_written(place.path)) place.fail("a recording is being written there: give another name");
}

// Steps that were recorded stay. One that is being written may be empty yet.
void refuse_recording(const output_place& place) {
  if (is_recording(place))
    place.fail("it is a recording, which other output never replaces: name another file, or remove it first");
  refuse_being_written(place);
}

}  // namespace

struct atomic_file::state {
  output_place place;
  std::string name;  // of what is renamed; empty where the place is written directly
  std::optional<unfinished> removed;
  descriptor file;
  std::string waiting;

  explicit state(const std::string& path) : place(io::place_of_output(path)) {
    if (place.own < 0 && place.there && place.is_regular()) refuse_recording(place);
    if (place.own >= 0)
      file = descriptor(fcntl(place.own, F_DUPFD_CLOEXEC, 3));
    else if (place.is_regular())
      create();
    else
      file = descriptor(openat(place.folder.get(), place.name.c_str(), O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
    if (!file) place.fail();
    if (keeps_permissions(place) && !name.empty()) take_over_permissions(place, file.get());
  }

  void create() {
    name = secret_name(place);
    removed.emplace(place.folder.get(), name, unfinished::kind::file);
    // Closed to others until it has the permissions of what it replaces.
    const mode_t mode =
        keeps_permissions(place) ? S_IRUSR | S_IWUSR : S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH;
    file = descriptor(
        openat(place.folder.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file) removed->keep();
  }

  void put(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(file.get(), text.data(), text.size());
      if (n < 0) place.fail();
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  void flush() {
    put(waiting);
    waiting.clear();
  }
};

atomic_file::atomic_file(const std::string& path) : state_(std::make_unique<state>(path)) {}

atomic_file::~atomic_file() = default;

void atomic_file::write(std::string_view text) {
  constexpr std::size_t large = 1 << 16;
  state& s = *state_;
  if (text.size() >= large) {
    s.flush();
    return s.put(text);
  }
  s.waiting += text;
  if (s.waiting.size() >= large) s.flush();
}

void atomic_file::write_at(std::uint64_t offset, std::string_view text) {
  state& s = *state_;
  s.flush();
  while (!text.empty()) {
    const ssize_t n = ::pwrite(s.file.get(), text.data(), text.size(), static_cast<off_t>(offset));
    if (n < 0) s.place.fail();
    text.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

bool atomic_file::can_go_back() const noexcept { return !state_->name.empty(); }

void atomic_file::finish() {
  state& s = *state_;
  s.flush();
  if (!s.name.empty()) to_disk(s.file.get(), s.place);
  if (s.file.close() != 0) s.place.fail();
  if (s.name.empty()) return;
  const int folder = s.place.folder.get();
  if (renameat(folder, s.name.c_str(), folder, s.place.name.c_str()) != 0) s.place.fail();
  s.removed->keep();
}

struct whole_database::state {
  output_place place;
  std::string folder_name;
  std::optional<unfinished> folder_removed;
  descriptor folder;
  std::vector<std::unique_ptr<unfinished>> removed;
  std::string path;
  takes_place_of replaced;

  state(const std::string& given, takes_place_of what) : place(io::place_of_output(given)), replaced(what) {
    if (place.own >= 0 || !place.is_regular()) place.fail("is not a file");
    if (place.there && place.there->st_size > 0) check_replaced();
    refuse_companions();
    folder_name = secret_name(place);
    folder_removed.emplace(place.folder.get(), folder_name, unfinished::kind::folder);
    if (mkdirat(place.folder.get(), folder_name.c_str(), S_IRWXU) != 0) {
      folder_removed->keep();
      place.fail();
    }
    folder =
        descriptor(openat(place.folder.get(), folder_name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) place.fail();
    for (const char* const suffix : {"", "-wal", "-shm", "-journal"})
      removed.push_back(std::make_unique<unfinished>(folder.get(), place.name + suffix, unfinished::kind::file));
    path = place.path.substr(0, place.path.size() - place.name.size()) + folder_name + "/" + place.name;
  }
  ~state() { removed.clear(); }  // before their folder

  [[noreturn]] void refuse_existing() const {
    throw input_error(place.given, "", "already exists: give another name or remove it");
  }

  void check_replaced() const {
    if (replaced == takes_place_of::nothing) refuse_existing();
    if (!is_recording(place)) place.fail("is not a recording, and only recordings are replaced; give another name");
    refuse_being_written(place);
  }

  // What is left of another database would be taken for a part of this one.
  void refuse_companions() const {
    for (const char* const suffix : {"-wal", "-journal", "-shm"}) {
      struct stat ignored {};
      if (fstatat(place.folder.get(), (place.name + suffix).c_str(), &ignored, AT_SYMLINK_NOFOLLOW) == 0)
        throw input_error(place.given + suffix, "",
                          "is left over from another recording, and would be taken for a part of the new one: remove "
                          "it, or give another name");
    }
  }

  void finish() {
    refuse_companions();
    if (place.there) refuse_being_written(place);
    const char* const name = place.name.c_str();
    const descriptor file(openat(folder.get(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) place.fail();
    if (keeps_permissions(place)) take_over_permissions(place, file.get());
    to_disk(file.get(), place);
    // What came there meanwhile stays, where the file system can tell.
    const unsigned how = place.there ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(folder.get(), name, place.folder.get(), name, how);
    if (failed != 0 && how != 0 && (errno == EINVAL || errno == ENOSYS))
      failed = renameat(folder.get(), name, place.folder.get(), name);
    if (failed != 0 && errno == EEXIST) refuse_existing();
    if (failed != 0) place.fail();
  }
};

bool is_one_of(const std::string& output, const std::vector<std::string>& inputs) {
  return std::ranges::any_of(inputs, [&](const std::string& input) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(input, ignored) && std::filesystem::equivalent(input, output, ignored);
  });
}

bool is_one_output(const std::string& a, const std::string& b) {
  const auto is_file = [](const std::string& path) { return !path.empty() && path != "-"; };
  if (!is_file(a) || !is_file(b)) return false;
  try {
    const io::output_place first = io::place_of_output(a);
    const io::output_place second = io::place_of_output(b);
    if (first.own >= 0 || second.own >= 0) return first.own == second.own;
    return first.is_regular() && (first.path == second.path || is_one_of(a, {b}));
  } catch (const input_error&) {
    return false;  // whoever writes it says why
  }
}

void refuse_planted(const std::string& path) { static_cast<void>(io::place_of_output(path)); }

whole_database::whole_database(const std::string& path, takes_place_of what)
    : state_(std::make_unique<state>(path, what)) {}

whole_database::~whole_database() = default;

const std::string& whole_database::path() const noexcept { return state_->path; }

void whole_database::finish() { state_->finish(); }

}  // namespace ulp
