// Pins which rows of a recording count where a resumed run recorded steps again or has not come to them again, and that
// retries of an update all count.
#include "support/catch.hpp"

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <span>
#include <tuple>

#include "io/mended.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad, .role = tensor_role::low}};

step row_of(const step_key& key, bool skipped = false, double scale = 1024) {
  step s;
  s.key = key;
  s.scalars.loss_scale = scale;
  s.scalars.found_inf = skipped;
  const std::vector<float> values{static_cast<float>(key.step + 1), static_cast<float>(key.attempt) + 0.5F};
  s.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1024, .table = count_cells(std::span{values})}};
  return s;
}

struct recording_file {
  temporary_dir dir;
  std::string path = (dir / "run.ulp").string();
  recording_writer::mode how = recording_writer::mode::create;

  // One process's rows.
  void write(const std::vector<step>& rows) {
    recording_writer writer(path, how);
    for (const step& row : rows) writer.write(row, tensors);
    how = recording_writer::mode::append;
  }
};

std::vector<step> steps(std::int64_t first, std::int64_t end, std::int32_t attempt, std::int64_t skipped = -1) {
  std::vector<step> all;
  for (std::int64_t n = first; n < end; ++n) all.push_back(row_of({n, attempt, -1}, n == skipped));
  return all;
}

using keys = std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>>;

keys keys_of(source& from) {
  keys all;
  step now;
  while (from.next(now)) all.emplace_back(now.key.step, now.key.attempt, now.key.microbatch);
  return all;
}

// The same through every way to read it, as many as was said before, and no others in a part of it.
keys read(const std::string& path, which_attempts which) {
  const auto from = open_recording(path, which);
  const std::uint64_t said = from->step_count();
  const keys all = keys_of(*from);
  CHECK(said == all.size());
  const auto totals = open_totals(path, totals_with::cells, which);
  CHECK(totals->step_count() == said);
  CHECK(keys_of(*totals) == all);
  CHECK(keys_of(*open_totals(path, totals_with::summaries, which)) == all);
  const auto part = open_recording(path, 2, 4, which);
  const std::uint64_t in_part = part->step_count();
  keys of_part = all;
  std::erase_if(of_part, [](const auto& key) { return std::get<0>(key) < 2 || std::get<0>(key) > 4; });
  CHECK(keys_of(*part) == of_part);
  CHECK(in_part == of_part.size());
  return all;
}

}  // namespace

TEST_CASE("of the steps that a resumed run repeats one attempt counts") {
  recording_file file;
  file.write(steps(0, 5, 0));
  file.write(steps(3, 7, 1));
  CHECK(read(file.path, which_attempts::last) ==
        keys{{0, 0, -1}, {1, 0, -1}, {2, 0, -1}, {3, 1, -1}, {4, 1, -1}, {5, 1, -1}, {6, 1, -1}});
  CHECK(read(file.path, which_attempts::first) ==
        keys{{0, 0, -1}, {1, 0, -1}, {2, 0, -1}, {3, 0, -1}, {4, 0, -1}, {5, 1, -1}, {6, 1, -1}});
  CHECK(read(file.path, which_attempts::all).size() == 9);

  const auto notes = open_recording(file.path, which_attempts::last)->notes();
  REQUIRE(notes.size() == 1);
  CHECK(notes[0] == file.path +
                        ": 2 steps were recorded more than once, as a run that was resumed does: the last attempt of "
                        "each counts (see --attempts)");
  CHECK(open_recording(file.path, which_attempts::first)->notes().at(0).find("the first attempt") != std::string::npos);
  CHECK(open_recording(file.path)->notes().empty());
}

TEST_CASE("a step that was skipped before and after the kill is skipped once") {
  recording_file file;
  file.write(steps(0, 5, 0, 3));
  file.write(steps(2, 6, 1, 3));
  CHECK(read(file.path, which_attempts::last) ==
        keys{{0, 0, -1}, {1, 0, -1}, {2, 1, -1}, {3, 1, -1}, {4, 1, -1}, {5, 1, -1}});
}

