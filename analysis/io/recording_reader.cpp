#include <ulp/io/recording.hpp>

#include <algorithm>

#include "payload.hpp"
#include "schema.hpp"
#include "sqlite.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

// The steps of a recording but for their tables, in the order of their keys.
class step_rows {
 public:
  // Opens the recording, and refuses what is none.
  step_rows(const std::string& path, const char* tables) : db_(path, SQLITE_OPEN_READONLY) {
    try {
      io::check_identity(db_);
      read_header();
      statement count(db_, "SELECT count(*) FROM step");
      if (count.row()) count_ = static_cast<std::uint64_t>(count.integer(0));
      const std::string select =
          "SELECT step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs" +
          std::string{tables} + " FROM step ORDER BY step, attempt, microbatch";
      steps_ = std::make_unique<statement>(db_, select.c_str());
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] database& db() noexcept { return db_; }
  [[nodiscard]] const run_header& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  // The row, its first column of tables being number 11; nullptr at the end.
  [[nodiscard]] const statement* next(step& into) {
    if (!steps_ || !steps_->row()) {
      steps_.reset();
      return nullptr;
    }
    const statement& s = *steps_;
    into = {};
    into.key = io::key_at(s);
    into.ranks = io::split<std::uint32_t>(s.bytes(3));
    into.scalars = {s.real(4), s.real(5), s.real(6), s.real(7), s.flag(8), s.flag(9)};
    into.max_abs = s.optional_real(10);
    return steps_.get();
  }

 private:
  void read_header() {
    statement s(db_, "SELECT key, value FROM meta");
    while (s.row()) {
      const std::string_view key = s.bytes(0);
      const std::string_view value = s.bytes(1);
      const auto number = [&] {
        const auto one = io::split<std::uint32_t>(value);
        if (one.size() != 1) throw io::payload_error("'" + std::string{key} + "' in its header is no number");
        return one.front();
      };
      if (key == "run_id") header_.run_id = value;
      if (key == "rank") header_.rank = number();
      if (key == "world") header_.world = number();
      if (key == "reduction") header_.reduction = value;
      if (key == "layout") header_.layout = value;
    }
  }

  database db_;
  run_header header_;
  std::uint64_t count_ = 0;
  std::unique_ptr<statement> steps_;
};

class recording final : public source {
 public:
  explicit recording(const std::string& path) : rows_(path, ", summary, cells") {
    try {
      tensors_ = io::read_tensors(rows_.db());
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::uint64_t step_count() const override { return rows_.count(); }
  [[nodiscard]] run_header header() const override { return rows_.header(); }

  [[nodiscard]] bool next(step& into) override {
    try {
      std::vector<tensor_row> room = std::move(into.tensors);
      const statement* const s = rows_.next(into);
      if (s == nullptr) return false;
      into.tensors = std::move(room);
      read_tables(into, s->bytes(11), s->bytes(12));
      return true;
    } catch (const io::payload_error& problem) {
      throw input_error(rows_.db().path(), io::describe(into.key), problem.what());
    }
  }

 private:
  // The new row in the room of the old one: fresh memory for the cells of every step costs as much as reading them.
  static void refill(tensor_row& row, tensor_row&& with) {
    with.table.cells = std::move(row.table.cells);
    with.table.sums = std::move(row.table.sums);
    with.table.cells.clear();
    with.table.sums.clear();
    row = std::move(with);
  }

  void read_tables(step& into, std::string_view summary, std::string_view cells) {
    if (summary.size() % io::summary_size != 0) throw io::payload_error("its summary has a broken length");
    const std::size_t n = summary.size() / io::summary_size;
    if (n > tensors_.size()) throw io::payload_error("has more rows than there are tensors");
    io::decompress(cells, io::payload_limit, payload_);
    std::string_view rest = payload_;
    std::vector<bool> seen(tensors_.size());
    into.tensors.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      tensor_row& row = into.tensors[i];
      refill(row, io::parse_summary(summary.substr(i * io::summary_size, io::summary_size)));
      if (row.tensor >= tensors_.size() || seen[row.tensor]) throw io::payload_error("a tensor that is none, or twice");
      seen[row.tensor] = true;
      io::take_payload(rest, row);
    }
    if (!rest.empty()) throw io::payload_error("has bytes left over");
  }

  step_rows rows_;
  std::vector<tensor_info> tensors_;
  std::string payload_;  // of one step
};

constexpr const char* select_totals =
    "SELECT step, attempt, microbatch, kind, role, tensors, summary, cells FROM total "
    "ORDER BY step, attempt, microbatch, rowid";

// The total at the statement's row. Throws payload_error; the key is set before.
void read_total(const statement& s, step_total& total) {
  total.key = io::key_at(s);
  const auto kind = parse_kind(s.bytes(3));
  const auto role = parse_role(s.bytes(4));
  if (!kind || !role || s.bytes(6).size() != io::summary_size) throw io::payload_error("a damaged total");
  total.kind = *kind;
  total.role = *role;
  total.tensors = static_cast<std::uint64_t>(s.integer(5));
  tensor_row row = io::parse_summary(s.bytes(6));
  std::string payload;
  io::decompress(s.bytes(7), io::payload_limit, payload);
  std::string_view rest = payload;
  io::take_payload(rest, row);
  total.factor = row.factor;
  total.table = std::move(row.table);
}

class recorded_totals final : public source {
 public:
  explicit recorded_totals(const std::string& path)
      : rows_(path, ""), totals_(rows_.db(), select_totals), pending_(totals_.row()) {
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

  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return groups_; }
  [[nodiscard]] std::uint64_t step_count() const override { return rows_.count(); }
  [[nodiscard]] run_header header() const override { return rows_.header(); }

