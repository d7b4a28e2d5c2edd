#include "reader.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ulp/io/recording/block_tables.hpp>
#include <ulp/io/recording/recorded_steps.hpp>
#include <utility>

#include "block_table_rows.hpp"
#include "database/sqlite.hpp"
#include "encoding/tables.hpp"
#include "lost_rows.hpp"
#include "opening.hpp"
#include "schema.hpp"
#include "step_rows.hpp"
#include "totals.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

std::string repeats_text(const io::counted_attempts& counted, which_attempts which) {
  const std::uint64_t steps = counted.repeated();
  std::string text = (steps == 1 ? "1 step was" : std::to_string(steps) + " steps were") +
                     " recorded more than once, as a run that was resumed does: the " +
                     (which == which_attempts::last ? "last" : "first") + " attempt of each counts";
  if (const std::uint64_t left = counted.abandoned(); left > 0)
    text += ", and " + std::to_string(left) + (left == 1 ? " step" : " steps") + " of an abandoned attempt " +
            (left == 1 ? "is" : "are") + " left out";
  return text + " (see --attempts)";
}

// What both ways to read a recording share.
class opened : public source {
 public:
  opened(const std::string& path, io::step_rows::with what, const io::part_asked& part)
      : db_(io::open_for_reading(path)) {
    io::steps_asked asked = part.steps;
    try {
      db_.run("BEGIN");  // one state of the file for all reads
      header_ = io::read_header(db_);
      missing_ = io::what_is_missing(db_);
      const bool has_key = io::has_meta(db_, io::closed_key);
      header_.being_written = db_.is_complete() == database::completeness::whole && !has_key;
      header_.closed = has_key || (!db_.has_checksums() && !header_.being_written);
      header_.incomplete = !missing_.empty() || (db_.has_checksums() && !has_key);
      if (part.up_to_newest && header_.being_written) holds_back_ = ends_at_newest(asked);
      // Also where it is all: without it SQLite counts the rows in one instruction, which nothing bounds.
      const std::string which =
          " WHERE step BETWEEN " + std::to_string(asked.first) + " AND " + std::to_string(asked.last);
      statement count(db_, ("SELECT count(*) FROM step" + which).c_str());
      if (count.row()) count_ = static_cast<std::uint64_t>(count.integer(0));
      io::counted_attempts counted(db_, part.attempts);
      count_ -= std::min(count_, counted.left_out(asked.first, asked.last));
      if (counted.repeated() > 0) repeated_ = repeats_text(counted, part.attempts);
      last_row_ = db_.number("SELECT coalesce(max(rowid), 0) FROM step");
      if (part.before) goes_back_ = goes_back(*part.before, counted);
      rows_.emplace(db_, what, asked, std::move(counted));
      recorded_ = io::read_tensors(db_);
      db_.refuse_change();
    } catch (const io::payload_error& problem) {
      db_.refuse("", problem.what());
    }
  }

  [[nodiscard]] source_kind kind() const final { return source_kind::recording; }
  [[nodiscard]] std::string description() const final { return "recording"; }
  [[nodiscard]] std::uint64_t step_count() const final { return count_; }
  [[nodiscard]] run_header header() const final { return header_; }
  [[nodiscard]] bool logs_unit_scale() const final {
    constexpr const char* other =
        "SELECT count(*) FROM (SELECT 1 FROM step WHERE microbatch=-1 AND loss_scale IS NOT 1 LIMIT 1)";
    return count_ > 0 && db_.number(other) == 0;
  }
  [[nodiscard]] std::int64_t last_row() const noexcept { return last_row_; }
  [[nodiscard]] bool goes_back() const noexcept { return goes_back_; }
  [[nodiscard]] bool holds_back() const noexcept { return holds_back_; }
  [[nodiscard]] std::vector<std::string> notes() const final {
    std::vector<std::string> all;
    for (const std::string& text : {missing_, repeated_})
      if (!text.empty()) all.push_back(db_.path() + ": " + text);
    return all;
  }

  [[nodiscard]] bool next(step& into) final {
    if (!std::exchange(begun_, true) && !are_lost_rows_told_last()) io::refuse_lost_rows(db_);
    try {
      if (!rows_->next()) {
        if (!std::exchange(ended_, true)) {
          if (are_lost_rows_told_last()) io::refuse_lost_rows(db_);
          db_.run("END");
        }
        return false;
      }
      std::vector<tensor_row> room = std::move(into.tensors);
      into = {};
      into.key = *rows_->key();
      rows_->read(into);
      into.tensors = std::move(room);
      read_tables(into);
      return true;
    } catch (const io::payload_error& problem) {
      db_.refuse(io::describe(into.key) + what_is_read(), problem.what());
    }
  }