TEST_CASE("skipped tries of one update are no repetition") {
  recording_file file;
  file.write({row_of({0, 0, -1}), row_of({1, 0, -1}, true), row_of({1, 1, -1}, true, 512),
              row_of({1, 2, -1}, false, 256), row_of({2, 0, -1}, true, not_known),
              row_of({2, 1, -1}, false, not_known)});
  for (const which_attempts which : {which_attempts::last, which_attempts::first}) {
    CHECK(read(file.path, which).size() == 6);
    CHECK(open_recording(file.path, which)->notes().empty());
  }
}

TEST_CASE("tries of one update all count where other steps were repeated, and each time that they were made") {
  recording_file file;
  file.write({row_of({0, 0, -1}), row_of({1, 0, -1}, true), row_of({1, 1, -1}, false, 512),
              row_of({2, 0, -1}, true, 512), row_of({2, 1, -1}, false, 256), row_of({3, 0, -1}, false, 256)});
  file.write({row_of({2, 2, -1}, true, 512), row_of({2, 3, -1}, true, 256), row_of({2, 4, -1}, false, 128),
              row_of({3, 1, -1}, false, 128)});
  CHECK(read(file.path, which_attempts::last) ==
        keys{{0, 0, -1}, {1, 0, -1}, {1, 1, -1}, {2, 2, -1}, {2, 3, -1}, {2, 4, -1}, {3, 1, -1}});
  CHECK(read(file.path, which_attempts::first) ==
        keys{{0, 0, -1}, {1, 0, -1}, {1, 1, -1}, {2, 0, -1}, {2, 1, -1}, {3, 0, -1}});
  CHECK(open_recording(file.path, which_attempts::last)->notes().at(0).find("2 steps were recorded more than once") !=
        std::string::npos);
}

TEST_CASE("a run that goes on at the very step that it had skipped skipped it once") {
  recording_file file;
  file.write(steps(0, 4, 0, 3));
  file.write({row_of({3, 1, -1}, true), row_of({4, 0, -1}, false, 512)});
  CHECK(read(file.path, which_attempts::last) == keys{{0, 0, -1}, {1, 0, -1}, {2, 0, -1}, {3, 1, -1}, {4, 0, -1}});
  CHECK(open_recording(file.path, which_attempts::last)->notes().size() == 1);
}

TEST_CASE("a step that was skipped at a lower scale after other steps was repeated, not tried again") {
  recording_file file;
  file.write(steps(0, 5, 0, 3));
  file.write({row_of({2, 1, -1}, false, 512), row_of({3, 1, -1}, true, 512), row_of({4, 1, -1}, false, 256)});
  CHECK(read(file.path, which_attempts::last) == keys{{0, 0, -1}, {1, 0, -1}, {2, 1, -1}, {3, 1, -1}, {4, 1, -1}});
}

TEST_CASE("steps that a resumed run has not come to again do not count") {
  recording_file file;
  file.write(steps(0, 7, 0));
  file.write(steps(2, 4, 1));
  CHECK(read(file.path, which_attempts::last) == keys{{0, 0, -1}, {1, 0, -1}, {2, 1, -1}, {3, 1, -1}});
  CHECK(open_recording(file.path, which_attempts::last)->notes() ==
        std::vector<std::string>{file.path +
                                 ": 2 steps were recorded more than once, as a run that was resumed does: the last "
                                 "attempt of each counts, and 3 steps of an abandoned attempt are left out (see "
                                 "--attempts)"});
  CHECK(read(file.path, which_attempts::first).size() == 7);
  CHECK(read(file.path, which_attempts::all).size() == 9);

  file.write(steps(1, 3, 2));
  CHECK(read(file.path, which_attempts::last) == keys{{0, 0, -1}, {1, 2, -1}, {2, 2, -1}});
  file.write(steps(3, 6, 2));
  CHECK(read(file.path, which_attempts::last) ==
        keys{{0, 0, -1}, {1, 2, -1}, {2, 2, -1}, {3, 2, -1}, {4, 2, -1}, {5, 2, -1}});
  CHECK(open_recording(file.path, which_attempts::last)
            ->notes()
            .at(0)
            .find("1 step of an abandoned attempt is left out") != std::string::npos);
  file.write(steps(6, 8, 1));
  CHECK(read(file.path, which_attempts::last).size() == 8);
}

