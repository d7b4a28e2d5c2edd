#include <ulp/io/recording/check.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/encoding/block_content.hpp>
#include <ulp/io/encoding/joint_content.hpp>
#include <ulp/io/recording/live_scales.hpp>

#include "bytes/text.hpp"
#include "checksum.hpp"
#include "database/sqlite.hpp"
#include "encoding/payload.hpp"
#include "encoding/tables.hpp"
#include "levels.hpp"
#include "lost_rows.hpp"
#include "opening.hpp"
#include "schema.hpp"
#include "step_rows.hpp"
#include "totals.hpp"

namespace ulp {
namespace {

using io::payload_error;
using io::statement;

// Two orders of adding.
bool close_to(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || (std::isfinite(a - b) && std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)));
}

// Equal except for the last digits of reported sums.
bool same_table(cell_table a, cell_table b) {
  if (!close_to(a.reported_abs_sum, b.reported_abs_sum) || !close_to(a.reported_square_sum, b.reported_square_sum))
    return false;
  a.reported_abs_sum = a.reported_square_sum = b.reported_abs_sum = b.reported_square_sum = not_known;
  return a == b;
}

std::string name_of(const group_total& t) {
  std::string text = std::string{to_string(t.kind)} + " of role " + std::string{to_string(t.role)};
  if (!std::isnan(t.factor)) text += " with factor " + io::decimal_text(t.factor);
  return text;
}

std::string and_then(const std::string& place, const std::string& more) {
  return place.empty() ? more : more.empty() ? place : place + ", " + more;
}

class checker {
 public:
  checker(const std::string& path, const recording_check_options& options)
      : path_(path), options_(options), db_(io::open_for_reading(path)) {
    report_.has_checksums = db_.has_checksums();
  }

  recording_report report() {
    try {
      db_.run("BEGIN");  // one state of the file for all
      part("", [&] { structure(); });
      part("meta", [&] { header(); });
      bool known = false;
      part("tensor", [&] {
        tensors_ = io::read_tensors(db_);
        known = true;
      });
      report_.tensors = tensors_.size();
      if (known) {
        part("step", [&] { steps(); });
        part("total", [&] { totals_without_steps(); });
        part("level", [&] { levels(); });
      }
      part("extra", [&] { extras(); });
    } catch (const enough&) {
      report_.gave_up = true;
    }
    db_.refuse_change();
    return std::move(report_);
  }

 private:
  struct enough {};

  void add(const std::string& table, const std::string& place, const std::string& reason) {
    report_.problems.push_back({table, place, printable(reason)});
    if (report_.problems.size() >= options_.most) throw enough{};
  }

  // What cannot be read ends its part only.
  template <typename Work>
  void part(const std::string& table, Work work) {
    try {
      work();
    } catch (const payload_error& problem) {
      add(table, "", problem.what());
    } catch (const input_error& problem) {
      add(table, "", without_path(problem.what()));
    }
  }

  [[nodiscard]] std::string without_path(std::string text) const {
    return text.starts_with(path_ + ": ") ? text.substr(path_.size() + 2) : text;
  }

  void advance() const {
    if (options_.progress) options_.progress();
  }

