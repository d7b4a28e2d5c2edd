// Pins the recording: what goes in comes out; a kill, damage or a stranger's database does no harm.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/replay/scenario.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>

#include "io/mended.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{
    {.name = "b.weight", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .shape = {2, 2}, .numel = 4},
    {.name = "a/act", .kind = tensor_kind::activation_grad, .through = "float16"},
    {.name = "octaves", .kind = tensor_kind::weight_grad}};

tensor_row row_of(std::uint32_t tensor, const std::vector<float>& values, double factor = not_known) {
  tensor_row row;
  row.tensor = tensor;
  row.type = dtype::float32;
  row.factor = factor;
  row.table = count_cells(std::span{values});
  return row;
}

// What a histogram CSV gives.
tensor_row binades_row() {
  tensor_row row;
  row.tensor = 2;
  cell_table& t = row.table;
  t.numel = 10;
  t.zeros = 2;
  t.unsigned_infinities = 1;
  t.nans = 1;
  t.max_abs = 1.75;
  t.min_abs = not_known;
  t.reported_abs_sum = 5.5;
  t.reported_square_sum = 6.25;
  t.cells = {{cell_sign::unknown, whole_binade, -3, 4}, {cell_sign::unknown, whole_binade, 0, 2}};
  return row;
}

step step_of(std::int64_t number) {
  step s;
  s.key = {number, 0, -1};
  s.scalars = {.loss = 2.5, .grad_norm = 0.1, .learning_rate = 1e-3, .loss_scale = 65536};
  s.scalars.found_inf = false;
  s.tensors = {row_of(0, {1.0F, -0.5F, 0x1p-149F, 0.0F}, 65536.0),
               row_of(1, {std::nanf(""), INFINITY, -INFINITY, 3.0F}), binades_row()};
  return s;
}

std::string written(const temporary_dir& dir, const std::vector<std::int64_t>& steps) {
  const std::string path = (dir / "run.ulp").string();
  run_header header;
  header.run_id = "r1";
  header.world = 4;
  recording_writer writer(path, recording_writer::mode::create, header);
  for (const auto n : steps) writer.write(step_of(n), tensors);
  return path;
}