TEST_CASE("where the order of writing is lost, the last attempt of every step counts") {
  recording_file file;
  std::vector<step> rows = steps(0, 7, 0);
  for (const step& row : steps(2, 4, 1)) rows.push_back(row);
  std::ranges::sort(rows, {}, &step::key);
  file.write(rows);
  CHECK(read(file.path, which_attempts::last) ==
        keys{{0, 0, -1}, {1, 0, -1}, {2, 1, -1}, {3, 1, -1}, {4, 0, -1}, {5, 0, -1}, {6, 0, -1}});
}

TEST_CASE("steps that were appended out of order without a repetition all count") {
  recording_file file;
  file.write(steps(4, 7, 0));
  file.write(steps(0, 4, 0));
  CHECK(read(file.path, which_attempts::last).size() == 7);
}

TEST_CASE("microbatches go with their attempt, and an attempt that was cut short does not count") {
  recording_file file;
  file.write({row_of({0, 0, -1}), row_of({0, 0, 0}), row_of({0, 0, 1}), row_of({1, 0, 0}), row_of({2, 0, 0})});
  file.write({row_of({0, 1, -1}), row_of({0, 1, 0}), row_of({1, 1, -1}), row_of({1, 1, 0})});
  file.write({row_of({0, 2, 0}), row_of({1, 2, 0}), row_of({1, 2, 1}), row_of({2, 2, 0})});
  CHECK(read(file.path, which_attempts::last) == keys{{0, 1, -1}, {0, 1, 0}, {1, 1, -1}, {1, 1, 0}, {2, 2, 0}});
  CHECK(read(file.path, which_attempts::first) ==
        keys{{0, 0, -1}, {0, 0, 0}, {0, 0, 1}, {1, 1, -1}, {1, 1, 0}, {2, 0, 0}});
}

TEST_CASE("a block that was stored before a step was repeated is not used") {
  recording_file file;
  file.write(steps(0, 64, 0));
  file.write(steps(40, 64, 1));
  // As a writer leaves it that was killed before it stored the block again.
  alter(file.path, "UPDATE level SET steps=64 WHERE width=64");
  level_reader levels(file.path, 64, level_parts::totals_and_tensors, which_attempts::last);
  level_block block;
  REQUIRE(levels.next(block));
  CHECK(block.steps == 64);
  CHECK(block.tensors.at(0).table.numel == 128);
  CHECK_FALSE(levels.next(block));
}

TEST_CASE("a block of which the last step alone was repeated has it once") {
  recording_file file;
  file.write(steps(0, 64, 0));
  file.write(steps(63, 70, 1));
  level_reader levels(file.path, 64, level_parts::totals_and_tensors, which_attempts::last);
  level_block block;
  REQUIRE(levels.next(block));
  CHECK(block.steps == 64);
  CHECK(block.tensors.at(0).table.numel == 128);
  REQUIRE(levels.next(block));
  CHECK(block.steps == 6);
}

TEST_CASE("a block holds no step of an abandoned attempt") {
  recording_file file;
  file.write(steps(0, 192, 0));
  file.write(steps(40, 50, 1));
  for (const std::int64_t width : level_widths) {
    level_reader levels(file.path, width, level_parts::totals_and_tensors, which_attempts::last);
    level_block block;
    REQUIRE(levels.next(block));
    CHECK(block.steps == 50);
    CHECK(block.tensors.at(0).table.numel == 100);
    CHECK_FALSE(levels.next(block));
  }
}
