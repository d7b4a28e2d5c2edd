// Pins what becomes of recordings that were made to do harm: `info`, `outcomes` and `replay` refuse each in one line with
// exit code 2, within a second of processor time and 200 MB, and `ulp check` says what is wrong. Prints the verdicts.
#include "support/catch.hpp"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <fcntl.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <ulp/io/recording/recording.hpp>

#include "io/mended.hpp"
#include "support/files.hpp"
#include "support/program.hpp"
#include "support/strides.hpp"

using namespace ulp::test;

namespace {

__extension__ using uint128 = unsigned __int128;

struct measured {
  int exit_code = -1;
  std::string err;
  double seconds = 0;       // of the processor
  std::int64_t memory = 0;  // bytes
};

measured run_bounded(const std::vector<std::string>& arguments) {
  const temporary_dir dir;
  const std::string err = (dir / "err").string();
  const std::string program = std::getenv("ULP_PROGRAM");
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit space{std::uint64_t{1} << 30, std::uint64_t{1} << 30};  // addresses: threads reserve some
    const rlimit cpu{10, 10};
    setrlimit(RLIMIT_AS, &space);
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(120);  // what hangs is named, and does not stop the tests
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .err = read_file(err),
          .seconds = seconds(used.ru_utime) + seconds(used.ru_stime),
          .memory = std::int64_t{used.ru_maxrss} * 1024};
}

// On a machine with other work a run may now and then be charged what it did not use.
measured run_soon(const std::vector<std::string>& arguments) {
  measured run = run_bounded(arguments);
  for (int again = 0; again < 2 && run.seconds >= 1; ++again) run = run_bounded(arguments);
  CHECK(run.seconds < 1);
  CHECK(run.memory < 200'000'000);
  return run;
}

// Anew: some file systems wait for the disk where a file is written over.
void write_new(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  write_file(path, bytes);
}

class recording_file {
 public:
  explicit recording_file(std::string path) : path_(std::move(path)) {
    REQUIRE(sqlite3_open(path_.c_str(), &db_) == SQLITE_OK);
    run("PRAGMA synchronous = OFF");  // waiting for the disk would take most of the test
  }
  ~recording_file() { sqlite3_close(db_); }
  recording_file(const recording_file&) = delete;
  recording_file& operator=(const recording_file&) = delete;

  void run(const std::string& sql) {
    char* message = nullptr;
    const int result = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &message);
    INFO(sql << ": " << (message == nullptr ? "" : message));
    CHECK(result == SQLITE_OK);
    sqlite3_free(message);
  }

  std::string blob(const std::string& sql) {
    sqlite3_stmt* s = nullptr;
    REQUIRE(sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(s) == SQLITE_ROW);
    std::string bytes(static_cast<const char*>(sqlite3_column_blob(s, 0)),
                      static_cast<std::size_t>(sqlite3_column_bytes(s, 0)));
    sqlite3_finalize(s);
    return bytes;
  }

  void update(const std::string& sql, const std::string& bytes, bool as_text = false) {
    sqlite3_stmt* s = nullptr;
    REQUIRE(sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr) == SQLITE_OK);
    if (as_text)
      sqlite3_bind_text(s, 1, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
    else
      sqlite3_bind_blob64(s, 1, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    CHECK(sqlite3_step(s) == SQLITE_DONE);
    sqlite3_finalize(s);
  }

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
};

std::string little(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string little(double value) { return little(std::bit_cast<std::uint64_t>(value)); }

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string result(size, '\0');
  compress2(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
            1);
  result.resize(size);
  return result;
}

// A zlib stream of so many zeros, made without holding them.
std::string deflated_zeros(std::uint64_t size) {
  z_stream z{};
  REQUIRE(deflateInit(&z, 1) == Z_OK);
  std::string zeros(1 << 20, '\0');
  std::string result;
  std::string room(1 << 16, '\0');
  for (std::uint64_t done = 0; done < size; done += zeros.size()) {
    z.next_in = reinterpret_cast<Bytef*>(zeros.data());
    z.avail_in = static_cast<uInt>(zeros.size());
    const int flush = done + zeros.size() >= size ? Z_FINISH : Z_NO_FLUSH;
    do {
      z.next_out = reinterpret_cast<Bytef*>(room.data());
      z.avail_out = static_cast<uInt>(room.size());
      deflate(&z, flush);
      result.append(room, 0, room.size() - z.avail_out);
    } while (z.avail_out == 0);
  }
  deflateEnd(&z);
  return result;
}

