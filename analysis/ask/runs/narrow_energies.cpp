#include "narrow_energies.hpp"

#include <cmath>

#include "columns/row_blocks.hpp"

namespace ulp {

narrow_energies::narrow_energies(std::span<const plan_treatment> treatments, source_options& how)
    : treatments_(treatments) {
  how.with_errors = true;
  how.with_blocks = true;
  for (const plan_treatment& t : treatments_) {
    const block_format* const row = t.blocks();
    quantized_at_.push_back(how.quantized.size());
    energies_.emplace_back();
    if (row == nullptr) continue;
    how.quantized.push_back({.row = *row, .with_errors = true});
    if (why_tables_do_not_bound(*row).empty()) energies_.back().emplace(*row);
  }
}

const quantized_outcomes* narrow_energies::counted(std::size_t treatment, const tensor_row& row) const {
  if (treatments_[treatment].blocks() == nullptr || row.quantized == nullptr) return nullptr;
  return &row.quantized->at(quantized_at_[treatment]);
}

lost_energy narrow_energies::operator()(std::size_t treatment, const tensor_row& row, plan_doubts& doubts) const {
  const plan_treatment& t = treatments_[treatment];
  const block_format* const blocks = t.blocks();
  doubts.no_ladder = doubts.no_ladder || !row.table.has_errors;
  doubts.no_maximum = doubts.no_maximum || std::isnan(row.table.max_abs);
  doubts.near_overflow = doubts.near_overflow || row.table.max_abs > 0x1p127;
  doubts.is_double = doubts.is_double || row.type == dtype::float64;
  if (blocks == nullptr) return lost_energy_in_tensor_scale(row, t.elements());
  if (const quantized_outcomes* const of = counted(treatment, row)) return lost_energy_of(*of);
  if (!energies_[treatment]) {
    doubts.needs_values = true;
    return {.share = {0, no_bound}, .estimate = no_bound, .may_saturate = true};
  }
  const block_table* const table = block_table_of(row, blocks->block);
  doubts.no_blocks = doubts.no_blocks || table == nullptr;
  return (*energies_[treatment])(row, table);
}

}  // namespace ulp
