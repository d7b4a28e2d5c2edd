#include "step_merger.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "recording/schema.hpp"
#include "recording/totals.hpp"
#include "source/blocks_of_both.hpp"
#include "source/codes_of_both.hpp"

namespace ulp::io {
namespace {

constexpr const char* not_replicas =
    ": replicas hold the same reduced gradients; parts of tensors are recorded with --layout shard, each rank's own "
    "gradients with --reduction local, and for a run that was restarted give --later-wins";

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string factor_text(double x) { return std::isnan(x) ? "is not known" : "is " + decimal_text(x); }

}  // namespace

void step_merger::begin(bool replicas) {
  replicas_ = replicas;
  first_ = true;
  own_loss_ = false;
  rows_.clear();
  at_.clear();
}

void step_merger::add(step& row, const std::vector<tensor_info>& tensors, const std::string& path) {
  at_.resize(std::max(at_.size(), tensors.size()));
  if (first_) {
    merged_ = {
        .key = row.key, .scalars = row.scalars, .max_abs = row.max_abs, .bounds = row.bounds, .ranks = row.ranks};
    path_ = path;
  } else {
    std::vector<std::uint32_t> ranks;
    std::ranges::set_union(merged_.ranks, row.ranks, std::back_inserter(ranks));
    merged_.ranks = std::move(ranks);
    add_scalars(row, path);
    if (replicas_ && rows_.size() != row.tensors.size())
      throw input_error(path, describe(row.key),
                        "has " + std::to_string(row.tensors.size()) + " tensors, and " + path_ + " has " +
                            std::to_string(rows_.size()) + not_replicas);
  }
  for (tensor_row& t : row.tensors) {
    const std::string& name = tensors[t.tensor].name;
    const std::size_t at = at_[t.tensor];
    if (at == 0 && replicas_ && !first_)
      throw input_error(path, describe(row.key) + ", tensor " + in_quotes(name), "is not in " + path_ + not_replicas);
    if (at == 0) {
      at_[t.tensor] = rows_.size() + 1;
      rows_.push_back({.row = std::move(t), .path = path});
    } else if (replicas_) {
      compare(t, name, path);
    } else {
      add_table(std::move(t), name, path);
    }
  }
  first_ = false;
}

void step_merger::add_scalars(const step& row, const std::string& path) {
  step_scalars& to = merged_.scalars;
  const step_scalars& from = row.scalars;
  const auto fail = [&](const std::string& what) {
    throw input_error(path, describe(row.key),
                      "logs another " + what + " than " + path_ + ": ranks of one step share it");
  };
  const auto must_agree = [&](double& a, double b, const char* what) {
    if (!std::isnan(a) && !std::isnan(b) && a != b) fail(what);
    if (std::isnan(a)) a = b;
  };
  const auto largest = [&](double& a, double b) {
    own_loss_ = own_loss_ || (!std::isnan(a) && !std::isnan(b) && a != b);
    a = std::fmax(a, b);
  };
  const auto combine = [&](std::optional<bool>& a, std::optional<bool> b, bool stronger, const char* what) {
    if (replicas_ && a && b && *a != *b) fail(what);
    if (!a || b == stronger) a = b ? b : a;
  };
  must_agree(to.learning_rate, from.learning_rate, "learning rate");
  must_agree(to.loss_scale, from.loss_scale, "loss scale");
  largest(to.loss, from.loss);
  largest(to.grad_norm, from.grad_norm);
  combine(to.found_inf, from.found_inf, true, "found_inf");
  combine(to.applied, from.applied, false, "applied");

  if (merged_.bounds && row.bounds && merged_.bounds != row.bounds) fail("bounds on the largest gradient");
  if (!merged_.bounds) merged_.bounds = row.bounds;
  // Of a step log: NaN is what counts most.
  if (!merged_.max_abs || !row.max_abs) {
    if (row.max_abs) merged_.max_abs = row.max_abs;
  } else if (!same(*merged_.max_abs, *row.max_abs)) {
    if (replicas_) fail("largest gradient");
    if (!std::isnan(*merged_.max_abs) && !(*row.max_abs < *merged_.max_abs)) merged_.max_abs = row.max_abs;
  }
}

void step_merger::add_table(tensor_row&& row, const std::string& name, const std::string& path) {
  merged_row& to = rows_[at_[row.tensor] - 1];
  const std::string place = describe(merged_.key) + ", tensor " + in_quotes(name);
  if (to.row.type != row.type)
    throw input_error(path, place,
                      "its values are " + std::string{to_string(row.type)} + ", and " +
                          std::string{to_string(to.row.type)} + " in " + to.path +
                          ": all ranks must record a tensor in the same type");
  if (!same(to.row.factor, row.factor))
    throw input_error(path, place,
                      "its factor " + factor_text(row.factor) + ", and " + factor_text(to.row.factor) + " in " +
                          to.path +
                          ": values of different scales cannot be added; record both with the right --factor");
  if (row.table.numel > max_numel - to.row.table.numel)
    throw input_error(path, place, "has more than the 2^40 elements that a table may have, with those of " + to.path);
  const auto compare_contents = [&](bool here, bool there, bool& already, dropped& all) {
    if (here == there || already || row.table.numel == 0 || to.row.table.numel == 0) return;
    already = true;
    if (all.rows++ == 0) all.path = here ? to.path : path;
  };
  compare_contents(row.table.has_sums, to.row.table.has_sums, to.dropped_sums, sums_);
  compare_contents(row.table.has_errors, to.row.table.has_errors, to.dropped_errors, errors_);
  if (!merge_blocks(to.row, row) && !to.dropped_blocks) {
    to.dropped_blocks = true;
    if (blocks_.rows++ == 0) blocks_.path = row.blocks == nullptr ? path : to.path;
  }
  to.row.codes = codes_of_both(to.row, row);
  if (to.row.parts != row.parts) to.row.parts = {};
  merge_table(to.row.table, row.table);
}

void step_merger::compare(const tensor_row& row, const std::string& name, const std::string& path) const {
  const merged_row& to = rows_[at_[row.tensor] - 1];
  const char* const what = to.row.type != row.type                                  ? "type"
                           : !same(to.row.factor, row.factor)                       ? "factor"
                           : to.row.table != row.table || to.row.codes != row.codes ? "counts"
                           : to.row.parts != row.parts                              ? "parts of a sum"
                           : !same_blocks(to.row, row)                              ? "block tables"
                                                                                    : nullptr;
  if (what != nullptr)
    throw input_error(path, describe(merged_.key) + ", tensor " + in_quotes(name),
                      "has other " + std::string{what} + " than in " + to.path + not_replicas);
}

void step_merger::take(step& into) {
  std::vector<tensor_row> room = std::move(into.tensors);
  into = std::move(merged_);
  room.clear();
  for (merged_row& r : rows_) room.push_back(std::move(r.row));
  std::ranges::sort(room, {}, &tensor_row::tensor);
  into.tensors = std::move(room);
  own_losses_ += own_loss_ ? 1 : 0;
  rows_.clear();
  merged_ = {};
}

}  // namespace ulp::io