std::string inflated(const std::string& blob) {
  std::uint64_t declared = 0;
  std::memcpy(&declared, blob.data(), 8);
  std::string bytes(declared, '\0');
  uLongf size = declared;
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(blob.data() + 8),
                     blob.size() - 8) == Z_OK);
  return bytes;
}

std::uint64_t take_varint(const std::string& bytes, std::size_t& at, uint128* whole = nullptr) {
  uint128 value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= uint128{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  if (whole != nullptr) *whole = value;
  return static_cast<std::uint64_t>(value);
}

std::string varint(uint128 value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(static_cast<unsigned>(value & 0x7F) | 0x80U);
  return bytes + static_cast<char>(value);
}

const std::string of_first = " WHERE rowid=(SELECT min(rowid) FROM step)";

// The numbers of the first payload of the first step, and the payload written anew.
void change_numbers(recording_file& file, const std::function<void(std::vector<uint128>&)>& change) {
  const std::string all = inflated(file.blob("SELECT cells FROM step" + of_first));
  std::size_t at = 0;
  const std::uint64_t how = take_varint(all, at);
  const std::uint64_t length = take_varint(all, at);
  const std::size_t end = at + length;
  std::vector<uint128> numbers;
  while (at < end) take_varint(all, at, &numbers.emplace_back());
  change(numbers);
  std::string content;
  for (const uint128 n : numbers) content += varint(n);
  const std::string changed = varint(how) + varint(content.size()) + content + all.substr(end);
  file.update("UPDATE step SET cells=?" + of_first, little(changed.size()) + deflated(changed));
}

void change_summary(recording_file& file, std::size_t offset, const std::string& bytes,
                    const std::string& table = "step") {
  const std::string where = " WHERE rowid=(SELECT min(rowid) FROM " + table + ")";
  std::string summary = file.blob("SELECT summary FROM " + table + where);
  summary.replace(offset, bytes.size(), bytes);
  file.update("UPDATE " + table + " SET summary=?" + where, summary);
}

std::uint64_t number_at(recording_file& file, std::size_t offset) {
  const std::string summary = file.blob("SELECT summary FROM step" + of_first);
  std::uint64_t value = 0;
  std::memcpy(&value, summary.data() + offset, 8);
  return value;
}

double real_at(recording_file& file, std::size_t offset) { return std::bit_cast<double>(number_at(file, offset)); }

struct mutation {
  std::string name;
  std::function<void(recording_file&)> apply;
};

mutation sql(const std::string& statements) {
  return {statements.substr(0, 90), [=](recording_file& file) { file.run(statements); }};
}

mutation summary(const std::string& name, std::size_t offset, const std::string& bytes) {
  return {name, [=](recording_file& file) { change_summary(file, offset, bytes); }};
}

std::vector<mutation> of_the_schema() {
  return {
      sql("ALTER TABLE total RENAME TO t2; CREATE VIEW total AS SELECT * FROM t2"),
      sql("DROP TABLE step; CREATE VIEW step AS WITH RECURSIVE r(step) AS (SELECT 1 UNION ALL SELECT step+1 FROM r) "
          "SELECT step, 0 AS attempt, -1 AS microbatch, '0' AS ranks, 1.0 AS loss, 1.0 AS grad_norm, 1.0 AS lr, 1.0 AS "
          "loss_scale, 0 AS found_inf, 1 AS applied, NULL AS max_abs, x'' AS summary, x'' AS cells FROM r"),
      sql("CREATE VIEW v AS SELECT 1"),
      sql("CREATE VIEW \"two\nlines \x1B[31m\" AS SELECT 1"),
      sql("CREATE TRIGGER t AFTER INSERT ON step BEGIN DELETE FROM step; END"),
      sql("CREATE TRIGGER step AFTER INSERT ON step BEGIN DELETE FROM step; END"),
      sql("ALTER TABLE step ADD COLUMN more AS (step + 1)"),
      sql("ALTER TABLE step ADD COLUMN more INTEGER"),
      sql("ALTER TABLE step RENAME COLUMN loss TO lost"),
      sql("CREATE VIRTUAL TABLE v USING fts5(x)"),
      sql("CREATE TABLE notes(x)"),
      sql("CREATE INDEX e ON step(abs(step))"),
      sql("CREATE INDEX e ON step(step) WHERE step > 3"),
      sql("DROP TABLE total"),
      sql("DROP TABLE meta"),
      sql("DROP TABLE tensor; CREATE TABLE tensor(id, name, kind, role, through, shape, numel)"),
      sql("PRAGMA user_version=3"),
      sql("PRAGMA user_version=1"),
      sql("PRAGMA user_version=-1"),
      sql("PRAGMA user_version=0"),
      sql("PRAGMA application_id=1"),
  };
}

std::vector<mutation> of_rows() {
  return {
      sql("UPDATE step SET summary='text'" + of_first),
      sql("UPDATE step SET summary=5" + of_first),
      sql("UPDATE step SET cells='text'" + of_first),
      sql("UPDATE step SET cells=1.5" + of_first),
      sql("UPDATE step SET cells=zeroblob(3)" + of_first),
      sql("UPDATE step SET cells=x''" + of_first),
      sql("UPDATE step SET summary=x''" + of_first),
      sql("UPDATE step SET summary=zeroblob(10400000)" + of_first),
      sql("UPDATE step SET ranks='0,x'" + of_first),
      sql("UPDATE step SET ranks='1,0'" + of_first),
      sql("UPDATE step SET ranks=''" + of_first),
      sql("UPDATE step SET ranks=x'30'" + of_first),
      sql("UPDATE step SET ranks='99999999999'" + of_first),
      sql("UPDATE step SET loss='high'" + of_first),
      sql("UPDATE step SET loss_scale=x'00'" + of_first),
      sql("UPDATE step SET found_inf=7" + of_first),
      sql("UPDATE step SET applied='yes'" + of_first),
      sql("UPDATE step SET max_abs='much'" + of_first),
      sql("UPDATE step SET attempt=-1" + of_first),
      sql("UPDATE step SET attempt=9223372036854775807" + of_first),
      sql("UPDATE step SET microbatch=-9223372036854775807" + of_first),
      sql("UPDATE step SET step=9223372036854775807" + of_first),
      sql("UPDATE step SET step='first'" + of_first),
      sql("UPDATE step SET step=0.5" + of_first),
      sql("UPDATE tensor SET name='a' || char(10) || 'b' WHERE id=0"),
      sql("UPDATE tensor SET name='a' || char(27) || '[2J' WHERE id=0"),
      sql("UPDATE tensor SET name=hex(zeroblob(600)) WHERE id=0"),
      sql("UPDATE tensor SET name=CAST(x'C328' AS TEXT) WHERE id=0"),
      sql("UPDATE tensor SET name=x'41' WHERE id=0"),
      sql("UPDATE tensor SET id=1000000 WHERE id=1"),
      sql("DELETE FROM tensor WHERE id=0"),
      sql("DELETE FROM tensor WHERE id=(SELECT max(id) FROM tensor)"),
      sql("UPDATE tensor SET kind='gradient' WHERE id=0"),
      sql("UPDATE tensor SET role='high' WHERE id=0"),
      sql("UPDATE tensor SET numel=-1 WHERE id=0"),
      sql("UPDATE tensor SET shape='2,-2' WHERE id=0"),
      sql("UPDATE tensor SET through='a' || char(7) WHERE id=0"),
      sql("UPDATE meta SET value='many' WHERE key='world'"),
      sql("UPDATE meta SET value='4294967296' WHERE key='rank'"),
      sql("UPDATE meta SET value='mean' WHERE key='reduction'"),
      sql("UPDATE meta SET value='slice' WHERE key='layout'"),
      sql("UPDATE meta SET value='a' || char(10) || 'ulp: b' WHERE key='run_id'"),
      sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) INSERT INTO meta SELECT 'k' || "
          "i, '', x'' "
          "FROM n"),
      sql("DELETE FROM total WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("INSERT INTO total SELECT * FROM total WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("UPDATE total SET tensors=tensors+1 WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("UPDATE total SET tensors=-1 WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("UPDATE total SET kind='update' WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("UPDATE total SET cells=zeroblob(9) WHERE rowid=(SELECT min(rowid) FROM total)"),
      sql("UPDATE total SET summary='x' WHERE rowid=(SELECT min(rowid) FROM total)"),
      {"more elements in a total",
       [](recording_file& f) { change_summary(f, 8, little(std::uint64_t{1} << 30), "total"); }},
  };
}

std::vector<mutation> of_tables() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<mutation> all{
      {"one element more", [](recording_file& f) { change_summary(f, 8, little(number_at(f, 8) + 1)); }},
      {"one zero more", [](recording_file& f) { change_summary(f, 16, little(number_at(f, 16) + 1)); }},
      summary("elements beyond 2^40", 8, little(std::uint64_t{1} << 41)),
      summary("infinities beyond 2^63", 24, little(std::uint64_t{1} << 63)),
      summary("an index out of range", 0, std::string("\xE8\x03\0\0", 4)),
      summary("an index out of range, the largest", 0, std::string(4, '\xFF')),
      summary("an index that occurs twice", 0, std::string("\1\0\0\0", 4)),
      summary("an unknown type", 4, "\xC8"),
      summary("an unknown flag", 5, "\x10"),
      summary("flags without their content", 5, "\x0F"),
      {"the largest magnitude an octave too high",
       [](recording_file& f) { change_summary(f, 56, little(2 * real_at(f, 56))); }},
      {"the largest magnitude an octave too low",
       [](recording_file& f) { change_summary(f, 56, little(real_at(f, 56) / 2)); }},
      summary("no largest magnitude", 56, little(0.0)),
      {"the smallest above the largest", [](recording_file& f) { change_summary(f, 64, little(4 * real_at(f, 56))); }},
      {"a summary record too many",
       [](recording_file& f) {
         const std::string s = f.blob("SELECT summary FROM step" + of_first);
         f.update("UPDATE step SET summary=?" + of_first, s + s.substr(0, 104));
       }},
      {"a summary record too few",
       [](recording_file& f) {
         f.update("UPDATE step SET summary=?" + of_first, f.blob("SELECT summary FROM step" + of_first).substr(104));
       }},
      {"half a summary record",
       [](recording_file& f) {
         f.update("UPDATE step SET summary=?" + of_first, f.blob("SELECT summary FROM step" + of_first).substr(52));
       }},
      {"more cells than there are", [](recording_file& f) { change_numbers(f, [](auto& n) { n[0] += 1; }); }},
      {"2^60 cells", [](recording_file& f) { change_numbers(f, [](auto& n) { n[0] = uint128{1} << 60; }); }},
      {"a cell beyond all", [](recording_file& f) { change_numbers(f, [](auto& n) { n[1] = 1 << 19; }); }},
      {"an empty cell", [](recording_file& f) { change_numbers(f, [](auto& n) { n[2] = 0; }); }},
      {"a cell twice", [](recording_file& f) { change_numbers(f, [](auto& n) { n[3] = 0; }); }},
      {"one value more in a cell", [](recording_file& f) { change_numbers(f, [](auto& n) { n[2] += 1; }); }},
      {"2^64 - 1 values in a cell",
       [](recording_file& f) { change_numbers(f, [](auto& n) { n[2] = ~std::uint64_t{0}; }); }},
      {"numbers left over", [](recording_file& f) { change_numbers(f, [](auto& n) { n.push_back(1); }); }},
  };
  for (const auto& [name, value] : {std::pair{"NaN", nan}, {"-1", -1.0}, {"infinity", inf}, {"-infinity", -inf}}) {
    all.push_back(summary("largest magnitude " + std::string{name}, 56, little(value)));
    all.push_back(summary("sum of magnitudes " + std::string{name}, 80, little(value)));
    all.push_back(summary("sum of squares " + std::string{name}, 88, little(value)));
    if (!std::isnan(value)) {  // NaN: not known
      all.push_back(summary("smallest magnitude " + std::string{name}, 64, little(value)));
      all.push_back(summary("factor " + std::string{name}, 72, little(value)));
    }
  }
  all.push_back(summary("factor 0", 72, little(0.0)));
  return all;
}

// Of a recording with exact sums.
std::vector<mutation> of_sums() {
  const auto sum = [](const std::string& name, std::size_t index, const std::function<uint128(uint128)>& to) {
    return mutation{name, [=](recording_file& f) {
                      change_numbers(f, [&](auto& n) {
                        uint128& s = n[1 + 2 * static_cast<std::size_t>(n[0]) + index];
                        s = to(s);
                      });
                    }};
  };
  return {
      sum("no sum of significands", 0, [](uint128) { return 0; }),
      sum("twice the sum of significands", 0, [](uint128 s) { return 2 * s; }),
      sum("half the sum of significands", 0, [](uint128 s) { return s / 2; }),
      sum("the greatest sum of significands", 0, [](uint128) { return ~uint128{0}; }),
      sum("no sum of squares", 1, [](uint128) { return 0; }),
      sum("four times the sum of squares", 1, [](uint128 s) { return 4 * s; }),
      sum("a sum of squares below the square of the sum", 1, [](uint128 s) { return s - (s >> 8); }),
      sum("the greatest sum of squares", 1, [](uint128) { return ~uint128{0}; }),
      summary("the smallest magnitude of a dump is not known", 64, little(std::numeric_limits<double>::quiet_NaN())),
      {"twice the sum in the summary", [](recording_file& f) { change_summary(f, 80, little(2 * real_at(f, 80))); }},
  };
}

std::vector<mutation> of_blobs() {
  const std::uint64_t size = std::uint64_t{1} << 30;
  const std::string bomb = deflated_zeros(size);
  std::vector<mutation> all;
  for (const std::string table : {"step", "total"})
    for (const auto& [name, declared] :
         std::vector<std::pair<std::string, std::uint64_t>>{{"says so", size},
                                                            {"says 2^28", std::uint64_t{1} << 28},
                                                            {"says 100", 100},
                                                            {"says 2^63", std::uint64_t{1} << 63}})
      all.push_back({"a blob in " + table + " that inflates to 1 GB and " + name, [=](recording_file& f) {
                       f.update("UPDATE " + table + " SET cells=? WHERE rowid=(SELECT max(rowid) FROM " + table + ")",
                                little(declared) + bomb);
                     }});
  all.push_back({"a blob that says 2^28 and holds nothing", [](recording_file& f) {
                   f.update("UPDATE step SET cells=?" + of_first,
                            little(std::uint64_t{1} << 28) + deflated("") + std::string(300000, 'x'));
                 }});
  return all;
}

const std::string example = "examples/digits.ulp";

std::vector<std::vector<std::string>> commands_on(const std::string& path) {
  return {{"info", path},
          {"outcomes", path, "--format", "fp16"},
          {"replay", path, "--scaler", "pytorch", "--format", "fp16"}};
}

void check_refused(const std::string& path, const std::string& what) {
  INFO(what);
  std::string verdict;
  for (const auto& command : commands_on(path)) {
    INFO(command.front());
    const measured run = run_soon(command);
    CHECK(run.exit_code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(run.err.starts_with("ulp: " + path + ": "));
    verdict = run.err;
  }
  const measured checked = run_bounded({"check", path});
  CHECK((checked.exit_code == 1 || checked.exit_code == 2));
  CHECK(checked.memory < 200'000'000);
  if (verdict.size() > path.size() + 7) verdict.erase(0, path.size() + 7);
  std::cout << "  " << what << " -> " << verdict;
}

void check_each(const std::string& good, const std::vector<mutation>& mutations) {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string bytes = read_file(good);
  for (const mutation& m : mutations) {
    write_new(path, bytes);
    {
      recording_file file(path);
      m.apply(file);
    }
    mend_checksums(path);  // which would find most of it, and hide what they protect
    check_refused(path, m.name);
  }
}

std::string bundled() { return (source_dir() / example).string(); }

// With exact cells and sums.
std::string recorded(const temporary_dir& dir) {
  const std::string path = (dir / "dump.ulp").string();
  REQUIRE(run_ulp("record examples/digits.step00100.safetensors --factor 1 -o " + path).exit_code == 0);
  return path;
}

}  // namespace

TEST_CASE("the bundled recording passes, as do copies in other hands") {
  CHECK(run_ulp("check " + example).exit_code == 0);
  const temporary_dir dir;
  const std::string path = recorded(dir);
  CHECK(run_ulp("check " + path).exit_code == 0);
  for (const auto& command : commands_on(path)) CHECK(run_bounded(command).exit_code == 0);
  const std::string levels = (dir / "levels.ulp").string();
  REQUIRE(run_ulp("record " + example + " -o " + levels).exit_code == 0);
  CHECK(run_ulp("check " + levels).out.find("no problem in 250 steps") != std::string::npos);
  // What lies beside it from another life: garbage is no log.
  for (const std::string suffix : {"-wal", "-journal"}) {
    write_file(path + suffix, std::string(10000, '\x5A'));
    for (const auto& command : commands_on(path)) {
      const measured run = run_bounded(command);
      INFO(suffix << " " << run.err);
      CHECK((run.exit_code == 0 || run.exit_code == 2));
    }
    std::filesystem::remove(path + suffix);
  }
}

TEST_CASE("schemas that are not ours") { check_each(bundled(), of_the_schema()); }
TEST_CASE("rows that no writer makes") { check_each(bundled(), of_rows()); }
TEST_CASE("tables that no values make") { check_each(bundled(), of_tables()); }
TEST_CASE("sums that no values have") {
  const temporary_dir dir;
  check_each(recorded(dir), of_sums());
}
TEST_CASE("blobs that are larger than they are") { check_each(bundled(), of_blobs()); }

TEST_CASE("a recording cut at every page, and a byte beside") {
  const temporary_dir dir;
  const std::string path = recorded(dir);
  const std::size_t whole = std::filesystem::file_size(path);
  for (std::size_t pages = whole / 8192 + 1; pages-- > 0; pages -= std::min(pages, every(4) - 1))
    for (const std::size_t size : {8192 * pages + 1, 8192 * pages, 8192 * pages - 1}) {
      if (size >= whole) continue;
      std::filesystem::resize_file(path, size);
      check_refused(path, "cut to " + std::to_string(size) + " bytes");
    }
}

TEST_CASE("the bundled recording cut at every page") {
  const temporary_dir dir;
  const std::string path = (dir / "cut.ulp").string();
  std::filesystem::copy_file(bundled(), path);
  for (std::size_t size = std::filesystem::file_size(path) - 8192; size > 0; size -= std::min(size, every(5) * 8192)) {
    std::filesystem::resize_file(path, size);
    const measured run = run_bounded({"replay", path, "--scaler", "pytorch", "--format", "fp16"});
    INFO(size << " bytes: " << run.err);
    CHECK((run.exit_code == 2 && std::count(run.err.begin(), run.err.end(), '\n') == 1));
  }
}

TEST_CASE("bytes at random") {
  const temporary_dir dir;
  const std::string good = read_file(recorded(dir));
  const std::string path = (dir / "random.ulp").string();
  std::mt19937 random(1);
  int refused = 0;
  const int seeds = is_exhaustive() ? 150 : 30;
  for (int seed = 0; seed < seeds; ++seed) {
    std::string bytes = good;
    for (int n = 0; n < 1 + seed % 40; ++n) bytes[random() % bytes.size()] = static_cast<char>(random() & 0xFFU);
    write_new(path, bytes);
    const measured checked = run_soon({"check", path});
    const measured run = run_soon({"replay", path, "--scaler", "pytorch", "--format", "fp16"});
    INFO("seed " << seed << ": " << checked.exit_code << " " << run.err);
    CHECK((checked.exit_code >= 0 && checked.exit_code <= 2));
    CHECK(run.exit_code == (checked.exit_code == 0 ? 0 : 2));
    if (run.exit_code == 2) CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    refused += run.exit_code == 2 ? 1 : 0;
  }
  std::cout << "  random bytes -> " << refused << " of " << seeds << " refused\n";
  CHECK(refused > seeds / 2);
}

TEST_CASE("a damaged byte is found by ulp check, or changes nothing") {
  const temporary_dir dir;
  const std::string path = (dir / "flipped.ulp").string();
  REQUIRE(run_ulp("record " + example + " --steps 60:68 -o " + path).exit_code == 0);
  const std::string good = read_file(path);
  const auto answers = [&] {
    const program_result info = run_ulp("info --json " + path);
    const program_result outcomes = run_ulp("outcomes --json --format fp16 --by step,tensor " + path);
    return std::to_string(info.exit_code) + info.out + std::to_string(outcomes.exit_code) + outcomes.out;
  };
  const std::string whole = answers();
  REQUIRE(run_ulp("check " + path).exit_code == 0);
  int flips = 0;
  int found = 0;
  // No divisor of a page.
  for (std::size_t at = 0; at < good.size(); at += is_exhaustive() ? 251 : 1259) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 + flips % 255));
    write_new(path, bytes);
    ++flips;
    if (run_bounded({"check", path}).exit_code != 0) {
      ++found;
      continue;
    }
    INFO("byte " << at << " changed from " << int{good[at]} << " to " << int{bytes[at]});
    CHECK(answers() == whole);
  }
  std::cout << "  flipped bytes -> " << found << " of " << flips << " found, and the others change nothing\n";
  CHECK(found > flips / 4);  // a third of the pages is not used
}

