#include <ulp/io/recording/live_scales.hpp>

#include <cstdint>

#include <ulp/io/bytes/error.hpp>
#include <ulp/model/cells/byte_order.hpp>

#include "bytes/text.hpp"
#include "checksum.hpp"
#include "database/sqlite.hpp"
#include "encoding/numbers.hpp"
#include "opening.hpp"
#include "schema.hpp"
#include "step_rows.hpp"

namespace ulp {
namespace {

constexpr std::size_t content_limit = std::size_t{1} << 28;
constexpr std::uint64_t starts_late = 1;

float take_f32(std::string_view& from) {
  if (from.size() < sizeof(float)) throw io::payload_error("ends inside a number");
  const auto number = load_little<float>(from.data());
  from.remove_prefix(sizeof(float));
  return number;
}

live_scale take_tensor(std::string_view& from) {
  live_scale one;
  const std::uint64_t length = io::take_u64(from);
  if (length > from.size()) throw io::payload_error("ends inside a name");
  one.tensor = from.substr(0, length);
  from.remove_prefix(length);
  const std::uint64_t flags = io::take_u64(from);
  if (flags > starts_late) throw io::payload_error("a flag that there is not");
  one.starts_late = flags == starts_late;
  const std::uint64_t n = io::take_u64(from);
  one.scale = take_f32(from);
  if (n > from.size() / sizeof(float)) throw io::payload_error("has fewer amaxes than it says");
  one.amaxes.reserve(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    one.amaxes.push_back(take_f32(from));
    if (one.amaxes.back() < 0) throw io::payload_error("an amax below 0");
  }
  return one;
}

}  // namespace

std::vector<live_scale> parse_live_scales(std::string_view content, const std::string& file, const std::string& place) {
  try {
    io::inflater in;
    in.open(content, content_limit);
    const std::string_view all = in.ahead(content_limit);
    std::string_view rest = all;
    std::vector<live_scale> tensors;
    for (std::uint64_t n = io::take_u64(rest); n > 0; --n) {
      tensors.push_back(take_tensor(rest));
      io::check_name(file, place, tensors.back().tensor);
    }
    if (!rest.empty()) throw io::payload_error("has bytes left over");
    in.skip(all.size());
    in.close();
    return tensors;
  } catch (const io::payload_error& problem) {
    throw input_error(file, place, std::string("its scales: ") + problem.what());
  }
}

void read_live_scales(const std::string& recording, which_attempts attempts, const take_live_scales& act) {
  io::database db = io::open_for_reading(recording);
  db.run("BEGIN");
  if (!io::has_extra(db)) return;
  try {
    io::step_rows steps(db, io::step_rows::with::scalars, io::steps_asked{}, io::counted_attempts(db, attempts));
    io::statement rows(db,
                       ("SELECT step, attempt, microbatch, tensor, name, content, " + io::crc_column(db) +
                        " FROM extra WHERE name='fp8_scales' AND tensor=-1 AND microbatch=-1 ORDER BY step, attempt")
                           .c_str());
    bool pending = rows.row();
    while (pending && steps.next()) {
      const step_key& now = *steps.key();
      while (pending && io::key_at(rows) < now) pending = rows.row();
      if (!pending || io::key_at(rows) != now) continue;
      io::check_row(db, rows, io::extra_row, 1);
      act(now, parse_live_scales(rows.blob_at(5), db.path(), io::describe(now)));
      pending = rows.row();
    }
  } catch (const io::payload_error& problem) {
    throw input_error(recording, "table extra", problem.what());
  }
}

bool has_live_scales(const std::string& recording) {
  return io::has_extra(io::open_for_reading(recording), "fp8_scales");
}

}  // namespace ulp
