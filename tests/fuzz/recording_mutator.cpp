// Changes recordings where checksums would hide what is changed at random: values of rows, and what is in compressed blobs,
// with checksums that fit. Files that are no sound database, and a part of the others, are changed byte by byte.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>

#include "database/sqlite.hpp"
#include "encoding/numbers.hpp"
#include "encoding/payload.hpp"
#include "io/mended.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace ulp;
using io::statement;
using generator = std::minstd_rand;

std::size_t below(generator& random, std::size_t n) { return random() % n; }

std::string mutated(std::string bytes) {
  const std::size_t size = bytes.size();
  bytes.resize(size + 64);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

std::string content_of(std::string_view blob) {
  io::inflater from;
  from.open(blob, io::payload_limit);
  std::string all;
  for (std::string_view part = from.ahead(1); !part.empty(); part = from.ahead(1)) {
    all += part;
    from.skip(part.size());
  }
  return all;
}

std::int64_t some_integer(generator& random, std::int64_t now) {
  constexpr std::array edges{std::int64_t{0},
                             std::int64_t{-1},
                             std::int64_t{1} << 31,
                             std::int64_t{1} << 40,
                             std::int64_t{1} << 62,
                             std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max()};
  if (random() % 3 == 0) return edges[below(random, edges.size())];
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(now) + random() % 9 - 4);
}

double some_real(generator& random, double now) {
  constexpr std::array edges{0.0, -0.0, -1.0, 1e-320, 1e308, std::numeric_limits<double>::infinity()};
  return random() % 3 == 0 ? edges[below(random, edges.size())] : now * static_cast<double>(random() % 5);
}

// A number of the summary record in it.
std::string with_number(generator& random, std::string summary) {
  if (summary.size() < io::summary_size) return mutated(summary);
  const std::size_t at = below(random, summary.size() / 8) * 8;
  std::string bytes;
  if (random() % 2 == 0)
    io::append_u64(bytes, static_cast<std::uint64_t>(some_integer(random, std::int64_t(io::u64_at(summary, at)))));
  else
    io::append_f64(bytes, some_real(random, io::f64_at(summary, at)));
  return summary.replace(at, 8, bytes);
}

void change_value(io::database& db, generator& random) {
  constexpr std::array tables{"meta", "tensor", "step", "step", "total", "level", "level_total", "extra"};
  const std::string table = tables[below(random, tables.size())];
  const bool keyed = table == "meta" || table == "extra";
  const std::string key = keyed ? (table == "meta" ? "key" : "name") : "rowid";
  const std::int64_t rows = db.number(("SELECT count(*) FROM " + table).c_str());
  if (rows == 0) return;
  statement columns(db, "SELECT name FROM pragma_table_info(?) WHERE name<>'crc' ORDER BY random() LIMIT 1");
  columns.bind(std::string_view{table});
  if (!columns.row()) return;
  const std::string column{columns.text_at(0)};
  columns.reset();
  statement row(db, ("SELECT " + column + ", " + key + " FROM " + table + " LIMIT 1 OFFSET ?").c_str());
  row.bind(static_cast<std::int64_t>(below(random, static_cast<std::size_t>(rows))));
  if (!row.row()) return;
  const std::string sql = "UPDATE " + table + " SET " + column + "=? WHERE " + key + "=?";
  const std::string name = keyed ? std::string{row.bytes(1)} : "";
  const std::int64_t id = keyed ? 0 : row.integer(1);
  const int type = row.type(0);
  const std::string now{row.bytes(0)};
  const std::int64_t integer = type == SQLITE_INTEGER ? row.integer(0) : 0;
  const double real = type == SQLITE_FLOAT ? row.real(0) : 1;
  row.reset();
  const auto set = [&](const auto& value) {
    statement update(db, sql.c_str());
    if (keyed)
      update.bind(value, std::string_view{name}).row();
    else
      update.bind(value, id).row();
  };
  if (random() % 16 == 0) return set(std::string_view{now});  // as a text, whatever it was
  if (column == "cells") return set(statement::blob{io::compress(mutated(content_of(now)))});
  if (column == "summary" && random() % 2 == 0) return set(statement::blob{with_number(random, now)});
  if (type == SQLITE_BLOB) return set(statement::blob{mutated(now)});
  if (type == SQLITE_TEXT) return set(std::string_view{mutated(now)});
  if (type == SQLITE_INTEGER) return set(some_integer(random, integer));
  set(some_real(random, real));
}

void change_rows(io::database& db, generator& random) {
  constexpr std::array statements{
      "DELETE FROM step WHERE rowid=(SELECT rowid FROM step ORDER BY random())",
      "DELETE FROM total WHERE rowid=(SELECT rowid FROM total ORDER BY random())",
      "INSERT INTO step SELECT step+1, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, "
      "applied, "
      "max_abs, summary, cells, crc FROM step ORDER BY random() LIMIT 1",
      "INSERT INTO total SELECT * FROM total ORDER BY random() LIMIT 1",
      "UPDATE step SET cells=(SELECT cells FROM step ORDER BY random())",
      "INSERT OR REPLACE INTO level SELECT 64, 0, ranks, count(*), min(step), max(step), summary, cells, crc FROM step",
      "INSERT OR REPLACE INTO level SELECT 4096, 0, ranks, count(*), min(step), max(step), summary, cells, crc FROM "
      "step",
      "INSERT INTO level_total SELECT 64, 0, '0', kind, role, tensors, summary, cells, crc FROM total LIMIT 1",
      "INSERT OR REPLACE INTO extra SELECT step, attempt, microbatch, 0, 'x', cells, crc FROM step LIMIT 1"};
  db.run(statements[below(random, statements.size())]);
}

// In the memory of the machine; removed at the end.
class workbench {
 public:
  workbench()
      : folder_(std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path()) {
    std::string name = (folder_ / "ulp-mutate-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
  }
  ~workbench() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  workbench(const workbench&) = delete;
  workbench& operator=(const workbench&) = delete;

  std::string changed(const std::string& bytes, generator& random) const {
    for (const auto& left : std::filesystem::directory_iterator(folder_)) std::filesystem::remove(left);
    const std::string path = (folder_ / "r.ulp").string();
    std::ofstream(path, std::ios::binary) << bytes;
    {
      io::database db({.shown = path, .file = path, .access = io::file_access::writing});
      statement sound(db, "PRAGMA quick_check");  // others may be read for ever
      if (!sound.row() || sound.text_at(0) != "ok") return "";
      sound.reset();
      db.run("PRAGMA synchronous=OFF");
      for (std::size_t n = 1 + below(random, 3); n > 0; --n)
        if (random() % 8 == 0)
          change_rows(db, random);
        else
          change_value(db, random);
    }
    if (random() % 16 != 0) test::mend_checksums(path);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  static const workbench bench;
  generator random(seed);
  if (random() % 5 != 0) try {
      const std::string bytes = bench.changed({data, data + size}, random);
      if (!bytes.empty() && bytes.size() <= most) {
        std::copy(bytes.begin(), bytes.end(), data);
        return bytes.size();
      }
    } catch (const std::exception&) {  // what cannot be changed so is changed otherwise
    }
  return LLVMFuzzerMutate(data, size, most);
}
