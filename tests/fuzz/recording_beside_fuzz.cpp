// What lies beside a good recording under the names that SQLite knows, and what is read of the recording then: nothing in the
// folder may change. The input: flags (below); two bytes, how long the log is; the log; what is in the other files.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <ulp/io/bytes/error.hpp>

#include "support.hpp"

namespace {

namespace fs = std::filesystem;

enum flag : unsigned {
  has_log = 1,
  has_journal = 2,
  has_shared_memory = 4,
  header_has_log = 8,  // the recording says that it has a log
  names_victim = 16,   // the journal ends as one that has SQLite delete another file
  mended = 32          // checksums of the log and the journal fit
};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::uint32_t word(const std::string& bytes, std::size_t at, bool big = true) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < 4; ++i) n = n << 8 | static_cast<unsigned char>(bytes[big ? at + i : at + 3 - i]);
  return n;
}

void put(std::string& bytes, std::size_t at, std::uint32_t n) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(n >> (24 - 8 * i) & 0xFF);
}

// https://www.sqlite.org/fileformat.html, 4.2
void mend_log(std::string& log) {
  constexpr std::size_t head = 32;
  constexpr std::size_t frame = 24;
  if (log.size() < head) return;
  const bool big = (word(log, 0) & 1) != 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  const auto add = [&](std::size_t from, std::size_t size) {
    for (std::size_t at = from; at < from + size; at += 8) {
      a += word(log, at, big) + b;
      b += word(log, at + 4, big) + a;
    }
  };
  add(0, 24);
  put(log, 24, a);
  put(log, 28, b);
  const std::size_t page = word(log, 8);
  if (page < 512 || page > 65536 || page % 8 != 0) return;
  for (std::size_t at = head; at + frame + page <= log.size(); at += frame + page) {
    std::copy_n(log.begin() + 16, 8, log.begin() + static_cast<std::ptrdiff_t>(at) + 8);  // salts
    add(at, 8);
    add(at + frame, page);
    put(log, at + 16, a);
    put(log, at + 20, b);
  }
}

// The same page, 3: headers, each with its pages.
void mend_journal(std::string& journal) {
  for (std::size_t at = 0; at + 28 <= journal.size();) {
    std::uint32_t left = word(journal, at + 8);  // all that are there, where it was not said yet
    const std::uint32_t nonce = word(journal, at + 12);
    const std::size_t head = word(journal, at + 20);
    const std::size_t page = word(journal, at + 24);
    if (head < 28 || head > 65536 || page < 512 || page > 65536) return;
    for (at += head; left > 0 && at + page + 8 <= journal.size(); at += page + 8, --left) {
      std::uint32_t sum = nonce;
      for (std::size_t i = page - 200; i > 0 && i < page; i -= 200)
        sum += static_cast<unsigned char>(journal[at + 4 + i]);
      put(journal, at + 4 + page, sum);
    }
    at = (at + head - 1) / head * head;
  }
}

// What SQLite ends a journal with that names a super-journal (src/pager.c, writeSuperJournal).
std::string naming(const std::string& file) {
  std::uint32_t sum = 0;
  for (const char c : file) sum += static_cast<unsigned char>(c);
  std::string end = std::string(4, '\0') + file + std::string(8, '\0') + "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7";
  put(end, 0, 0x40000000 / 512 + 1);
  put(end, 4 + file.size(), static_cast<std::uint32_t>(file.size()));
  put(end, 8 + file.size(), sum);
  return end;
}

class playground {
 public:
  playground() {
    std::string name =
        (fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string()) + "/ulp-beside-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) ulp::fuzz::wrong("no folder can be made");
    root_ = name;
    for (const char* const folder : {"open", "away", "tmp"}) fs::create_directory(root_ / folder);
    setenv("TMPDIR", (root_ / "tmp").c_str(), 1);
    good_ = read_file(ULP_GOOD_RECORDING);
    if (good_.size() < 512) ulp::fuzz::wrong("there is no good recording");
    std::ofstream(victim()) << "years of work";
  }
  ~playground() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  playground(const playground&) = delete;
  playground& operator=(const playground&) = delete;

  [[nodiscard]] std::string path() const { return (root_ / "open" / "r.ulp").string(); }
  [[nodiscard]] std::string victim() const { return (root_ / "open" / "victim").string(); }

  void lay(unsigned flags, std::string log, std::string rest) const {
    if ((flags & mended) != 0) {
      mend_log(log);
      mend_journal(rest);
    }
    std::string main = good_;
    if ((flags & header_has_log) != 0) main[18] = main[19] = 2;
    place("", true, main);
    place("-wal", (flags & has_log) != 0, log);
    place("-shm", (flags & has_shared_memory) != 0, rest);
    place("-journal", (flags & has_journal) != 0, (flags & names_victim) != 0 ? rest + naming(victim()) : rest);
  }

  [[nodiscard]] std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all;
    for (const char* const folder : {"open", "tmp"})
      for (const auto& file : fs::directory_iterator(root_ / folder))
        all[file.path().string()] = read_file(file.path());
    return all;
  }

 private:
  // The same file each time: of each that it looked at the library keeps a descriptor.
  void place(const std::string& suffix, bool present, const std::string& bytes) const {
    const fs::path here = path() + suffix;
    const fs::path away = root_ / "away" / ("r.ulp" + suffix);
    if (fs::exists(here)) fs::rename(here, away);
    if (!present) return;
    std::ofstream(away, std::ios::binary) << bytes;
    fs::rename(away, here);
  }

  fs::path root_;
  std::string good_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const playground place;
  if (size < 3) return 0;
  const std::size_t log = std::min(std::size_t{data[1]} + std::size_t{data[2]} * 256, size - 3);
  place.lay(data[0], {data + 3, data + 3 + log}, {data + 3 + log, data + size});
  const auto before = place.contents();
  try {
    ulp::fuzz::read_recording(place.path());
  } catch (const ulp::input_error& problem) {
    const std::string line = problem.what();
    if (!line.starts_with(place.path()) || line.find('\n') != std::string::npos)
      ulp::fuzz::wrong("the error is no line that names the file: " + line);
  }
  if (place.contents() != before) ulp::fuzz::wrong("reading changed what is in the folder");
  return 0;
}
