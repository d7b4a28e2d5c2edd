// Pins the levels of a recording: blocks equal the steps merged one by one, however they were written, or not written.
#include "support/catch.hpp"

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>

#include "io/mended.hpp"
#include "recording/levels.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{{.name = "a", .kind = tensor_kind::weight_grad, .role = tensor_role::low},
                                       {.name = "b", .kind = tensor_kind::weight_grad, .role = tensor_role::low},
                                       {.name = "c", .kind = tensor_kind::activation_grad},
                                       {.name = "octaves", .kind = tensor_kind::weight_grad}};

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& values, double factor) {
  tensor_row row;
  row.tensor = tensor;
  row.type = dtype::float32;
  row.factor = factor;
  row.table = count_cells(std::span{values});
  return row;
}

tensor_row binades_row() {
  tensor_row row;
  row.tensor = 3;
  cell_table& t = row.table;
  t.numel = 6;
  t.zeros = 2;
  t.max_abs = 1.75;
  t.min_abs = not_known;
  t.reported_abs_sum = 5.5;
  t.reported_square_sum = 6.25;
  t.cells = {{cell_sign::unknown, whole_binade, -3, 2}, {cell_sign::unknown, whole_binade, 0, 2}};
  return row;
}

// Values, the loss scale and which tensors there are change from step to step.
step step_of(std::int64_t number) {
  step s;
  s.key.step = number;
  const auto x =
      static_cast<float>(std::ldexp(1.0 + 0.01 * static_cast<double>(number % 97), static_cast<int>(number % 5)));
  const double scale = number % 300 < 200 ? 1024 : 512;
  s.tensors = {row_of(0, {x, -0.5F, 0x1p-149F, 0.0F}, scale)};
  if (number % 7 != 0) s.tensors.push_back(row_of(2, {3.0F * x, number % 11 == 0 ? INFINITY : 1.0F}, not_known));
  if (number % 3 != 0) s.tensors.push_back(row_of(1, {-x}, scale));
  s.tensors.push_back(binades_row());
  return s;
}

std::vector<std::int64_t> range(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(to - from));
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

void write(const std::string& path, const std::vector<std::int64_t>& numbers,
           recording_writer::mode how = recording_writer::mode::create) {
  recording_writer writer(path, how);
  for (const std::int64_t n : numbers) writer.write(step_of(n), tensors);
}

std::int64_t blocks_stored(const std::string& path, int width) {
  return alter(path, "SELECT count(*) FROM level WHERE width=" + std::to_string(width));
}

using group_key = std::tuple<tensor_kind, tensor_role, bool, double>;
using tensor_key = std::tuple<std::uint32_t, dtype, bool, double>;

struct brute {
  std::uint64_t steps = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::map<group_key, std::pair<std::uint64_t, cell_table>> totals;
  std::map<tensor_key, cell_table> tensors;
};

// By number and ranks, from the tables of the tensors only.
std::map<std::pair<std::int64_t, std::vector<std::uint32_t>>, brute> merged(const std::string& path, std::int64_t width,
                                                                            which_attempts which) {
  std::map<std::pair<std::int64_t, std::vector<std::uint32_t>>, brute> blocks;
  const auto from = open_recording(path, which);
  step now;
  while (from->next(now)) {
    if (now.key.microbatch != -1) continue;
    const auto number =
        static_cast<std::int64_t>(std::floor(static_cast<double>(now.key.step) / static_cast<double>(width)));
    brute& block = blocks[{number, now.ranks}];
    if (block.steps++ == 0) block.first = now.key.step;
    block.last = now.key.step;
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      const bool known = !std::isnan(row.factor);
      const double factor = known ? row.factor : 0;
      auto& total = block.totals[{info.kind, info.role, known, factor}];
      ++total.first;
      total.second.merge(row.table);
      block.tensors[{row.tensor, row.type, known, factor}].merge(row.table);
    }
  }
  return blocks;
}

