// Tables merged by kind, role and factor, as the table of totals holds them.
#ifndef ULP_IO_RECORDING_TOTALS_HPP
#define ULP_IO_RECORDING_TOTALS_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ulp/io/recording/recording.hpp>

#include "database/sqlite.hpp"
#include "step_rows.hpp"

namespace ulp::io {

// Adds the values of `from`. Where values of either are in no cell, those of both are then in none.
void merge_table(cell_table& to, const cell_table& from);

// In the order of totals: by kind, role and factor; unknown factors first.
using total_key = std::tuple<tensor_kind, tensor_role, bool, double>;
[[nodiscard]] total_key key_of(tensor_kind kind, tensor_role role, double factor);
// Throws payload_error where two are of the same.
void sort_totals(std::vector<group_total>& totals);

class total_merger {
 public:
  void add(tensor_kind kind, tensor_role role, double factor, const cell_table& table, std::uint64_t tensors = 1);
  void add(const group_total& t) { add(t.kind, t.role, t.factor, t.table, t.tensors); }
  // In their order; nothing stays.
  [[nodiscard]] std::vector<group_total> take();

 private:
  std::map<total_key, group_total> groups_;
};

// The two blobs of a total: its summary record, and its payload, compressed.
struct total_blobs {
  explicit total_blobs(const group_total& total);
  std::string summary;
  std::string cells;
};

// Elements of all tensors of a step together: sums over a million steps fit 64 bits.
inline constexpr std::uint64_t most_in_total = max_numel << 4;

// What a query for totals of steps asks for.
[[nodiscard]] std::string total_columns(const database& of, totals_with with);
// The total in a row of these, its checksum checked. Throws payload_error.
[[nodiscard]] group_total checked_total(const database& of, const statement& row,
                                        totals_with with = totals_with::cells);
// The total in a row whose columns from 3 on are kind, role, tensors, summary and, unless summaries suffice, cells. Throws
// payload_error, also for more than `most` elements.
[[nodiscard]] group_total total_at(const statement& row, totals_with with = totals_with::cells,
                                   std::uint64_t most = most_in_total);

// The totals of one step after the other.
class total_rows {
 public:
  total_rows(const database& db, totals_with with, const steps_asked& asked = {});
  // Replaces `into` by the totals of the step, in their order. Keys ascend from call to call. Throws payload_error.
  void take(const step_key& key, std::vector<group_total>& into);

 private:
  [[nodiscard]] bool has_tensors(const step_key& key);

  const database* db_;
  totals_with with_;
  std::optional<statement> tables_;  // where they are asked for
  statement rows_;
  bool pending_;  // whether rows_ stands at a row
};

}  // namespace ulp::io

#endif
