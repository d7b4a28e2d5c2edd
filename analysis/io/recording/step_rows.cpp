#include "step_rows.hpp"

#include <string>
#include <utility>

#include "checksum.hpp"
#include "encoding/bounds.hpp"
#include "schema.hpp"

namespace ulp::io {

std::string condition_of(const steps_asked& asked) {
  if (asked == steps_asked{}) return "";
  return " WHERE step BETWEEN " + std::to_string(asked.first) + " AND " + std::to_string(asked.last);
}

step_rows::step_rows(const database& db, with what, const steps_asked& asked, counted_attempts counted)
    : db_(&db), counted_(std::move(counted)), parts_(what == with::tables ? 2 : 1) {
  const std::string select = "SELECT " + std::string{step_columns} + (what == with::tables ? ", summary, cells" : "") +
                             ", " + crc_column(db) + " FROM step" + condition_of(asked) +
                             " ORDER BY step, attempt, microbatch";
  rows_.emplace(db, select.c_str());
}

bool step_rows::next() {
  while (rows_ && rows_->row()) {
    const step_key found = key_at(*rows_);
    if (key_ && !(*key_ < found)) throw payload_error("is out of order: the file is damaged");
    key_ = found;
    if (counted_.takes(found)) return true;
  }
  rows_.reset();
  return false;
}

void step_rows::read(step& into) const {
  const statement& s = *rows_;
  check_row(*db_, s, step_row, parts_);
  into.key = *key_;
  into.ranks = parse_ranks(s.text_at(3));
  into.scalars = {s.real(4), s.real(5), s.real(6), s.real(7), s.flag(8), s.flag(9)};
  if (s.is_text(10))
    read_max_abs(s.text_at(10), into);
  else
    into.max_abs = s.optional_real(10);
}

}  // namespace ulp::io
