#include <ulp/io/recording.hpp>

#include "payload.hpp"
#include "schema.hpp"
#include "sqlite.hpp"

namespace ulp {
namespace {

using io::database;
using io::statement;

class recording final : public source {
 public:
  explicit recording(const std::string& path) : db_(path, SQLITE_OPEN_READONLY) {
    try {
      io::check_identity(db_);
      read_header();
      tensors_ = io::read_tensors(db_);
      statement count(db_, "SELECT count(*) FROM step");
      if (count.row()) count_ = static_cast<std::uint64_t>(count.integer(0));
      steps_ = std::make_unique<statement>(
          db_,
          "SELECT step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, "
          "summary, cells FROM step ORDER BY step, attempt, microbatch");
    } catch (const io::payload_error& problem) {
      throw input_error(path, "", problem.what());
    }
  }

  [[nodiscard]] std::string description() const override { return "recording"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return tensors_; }
  [[nodiscard]] std::uint64_t step_count() const override { return count_; }
  [[nodiscard]] run_header header() const override { return header_; }

  [[nodiscard]] bool next(step& into) override {
    if (!steps_ || !steps_->row()) {
      steps_.reset();
      return false;
    }
    const statement& s = *steps_;
    into = {};
    try {
      into.key = io::key_at(s);
      into.ranks = io::split<std::uint32_t>(s.bytes(3));
      into.scalars = {s.real(4), s.real(5), s.real(6), s.real(7), s.flag(8), s.flag(9)};
      into.max_abs = s.optional_real(10);
      read_tables(into, s.bytes(11), s.bytes(12));
    } catch (const io::payload_error& problem) {
      throw input_error(db_.path(), io::describe(into.key), problem.what());
    }
    return true;
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

  void read_tables(step& into, std::string_view summary, std::string_view cells) const {
    if (summary.size() % io::summary_size != 0) throw io::payload_error("its summary has a broken length");
    const std::size_t n = summary.size() / io::summary_size;
    if (n > tensors_.size()) throw io::payload_error("has more rows than there are tensors");
    const std::string payload = io::decompress(cells, io::payload_limit);
    std::string_view rest = payload;
    std::vector<bool> seen(tensors_.size());
    into.tensors.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      tensor_row row = io::parse_summary(summary.substr(i * io::summary_size, io::summary_size));
      if (row.tensor >= tensors_.size() || seen[row.tensor]) throw io::payload_error("a tensor that is none, or twice");
      seen[row.tensor] = true;
      io::take_payload(rest, row.table);
      into.tensors.push_back(std::move(row));
    }
    if (!rest.empty()) throw io::payload_error("has bytes left over");
  }

  database db_;
  run_header header_;
  std::vector<tensor_info> tensors_;
  std::uint64_t count_ = 0;
  std::unique_ptr<statement> steps_;
};

}  // namespace

std::unique_ptr<source> open_recording(const std::string& path) { return std::make_unique<recording>(path); }

std::vector<step_total> read_totals(const std::string& path) {
  database db(path, SQLITE_OPEN_READONLY);
  io::check_identity(db);
  statement s(db,
              "SELECT step, attempt, microbatch, kind, role, tensors, summary, cells FROM total "
              "ORDER BY step, attempt, microbatch, rowid");
  std::vector<step_total> all;
  while (s.row()) {
    step_total total;
    try {
      total.key = io::key_at(s);
      const auto kind = parse_kind(s.bytes(3));
      const auto role = parse_role(s.bytes(4));
      if (!kind || !role || s.bytes(6).size() != io::summary_size) throw io::payload_error("a damaged total");
      total.kind = *kind;
      total.role = *role;
      total.tensors = static_cast<std::uint64_t>(s.integer(5));
      tensor_row row = io::parse_summary(s.bytes(6));
      total.factor = row.factor;
      total.table = std::move(row.table);
      const std::string payload = io::decompress(s.bytes(7), io::payload_limit);
      std::string_view rest = payload;
      io::take_payload(rest, total.table);
    } catch (const io::payload_error& problem) {
      throw input_error(path, io::describe(total.key) + " total", problem.what());
    }
    all.push_back(std::move(total));
  }
  return all;
}

}  // namespace ulp