std::string error_of(const std::string& path) {
  try {
    const auto from = open_recording(path);
    step now;
    while (from->next(now)) {
    }
  } catch (const input_error& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what is written is read back") {
  const temporary_dir dir;
  const std::string path = written(dir, {7, 3});
  const auto from = open_recording(path);
  CHECK(from->header().run_id == "r1");
  CHECK(from->header().world == 4);
  CHECK(from->tensors() == tensors);
  CHECK(from->step_count() == 2);
  step now;
  for (const std::int64_t number : {3, 7}) {
    REQUIRE(from->next(now));
    const step original = step_of(number);
    CHECK(now.key == original.key);
    CHECK(now.scalars.loss == 2.5);
    CHECK(now.scalars.grad_norm == 0.1);
    CHECK(now.scalars.learning_rate == 1e-3);
    CHECK(now.scalars.loss_scale == 65536);
    CHECK(now.scalars.found_inf == false);
    CHECK_FALSE(now.scalars.applied.has_value());
    CHECK_FALSE(now.max_abs.has_value());
    REQUIRE(now.tensors.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(now.tensors[i].tensor == i);
      CHECK(now.tensors[i].type == original.tensors[i].type);
      CHECK(now.tensors[i].table == original.tensors[i].table);
    }
    CHECK(now.tensors[0].factor == 65536);
    CHECK(std::isnan(now.tensors[1].factor));
  }
  CHECK_FALSE(from->next(now));
  CHECK_FALSE(from->next(now));
}

TEST_CASE("a step log's maximum is kept, NaN too") {
  const temporary_dir dir;
  const std::string path = (dir / "log.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    step s;
    for (const double x : {0.5, std::nan(""), double{INFINITY}}) {
      s.max_abs = x;
      writer.write(s, {});
      ++s.key.step;
    }
  }
  const auto from = open_recording(path);
  step now;
  REQUIRE(from->next(now));
  CHECK(now.max_abs == 0.5);
  REQUIRE(from->next(now));
  CHECK((now.max_abs && std::isnan(*now.max_abs)));
  REQUIRE(from->next(now));
  CHECK(now.max_abs == INFINITY);
}

TEST_CASE("bounds on the largest gradient are kept, and refused where they are none") {
  const temporary_dir dir;
  const std::string path = (dir / "log.ulp").string();
  const std::vector<max_abs_bounds> all{
      {.low = 65520.0 / 3, .high = INFINITY}, {.low = 0, .high = 0.1}, {.low = 1e-300, .high = 5, .certain = false}};
  {
    recording_writer writer(path, recording_writer::mode::create);
    step s;
    for (const max_abs_bounds& b : all) {
      s.bounds = b;
      writer.write(s, {});
      ++s.key.step;
    }
  }
  {
    const auto from = open_recording(path);
    step now;
    for (const max_abs_bounds& b : all) {
      REQUIRE(from->next(now));
      CHECK(now.bounds == b);
      CHECK_FALSE(now.max_abs.has_value());
    }
  }
  for (const std::string text :
       {"0..", "..1", "1..1", "2..1", "-1..1", "nan..1", "inf..inf", "~", "0..1x", "low..high"}) {
    INFO(text);
    alter(path, "UPDATE step SET max_abs = '" + text + "'");
    step now;
    CHECK_THROWS_AS(open_recording(path)->next(now), input_error);
  }
}

TEST_CASE("totals are the tables merged by kind, role and factor") {
  const temporary_dir dir;
  const auto totals = read_totals(written(dir, {1, 2}));
  REQUIRE(totals.size() == 6);
  const step original = step_of(1);
  CHECK(totals[0].key.step == 1);
  CHECK(totals[0].kind == tensor_kind::weight_grad);
  CHECK(totals[0].role == tensor_role::unknown);
  CHECK(totals[0].table == original.tensors[2].table);
  CHECK(totals[1].factor == 65536);
  CHECK(totals[1].role == tensor_role::low);
  CHECK(totals[1].table == original.tensors[0].table);
  CHECK(totals[2].kind == tensor_kind::activation_grad);
  CHECK(totals[5].key.step == 2);
}

TEST_CASE("a step with tensors whose totals are missing is refused") {
  const temporary_dir dir;
  const std::string path = written(dir, {1, 2});
  damage(path, "DELETE FROM total WHERE step=2");
  const auto from = open_totals(path);
  step now;
  CHECK(from->next(now));
  try {
    from->next(now);
    FAIL("read");
  } catch (const input_error& problem) {
    CHECK(problem.what() == path + ": step 2 total: is missing, although the step has tensors: the file is damaged");
  }
  CHECK_THROWS_AS(read_totals(path), input_error);
}

TEST_CASE("opened by its totals a recording has the same steps, with its tensors merged") {
  const temporary_dir dir;
  const std::string path = written(dir, {1, 2});
  const auto merged = open_totals(path);
  const auto whole = open_recording(path);
  CHECK(merged->step_count() == whole->step_count());
  REQUIRE(merged->tensors().size() == 3);
  CHECK(merged->tensors()[0].stands_for == 1);
  std::uint64_t stands_for = 0;
  for (const tensor_info& t : merged->tensors()) stands_for += t.stands_for;
  CHECK(stands_for == whole->tensors().size());
  step a;
  step b;
  while (whole->next(a)) {
    REQUIRE(merged->next(b));
    CHECK(a.key == b.key);
    CHECK(a.scalars.applied == b.scalars.applied);
    std::uint64_t all = 0;
    std::uint64_t together = 0;
    for (const tensor_row& row : a.tensors) all += row.table.numel;
    for (const tensor_row& row : b.tensors) {
      together += row.table.numel;
      CHECK(row.type == dtype::unknown);
    }
    CHECK(all == together);
  }
  CHECK_FALSE(merged->next(b));
}

TEST_CASE("the digest does not depend on order, and depends on content") {
  const temporary_dir a;
  const temporary_dir b;
  const temporary_dir c;
  const std::string path_a = written(a, {1, 2});
  const std::string path_b = (b / "run.ulp").string();
  {
    recording_writer writer(path_b, recording_writer::mode::create);
    const std::vector<tensor_info> reversed{tensors[2], tensors[1], tensors[0]};
    for (const std::int64_t n : {2, 1}) {
      step s = step_of(n);
      for (tensor_row& row : s.tensors) row.tensor = 2 - row.tensor;
      writer.write(s, reversed);
    }
  }
  const auto digest = [](const std::string& path) { return digest_of(*open_recording(path)); };
  CHECK(digest(path_a).size() == 64);
  CHECK(digest(path_a) == digest(path_b));
  CHECK(digest(path_a) != digest(written(c, {1, 3})));
}

TEST_CASE("appending adds steps; a step that is there already, or a changed tensor, is refused whole") {
  const temporary_dir dir;
  const std::string path = written(dir, {1});
  const auto append = [&](const step& s, const std::vector<tensor_info>& with) -> std::string {
    try {
      recording_writer writer(path, recording_writer::mode::append);
      writer.write(s, with);
    } catch (const input_error& problem) {
      return problem.what();
    }
    return "";
  };
  CHECK(append(step_of(2), tensors).empty());
  CHECK(append(step_of(2), tensors) == path + ": step 2: is in the recording already");
  auto changed = tensors;
  changed[0].shape = {4};
  CHECK(append(step_of(3), changed) == path + ": tensor 'b.weight': has another kind, role or shape in the recording");
  CHECK(open_recording(path)->step_count() == 2);
}

TEST_CASE("the last number that a step may have is recorded and selected; the one behind it is refused") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  recording_writer writer(path, recording_writer::mode::create);
  writer.write(step_of(most - 1), tensors);
  CHECK_THROWS_WITH(writer.write(step_of(most), tensors),
                    path + ": step 9223372036854775807: is outside the range of step numbers");
  writer.close();
  const auto from = open_recording(path);
  step now;
  REQUIRE(from->next(now));
  CHECK(now.key.step == most - 1);
  CHECK(selection{}.takes(now.key.step));
}

