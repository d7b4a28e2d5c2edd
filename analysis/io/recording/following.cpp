#include <ulp/io/recording/following.hpp>

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/recording.hpp>

#include "database/companions.hpp"
#include "output/locks.hpp"
#include "reader.hpp"

namespace ulp::io {
namespace {

// What a write to the file, or to a log or journal beside it, changes.
class stamp {
 public:
  stamp() = default;
  explicit stamp(const std::string& file) {
    std::size_t i = 0;
    for (const char* const suffix : {"", "-wal", "-journal"}) {
      struct stat state {};
      if (::stat((file + suffix).c_str(), &state) == 0)
        parts_[i] = {std::uint64_t{state.st_ino}, static_cast<std::uint64_t>(state.st_size),
                     static_cast<std::uint64_t>(state.st_mtim.tv_sec),
                     static_cast<std::uint64_t>(state.st_mtim.tv_nsec)};
      ++i;
    }
  }
  // Whether there is a file with something in it.
  [[nodiscard]] bool holds_something() const { return parts_[0][1] > 0; }
  friend bool operator==(const stamp&, const stamp&) = default;

 private:
  std::array<std::array<std::uint64_t, 4>, 3> parts_{};
};

class following final : public source {
 public:
  following(std::string path, const source_options& options, wait_for_steps wait)
      : path_(std::move(path)), merged_asked_(options.merged), attempts_(options.attempts), wait_(std::move(wait)) {}

  [[nodiscard]] source_kind kind() const override { return source_kind::recording; }
  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] run_header header() const override { return header_; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }

  [[nodiscard]] bool next(step& into) override {
    for (;;) {
      std::exception_ptr problem;
      try {
        if (next_of_part(into)) return true;
        if (look()) continue;
      } catch (const input_error&) {
        if (is_another_ || lasts()) throw;
        problem = std::current_exception();
        part_.reset();
        seen_.reset();
        state_ = read_ ? recording_writer_state::at_work : recording_writer_state::awaited;
      }
      if (state_ != recording_writer_state::done && wait_(state_)) continue;
      if (problem) std::rethrow_exception(problem);
      return false;
    }
  }

 private:
  // Whether looks failed for longer than it takes to make or to close the file. One that is copied changes until it is whole.
  bool lasts() {
    constexpr int most_failures = 5;
    const stamp now{path_};
    const bool is_copied = failed_at_ != now && !is_being_written(resolved(path_));
    failed_at_ = now;
    failures_ = is_copied ? 1 : failures_ + 1;
    return failures_ == most_failures;
  }

  bool next_of_part(step& into) {
    while (part_ && part_->next(into)) {
      if (into.key.microbatch != -1 || (read_ && !(read_->last < into.key))) continue;
      read_ = read_before{.last = into.key, .row = row_};
      found_ = true;
      failures_ = 0;
      return true;
    }
    if (part_) failures_ = 0;
    if (part_ && read_) read_->row = row_;
    part_.reset();
    return false;
  }

  // Whether there is a part that may hold more.
  bool look() {
    const stamp now{path_};
    if (!now.holds_something()) {
      state_ = recording_writer_state::awaited;
      return false;
    }
    // Where the last look found something, more may have come within the same tick of the file system's clock.
    const bool may_have_more = std::exchange(found_, false) || seen_ != now;
    if (!may_have_more) {
      if (state_ != recording_writer_state::at_work || is_being_written(resolved(path_))) return false;
      state_ = recording_writer_state::gone;
      if (!holds_back_) return false;
    }
    open();
    seen_ = now;
    return part_ != nullptr;
  }

  void open() {
    if (!merged_) {
      const auto all = open_recording(path_);
      take(*all);
      if (all->step_count() == 0) {
        if (state_ == recording_writer_state::at_work) state_ = recording_writer_state::awaited;
        return;
      }
      merged_ = merged_asked_ && totals_are_as_good(path_);
    }
    recording_part part = open_part(path_, *merged_, asked());
    if (part.goes_back) {
      read_.reset();
      part = open_part(path_, *merged_, asked());
    }
    take(*part.steps);
    part_ = std::move(part.steps);
    row_ = part.last_row;
    holds_back_ = part.holds_back;
    tensors_ = part_->tensors();
    notes_ = part_->notes();
  }

  [[nodiscard]] part_asked asked() const {
    // Where one attempt of a step counts, none does that may yet be repeated.
    part_asked what{.attempts = attempts_, .before = read_, .up_to_newest = attempts_ == which_attempts::all};
    if (read_) what.steps.first = read_->last.step;
    return what;
  }

  void take(const source& opened) {
    const run_header header = opened.header();
    if (!header_.run_id.empty() && header.run_id != header_.run_id) {
      is_another_ = true;
      throw input_error(path_, "", "another recording took the place of the one that was followed: start again");
    }
    header_ = header;
    state_ = header.being_written ? recording_writer_state::at_work
             : header.closed      ? recording_writer_state::done
                                  : recording_writer_state::gone;
  }

  std::string path_;
  bool merged_asked_;
  which_attempts attempts_;
  wait_for_steps wait_;

  std::optional<bool> merged_;  // known from the first step on
  std::unique_ptr<source> part_;
  std::int64_t row_ = 0;  // its recording_part::last_row
  bool holds_back_ = false;
  std::optional<read_before> read_;
  std::optional<stamp> seen_;
  bool found_ = false;
  recording_writer_state state_ = recording_writer_state::awaited;
  int failures_ = 0;  // of the last looks
  std::optional<stamp> failed_at_;
  bool is_another_ = false;
  std::vector<tensor_info> tensors_;
  std::vector<std::string> notes_;
  run_header header_;
};

}  // namespace

bool holds_something(const std::string& path) { return stamp(path).holds_something(); }

std::unique_ptr<source> open_following(const std::string& path, const source_options& options, wait_for_steps wait) {
  return std::make_unique<following>(path, options, std::move(wait));
}

}  // namespace ulp::io