  [[nodiscard]] bool next(step& into) override {
    try {
      if (rows_.next(into) == nullptr) return false;
      while (pending_ && io::key_at(totals_) < into.key) pending_ = totals_.row();
      while (pending_ && io::key_at(totals_) == into.key) {
        step_total total;
        read_total(totals_, total);
        const auto same = [&](const tensor_info& g) { return g.kind == total.kind && g.role == total.role; };
        const auto group = std::ranges::find_if(groups_, same);
        if (group == groups_.end()) throw io::payload_error("a total of a kind and role that no tensor has");
        tensor_row row;
        row.tensor = static_cast<std::uint32_t>(group - groups_.begin());
        row.factor = total.factor;
        row.table = std::move(total.table);
        into.tensors.push_back(std::move(row));
        pending_ = totals_.row();
      }
      return true;
    } catch (const io::payload_error& problem) {
      throw input_error(rows_.db().path(), io::describe(into.key) + " total", problem.what());
    }
  }

 private:
  step_rows rows_;
  statement totals_;
  bool pending_;  // whether totals_ stands at a row
  std::vector<tensor_info> groups_;
};

}  // namespace

std::unique_ptr<source> open_recording(const std::string& path) { return std::make_unique<recording>(path); }

std::unique_ptr<source> open_totals(const std::string& path) {
  try {
    return std::make_unique<recorded_totals>(path);
  } catch (const io::payload_error& problem) {
    throw input_error(path, "", problem.what());
  }
}

bool totals_are_as_good(const std::string& path) {
  try {
    database db(path, SQLITE_OPEN_READONLY);
    io::check_identity(db);
    statement s(db, select_totals);
    if (!s.row()) return false;
    step_total first;
    read_total(s, first);
    if (std::ranges::any_of(first.table.cells, [](const cell& c) { return c.slot == whole_octave; })) return false;
    step now;
    const auto rows = open_recording(path);
    return rows->next(now) && std::ranges::all_of(now.tensors, [](const tensor_row& t) { return t.codes.empty(); });
  } catch (const io::payload_error&) {
    return false;  // told when the step is read
  }
}

std::vector<step_total> read_totals(const std::string& path) {
  database db(path, SQLITE_OPEN_READONLY);
  io::check_identity(db);
  statement s(db, select_totals);
  std::vector<step_total> all;
  while (s.row()) {
    step_total total;
    try {
      read_total(s, total);
    } catch (const io::payload_error& problem) {
      throw input_error(path, io::describe(total.key) + " total", problem.what());
    }
    all.push_back(std::move(total));
  }
  return all;
}

}  // namespace ulp