TEST_CASE("an existing file is not overwritten, and a discarded one is removed") {
  const temporary_dir dir;
  const std::string path = written(dir, {1});
  CHECK_THROWS_AS(recording_writer(path, recording_writer::mode::create), input_error);
  CHECK(open_recording(path)->step_count() == 1);
  const std::string other = (dir / "other.ulp").string();
  {
    recording_writer writer(other, recording_writer::mode::create);
    writer.write(step_of(1), tensors);
    writer.discard();
  }
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  CHECK_THROWS_AS(recording_writer((dir / "none/run.ulp").string(), recording_writer::mode::create), input_error);
  CHECK_THROWS_AS(recording_writer(other, recording_writer::mode::append), input_error);
}

TEST_CASE("a killed writer leaves every step it committed") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0;; ++n) {
      writer.write(step_of(n), tensors);
      if (write(ready[1], "x", 1) != 1) _exit(1);
    }
  }
  char byte = 0;
  for (int i = 0; i < 20; ++i) REQUIRE(read(ready[0], &byte, 1) == 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  const auto from = open_recording(path);
  step now;
  std::int64_t n = 0;
  while (from->next(now)) CHECK(now.key.step == n++);
  CHECK(n >= 20);
}

TEST_CASE("strangers' databases and newer formats are refused") {
  const temporary_dir dir;
  const std::string path = written(dir, {1});
  SECTION("not ours") {
    alter(path, "PRAGMA application_id=1");
    CHECK(error_of(path) == path + ": header: is an SQLite database, but not a ulpscope recording");
  }
  SECTION("newer") {
    alter(path, "PRAGMA user_version=3");
    CHECK(error_of(path) ==
          path + ": header: has recording format 3; this program reads up to 2: use a newer ulpscope");
  }
  SECTION("a view") {
    alter(path, "CREATE VIEW v AS SELECT 1");
    CHECK(error_of(path) == path + ": schema: holds a view 'v'; a recording has tables and indexes only");
  }
  SECTION("a trigger") {
    alter(path, "CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM step; END");
    CHECK(error_of(path) == path + ": schema: holds a trigger 't'; a recording has tables and indexes only");
  }
}