 protected:
  virtual void read_tables(step& into) = 0;
  // Whether an index that lost rows is told of after the steps, not before: by then somebody may have looked.
  [[nodiscard]] virtual bool are_lost_rows_told_last() const { return false; }
  // For errors.
  [[nodiscard]] virtual std::string what_is_read() const { return ""; }

  [[nodiscard]] const database& db() const noexcept { return db_; }
  [[nodiscard]] const io::step_rows& row() const noexcept { return *rows_; }
  [[nodiscard]] const std::vector<tensor_info>& recorded() const noexcept { return recorded_; }

 private:
  // Whether that leaves steps out.
  [[nodiscard]] bool ends_at_newest(io::steps_asked& asked) const {
    statement newest(db_, "SELECT step FROM step WHERE microbatch=-1 ORDER BY rowid DESC LIMIT 1");
    if (newest.row()) asked.last = std::min(asked.last, newest.integer(0));
    return db_.number("SELECT coalesce(max(step), 0) FROM step") > asked.last;
  }

  // Whether steps were written since that come before the last that was read, or take the place of what was read.
  [[nodiscard]] bool goes_back(const io::read_before& before, const io::counted_attempts& counted) const {
    if (last_row_ < before.row || !counted.takes(before.last)) return true;
    statement added(
        db_, "SELECT step, attempt, microbatch FROM step WHERE rowid>? AND microbatch=-1 ORDER BY step, attempt");
    bool has_earlier = false;
    for (added.bind(before.row); !has_earlier && added.row();) {
      const step_key key = io::key_at(added);
      if (!(key < before.last)) break;
      has_earlier = counted.takes(key);
    }
    added.reset();
    return has_earlier;
  }

  database db_;
  run_header header_;
  std::string missing_;
  std::string repeated_;  // what is said of repeated steps
  std::uint64_t count_ = 0;
  std::int64_t last_row_ = 0;
  bool goes_back_ = false;
  bool holds_back_ = false;
  std::optional<io::step_rows> rows_;
  std::vector<tensor_info> recorded_;
  bool begun_ = false;
  bool ended_ = false;
};

class recording final : public opened {
 public:
  recording(const std::string& path, const io::part_asked& asked) : opened(path, io::step_rows::with::tables, asked) {
    if (asked.with_blocks) blocks_.emplace(db());
  }

  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return recorded(); }

 private:
  void read_tables(step& into) override {
    tables_.read(row().summary(), row().cells(), {.tensors = recorded().size()}, into.tensors);
    if (blocks_) blocks_->read(into, recorded());
  }

  io::table_reader tables_;
  std::optional<io::block_table_rows> blocks_;
};

class recorded_steps final : public opened {
 public:
  recorded_steps(const std::string& path, const io::part_asked& asked)
      : opened(path, io::step_rows::with::scalars, asked) {}

  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return recorded(); }

 private:
  void read_tables(step& into) override { into.tensors.clear(); }
  [[nodiscard]] bool are_lost_rows_told_last() const override { return true; }
};

class recorded_totals final : public opened {
 public:
  recorded_totals(const std::string& path, totals_with with, const io::part_asked& asked)
      : opened(path, io::step_rows::with::scalars, asked), totals_(db(), with, asked.steps) {
    for (const tensor_info& t : recorded()) {
      const auto same = [&](const tensor_info& other) { return other.kind == t.kind && other.role == t.role; };
      const auto known = std::ranges::find_if(groups_, same);
      if (known != groups_.end()) {
        ++known->stands_for;
        continue;
      }
      tensor_info group{.kind = t.kind, .role = t.role, .through = t.through};
      group.name = "all " + std::string{to_string(t.kind)} + " of role " + std::string{to_string(t.role)};
      groups_.push_back(std::move(group));
    }
  }

  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return groups_; }

 private:
  [[nodiscard]] bool are_lost_rows_told_last() const override { return true; }
  void read_tables(step& into) override {
    into.tensors.clear();
    totals_.take(into.key, now_);
    for (group_total& total : now_) {
      const auto same = [&](const tensor_info& g) { return g.kind == total.kind && g.role == total.role; };
      const auto group = std::ranges::find_if(groups_, same);
      if (group == groups_.end()) throw io::payload_error("a total of a kind and role that no tensor has");
      if (total.tensors > group->stands_for) throw io::payload_error("a total of more tensors than there are");
      tensor_row& to = into.tensors.emplace_back();
      to.tensor = static_cast<std::uint32_t>(group - groups_.begin());
      to.factor = total.factor;
      to.table = std::move(total.table);
    }
  }
  [[nodiscard]] std::string what_is_read() const override { return " total"; }

  io::total_rows totals_;
  std::vector<group_total> now_;
  std::vector<tensor_info> groups_;
};