  // A text of SQLite's has several lines, each a problem, below a heading.
  void structure() {
    statement s(db_, "PRAGMA integrity_check");
    while (s.row())
      for (std::string_view rest = s.text_at(0); !rest.empty();) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.empty() && line != "ok" && !line.starts_with("*** in database ")) add("", "", std::string{line});
      }
  }

  void header() {
    const std::string missing = io::what_is_missing(db_);
    const io::database::completeness how = db_.is_complete();
    using enum io::database::completeness;
    if (how != lacks_log && how != damaged_log)
      report_.missing = missing;
    else if (!missing.empty())
      add("", "", missing);
    const run_header h = io::read_header(db_);
    if (h.rank >= h.world)
      add("meta", "rank", std::to_string(h.rank) + " is not one of " + std::to_string(h.world) + " ranks");
  }

  void steps() {
    io::step_rows rows(db_, io::step_rows::with::tables);
    io::total_rows totals(db_, totals_with::cells);
    const auto place = [&] { return rows.key() ? io::describe(*rows.key()) : "the header"; };
    for (;;) {
      try {
        if (!rows.next()) return;
      } catch (const payload_error& problem) {
        return add("step", "after " + place(), problem.what());
      }
      const bool good = row(rows, place());
      compare_totals(totals, *rows.key(), place(), good);
      ++report_.steps;
      advance();
    }
  }

  // Whether it is good; its tables are then in merged_.
  bool row(const io::step_rows& rows, const std::string& place) {
    merged_ = {};
    const std::size_t before = report_.problems.size();
    try {
      step now;
      rows.read(now);
      tables(rows.summary(), rows.cells(), place);
    } catch (const payload_error& problem) {
      add("step", place, problem.what());
    }
    return report_.problems.size() == before;
  }

  void tables(std::string_view summary, std::string_view cells, const std::string& place) {
    if (summary.size() % io::summary_size != 0) throw payload_error("its summary has a broken length");
    payloads_.open(cells, io::payload_limit);
    std::vector<bool> seen(tensors_.size());
    for (; !summary.empty(); summary.remove_prefix(io::summary_size)) {
      const std::string_view record = summary.substr(0, io::summary_size);
      const auto id = static_cast<std::uint32_t>(io::u64_at(record, 0));
      if (id >= tensors_.size() || seen[id])
        throw payload_error("tensor " + std::to_string(id) + " is unknown or occurs twice");
      seen[id] = true;
      const std::size_t size = io::payload_size(payloads_.ahead(20));
      const std::string_view all = payloads_.ahead(size);
      if (all.size() < size) throw payload_error("is cut short");
      payloads_.skip(size);
      try {
        table(record, all.substr(0, size));
      } catch (const payload_error& problem) {
        add("step", and_then(place, "tensor " + io::in_quotes(tensors_[id].name)), problem.what());
      }
      ++report_.tables;
    }
    payloads_.close();
  }

  void table(std::string_view record, std::string_view payload) {
    tensor_row row = io::parse_summary(record);
    io::take_payload(payload, row);
    io::check_summary_sums(record, row);
    check_rounded_sums(record, row.table);
    const tensor_info& info = tensors_[row.tensor];
    merged_.add(info.kind, info.role, row.factor, row.table);
  }

  static void check_rounded_sums(std::string_view record, const cell_table& t) {
    if (t.cells.empty() && t.buckets.empty() && t.nonzero_finite() > 0) return;  // an encoding that was skipped
    const value_sum magnitudes = magnitudes_sum(t);
    const value_sum squares = squares_sum(t);
    if (!close_to(io::f64_at(record, 80), magnitudes.value) || !close_to(io::f64_at(record, 88), squares.value))
      throw payload_error("the sums in its summary differ from those of its cells");
  }

  void compare_totals(io::total_rows& totals, const step_key& key, const std::string& place, bool comparable) {
    try {
      totals.take(key, stored_);
    } catch (const payload_error& problem) {
      return add("total", place, problem.what());
    }
    if (!comparable) return;
    compare(merged_.take(), stored_, [&](const group_total& t, const std::string& reason) {
      add("total", and_then(place, name_of(t)), reason);
    });
  }

  // Both in the order of totals.
  template <typename Tell>
  static void compare(const std::vector<group_total>& merged, const std::vector<group_total>& stored, Tell tell) {
    const auto key = [](const group_total& t) { return io::key_of(t.kind, t.role, t.factor); };
    auto at = stored.begin();
    for (const group_total& m : merged) {
      for (; at != stored.end() && key(*at) < key(m); ++at) tell(*at, "no tensor is in it");
      if (at == stored.end() || key(m) < key(*at)) {
        tell(m, "is missing");
        continue;
      }
      if (at->tensors != m.tensors || !same_table(at->table, m.table)) tell(m, "is not what its tables add up to");
      ++at;
    }
    for (; at != stored.end(); ++at) tell(*at, "no tensor is in it");
  }

  void totals_without_steps() {
    statement s(db_,
                "SELECT step, attempt, microbatch FROM total WHERE NOT EXISTS (SELECT 1 FROM step WHERE "
                "step.step=total.step AND step.attempt=total.attempt AND step.microbatch=total.microbatch) "
                "GROUP BY step, attempt, microbatch");
    while (s.row()) add("total", io::describe(io::key_at(s)), "there is no such step");
  }

  [[nodiscard]] bool has_table(std::string_view name) const {
    statement s(db_, "SELECT 1 FROM sqlite_schema WHERE name=?");
    return s.bind(name).row();
  }

  void levels() {
    if (!has_table("level") && !has_table("level_total")) return;
    io::level_table blocks(db_);
    statement s(db_, "SELECT width, block, ranks FROM level ORDER BY width, block, ranks");
    while (s.row()) {
      const std::int64_t width = s.integer(0);
      const std::int64_t number = s.integer(1);
      const std::string ranks{s.text_at(2)};
      const std::string place = "width " + std::to_string(width) + " block " + std::to_string(number);
      try {
        if (std::ranges::find(level_widths, width) == level_widths.end())
          throw payload_error("levels have no such width");
        block(blocks, width, number, ranks, place);
      } catch (const payload_error& problem) {
        add("level", place, problem.what());
      } catch (const input_error& problem) {
        add("level", place, without_path(problem.what()));
      }
      ++report_.blocks;
      advance();
    }
  }

  void block(io::level_table& blocks, std::int64_t width, std::int64_t number, const std::string& ranks,
             const std::string& place) {
    static_cast<void>(io::parse_ranks(ranks));
    const std::vector<io::block_rows> all = blocks.rows_of(width, number);
    const auto rows = std::ranges::find(all, ranks, &io::block_rows::ranks);
    if (rows == all.end() || blocks.stored(width, number, ranks) != *rows) return;  // nobody reads it
    const auto parts = level_parts::totals_and_tensors;
    const level_block stored = blocks.read(width, number, *rows, parts, tensors_.size());
    io::level_merger merger;
    blocks.merge(width, *rows, parts, tensors_.size(), merger);
    level_block merged;
    merger.take(merged);
    compare(merged.totals, stored.totals, [&](const group_total& t, const std::string& reason) {
      add("level_total", and_then(place, name_of(t)), reason);
    });
    const auto same = [](const tensor_row& a, const tensor_row& b) {
      const bool factor = a.factor == b.factor || (std::isnan(a.factor) && std::isnan(b.factor));
      return a.tensor == b.tensor && a.type == b.type && factor && same_table(a.table, b.table);
    };
    if (!std::ranges::equal(stored.tensors, merged.tensors, same))
      add("level", place, "is not what the tables of its steps add up to");
  }

  // Rows that this version does not know have their checksums all the same, and so have blocks that nobody reads.
  void extras() {
    if (!db_.has_checksums()) return;
    const auto all = [&](const io::row_parts& parts, const std::string& columns) {
      statement s(db_, ("SELECT " + columns + ", crc FROM " + std::string{parts.table}).c_str());
      while (s.row()) try {
          io::check_row(db_, s, parts, parts.count());
        } catch (const payload_error& problem) {
          add(std::string{parts.table}, "", problem.what());
        }
    };
    if (has_table("extra")) all(io::extra_row, "step, attempt, microbatch, tensor, name, content");
    if (has_table("extra")) {
      extras_of_tensors("joint", "a joint table", "its joint table",
                        [&](std::string_view content, const std::string& place) {
                          static_cast<void>(parse_joint_content(content, path_, place));
                        });
      extras_of_tensors("blocks", "block tables", "its block tables",
                        [&](std::string_view content, const std::string& place) {
                          static_cast<void>(parse_block_content(content, path_, place));
                        });
    }
    if (has_table("extra")) scales();
    all(io::level_row, "width, block, ranks, steps, first_step, last_step, summary, cells");
    all(io::level_total_row, "width, block, ranks, kind, role, tensors, summary, cells");
  }

  // Of rows with and without a step of theirs. `parse` throws input_error, whose reason begins with `its`.
  template <class Parse>
  void extras_of_tensors(const char* name, const char* what, const char* its, Parse parse) {
    statement s(db_,
                ("SELECT step, attempt, microbatch, tensor, content FROM extra WHERE name='" + std::string{name} + "'")
                    .c_str());
    while (s.row()) {
      const std::string place = io::describe(io::key_at(s));
      const std::int64_t tensor = s.integer(3);
      if (tensor < 0 || static_cast<std::uint64_t>(tensor) >= tensors_.size())
        add("extra", place, std::string{what} + " of a tensor that is unknown");
      try {
        parse(s.blob_at(4), place);
      } catch (const input_error& problem) {
        const std::string_view text = problem.what();
        add("extra", place, std::string(text.substr(std::min(text.size(), text.find(its)))));
      }
    }
  }

  void scales() {
    statement s(db_, "SELECT step, attempt, microbatch, content FROM extra WHERE name='fp8_scales'");
    while (s.row()) try {
        static_cast<void>(parse_live_scales(s.blob_at(3), path_, io::describe(io::key_at(s))));
      } catch (const input_error& problem) {
        const std::string_view text = problem.what();
        add("extra", io::describe(io::key_at(s)),
            std::string(text.substr(std::min(text.size(), text.find("its scales")))));
      }
  }

  std::string path_;
  const recording_check_options& options_;
  io::database db_;
  recording_report report_;
  std::vector<tensor_info> tensors_;
  io::inflater payloads_;
  io::total_merger merged_;
  std::vector<group_total> stored_;
};

}  // namespace

recording_report check_recording(const std::string& path, const recording_check_options& options) {
  return io::read_steadily([&] { return checker(path, options).report(); });
}

void refuse_damaged(const std::string& path, const std::function<void()>& progress) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (unknown) return;
  if (size > io::checked_wholly) return io::refuse_lost_rows(io::open_for_reading(path));
  const recording_report report = check_recording(path, {.progress = progress});
  if (report.problems.empty()) return;
  const recording_problem& first = report.problems.front();
  const bool named = first.table.empty() || first.table == "step";
  const std::size_t all = report.problems.size();
  throw input_error(path, named ? first.place : and_then(first.table, first.place),
                    first.reason + (all == 1 ? " (ulp check lists what is wrong)"
                                             : " (the first of " + std::string{report.gave_up ? "at least " : ""} +
                                                   std::to_string(all) + " problems, which ulp check lists)"));
}

}  // namespace ulp