TEST_CASE("errors, edges and codes come back; totals have all but the codes") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  step original;
  cell_counter counter(cell_counter::with::sums_and_errors);
  const auto row = [&](std::uint32_t tensor, dtype type, auto&&... add) {
    tensor_row r;
    r.tensor = tensor;
    r.type = type;
    counter.set_edges(std::vector<double>{0.5, 2.5});
    (add(r), ...);
    r.table = counter.take();
    original.tensors.push_back(std::move(r));
  };
  row(0, dtype::float32, [&](tensor_row&) { counter.add(std::vector<float>{1.1F, -3.3F, 0x1p-149F, 0.0F, 2.6F}); });
  row(1, dtype::float16, [&](tensor_row& r) {
    r.codes = {{0x0000, 3}, {0x3C01, 2}, {0x7C00, 1}, {0x7E01, 4}, {0xBC01, 1UL << 33}};
    counter.add(float16, r.codes);
  });
  row(2, dtype::float8_e5m2fnuz, [&](tensor_row& r) {
    r.codes = {{0x00, 3}, {0x7F, 1}, {0x80, 4}, {0xFF, 1}};
    counter.add(float8_e5m2fnuz, r.codes);
  });
  {
    recording_writer writer(path, recording_writer::mode::create);
    writer.write(original, tensors);
  }
  step now;
  REQUIRE(open_recording(path)->next(now));
  REQUIRE(now.tensors.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(now.tensors[i].table == original.tensors[i].table);
    CHECK(now.tensors[i].codes == original.tensors[i].codes);
    CHECK(now.tensors[i].table.has_errors);
    CHECK(now.tensors[i].table.edges.size() == 2);
  }
  CHECK(digest_of(*open_recording(path)) != "");
  const auto totals = read_totals(path);
  REQUIRE(totals.size() == 3);
  CHECK(totals[0].table == original.tensors[2].table);  // role unknown comes first
  CHECK(totals[1].table == original.tensors[0].table);
  CHECK(totals[2].table == original.tensors[1].table);
}

TEST_CASE("errors, edges and codes that no values have are refused") {
  const temporary_dir dir;
  const auto error_with = [&](auto&& alter) {
    const std::string path = (dir / "run.ulp").string();
    std::filesystem::remove(path);
    step s;
    s.tensors.push_back({.tensor = 0, .type = dtype::float16});
    tensor_row& row = s.tensors.front();
    cell_counter counter(cell_counter::with::sums_and_errors);
    counter.set_edges(std::vector<double>{0.5, 2.5});
    row.codes = {{0x3C00, 2}, {0x3C01, 1}};
    counter.add(float16, row.codes);
    row.table = counter.take();
    alter(row);
    {
      recording_writer writer(path, recording_writer::mode::create);
      writer.write(s, tensors);
    }
    const std::string error = error_of(path);
    return error.empty() ? "" : error.substr(error.find("step 0: ") + 8);
  };
  CHECK(error_with([](tensor_row&) {}) == "");
  CHECK(error_with([](tensor_row& r) { r.codes[1].count = 2; }) == "the codes do not fit the summary");
  CHECK(error_with([](tensor_row& r) { r.codes[1].code = 0x10000; }) == "codes are out of order");
  CHECK(error_with([](tensor_row& r) { r.codes[1].count = 0; }) == "a code's count is impossible");
  CHECK(error_with([](tensor_row& r) { r.table.edges[0].above = 9; }) == "an edge that no values have");
  CHECK(error_with([](tensor_row& r) { r.table.edges[1].at = 0.5; }) == "an edge that no values have");
  CHECK(error_with([](tensor_row& r) { r.table.edges[1].at = NAN; }) == "an edge that no values have");
  CHECK(error_with([](tensor_row& r) { r.table.edges[0].above = 2; }) == "an edge that no values have");
  CHECK(error_with([](tensor_row& r) { r.table.edges[1].squares_above = 1; }) == "an edge that no values have");
  const std::string no_sums = "has sums that no values of their binade have";
  CHECK(error_with([](tensor_row& r) {
          r.codes.clear();
          r.table.sums[0].significands = uint128{3} << 24;
        }) == no_sums);
  CHECK(error_with([](tensor_row& r) {
          r.codes.clear();
          r.table.sums[0].squares = 0;
        }) == no_sums);
  const std::string too_great = "has errors that no values of their binade make";
  CHECK(error_with([](tensor_row& r) {
          r.codes.clear();
          r.table.errors[0].squares[3] = uint128{4} << 40;
        }) == too_great);
  CHECK(error_with([](tensor_row& r) {
          r.codes.clear();
          r.table.errors[0].products[12] = -(int128{4} << 35);
        }) == too_great);
}

