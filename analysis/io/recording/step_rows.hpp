// The rows of the table of steps, in the order of their keys.
#ifndef ULP_IO_RECORDING_STEP_ROWS_HPP
#define ULP_IO_RECORDING_STEP_ROWS_HPP

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <ulp/io/source/source.hpp>

#include "attempts.hpp"
#include "checksum.hpp"
#include "database/sqlite.hpp"

namespace ulp::io {

struct steps_asked {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const steps_asked&, const steps_asked&) = default;
};

// " WHERE ..." of a statement; nothing where all are asked for: it would hide steps that are no integers.
[[nodiscard]] std::string condition_of(const steps_asked& asked);

class step_rows {
 public:
  enum class with : std::uint8_t { scalars, tables };

  step_rows(const database& db, with what, const steps_asked& asked = {}, counted_attempts counted = {});

  // Moves on to the next that counts; false at the end, after which SQLite holds nothing of the file. Throws payload_error where the key is none, or
  // does not come after the one before: a damaged index cannot be relied on for what follows.
  [[nodiscard]] bool next();
  [[nodiscard]] const std::optional<step_key>& key() const noexcept { return key_; }

  // The row except for its tables, which it leaves as they are. Checks its checksum. Throws payload_error.
  void read(step& into) const;
  // Valid until `next`. Throws payload_error.
  [[nodiscard]] std::string_view summary() const { return rows_->blob_at(step_row.ends[0]); }
  [[nodiscard]] std::string_view cells() const { return rows_->blob_at(step_row.ends[0] + 1); }

 private:
  const database* db_;
  counted_attempts counted_;
  std::size_t parts_;  // of a row's checksum
  std::optional<statement> rows_;
  std::optional<step_key> key_;
};

}  // namespace ulp::io

#endif
