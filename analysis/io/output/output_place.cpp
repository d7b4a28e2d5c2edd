#include "output_place.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <ulp/io/bytes/error.hpp>
#include <vector>

namespace ulp::io {
namespace {

// The parts of a path, the next one last.
void push_parts(std::vector<std::string>& parts, const std::string& path) {
  std::size_t end = path.size();
  if (path.ends_with('/')) parts.emplace_back(".");
  while (end > 0) {
    const std::size_t slash = path.rfind('/', end - 1);
    const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (begin < end) parts.push_back(path.substr(begin, end - begin));
    end = slash == std::string::npos ? 0 : slash;
  }
}

// What somebody else put there where all may, and only its owner may take it away.
bool may_be_planted(const struct stat& folder, const struct stat& entry) {
  const bool sticky = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  return sticky && entry.st_uid != geteuid() && entry.st_uid != folder.st_uid;
}

// A link of somebody else leads where he wants. On the way, folders are believed to be what their owner makes of them; the
// last name is the output itself.
bool may_mislead(const struct stat& folder, const struct stat& link, bool last) {
  const bool own = link.st_uid == geteuid() || link.st_uid == 0;
  return !own && (last || link.st_uid != folder.st_uid);
}

// The number of a descriptor of this process, -1 else: opened once more by name, a file would be written from its start.
int own_descriptor(int folder, const std::string& name) {
  struct stat here {};
  struct stat own {};
  if (fstat(folder, &here) != 0 || stat("/proc/self/fd", &own) != 0) return -1;
  if (here.st_dev != own.st_dev || here.st_ino != own.st_ino) return -1;
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc{} && end == name.data() + name.size() ? number : -1;
}

class walk {
 public:
  explicit walk(const std::string& path) : place_{.given = path} {
    push_parts(parts_, path);
    if (path.empty()) {
      errno = ENOENT;
      place_.fail();
    }
    if (path.front() == '/') {
      begin_at_root();
    } else {
      std::string here(PATH_MAX, '\0');
      if (getcwd(here.data(), here.size()) == nullptr) place_.fail();
      place_.path = here.c_str();
      open_folder(AT_FDCWD, ".");
    }
  }

  output_place to_end() {
    while (true) {
      const std::string name = parts_.back();
      parts_.pop_back();
      if (parts_.empty() && (place_.own = own_descriptor(place_.folder.get(), name)) >= 0) return std::move(place_);
      if (enter(name)) continue;
      place_.name = name;
      place_.path += (place_.path.ends_with('/') ? "" : "/") + name;
      return std::move(place_);
    }
  }

 private:
  void begin_at_root() {
    place_.path = "/";
    open_folder(AT_FDCWD, "/");
  }

  void open_folder(int at, const char* name) {
    descriptor next(openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) place_.fail();
    place_.folder = std::move(next);
  }

  // false: the end.
  bool enter(const std::string& name) {
    struct stat folder {};
    struct stat entry {};
    if (fstat(place_.folder.get(), &folder) != 0) place_.fail();
    if (parts_.empty()) refuse_companion(name);
    if (fstatat(place_.folder.get(), name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) place_.fail();
      if (parts_.empty() && name != "." && name != "..") return false;
      place_.fail("there is no folder '" + name + "' in " + place_.path);
    }
    if (S_ISLNK(entry.st_mode)) {
      if (may_mislead(folder, entry, parts_.empty()))
        place_.fail("'" + name + "' in " + place_.path + " is another user's link: give another name");
      follow(name);
      return true;
    }
    if (parts_.empty()) {
      if (S_ISDIR(entry.st_mode)) {
        errno = EISDIR;
        place_.fail();
      }
      if (may_be_planted(folder, entry))
        place_.fail("is another user's, in a folder that all may write: give another name");
      if ((S_ISFIFO(entry.st_mode) || S_ISSOCK(entry.st_mode)) && entry.st_uid != geteuid() && entry.st_uid != 0)
        place_.fail("is another user's pipe: give another name");
      place_.there = entry;
      return false;
    }
    open_folder(place_.folder.get(), name.c_str());
    if (name == "..")
      place_.path.resize(std::max<std::size_t>(1, place_.path.rfind('/')));
    else if (name != ".")
      place_.path += (place_.path.ends_with('/') ? "" : "/") + name;
    return true;
  }

  // SQLite takes what has such a name for a part of the recording.
  void refuse_companion(const std::string& name) const {
    for (const std::string_view suffix : {"-wal", "-journal", "-shm"}) {
      if (!name.ends_with(suffix)) continue;
      const std::string recording = name.substr(0, name.size() - suffix.size());
      struct stat there {};
      if (!recording.empty() && fstatat(place_.folder.get(), recording.c_str(), &there, 0) == 0)
        place_.fail("is the name of a part of '" + recording + "', which lies there: give another name");
    }
  }

  void follow(const std::string& name) {
    constexpr int most_links = 40;  // as the kernel
    if (++links_ > most_links) {
      errno = ELOOP;
      place_.fail();
    }
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(place_.folder.get(), name.c_str(), target.data(), target.size());
    if (size < 0) place_.fail();
    target.resize(static_cast<std::size_t>(size));
    push_parts(parts_, target);
    if (target.starts_with('/')) begin_at_root();
  }

  output_place place_;
  std::vector<std::string> parts_;
  int links_ = 0;
};

}  // namespace

void output_place::fail() const { fail(std::strerror(errno)); }

void output_place::fail(const std::string& reason) const {
  throw input_error(given, "", "cannot be written: " + reason);
}

output_place place_of_output(const std::string& path) { return walk(path).to_end(); }

}  // namespace ulp::io