TEST_CASE("totals stand for tensors only where these keep no codes") {
  const temporary_dir dir;
  const std::string plain = (dir / "plain.ulp").string();
  step of_floats;
  of_floats.tensors.push_back(row_of(0, {1, 2}));
  recording_writer(plain, recording_writer::mode::create).write(of_floats, tensors);
  CHECK(totals_are_as_good(plain));
  const std::string path = (dir / "run.ulp").string();
  step s;
  s.tensors.push_back({.tensor = 0, .type = dtype::float16});
  s.tensors[0].codes = {{0x3C00, 2}};
  cell_counter counter;
  counter.add(float16, s.tensors[0].codes);
  s.tensors[0].table = counter.take();
  recording_writer(path, recording_writer::mode::create).write(s, tensors);
  CHECK_FALSE(totals_are_as_good(path));
}

TEST_CASE("damaged rows are named") {
  const temporary_dir dir;
  const std::string path = written(dir, {1, 2});
  const std::string at = path + ": step 2: ";
  const auto damaged = [&](const std::string& sql) {
    alter(path, sql + " WHERE step=2");
    return error_of(path);
  };
  CHECK(damaged("UPDATE step SET ranks='0,x'") == at + "a malformed list");
  CHECK(damaged("UPDATE step SET ranks='0', cells=zeroblob(3)") == at + "is cut short");
  CHECK(damaged("UPDATE step SET cells=x'ffffffffffffff7f00'") == at + "declares an impossible size");
  CHECK(damaged("UPDATE step SET cells=x'100000000000000000'") == at + "is damaged");
  CHECK(damaged("UPDATE step SET cells=(SELECT cells FROM step WHERE step=1), summary=substr(summary, 2)") ==
        at + "its summary has a broken length");
  CHECK(
      damaged(
          "UPDATE step SET summary=(SELECT CAST(substr(summary, 1, 104) || substr(summary, 1, 208) AS BLOB) FROM step "
          "WHERE step=1)") == at + "a tensor that is unknown or occurs twice");
  // numel of the first tensor one more than its counts.
  CHECK(damaged("UPDATE step SET summary=(SELECT CAST(substr(summary, 1, 8) || x'05' || substr(summary, 10) AS BLOB) "
                "FROM step "
                "WHERE step=1)") == at + "counts do not add up to the number of elements");
}

TEST_CASE("reading ahead gives the same steps, and an error where it stands") {
  const temporary_dir dir;
  const std::string path = written(dir, {1, 2, 3, 4});
  CHECK(digest_of(*open_source({path})) == digest_of(*open_recording(path)));
  step now;
  {
    const auto left_early = open_source({path});
    REQUIRE(left_early->next(now));
    CHECK(now.key.step == 1);
  }
  { const auto never_read = open_source({path}); }
  alter(path, "UPDATE step SET cells=zeroblob(3) WHERE step=3");
  const auto from = open_source({path});
  REQUIRE(from->next(now));
  REQUIRE(from->next(now));
  CHECK(now.key.step == 2);
  CHECK(now.tensors[0].table == step_of(2).tensors[0].table);
  for (int again = 0; again < 2; ++again) CHECK_THROWS_WITH(from->next(now), path + ": step 3: is cut short");
}

