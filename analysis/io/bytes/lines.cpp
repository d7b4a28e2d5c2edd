#include "lines.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>
#include <system_error>

#include <ulp/io/bytes/error.hpp>

#include "within.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t longest_line = std::size_t{1} << 20;
constexpr std::size_t buffer_size = std::size_t{1} << 16;

}  // namespace

// A file or standard input, inflated where it begins as gzip does. zlib's own gzread stops at what follows a stream
// without a word, and does not tell how much it inflates.
class text_input {
 public:
  text_input(const std::string& path, const read_limits& limits) : path_(path), limits_(limits), packed_(buffer_size) {
    // A copy of the descriptor, so that closing the file leaves standard input open.
    descriptor_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw input_error(path, "", std::generic_category().message(errno));
  }
  ~text_input() {
    if (is_gzip_) inflateEnd(&state_);
    ::close(descriptor_);
  }
  text_input(const text_input&) = delete;
  text_input& operator=(const text_input&) = delete;

  // Bytes read, 0 at the end or where there is a problem.
  std::size_t read(std::span<char> into) {
    if (!started_) start();
    if (!is_gzip_) {
      if (state_.avail_in == 0) load();
      const std::size_t size = std::min<std::size_t>(into.size(), state_.avail_in);
      std::copy_n(state_.next_in, size, into.begin());
      state_.next_in += size;
      state_.avail_in -= static_cast<uInt>(size);
      return size;
    }
    const std::size_t made = inflate_into(into);
    inflated_ += made;
    check_inflated(inflated_, read_, inflated_text, limits_, path_, "");
    if (inflated_ > limits_.text)
      throw input_error(path_, "",
                        "becomes " + std::to_string(inflated_) + " bytes of text or more; " +
                            limit_text(limits_, &read_limits::text));
    return made;
  }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  // Behind what is there; false at the end of the file.
  bool load() {
    std::copy_n(state_.next_in, state_.avail_in, packed_.begin());
    state_.next_in = packed_.data();
    // A signal ends it: who sends one does not wait for a pipe.
    const ssize_t got = ::read(descriptor_, packed_.data() + state_.avail_in, packed_.size() - state_.avail_in);
    if (got < 0) throw input_error(path_, "", std::generic_category().message(errno));
    state_.avail_in += static_cast<uInt>(got);
    read_ += static_cast<std::uint64_t>(got);
    return got > 0;
  }
  // Whether a stream begins here.
  bool is_next_stream() {
    while (state_.avail_in < 2 && load()) {
    }
    return state_.avail_in >= 2 && state_.next_in[0] == 0x1F && state_.next_in[1] == 0x8B;
  }
  void start() {
    started_ = true;
    state_.next_in = packed_.data();
    if (!is_next_stream()) return;
    if (inflateInit2(&state_, 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
    is_gzip_ = true;
  }

  std::size_t inflate_into(std::span<char> into) {
    state_.next_out = reinterpret_cast<Bytef*>(into.data());
    state_.avail_out = static_cast<uInt>(into.size());
    while (!ended_ && problem_.empty() && state_.avail_out == into.size()) {
      if (state_.avail_in == 0 && !load()) {
        problem_ = "the gzip data ends here; the file was cut short";
        break;
      }
      const int result = inflate(&state_, Z_NO_FLUSH);
      if (result == Z_STREAM_END)
        end_stream();
      else if (result != Z_OK && result != Z_BUF_ERROR)
        problem_ = "the gzip data is damaged after this line";
    }
    return into.size() - state_.avail_out;
  }
  // Another one may follow, or zeros up to the end of a block of tape, as gzip(1) has it.
  void end_stream() {
    if (is_next_stream()) {
      inflateReset(&state_);
      return;
    }
    ended_ = true;
    do {
      if (std::any_of(state_.next_in, state_.next_in + state_.avail_in, [](Bytef byte) { return byte != 0; }))
        problem_ = "bytes follow the end of the gzip data; the file is damaged";
      state_.avail_in = 0;
    } while (problem_.empty() && load());
  }

  std::string path_;
  read_limits limits_;
  int descriptor_ = -1;
  std::vector<Bytef> packed_;
  z_stream state_{};  // without gzip too: what of packed_ is not used yet
  bool started_ = false;
  bool is_gzip_ = false;
  bool ended_ = false;
  std::uint64_t read_ = 0;
  std::uint64_t inflated_ = 0;
  std::string problem_;
};

line_reader::line_reader(const std::string& path, const read_limits& limits)
    : path_(path), input_(std::make_unique<text_input>(path, limits)), buffer_(buffer_size) {}
line_reader::line_reader(line_reader&&) noexcept = default;
line_reader& line_reader::operator=(line_reader&&) noexcept = default;
line_reader::~line_reader() = default;

std::string_view line_reader::peek() {
  if (at_end()) return {};
  const std::string_view at_hand{buffer_.data() + begin_, end_ - begin_};
  return at_hand.substr(0, at_hand.find_first_of("\r\n"));
}

bool line_reader::at_end() { return begin_ == end_ && !fill(); }

void line_reader::skip_blank_lines() {
  for (std::string blank; !at_end();) {
    const std::string_view at_hand{buffer_.data() + begin_, end_ - begin_};
    const std::size_t stop = at_hand.find('\n');
    if (stop == std::string_view::npos || at_hand.find_first_not_of(" \t\r") < stop) return;
    static_cast<void>(next(blank, "text"));
  }
}

line_reader first_text_of(const std::string& path, const read_limits& limits) {
  line_reader lines(path, limits);
  lines.skip_blank_lines();
  return lines;
}

bool line_reader::fill() {
  begin_ = 0;
  end_ = input_->read(buffer_);
  if (end_ == 0 && !input_->problem().empty()) fail(input_->problem());
  return end_ > 0;
}

bool line_reader::next(std::string& into, std::string_view kind) {
  into.clear();
  ended_ = false;
  bool any = false;
  for (;;) {
    if (begin_ == end_ && !fill()) break;
    if (!any && ended_line_) ++number_;
    ended_line_ = false;
    any = true;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto stop = breaks_at_returns_ ? std::find_if(first, last, [](char c) { return c == '\n' || c == '\r'; })
                                         : std::find(first, last, '\n');
    into.append(first, stop);
    if (into.size() > longest_line) fail("is longer than 1 MiB; this is not a " + std::string(kind));
    begin_ = static_cast<std::size_t>(stop - buffer_.begin());
    if (stop == last) continue;
    ended_line_ = buffer_[begin_++] == '\n';
    ended_ = true;
    break;
  }
  if (into.ends_with('\r')) into.pop_back();
  return any;
}

void line_reader::fail(const std::string& reason) const {
  throw input_error(path_, "line " + std::to_string(number_), reason);
}

}  // namespace ulp::io