template <typename Steps, typename... Asked>
std::unique_ptr<Steps> opened_steps(const std::string& path, const Asked&... asked) {
  return io::read_steadily([&] {
    try {
      return std::make_unique<Steps>(path, asked...);
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  });
}

}  // namespace

std::unique_ptr<source> open_recording(const std::string& path, which_attempts attempts) {
  return opened_steps<recording>(path, io::part_asked{.attempts = attempts});
}

std::unique_ptr<source> open_recording(const std::string& path, std::int64_t first, std::int64_t last,
                                       which_attempts attempts) {
  return opened_steps<recording>(path, io::part_asked{.steps = {first, last}, .attempts = attempts});
}

std::unique_ptr<source> open_with_blocks(const std::string& path, step_bounds within, which_attempts attempts) {
  return opened_steps<recording>(
      path, io::part_asked{.steps = {within.first, within.last}, .attempts = attempts, .with_blocks = true});
}

std::unique_ptr<source> open_without_tensors(const std::string& path, step_bounds within, which_attempts attempts) {
  return opened_steps<recorded_steps>(path, io::part_asked{.steps = {within.first, within.last}, .attempts = attempts});
}

std::unique_ptr<source> open_totals(const std::string& path, totals_with with, which_attempts attempts) {
  return opened_steps<recorded_totals>(path, with, io::part_asked{.attempts = attempts});
}

io::recording_part io::open_part(const std::string& path, bool merged, const part_asked& asked) {
  const auto part_of = [](auto steps) {
    recording_part part{
        .last_row = steps->last_row(), .goes_back = steps->goes_back(), .holds_back = steps->holds_back()};
    part.steps = std::move(steps);
    return part;
  };
  if (merged) return part_of(opened_steps<recorded_totals>(path, totals_with::cells, asked));
  return part_of(opened_steps<recording>(path, asked));
}

std::string without_checksums(const std::string& path) {
  return path +
         ": recording format 1 has no checksums, "
         "so damage may go unnoticed (ulp merge copies it to a format that has them)";
}

bool totals_are_as_good(const std::string& path) {
  // A total says of all its tensors how they were rounded: alike, and none as a sum of parts.
  const auto agrees = [](const std::vector<tensor_info>& tensors) {
    std::map<std::pair<tensor_kind, tensor_role>, std::string> through;
    return std::ranges::all_of(tensors, [&](const tensor_info& t) {
      return through.try_emplace({t.kind, t.role}, t.through).first->second == t.through;
    });
  };
  const auto is_whole = [](const tensor_row& t) { return t.codes.empty() && !t.parts.is_sum(); };
  return io::read_steadily([&] {
    try {
      const database db = io::open_for_reading(path);
      statement s(db, "SELECT 1 FROM total LIMIT 1");
      if (!s.row()) return false;
      // Of whole binades and buckets the smallest magnitude is not known: in its summary it is NaN.
      statement open(
          db,
          "SELECT 1 FROM total WHERE substr(summary, 72, 1) IN (x'7F', x'FF') AND substr(summary, 71, 1) >= x'F0' "
          "LIMIT 1");
      if (open.row()) return false;
      step now;
      const auto rows = open_recording(path);
      return agrees(rows->tensors()) && rows->next(now) && std::ranges::all_of(now.tensors, is_whole);
    } catch (const io::payload_error&) {
      return false;  // told when the step is read
    }
  });
}

namespace {

std::vector<step_total> totals_of(const database& db) {
  std::vector<step_total> all;
  std::vector<group_total> now;
  step row;
  try {
    io::refuse_lost_rows(db);
    io::step_rows steps(db, io::step_rows::with::scalars);
    io::total_rows totals(db, totals_with::cells);
    while (steps.next()) {
      row.key = *steps.key();
      steps.read(row);
      totals.take(row.key, now);
      for (group_total& total : now) all.push_back({std::move(total), row.key});
    }
  } catch (const io::payload_error& problem) {
    db.refuse(io::describe(row.key) + " total", problem.what());
  }
  return all;
}

}  // namespace

std::vector<step_total> read_totals(const std::string& path) {
  return io::read_steadily([&] { return totals_of(io::open_for_reading(path)); });
}

}  // namespace ulp