TEST_CASE("impossible factors, extremes, keys and names are refused") {
  const temporary_dir dir;
  const std::string path = written(dir, {1, 2});
  const auto with_bytes = [&](int offset, const std::string& hex) {
    alter(path, "UPDATE step SET summary=(SELECT CAST(substr(summary, 1, " + std::to_string(offset) + ") || x'" + hex +
                    "' || substr(summary, " + std::to_string(offset + 9) +
                    ") AS BLOB) FROM step WHERE step=1) WHERE step=2");
    return error_of(path);
  };
  const std::string at = path + ": step 2: ";
  CHECK(with_bytes(72, "0000000000000000") == at + "a factor that is not positive and finite");
  CHECK(with_bytes(72, "000000000000f0bf") == at + "a factor that is not positive and finite");
  CHECK(with_bytes(72, "000000000000f07f") == at + "a factor that is not positive and finite");
  CHECK(with_bytes(56, "0000000000000040") == at + "the largest magnitude does not fit the counts");
  CHECK(with_bytes(64, "000000000000f07f") == at + "the smallest magnitude does not fit the counts");
  CHECK(with_bytes(8, "0000000000000001") == at + "has more elements than a table may");
  alter(path, "DELETE FROM step WHERE step=2; UPDATE step SET attempt=4294967296");
  CHECK(error_of(path) == path + ": step 0: an impossible key");
  alter(path, "UPDATE step SET attempt=0, step=9223372036854775807");
  CHECK(error_of(path) == path + ": step 0: an impossible key");
  alter(path, "UPDATE tensor SET name=hex(zeroblob(1000)) WHERE id=0");
  CHECK(error_of(path).find("table of tensors") != std::string::npos);
}

TEST_CASE("a payload of an unknown encoding leaves the summary") {
  const temporary_dir dir;
  const std::string path = written(dir, {1});
  // Three payloads of encoding 9 without bytes.
  alter(path, "UPDATE step SET cells=x'0600000000000000789ce364e00442000072001c'");
  const auto from = open_recording(path);
  step now;
  REQUIRE(from->next(now));
  const cell_table& t = now.tensors.at(0).table;
  CHECK(t.cells.empty());
  CHECK(t.numel == 4);
  CHECK(t.max_abs == 1);
  CHECK(squares_sum(t).value == 1.25);
  CHECK(squares_sum(t).quality == sum_quality::reported);
}

TEST_CASE("only tensors that occur come into the file; a size that varies is not known") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    auto list = tensors;
    step s = step_of(1);
    s.tensors.erase(s.tensors.begin() + 1, s.tensors.end());
    writer.write(s, list);
    list[0].numel = 8;
    ++s.key.step;
    writer.write(s, list);
  }
  const auto from = open_recording(path);
  REQUIRE(from->tensors().size() == 1);
  CHECK(from->tensors()[0].name == "b.weight");
  CHECK(from->tensors()[0].numel == 0);
}

TEST_CASE("names that SQLite takes for something else are files") {
  const temporary_dir dir;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir.path());
  {
    recording_writer writer(":memory:", recording_writer::mode::create);
    writer.write(step_of(1), tensors);
  }
  CHECK(std::filesystem::exists(dir / ":memory:"));
  CHECK_THROWS_AS(recording_writer("", recording_writer::mode::create), input_error);
  CHECK_THROWS_AS(recording_writer("-", recording_writer::mode::create), input_error);
  std::filesystem::current_path(before);
}

TEST_CASE("a discarded recording leaves the empty file that was there") {
  const temporary_dir dir;
  write_file(dir / "run.ulp", "");
  {
    recording_writer writer((dir / "run.ulp").string(), recording_writer::mode::create);
    writer.write(step_of(1), tensors);
    writer.discard();
  }
  CHECK(std::filesystem::file_size(dir / "run.ulp") == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("every single byte of a payload may be wrong without harm") {
  const temporary_dir dir;
  const std::string path = written(dir, {1});
  const std::string good = read_file(path);
  const std::string copy = (dir / "copy.ulp").string();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); i += 37) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    write_file(copy, bad);
    refused += error_of(copy).empty() ? 0 : 1;
  }
  CHECK(refused > 0);
  for (const std::size_t size : {std::size_t{0}, std::size_t{50}, good.size() / 2, good.size() - 1}) {
    write_file(copy, good.substr(0, size));
    CHECK_FALSE(error_of(copy).empty());
  }
}