// Sums that a source reported are rounded, in an order of their own.
bool same(const cell_table& a, cell_table b) {
  const auto take = [](double x, double& y) {
    const bool near = std::abs(x - y) <= 1e-12 * std::abs(x) || (std::isnan(x) && std::isnan(y));
    y = x;
    return near;
  };
  return take(a.reported_abs_sum, b.reported_abs_sum) && take(a.reported_square_sum, b.reported_square_sum) && a == b;
}

std::size_t differences(const std::string& path, std::int64_t width, level_parts parts, which_attempts which) {
  std::size_t wrong = 0;
  const auto expect = [&](bool good) { wrong += good ? 0 : 1; };
  level_reader levels(path, width, parts, which);
  level_block block;
  for (const auto& [key, wanted] : merged(path, width, which)) {
    if (!levels.next(block)) return wrong + 1000;
    expect(std::pair{block.number, block.ranks} == key);
    expect(block.steps == wanted.steps && block.first_step == wanted.first && block.last_step == wanted.last);
    expect(block.totals.size() == wanted.totals.size());
    std::size_t i = 0;
    for (const auto& [group, total] : wanted.totals) {
      if (i == block.totals.size()) break;
      const group_total& is = block.totals[i++];
      const bool known = !std::isnan(is.factor);
      expect(group == group_key{is.kind, is.role, known, known ? is.factor : 0});
      expect(is.tensors == total.first && same(is.table, total.second));
    }
    expect(block.tensors.size() == (parts == level_parts::totals ? 0 : wanted.tensors.size()));
    i = 0;
    for (const auto& [tensor, table] : wanted.tensors) {
      if (i == block.tensors.size()) break;
      const tensor_row& is = block.tensors[i++];
      const bool known = !std::isnan(is.factor);
      expect(tensor == tensor_key{is.tensor, is.type, known, known ? is.factor : 0});
      expect(same(is.table, table) && is.codes.empty());
    }
  }
  expect(!levels.next(block));
  expect(!levels.next(block));
  return wrong;
}

void check_levels(const std::string& path) {
  for (const std::int64_t width : level_widths)
    for (const level_parts parts : {level_parts::totals, level_parts::totals_and_tensors})
      for (const which_attempts which : {which_attempts::all, which_attempts::last, which_attempts::first})
        CHECK(differences(path, width, parts, which) == 0);
}

std::string error_of(const std::string& path, std::int64_t width, level_parts parts = level_parts::totals_and_tensors) {
  try {
    level_reader levels(path, width, parts);
    level_block block;
    while (levels.next(block)) {
    }
  } catch (const input_error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("levels are the steps merged") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(-100, 4500));
  CHECK(blocks_stored(path, 64) >= 70);
  CHECK(blocks_stored(path, 4096) == 1);
  check_levels(path);
  CHECK_THROWS_AS(level_reader(path, 65), std::invalid_argument);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("as many tables are merged as may be, and of more none is kept") {
  io::level_merger merger(1);
  for (int i = 0; i < 16; ++i) merger.add(row_of(0, {1.0F}, 1024), 0);
  CHECK(merger.pays());
  merger.add(row_of(0, {1.0F}, 512), 0);
  CHECK_FALSE(merger.pays());
  level_block block;
  merger.take(block);
  CHECK(block.tensors.empty());
}

TEST_CASE("of a part of the steps those blocks are read that lie in it") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(-100, 700));
  const auto numbers = [&](std::int64_t first, std::int64_t last) {
    level_reader levels(path, 64, level_parts::totals_and_tensors, which_attempts::all, {first, last});
    std::vector<std::int64_t> all;
    level_block block;
    while (levels.next(block)) all.push_back(block.number);
    CHECK(!levels.next(block));
    return all;
  };
  using list = std::vector<std::int64_t>;
  CHECK(numbers(0, 191) == list{0, 1, 2});
  CHECK(numbers(1, 191) == list{1, 2});
  CHECK(numbers(0, 190) == list{0, 1});
  CHECK(numbers(-64, 63) == list{-1, 0});
  CHECK(numbers(-65, 62) == list{-1});
  CHECK(numbers(65, 126) == list{});
  CHECK(numbers(640, std::numeric_limits<std::int64_t>::max()) == list{10});
  CHECK(numbers(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max()) == list{});
  CHECK(numbers(std::numeric_limits<std::int64_t>::min(), -1) == list{-2, -1});
}

