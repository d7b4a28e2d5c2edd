// What the writer and the readers of recordings share: identity, tables, keys as text. docs/recording-format.md is the law.
#ifndef ULP_IO_RECORDING_SCHEMA_HPP
#define ULP_IO_RECORDING_SCHEMA_HPP

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

#include "database/sqlite.hpp"
#include "encoding/payload.hpp"

namespace ulp::io {

inline constexpr std::int64_t application_id = 0x756C7072;  // "ulpr"
inline constexpr std::int64_t format_version = 2;

// The statements that make a recording's tables, as docs/recording-format.md and SCHEMA of python/ulpscope/_file/schema.py have them;
// no other is taken. checksum.hpp and step_rows.cpp count their columns.
inline constexpr const char* schema = R"sql(
  CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL, crc BLOB NOT NULL) WITHOUT ROWID;
  CREATE TABLE tensor(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, role TEXT NOT NULL, through TEXT NOT NULL,
    shape TEXT NOT NULL, numel INTEGER NOT NULL, crc BLOB NOT NULL);
  CREATE TABLE step(
    step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, ranks TEXT NOT NULL,
    loss REAL, grad_norm REAL, lr REAL, loss_scale REAL, found_inf INTEGER, applied INTEGER, max_abs REAL,
    summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(step, attempt, microbatch));
  CREATE TABLE total(
    step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL,
    kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
    crc BLOB NOT NULL);
  CREATE TABLE level(
    width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
    steps INTEGER NOT NULL, first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
    summary BLOB NOT NULL, cells BLOB NOT NULL, crc BLOB NOT NULL, PRIMARY KEY(width, block, ranks));
  CREATE TABLE level_total(
    width INTEGER NOT NULL, block INTEGER NOT NULL, ranks TEXT NOT NULL,
    kind TEXT NOT NULL, role TEXT NOT NULL, tensors INTEGER NOT NULL, summary BLOB NOT NULL, cells BLOB NOT NULL,
    crc BLOB NOT NULL);
  CREATE INDEX step_scalars ON step(
    step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs, crc);
  CREATE INDEX total_summary ON total(step, attempt, microbatch, kind, role, tensors, summary, crc);
  CREATE INDEX level_total_key ON level_total(width, block, ranks);
)sql";

// Made by who first puts something into it.
inline constexpr const char* extra_schema = R"sql(
  CREATE TABLE extra(
    step INTEGER NOT NULL, attempt INTEGER NOT NULL, microbatch INTEGER NOT NULL, tensor INTEGER NOT NULL,
    name TEXT NOT NULL, content BLOB NOT NULL, crc BLOB NOT NULL,
    PRIMARY KEY(step, attempt, microbatch, tensor, name)) WITHOUT ROWID;
)sql";

[[nodiscard]] bool has_extra(const database& db);
// Whether it has rows of that name.
[[nodiscard]] bool has_extra(const database& db, std::string_view name);

// The columns of a step except for its tables, with which every reading of one begins: what its first checksum is of.
inline constexpr const char* step_columns =
    "step, attempt, microbatch, ranks, loss, grad_norm, lr, loss_scale, found_inf, applied, max_abs";

// "3,4,5" and back; empty for none.
template <typename Number>
std::string join(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

template <typename Number>
std::vector<Number> split(std::string_view text) {
  std::vector<Number> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    Number n{};
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), n);
    if (error != std::errc{} || end != item.data() + item.size()) throw payload_error("a malformed list");
    numbers.push_back(n);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return numbers;
}

// The greatest number has none behind it.
[[nodiscard]] constexpr bool may_be_step(std::int64_t number) {
  return number < std::numeric_limits<std::int64_t>::max();
}

// "step 7 attempt 1", for errors and digests.
[[nodiscard]] std::string describe(const step_key& key);

// The key in the first three columns of a row.
[[nodiscard]] step_key key_at(const statement& row);

// Refuses what is not a recording of ours before any of its content is used, and sets the version. Throws input_error.
void check_identity(database& db);

// Keys of meta: its writer closed it; steps may be missing in it for a reason that nobody else can see any more.
inline constexpr std::string_view closed_key = "closed";
inline constexpr std::string_view incomplete_key = "incomplete";
// Throws input_error.
[[nodiscard]] bool has_meta(const database& db, std::string_view key);
// Puts a key into meta, in place of the one that is there.
void write_meta(const database& db, std::string_view key, std::string_view value);

// What is missing in a recording, for people: "" where nothing is known to be. Its writer was killed, or it was copied while
// it was written.
[[nodiscard]] std::string what_is_missing(const database& db);

// Throws input_error, also payload_error for something of another type.
[[nodiscard]] run_header read_header(const database& db);

// The list of whose data a row holds. Throws payload_error.
[[nodiscard]] std::vector<std::uint32_t> parse_ranks(std::string_view text);

// Throws input_error.
[[nodiscard]] std::vector<tensor_info> read_tensors(const database& db);

}  // namespace ulp::io

#endif