TEST_CASE("pages of impossible size") {
  const temporary_dir dir;
  const std::string path = (dir / "page.ulp").string();
  for (const int size : {0, 3, 256, 511, 513, 4096, 16384, 65535}) {
    std::string bytes = read_file(bundled());
    bytes[16] = static_cast<char>(size >> 8);
    bytes[17] = static_cast<char>(size & 0xFF);
    write_new(path, bytes);
    check_refused(path, "page size " + std::to_string(size));
  }
}

TEST_CASE("of many problems the first is told, and ulp check lists each in a row") {
  const temporary_dir dir;
  const std::string path = recorded(dir);
  std::string bytes = read_file(path);
  for (std::size_t page = 8; 8192 * page + 8 < bytes.size(); page += 2) bytes.replace(8192 * page, 8, 8, '\x5A');
  write_new(path, bytes);
  const program_result checked = run_ulp("check --csv - " + path);
  CHECK(checked.exit_code == 1);
  CHECK(std::count(checked.out.begin(), checked.out.end(), '\n') > 3);
  for (const std::string_view none : {"\\x0A", "***"}) CHECK(checked.out.find(none) == std::string::npos);
  const measured run = run_bounded({"info", path});
  INFO(run.err);
  CHECK(run.exit_code == 2);
  CHECK(run.err.size() < 400);
  CHECK(run.err.find(" problems, which ulp check lists)") != std::string::npos);
}

