#include "log_file.hpp"

#include <array>
#include <fstream>
#include <span>
#include <vector>

#include <ulp/io/bytes/error.hpp>

namespace ulp::io {
namespace {

// https://www.sqlite.org/fileformat.html, 4.1 and 4.2.
constexpr std::size_t log_head = 32;
constexpr std::size_t page_head = 24;

using bytes = std::span<const unsigned char>;

std::uint32_t number_at(bytes b, std::size_t at, bool big_endian = true) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < 4; ++i) n |= std::uint32_t{b[at + i]} << 8 * (big_endian ? 3 - i : i);
  return n;
}

// SQLite's checksum of a log, over all bytes that were added.
class checksum {
 public:
  explicit checksum(bool big_endian) : big_endian_(big_endian) {}

  void add(bytes b) {
    for (std::size_t at = 0; at + 8 <= b.size(); at += 8) {
      a_ += number_at(b, at, big_endian_) + b_;
      b_ += number_at(b, at + 4, big_endian_) + a_;
    }
  }
  [[nodiscard]] bool is_at(bytes b, std::size_t at) const {
    return number_at(b, at) == a_ && number_at(b, at + 4) == b_;
  }

 private:
  bool big_endian_;
  std::uint32_t a_ = 0;
  std::uint32_t b_ = 0;
};

}  // namespace

log_state state_of_log(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw input_error(file, "", "cannot be opened");
  const auto read = [&](std::span<unsigned char> into) {
    in.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return static_cast<std::size_t>(in.gcount());
  };
  std::array<unsigned char, log_head> head{};
  const std::size_t size = read(head);
  if (size < head.size() || in.peek() == std::ifstream::traits_type::eof()) return log_state::empty;
  const std::uint32_t magic = number_at(head, 0);
  const std::uint32_t page = number_at(head, 8);
  checksum sum((magic & 1) != 0);
  sum.add(bytes(head).first(24));
  const bool is_page = page >= 512 && page <= 65536 && (page & (page - 1)) == 0;
  if ((magic & ~1U) != 0x377F0682 || number_at(head, 4) != 3007000 || !is_page || !sum.is_at(head, 24))
    return log_state::no_log;

  // Pages of the log before, which was longer, may be behind its own: with other salts.
  std::vector<unsigned char> frame(page_head + page);
  bool good = true;
  bool cut = false;
  bool lacks_commit = false;
  // Its own come first: what is far behind them is not read, however long it is said to be.
  constexpr int far = 16;
  int others = 0;
  for (;;) {
    const std::size_t got = others < far ? read(frame) : 0;
    if (got < page_head) return lacks_commit ? log_state::damaged : cut || got > 0 ? log_state::cut : log_state::whole;
    const bool is_own = std::equal(head.begin() + 16, head.begin() + 24, frame.begin() + 8);
    others = is_own ? 0 : others + 1;
    const bool ends_transaction = number_at(frame, 4) != 0;
    if (got < frame.size()) {
      // Writers write the head of a page, and then the page.
      const bool as_killed = got == page_head;
      return lacks_commit ? log_state::damaged : as_killed && !cut ? log_state::whole : log_state::cut;
    }
    if (good) {
      sum.add(bytes(frame).first(8));
      sum.add(bytes(frame).subspan(page_head));
      good = is_own && sum.is_at(frame, 16);
      cut = !good && is_own;  // unless older pages are behind it: a kill leaves a new head before the old rest
    } else {
      lacks_commit = lacks_commit || (is_own && ends_transaction);
      cut = cut && is_own;
    }
  }
}

}  // namespace ulp::io
