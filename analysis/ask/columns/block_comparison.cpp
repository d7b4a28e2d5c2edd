#include <ulp/ask/columns/block_comparison.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <ulp/model/outcomes/one_block.hpp>
#include <utility>

#include "row_blocks.hpp"

namespace ulp {
namespace {

bool has_extents(const block_extent& block) { return block.rows > 0 && block.columns > 0; }

}  // namespace

namespace detail {

// What is known of the tensors seen so far, from one kind of table.
struct sums {
  block_exponents exponents;
  block_outcomes outcomes;
  std::uint64_t tensors = 0;
};

// One row, while tensors come in.
class comparing {
 public:
  explicit comparing(named_block_format of) : of_(std::move(of)), why_(why_block_tables_do_not_tell(*of_.row)) {
    is_whole_ = of_.row->block.rows == 0 && of_.row->block.columns == 0;
    tells_whole_ = why_one_block_does_not_tell(*of_.row).empty();
    if (why_.empty() && has_extents(of_.row->block)) counter_.emplace(*of_.row);
  }

  void add(const tensor_row& row) {
    const block_extent block = of_.row->block;
    if (tells_whole_) add_whole(row);
    if (const block_table* const table = block_table_of(row, block))
      add_table(along_last_, *table);
    else if (const block_table* const other = block_table_of(row, {block.columns, block.rows}))
      add_table(along_other_, *other);
    ++rows_;
  }

  [[nodiscard]] compared_blocks result() const {
    compared_blocks made{.of = of_};
    made.along_other = along_last_.tensors == 0 && along_other_.tensors > 0;
    const sums& tables = made.along_other ? along_other_ : along_last_;
    const auto take = [&](const sums& all, block_basis basis) {
      made.basis = basis;
      made.exponents = all.exponents;
      made.outcomes = all.outcomes;
      made.counted = all.tensors;
      made.left_out = rows_ - all.tensors;
    };
    if (is_whole_ && whole_.tensors > 0) {
      take(whole_, block_basis::scale);
    } else if (tables.tensors > 0) {
      take(tables, counter_ ? block_basis::scale : block_basis::amax);
      if (!counter_) made.why_open = why_;
    } else {
      if (whole_.tensors > 0) take(whole_, block_basis::tensor_scale);
      made.why_open = why_.empty() ? missing() : why_;
    }
    made.has_outcomes = made.basis == block_basis::scale;
    return made;
  }

 private:
  void add_whole(const tensor_row& row) {
    whole_.exponents += exponents_as_one_block(*of_.row, row.table);
    whole_.outcomes += outcomes_as_one_block(*of_.row, row.table, row.type);
    ++whole_.tensors;
  }
  void add_table(sums& to, const block_table& table) const {
    to.exponents += counter_ ? counter_->exponents(table) : exponents_below_amax(table);
    if (counter_) to.outcomes += (*counter_)(table);
    ++to.tensors;
  }
  [[nodiscard]] std::string missing() const {
    const block_extent block = of_.row->block;
    if (!has_extents(block)) return "its scale is of a row, of which there are no block tables";
    return fmt::format("the input has no tables of such blocks (ulp record --blocks {})",
                       block.rows == 1 ? fmt::to_string(block.columns)
                                       : fmt::format("{}x{}", block.rows, block.columns));
  }

  named_block_format of_;
  std::string why_;  // block tables do not tell
  bool is_whole_ = false;
  bool tells_whole_ = false;
  std::optional<block_outcome_counter> counter_;
  sums along_last_;
  sums along_other_;
  sums whole_;
  std::uint64_t rows_ = 0;
};

}  // namespace detail

struct block_comparison::state {
  std::vector<detail::comparing> rows;
  std::vector<block_extent> extents;
};

std::vector<named_block_format> block_formats_named(const std::vector<std::string>& names, const std::string& option) {
  std::vector<named_block_format> all;
  for (const std::string& name : names) {
    const block_format* const row = find_block_format(name);
    if (row == nullptr) {
      std::vector<std::string> known;
      for (const block_alias& a : block_aliases()) known.emplace_back(a.name);
      for (const block_format& r : block_formats()) known.emplace_back(r.name);
      throw std::invalid_argument(fmt::format("{}: '{}' is no format of blocks{}; `ulp formats --blocks` lists them",
                                              option, name, did_you_mean(name, known)));
    }
    all.push_back({name, row});
  }
  return all;
}

void refuse_blocks_as_format(const std::string& format) {
  if (find_block_format(format) != nullptr)
    throw std::invalid_argument(fmt::format(
        "--format: {} has blocks that share a scale, in which a loss scale has no part: --block {} shows it beside the "
        "replay",
        format, format));
}

std::vector<named_block_format> usual_block_formats() {
  std::vector<named_block_format> all;
  for (const block_alias& alias : block_aliases()) {
    const block_format* const row = find_block_format(alias.stands_for);
    if (std::ranges::find(all, row, &named_block_format::row) == all.end())
      all.push_back({std::string{alias.name}, row});
  }
  return all;
}

block_comparison::block_comparison(const std::vector<named_block_format>& rows) : state_(std::make_unique<state>()) {
  for (const named_block_format& of : rows) {
    state_->rows.emplace_back(of);
    const block_extent block = of.row->block;
    if (has_extents(block) && std::ranges::find(state_->extents, block) == state_->extents.end())
      state_->extents.push_back(block);
  }
}
block_comparison::~block_comparison() = default;
block_comparison::block_comparison(block_comparison&&) noexcept = default;
block_comparison& block_comparison::operator=(block_comparison&&) noexcept = default;

const std::vector<block_extent>& block_comparison::extents() const noexcept { return state_->extents; }

void block_comparison::add(const tensor_row& row) {
  for (detail::comparing& one : state_->rows) one.add(row);
}

std::vector<compared_blocks> block_comparison::result() const {
  std::vector<compared_blocks> all;
  for (const detail::comparing& one : state_->rows) all.push_back(one.result());
  return all;
}

}  // namespace ulp
