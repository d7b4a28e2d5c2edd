// Pins joint tables of recordings: what is written is read, and whatever is damaged is refused in one line.
#include <ulp/io/encoding/joint_content.hpp>
#include <ulp/io/recording/joint_tables.hpp>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>

#include "encoding/numbers.hpp"
#include "support/catch.hpp"

#include <string>
#include <vector>

#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

joint_row made_row() {
  joint_counter counter;
  counter.add(std::vector{1.0, -2.5, 0.0, 3e-40, 1.0}, std::vector{1e-3, 0.25, 1e-9, -1e-3, 0.0});
  return {"weight/fc", dtype::float32, update_origin::next_weights, 4, counter.take()};
}

step made_step() {
  step row;
  row.key.step = 7;
  row.scalars.learning_rate = 0.125;
  row.tensors = {{.tensor = 0, .type = dtype::float32}};
  return row;
}
const std::vector<tensor_info> tensors{{.name = "weight/fc", .kind = tensor_kind::weight}};

joint_row row_of(const std::string& content) { return parse_joint_content(content, "f", "step 7"); }

}  // namespace

TEST_CASE("a joint table is read as it was written") {
  const joint_row row = made_row();
  const joint_row back = row_of(joint_content(row));
  CHECK(back.table == row.table);
  CHECK(back.weight_type == row.weight_type);
  CHECK(back.origin == row.origin);
  CHECK(back.steps_ahead == 4);
  CHECK(row_of(joint_content({})).table == joint_table{});
}

TEST_CASE("a recording keeps it with its step") {
  const temporary_dir folder;
  const std::string path = (folder / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    writer.write(made_step(), tensors, {made_row()});
    joint_row other = made_row();
    other.tensor = "weight/other";
    step next = made_step();
    next.key.step = 8;
    CHECK_THROWS_AS(writer.write(next, tensors, {other}), input_error);
  }
  CHECK(check_recording(path, {}).problems.empty());
  REQUIRE(has_joint_tables(path));
  int rows = 0;
  read_joint_tables(path, which_attempts::last,
                    [&](const step_key& key, const step_scalars& scalars, const joint_row& row) {
                      ++rows;
                      CHECK(key.step == 7);
                      CHECK(scalars.learning_rate == 0.125);
                      CHECK(row.tensor == "weight/fc");
                      CHECK(row.table == made_row().table);
                      return true;
                    });
  CHECK(rows == 1);
}

TEST_CASE("every damaged content is refused or a table that adds up") {
  const std::string good = joint_content(made_row());
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_THROWS_AS(row_of(good.substr(0, size)), input_error);
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      try {
        const joint_row row = row_of(bad);
        CHECK(row.table.is_consistent());
      } catch (const input_error&) {
      }
    }
  CHECK_THROWS_AS(row_of(std::string(8, '\xff')), input_error);
  // No memory is taken for cells that cannot be there.
  for (const std::uint64_t cells : {std::uint64_t{1}, std::uint64_t{1} << 62}) {
    std::string bytes;
    for (const std::uint64_t n : std::vector<std::uint64_t>{0, 0, 0, 0, 0, 0, 0, cells}) io::append_varint(bytes, n);
    CHECK_THROWS_WITH(row_of(io::compress(bytes)), "f: step 7: its joint table: has fewer cells than it says");
  }
  joint_row wrong = made_row();
  wrong.table.numel += 1;
  CHECK_THROWS_AS(row_of(joint_content(wrong)), input_error);
}