TEST_CASE("nothing is concluded from a recording without steps") {
  const temporary_dir dir;
  const std::string path = (dir / "none.ulp").string();
  ulp::recording_writer(path, ulp::recording_writer::mode::create).close();
  for (const std::string& command : {"replay " + path + " --scaler pytorch --format fp16", "advise " + path,
                                     "sweep " + path + " --scaler pytorch --format fp16", "report " + path + " -o -",
                                     "outcomes " + path + " --format fp16"}) {
    CAPTURE(command);
    const program_result run = run_ulp(command);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(run.err ==
          "ulp: " + path + ": holds no steps, so there is nothing to analyse (microbatches alone are not steps)\n");
  }
  CHECK(run_ulp("info " + path).out.find("steps        none") != std::string::npos);
}

TEST_CASE("ulp check finds what levels say wrongly, and lists all that is wrong") {
  const temporary_dir dir;
  const std::string path = (dir / "levels.ulp").string();
  REQUIRE(run_ulp("record " + example + " -o " + path).exit_code == 0);
  const std::string good = read_file(path);
  const auto found = [&](const mutation& m) {
    write_new(path, good);
    {
      recording_file file(path);
      m.apply(file);
    }
    mend_checksums(path);
    const program_result run = run_ulp("check --csv - " + path);
    INFO(m.name << "\n" << run.out << run.err);
    CHECK(run.exit_code == 1);
    std::cout << run.out;
    return run.out;
  };
  CHECK(found(sql("UPDATE level SET width=63 WHERE block=0 AND width=64")).find("no such width") != std::string::npos);
  CHECK(found(sql("UPDATE level SET cells=(SELECT cells FROM level WHERE width=64 AND block=1), summary=(SELECT "
                  "summary FROM "
                  "level WHERE width=64 AND block=1) WHERE width=64 AND block=2"))
            .find("not what the tables of its steps add up to") != std::string::npos);
  CHECK(found(sql("UPDATE level_total SET tensors=1 WHERE width=64 AND block=2")).find("add up to") !=
        std::string::npos);
  CHECK(found(sql("DELETE FROM level_total WHERE width=64 AND block=2")).find("is missing") != std::string::npos);
  const std::string many = found({"two tensors of one step, a total and a header", [](recording_file& f) {
                                    change_summary(f, 8, little(number_at(f, 8) + 1));
                                    change_summary(f, 104 + 56, little(0.0));
                                    f.run("UPDATE total SET tensors=3 WHERE step=5");
                                    f.run("UPDATE meta SET value='7' WHERE key='rank'");
                                  }});
  CHECK(std::count(many.begin(), many.end(), '\n') >= 5);
}
