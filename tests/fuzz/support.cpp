#include "support.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

namespace ulp::fuzz {
namespace {

void fill(int descriptor, bytes input) {
  if (ftruncate(descriptor, 0) != 0) wrong("the file cannot be emptied");
  while (!input.empty()) {
    const ssize_t written = write(descriptor, input.data(), input.size());
    if (written <= 0) wrong("the file cannot be written");
    input = input.subspan(static_cast<std::size_t>(written));
  }
}

void call(const std::string& path, const std::function<void(const std::string&)>& read) {
  try {
    read(path);
  } catch (const input_error& e) {
    const std::string line = e.what();
    if (!line.starts_with(path + ": ") || line.find('\n') != std::string::npos)
      wrong("the error is no line that names the file: " + line);
  }
}

// Removed at the end of the program.
class named_file {
 public:
  named_file() {
    const bool in_memory = std::filesystem::is_directory("/dev/shm");
    path_ = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    path_ += "/ulp-fuzz-XXXXXX";
    const int made = mkstemp(path_.data());
    if (made < 0) wrong("no file can be made in " + path_);
    close(made);
  }
  ~named_file() { remove(true); }
  named_file(const named_file&) = delete;
  named_file& operator=(const named_file&) = delete;

  // What SQLite may have left beside it, and itself.
  void remove(bool itself) const {
    std::error_code ignored;
    for (const char* const beside : {"-wal", "-shm", "-journal"}) std::filesystem::remove(path_ + beside, ignored);
    if (itself) std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void wrong(const std::string& reason) {
  std::fprintf(stderr, "%s\n", reason.c_str());
  std::abort();
}

void with_file(bytes input, const std::function<void(const std::string&)>& read) {
  static const int file = memfd_create("ulp-fuzz", 0);
  if (lseek(file, 0, SEEK_SET) != 0) wrong("no file in memory");
  fill(file, input);
  call("/proc/self/fd/" + std::to_string(file), read);
}

void with_named_file(bytes input, const std::function<void(const std::string&)>& read) {
  static const named_file file;
  const int opened = open(file.path().c_str(), O_WRONLY | O_CLOEXEC);
  if (opened < 0) wrong("the file is gone");
  fill(opened, input);
  close(opened);
  call(file.path(), read);
  file.remove(false);
}

void read_all(source& from) {
  step now;
  constexpr int most = 100'000;  // a training log of a few lines may tell of millions
  for (int n = 0; n < most && from.next(now);) ++n;
  static_cast<void>(from.notes());
}

void read_recording(const std::string& path) {
  const auto levels = [&](std::int64_t width) {
    level_reader from(path, width);
    level_block block;
    while (from.next(block)) {
    }
  };
  const std::function<void()> ways[]{[&] { read_all(*open_totals(path)); },
                                     [&] { read_all(*open_totals(path, totals_with::summaries)); },
                                     [&] { static_cast<void>(totals_are_as_good(path)); },
                                     [&] { levels(level_widths[0]); },
                                     [&] { levels(level_widths[1]); },
                                     [&] { read_all(*open_recording(path, 1, 2)); },
                                     [&] { static_cast<void>(check_recording(path)); }};
  for (const auto& read : ways) try {
      read();
    } catch (const input_error&) {
      // The other ways may still be open; what the last error says is looked at by the caller.
    }
  static_cast<void>(digest_of(*open_recording(path)));
}

void read_dump(bytes input, decltype(io::dump_file::open) open) {
  source_options options;
  options.with_errors = true;
  options.allow_empty = true;
  options.edges = {0x1p-24, 1.0, 65504.0};
  with_file(input, [&](const std::string& path) {
    const auto from = io::open_dumps({{.number = 1, .files = {{path, open}}}}, "", options, {});
    step now;
    while (from->next(now))
      for (const tensor_row& row : now.tensors)
        if (row.table.numel != from->tensors()[row.tensor].numel)
          wrong("not as many values were counted as the tensor has");
  });
}

}  // namespace ulp::fuzz
