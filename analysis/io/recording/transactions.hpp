// The transactions of who writes a recording, and the key of meta that binds what lies beside the file to it: docs/recording-format.md,
// "What lies beside a recording".
#ifndef ULP_IO_RECORDING_TRANSACTIONS_HPP
#define ULP_IO_RECORDING_TRANSACTIONS_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "database/journal.hpp"
#include "database/sqlite.hpp"

namespace ulp::io {

// A write-ahead log or journal has a copy of the key, since it is changed by the first transaction in each. One of another
// recording has another id, one of another time a number that does not fit. Closing removes the key.
struct binding {
  std::string id;            // drawn when the recording is made, or opened again
  std::uint64_t number = 0;  // grows
};

// Nothing where there is none. Throws input_error.
[[nodiscard]] std::optional<binding> binding_of(const database& db);

class transactions {
 public:
  // Of a recording with the tables of ours, or of one whose tables the first transaction makes. Until `keep_by` it is taken
  // for one with a rollback journal, unless it has a log.
  explicit transactions(database& db);
  transactions(const transactions&) = delete;
  transactions& operator=(const transactions&) = delete;

  // Changes the journal, for all that comes.
  void keep_by(journal how);
  // What work does is all there in the end, or, if it or SQLite throws, nothing of it. Throws input_error.
  void run(const std::function<void()>& work);
  // Leaves a single file: true; or the log beside it, where somebody reads: false. Nothing comes after. Throws input_error.
  [[nodiscard]] bool end();

 private:
  void take_log_in();

  database* db_;
  binding next_;  // as the next transaction that changes it writes it
  bool has_tables_ = false;
  bool has_log_ = false;
  bool changes_binding_ = true;  // the next transaction does
  int pages_ = 0;                // in the log
};

}  // namespace ulp::io

#endif
