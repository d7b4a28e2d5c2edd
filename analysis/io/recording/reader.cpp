#include <ulp/io/recording.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "database/sqlite.hpp"
#include "encoding/bounds.hpp"
#include "encoding/checksum.hpp"
#include "encoding/tables.hpp"
#include "lost_rows.hpp"
#include "opening.hpp"
#include "schema.hpp"
#include "totals.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

struct steps_asked {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

// The steps of a recording but for their tables, in the order of their keys.
class step_rows {
 public:
  // Opens the recording, and refuses what is none. `tables`: none, or ", summary, cells".
  step_rows(const std::string& path, const std::string& tables, const steps_asked& asked = {})
      : db_(io::open_for_reading(path)), parts_(tables.empty() ? 1 : 2) {
    try {
      header_ = io::read_header(db_);
      missing_ = io::what_is_missing(db_);
      header_.incomplete = !missing_.empty() || (db_.has_checksums() && !io::has_meta(db_, io::closed_key));
      // Also where it is all: without it SQLite counts the rows in one instruction, which nothing bounds.
      const std::string which =
          " WHERE step BETWEEN " + std::to_string(asked.first) + " AND " + std::to_string(asked.last);
      statement count(db_, ("SELECT count(*) FROM step" + which).c_str());
      if (count.row()) count_ = static_cast<std::uint64_t>(count.integer(0));
      const std::string select = "SELECT " + std::string{io::step_columns} + tables + ", " + io::crc_column(db_) +
                                 " FROM step" + which + " ORDER BY step, attempt, microbatch";
      steps_ = std::make_unique<statement>(db_, select.c_str());
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] database& db() noexcept { return db_; }
  [[nodiscard]] const run_header& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::vector<std::string> notes() const {
    if (missing_.empty()) return {};
    return {db_.path() + ": " + missing_};
  }

  // The row, its first column of tables being number 11; nullptr at the end.
  [[nodiscard]] const statement* next(step& into) {
    if (!std::exchange(begun_, true)) io::refuse_lost_rows(db_);
    if (!steps_ || !steps_->row()) {
      steps_.reset();
      return nullptr;
    }
    const statement& s = *steps_;
    into = {};
    into.key = io::key_at(s);
    io::check_row(db_, s, io::step_row, parts_);
    if (last_ && !(*last_ < into.key))
      throw io::payload_error("does not come after the one before: the file is damaged");
    last_ = into.key;
    into.ranks = io::parse_ranks(s.text_at(3));
    into.scalars = {s.real(4), s.real(5), s.real(6), s.real(7), s.flag(8), s.flag(9)};
    if (s.is_text(10))
      io::read_max_abs(s.bytes(10), into);
    else
      into.max_abs = s.optional_real(10);
    return steps_.get();
  }

 private:
  database db_;
  std::size_t parts_;
  run_header header_;
  std::string missing_;
  std::uint64_t count_ = 0;
  std::optional<step_key> last_;
  bool begun_ = false;
  std::unique_ptr<statement> steps_;
};

class recording final : public source {
 public:
  recording(const std::string& path, const steps_asked& asked) : rows_(path, ", summary, cells", asked) {
    try {
      tensors_ = io::read_tensors(rows_.db());
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::recording; }
  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::uint64_t step_count() const override { return rows_.count(); }
  [[nodiscard]] run_header header() const override { return rows_.header(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return rows_.notes(); }

  [[nodiscard]] bool next(step& into) override {
    try {
      std::vector<tensor_row> room = std::move(into.tensors);
      const statement* const s = rows_.next(into);
      if (s == nullptr) return false;
      into.tensors = std::move(room);
      tables_.read(s->blob_at(11), s->blob_at(12), {.tensors = tensors_.size()}, into.tensors);
      return true;
    } catch (const io::payload_error& problem) {
      throw input_error(rows_.db().path(), io::describe(into.key), problem.what());
    }
  }

 private:
  step_rows rows_;
  std::vector<tensor_info> tensors_;
  io::table_reader tables_;
};

class recorded_totals final : public source {
 public:
  recorded_totals(const std::string& path, totals_with with) : rows_(path, ""), totals_(rows_.db(), with) {
    for (const tensor_info& t : io::read_tensors(rows_.db())) {
      const auto same = [&](const tensor_info& other) { return other.kind == t.kind && other.role == t.role; };
      const auto known = std::ranges::find_if(groups_, same);
      if (known != groups_.end()) {
        ++known->stands_for;
        continue;
      }
      tensor_info group{.kind = t.kind, .role = t.role};
      group.name = "all " + std::string{to_string(t.kind)} + " of role " + std::string{to_string(t.role)};
      groups_.push_back(std::move(group));
    }
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::recording; }
  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return groups_; }
  [[nodiscard]] std::uint64_t step_count() const override { return rows_.count(); }
  [[nodiscard]] run_header header() const override { return rows_.header(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return rows_.notes(); }

  [[nodiscard]] bool next(step& into) override {
    try {
      std::vector<tensor_row> room = std::move(into.tensors);
      if (rows_.next(into) == nullptr) return false;
      room.clear();
      into.tensors = std::move(room);
      totals_.take(into.key, now_);
      for (group_total& total : now_) {
        const auto same = [&](const tensor_info& g) { return g.kind == total.kind && g.role == total.role; };
        const auto group = std::ranges::find_if(groups_, same);
        if (group == groups_.end()) throw io::payload_error("a total of a kind and role that no tensor has");
        if (total.tensors > group->stands_for) throw io::payload_error("a total of more tensors than there are");
        tensor_row& row = into.tensors.emplace_back();
        row.tensor = static_cast<std::uint32_t>(group - groups_.begin());
        row.factor = total.factor;
        row.table = std::move(total.table);
      }
      return true;
    } catch (const io::payload_error& problem) {
      throw input_error(rows_.db().path(), io::describe(into.key) + " total", problem.what());
    }
  }

 private:
  step_rows rows_;
  io::total_rows totals_;
  std::vector<group_total> now_;
  std::vector<tensor_info> groups_;
};

}  // namespace

std::unique_ptr<source> open_recording(const std::string& path) {
  return std::make_unique<recording>(path, steps_asked{});
}

std::unique_ptr<source> open_recording(const std::string& path, std::int64_t first, std::int64_t last) {
  return std::make_unique<recording>(path, steps_asked{first, last});
}

std::unique_ptr<source> open_totals(const std::string& path, totals_with with) {
  try {
    return std::make_unique<recorded_totals>(path, with);
  } catch (const io::payload_error& problem) {
    throw input_error(path, "", problem.what());
  }
}

std::string without_checksums(const std::string& path) {
  return path +
         ": recording format 1 has no checksums: damage that leaves possible numbers is not noticed (ulp merge copies "
         "it "
         "into one that has them)";
}

bool totals_are_as_good(const std::string& path) {
  try {
    const database db = io::open_for_reading(path);
    statement s(db, "SELECT 1 FROM total LIMIT 1");
    if (!s.row()) return false;
    // Of whole octaves and buckets the smallest magnitude is not known: in its summary it is NaN.
    statement open(
        db,
        "SELECT 1 FROM total WHERE substr(summary, 72, 1) IN (x'7F', x'FF') AND substr(summary, 71, 1) >= x'F0' "
        "LIMIT 1");
    if (open.row()) return false;
    step now;
    const auto rows = open_recording(path);
    return rows->next(now) && std::ranges::all_of(now.tensors, [](const tensor_row& t) { return t.codes.empty(); });
  } catch (const io::payload_error&) {
    return false;  // told when the step is read
  }
}

std::vector<step_total> read_totals(const std::string& path) {
  std::vector<step_total> all;
  std::vector<group_total> now;
  step_rows steps(path, "");
  step row;
  try {
    io::total_rows totals(steps.db(), totals_with::cells);
    while (steps.next(row) != nullptr) {
      totals.take(row.key, now);
      for (group_total& total : now) all.push_back({std::move(total), row.key});
    }
  } catch (const io::payload_error& problem) {
    throw input_error(path, io::describe(row.key) + " total", problem.what());
  }
  return all;
}

}  // namespace ulp