TEST_CASE("levels do not depend on the order of writing, nor on appending") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  auto numbers = range(0, 1500);
  SECTION("shuffled") {
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(7));
    write(path, numbers);
    CHECK(blocks_stored(path, 64) >= 22);
    CHECK(blocks_stored(path, 4096) == 1);
  }
  SECTION("backwards") {
    std::ranges::reverse(numbers);
    write(path, numbers);
    CHECK(blocks_stored(path, 64) >= 22);
  }
  SECTION("two runs in turns") {
    for (std::int64_t i = 0; i < 1500; ++i) numbers[static_cast<std::size_t>(i)] = i % 2 == 0 ? i / 2 : 5000 + i / 2;
    write(path, numbers);
    CHECK(blocks_stored(path, 64) >= 22);
  }
  SECTION("appended within a block") {
    write(path, range(0, 100));
    write(path, range(100, 700), recording_writer::mode::append);
    CHECK(blocks_stored(path, 64) == 11);
    CHECK(alter(path, "SELECT steps FROM level WHERE width=64 AND block=1") == 64);
  }
  SECTION("appended step by step") {
    write(path, range(0, 40));
    for (std::int64_t n = 40; n < 200; ++n) write(path, {n}, recording_writer::mode::append);
    CHECK(alter(path, "SELECT count(*) FROM level WHERE width=64 AND steps=64") == 3);
  }
  check_levels(path);
}

TEST_CASE("microbatches are not in levels, repeated attempts and rows of other ranks are") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (const std::int64_t n : range(0, 200)) {
      step s = step_of(n);
      if (n % 10 == 0) s.ranks = {0, 3};
      writer.write(s, tensors);
      s.key.microbatch = 0;
      writer.write(s, tensors);
      s.key = {n, 1, -1};
      writer.write(s, tensors);
    }
  }
  CHECK(alter(path, "SELECT steps FROM level WHERE block=1 AND ranks='0'") == 116);
  check_levels(path);
}

TEST_CASE("levels of a resumed run are those of the attempts that count") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 4300));
  {
    recording_writer writer(path, recording_writer::mode::append);
    for (const std::int64_t n : range(4150, 4500)) {
      step s = step_of(n + 1);
      s.key = {n, n < 4300 ? 1 : 0, -1};
      writer.write(s, tensors);
    }
  }
  REQUIRE(blocks_stored(path, 64) > 60);
  check_levels(path);
}

TEST_CASE("after a kill within a block levels are whole, and are stored by the next writer") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 110; ++n) writer.write(step_of(n), tensors);
    if (::write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  CHECK(blocks_stored(path, 64) == 1);
  check_levels(path);
  write(path, range(128, 260), recording_writer::mode::append);
  CHECK(alter(path, "SELECT steps FROM level WHERE width=64 AND block=1") == 46);
  check_levels(path);
}

TEST_CASE("blocks that no longer fit their steps are merged again when read") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 1300));
  REQUIRE(blocks_stored(path, 4096) == 1);
  SECTION("a step fewer") { alter(path, "DELETE FROM step WHERE step=70"); }
  SECTION("another step instead") {
    alter(path, "UPDATE step SET step=1400 WHERE step=1290; UPDATE total SET step=1400 WHERE step=1290");
  }
  SECTION("counts of blocks") { alter(path, "UPDATE level SET steps=steps-1 WHERE block % 3 = 0"); }
  SECTION("blocks missing") { alter(path, "DELETE FROM level WHERE block % 5 = 0"); }
  SECTION("blocks of no steps") { alter(path, "UPDATE level SET block=block+1000000000000000"); }
  SECTION("no levels") {
    alter(path, "DELETE FROM level; DELETE FROM level_total");
    check_levels(path);
    write(path, range(1300, 1302), recording_writer::mode::append);
  }
  check_levels(path);
}

