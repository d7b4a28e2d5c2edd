#include <ulp/io/recording/joint_tables.hpp>

#include <optional>
#include <string>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/encoding/joint_content.hpp>

#include "checksum.hpp"
#include "database/sqlite.hpp"
#include "opening.hpp"
#include "schema.hpp"
#include "step_rows.hpp"

namespace ulp {
namespace {

// The steps that count, and their joint tables, both ascending.
class joint_reader {
 public:
  joint_reader(const std::string& path, which_attempts attempts) : db_(io::open_for_reading(path)) {
    db_.run("BEGIN");
    if (!io::has_extra(db_)) return;
    tensors_ = io::read_tensors(db_);
    steps_.emplace(db_, io::step_rows::with::scalars, io::steps_asked{}, io::counted_attempts(db_, attempts));
    rows_.emplace(db_, ("SELECT step, attempt, microbatch, tensor, name, content, " + io::crc_column(db_) +
                        " FROM extra WHERE name='joint' AND microbatch=-1 ORDER BY step, attempt, tensor")
                           .c_str());
  }

  void read(const take_joint_row& act) {
    try {
      read_rows(act);
    } catch (const io::payload_error& problem) {
      db_.refuse("table extra", problem.what());
    }
  }

 private:
  void read_rows(const take_joint_row& act) {
    if (!rows_) return;
    bool pending = rows_->row();
    while (pending && steps_->next()) {
      const step_key& now = *steps_->key();
      while (pending && io::key_at(*rows_) < now) pending = rows_->row();
      if (!pending || io::key_at(*rows_) != now) continue;
      step of;
      steps_->read(of);
      for (; pending && io::key_at(*rows_) == now; pending = rows_->row())
        if (!act(now, of.scalars, row_here())) return;
    }
  }

  joint_row row_here() {
    io::check_row(db_, *rows_, io::extra_row, 1);
    const std::string place = io::describe(io::key_at(*rows_));
    const std::int64_t tensor = rows_->integer(3);
    if (tensor < 0 || static_cast<std::uint64_t>(tensor) >= tensors_.size())
      throw io::payload_error("a joint table of a tensor that is unknown");
    const std::string& name = tensors_[static_cast<std::size_t>(tensor)].name;
    joint_row row = parse_joint_content(rows_->blob_at(5), db_.path(), place + ": tensor '" + name + "'");
    row.tensor = name;
    return row;
  }

  io::database db_;
  std::vector<tensor_info> tensors_;
  std::optional<io::step_rows> steps_;
  std::optional<io::statement> rows_;
};

}  // namespace

void read_joint_tables(const std::string& recording, which_attempts attempts, const take_joint_row& act) {
  try {
    joint_reader(recording, attempts).read(act);
  } catch (const io::payload_error& problem) {
    throw input_error(recording, "table extra", problem.what());
  }
}

bool has_joint_tables(const std::string& recording) { return io::has_extra(io::open_for_reading(recording), "joint"); }

}  // namespace ulp
