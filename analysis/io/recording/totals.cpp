#include "totals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "checksum.hpp"
#include "encoding/payload.hpp"
#include "encoding/tables.hpp"
#include "schema.hpp"

namespace ulp::io {

void merge_table(cell_table& to, const cell_table& from) {
  const auto in_no_cell = [](const cell_table& t) {
    return t.cells.empty() && t.buckets.empty() && t.nonzero_finite() > 0;
  };
  const bool none = in_no_cell(to) || in_no_cell(from);
  to.merge(from);
  if (none) {
    to.cells.clear();
    to.buckets.clear();
  }
}

total_key key_of(tensor_kind kind, tensor_role role, double factor) {
  const bool known = !std::isnan(factor);
  return {kind, role, known, known ? factor : 0};
}

void sort_totals(std::vector<group_total>& totals) {
  const auto key = [](const group_total& t) { return key_of(t.kind, t.role, t.factor); };
  std::ranges::sort(totals, {}, key);
  if (std::ranges::adjacent_find(totals, {}, key) != totals.end()) throw payload_error("a total that occurs twice");
}

void total_merger::add(tensor_kind kind, tensor_role role, double factor, const cell_table& table,
                       std::uint64_t tensors) {
  const auto [at, is_new] = groups_.try_emplace(key_of(kind, role, factor));
  group_total& total = at->second;
  if (is_new) {
    total.kind = kind;
    total.role = role;
    total.factor = factor;
    total.table = table;
  } else {
    merge_table(total.table, table);
  }
  total.tensors += tensors;
}

std::vector<group_total> total_merger::take() {
  std::vector<group_total> all;
  all.reserve(groups_.size());
  for (auto& [key, total] : groups_) all.push_back(std::move(total));
  groups_.clear();
  return all;
}

total_blobs::total_blobs(const group_total& total) {
  tensor_row row;
  row.factor = total.factor;
  row.table = total.table;
  append_summary(summary, row);
  std::string payload;
  append_payload(payload, row);
  cells = compress(payload);
}

group_total total_at(const statement& row, totals_with with, std::uint64_t most) {
  constexpr int column = 3;
  const auto kind = parse_kind(row.text_at(column));
  const auto role = parse_role(row.text_at(column + 1));
  const std::int64_t tensors = row.integer(column + 2);
  const std::string_view summary = row.blob_at(column + 3);
  if (!kind || !role || tensors < 1 || summary.size() != summary_size) throw payload_error("a damaged total");
  tensor_row merged = parse_summary(summary);
  if (merged.tensor != 0 || merged.type != dtype::unknown) throw payload_error("a total with a tensor's index or type");
  if (with == totals_with::summaries) {
    without_payload(merged);
  } else {
    thread_local inflater payload;
    payload.open(row.blob_at(column + 4), payload_limit);
    take_next_payload(payload, merged, most);
    payload.close();
  }
  check_summary_sums(summary, merged);
  group_total total;
  total.kind = *kind;
  total.role = *role;
  total.tensors = static_cast<std::uint64_t>(tensors);
  total.factor = merged.factor;
  total.table = std::move(merged.table);
  return total;
}

std::string total_columns(const database& of, totals_with with) {
  const std::string cells = with == totals_with::cells ? "cells, " : "";
  return "step, attempt, microbatch, kind, role, tensors, summary, " + cells + crc_column(of);
}

group_total checked_total(const database& of, const statement& row, totals_with with) {
  check_row(of, row, total_row, with == totals_with::cells ? 2 : 1);
  return total_at(row, with);
}

total_rows::total_rows(const database& db, totals_with with, const steps_asked& asked)
    : db_(&db),
      with_(with),
      rows_(db, ("SELECT " + total_columns(db, with) + " FROM total" + condition_of(asked) +
                 " ORDER BY step, attempt, microbatch")
                    .c_str()),
      pending_(rows_.row()) {}

void total_rows::take(const step_key& key, std::vector<group_total>& into) {
  into.clear();
  constexpr std::size_t most = 1 << 16;  // kinds, roles, factors
  while (pending_ && key_at(rows_) < key) pending_ = rows_.row();
  while (pending_ && key_at(rows_) == key) {
    if (into.size() == most) throw payload_error("more totals than a step has");
    into.push_back(checked_total(*db_, rows_, with_));
    pending_ = rows_.row();
  }
  if (into.empty() && has_tensors(key))
    throw payload_error("is missing, although the step has tensors: the file is damaged");
  sort_totals(into);
}

// From the table itself: an index may be what is damaged.
bool total_rows::has_tensors(const step_key& key) {
  if (!tables_)
    tables_.emplace(
        *db_,
        "SELECT length(summary) FROM step NOT INDEXED WHERE rowid IN (SELECT rowid FROM step WHERE step=? AND "
        "attempt=? AND microbatch=?)");
  tables_->bind(key.step, std::int64_t{key.attempt}, std::int64_t{key.microbatch});
  const bool has = tables_->row() && tables_->integer(0) > 0;
  tables_->reset();
  return has;
}

}  // namespace ulp::io