TEST_CASE("recordings of before there were levels have them when read") {
  check_levels((source_dir() / "tests/data/octaves/digits.ulp").string());
}

TEST_CASE("a recording is read at the time it was opened") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  for (const std::int64_t n : range(0, 100)) writer.write(step_of(n), tensors);
  level_reader levels(path, 64);
  for (const std::int64_t n : range(100, 140)) writer.write(step_of(n), tensors);
  level_block block;
  REQUIRE(levels.next(block));
  REQUIRE(levels.next(block));
  CHECK(block.steps == 36);
  CHECK_FALSE(levels.next(block));
}

TEST_CASE("where every step has a factor of its own, or few steps fall into a block, none is stored") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 200; ++n) {
      step s;
      s.key.step = n;
      s.tensors = {row_of(0, {1.0F}, 1.0 + static_cast<double>(n)), row_of(1, {2.0F}, 1.0 + static_cast<double>(n))};
      writer.write(s, tensors);
    }
  }
  CHECK(alter(path, "SELECT count(*) FROM level") == 0);
  check_levels(path);
  const std::string sparse = (dir / "sparse.ulp").string();
  {
    recording_writer writer(sparse, recording_writer::mode::create);
    step s;
    s.tensors = {row_of(0, {1.0F}, 1)};
    for (s.key.step = 0; s.key.step < 9000; s.key.step += 10) writer.write(s, tensors);
  }
  CHECK(blocks_stored(sparse, 64) == 0);
  CHECK(blocks_stored(sparse, 4096) == 3);
  check_levels(sparse);
}

TEST_CASE("step logs have blocks without tables") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    step s;
    s.max_abs = 1.0;
    for (s.key.step = 0; s.key.step < 70; ++s.key.step) writer.write(s, {});
  }
  CHECK(alter(path, "SELECT count(*) FROM level") == 0);
  check_levels(path);
}

TEST_CASE("values in no known payload stay in no cell") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    step s;
    s.tensors = {row_of(0, {1.0F, 2.0F}, 1)};
    for (s.key.step = 0; s.key.step < 30; ++s.key.step) writer.write(s, tensors);
  }
  // A payload of encoding 9 without bytes, in one step.
  alter(path, "UPDATE step SET cells=x'0200000000000000789ce36400000014000a' WHERE step=7");
  alter(path, "UPDATE total SET cells=(SELECT cells FROM step WHERE step=7) WHERE step=7");
  alter(path, "DELETE FROM level");
  const auto check_tables = [&] {
    level_reader levels(path, 64);
    level_block block;
    REQUIRE(levels.next(block));
    REQUIRE(block.tensors.size() == 1);
    CHECK(block.tensors[0].table.cells.empty());
    CHECK(block.tensors[0].table.numel == 2 * block.steps);
    CHECK(block.tensors[0].table.max_abs == 2);
  };
  check_tables();
  {
    recording_writer writer(path, recording_writer::mode::append);
    step s;
    s.tensors = {row_of(0, {1.0F, 2.0F}, 1)};
    for (s.key.step = 30; s.key.step < 70; ++s.key.step) writer.write(s, tensors);
  }
  CHECK(blocks_stored(path, 64) == 1);
  check_tables();
}

TEST_CASE("damaged blocks are named") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 200));
  const std::string at = path + ": level 64 block 1: ";
  const auto damaged = [&](const std::string& sql) {
    const std::string copy = (dir / "copy.ulp").string();
    write_file(copy, read_file(path));
    alter(copy, sql + " WHERE width=64 AND block=1");
    const std::string error = error_of(copy, 64);
    CHECK(error_of(copy, 4096) == error);
    return error.empty() ? "" : path + error.substr(copy.size());
  };
  CHECK(damaged("UPDATE level SET cells=zeroblob(3)") == at + "is cut short");
  CHECK(damaged("UPDATE level SET cells=x'ffffffffffffff7f00'") == at + "declares an impossible size");
  CHECK(damaged("UPDATE level SET summary=substr(summary, 2)") == at + "its summary has a broken length");
  CHECK(damaged("UPDATE level SET summary=CAST(substr(summary, 1, 104) || summary AS BLOB)") ==
        at + "a tensor that is unknown or occurs twice");
  CHECK(damaged("UPDATE level SET summary=CAST(x'ff' || substr(summary, 2) AS BLOB)") ==
        at + "a tensor that is unknown or occurs twice");
  CHECK(damaged("UPDATE level SET summary=CAST(substr(summary, 1, 8) || x'05' || substr(summary, 10) AS BLOB)") ==
        at + "counts do not add up to the number of elements");
  CHECK(damaged("UPDATE level_total SET kind='x'") == at + "a damaged total");
  CHECK(damaged("UPDATE level_total SET cells=zeroblob(3)") == at + "is cut short");
  CHECK(error_of(path, 64).empty());
  alter(path, "DELETE FROM level; UPDATE step SET cells=zeroblob(3) WHERE step=70");
  CHECK(error_of(path, 64) == path + ": step 70: is cut short");
  CHECK(error_of(path, 4096) == path + ": step 70: is cut short");
  CHECK(error_of(path, 64, level_parts::totals).empty());
  alter(path, "UPDATE step SET ranks='x' WHERE step=70");
  CHECK(error_of(path, 4096, level_parts::totals) == path + ": step 70: a malformed list");
}

TEST_CASE("bytes of levels may be wrong without harm") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 70));
  const std::string good = read_file(path);
  const std::string copy = (dir / "copy.ulp").string();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); i += 331) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    write_file(copy, bad);
    for (const std::int64_t width : level_widths) refused += error_of(copy, width).empty() ? 0 : 1;
  }
  CHECK(refused > 0);
}

TEST_CASE("the digest is of the steps, whatever levels there are") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 100));
  const std::string before = digest_of(*open_recording(path));
  alter(path, "DELETE FROM level; DELETE FROM level_total");
  CHECK(digest_of(*open_recording(path)) == before);
}

TEST_CASE("totals by their summaries are the totals without cells") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, range(0, 50));
  const auto whole = open_totals(path);
  const auto summaries = open_totals(path, totals_with::summaries);
  step a;
  step b;
  while (whole->next(a)) {
    REQUIRE(summaries->next(b));
    CHECK(a.key == b.key);
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (std::size_t i = 0; i < a.tensors.size(); ++i) {
      const cell_table& with = a.tensors[i].table;
      const cell_table& without = b.tensors[i].table;
      CHECK(a.tensors[i].tensor == b.tensors[i].tensor);
      CHECK((a.tensors[i].factor == b.tensors[i].factor || std::isnan(b.tensors[i].factor)));
      CHECK(without.cells.empty());
      CHECK_FALSE(without.has_sums);
      CHECK(with.numel == without.numel);
      CHECK(with.zeros == without.zeros);
      CHECK(with.positive_infinities == without.positive_infinities);
      CHECK(with.max_abs == without.max_abs);
      CHECK((with.min_abs == without.min_abs || std::isnan(without.min_abs)));
      CHECK(squares_sum(with).value == squares_sum(without).value);
      CHECK(magnitudes_sum(with).value == magnitudes_sum(without).value);
    }
  }
  CHECK_FALSE(summaries->next(b));
  alter(path, "UPDATE total SET cells=zeroblob(3) WHERE step=7; UPDATE total SET summary=zeroblob(3) WHERE step=9");
  const auto damaged = open_totals(path, totals_with::summaries);
  for (int n = 0; n < 9; ++n) REQUIRE(damaged->next(b));
  CHECK_THROWS_WITH(damaged->next(b), path + ": step 9 total: a damaged total");
}
