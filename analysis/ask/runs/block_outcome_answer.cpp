#include <ulp/ask/runs/block_outcome_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/repeated_steps.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/block_table.hpp>
#include <utility>

#include "columns/row_blocks.hpp"
#include "outcome_keys.hpp"

namespace ulp {
namespace {

std::string text_of(const block_extent& block) { return fmt::format("{}x{}", block.rows, block.columns); }

// As --blocks of ulp record is typed.
std::string as_typed(const block_extent& block) {
  if (block.rows == 1) return fmt::format("--blocks {}", block.columns);
  if (block.columns == 1) return fmt::format("--blocks {} --axis other", block.rows);
  return "--blocks " + text_of(block);
}

// The same of ulpscope's recorder.
std::string of_the_recorder(const block_extent& block) {
  const bool is_column = block.columns == 1 && block.rows > 1;
  const std::string extent = block.rows == 1 ? fmt::format("{}", block.columns)
                             : is_column     ? fmt::format("{}", block.rows)
                                             : fmt::format("\"{}\"", text_of(block));
  return fmt::format("ulpscope.Recorder(..., blocks={}{})", extent, is_column ? ", axis=\"other\"" : "");
}

block_case case_of(const std::string& name, const rounding_text& typed) {
  block_case made{.format_name = name, .row = *find_block_format(name), .how = {}, .rounding_name = {}};
  if (typed.given() && made.row.element.numbers == nullptr)
    throw std::invalid_argument(fmt::format("--format {}: it rounds elements in its own way only", name));
  if (typed.given()) made.how = typed.value(*made.row.element.numbers);
  made.rounding_name = to_string(made.how.value_or(rounding{.direction = made.row.rounding}));
  return made;
}

// As --axis other has them.
block_extent turned(const block_extent& block) { return {block.columns, block.rows}; }

void check_tables_tell(const block_case& of) {
  const std::string why = why_block_tables_do_not_tell(of.row, of.how);
  if (!why.empty())
    throw std::invalid_argument(
        fmt::format("--format {}: block tables cannot answer this: {}; give the dumps", of.format_name, why));
  if (of.row.block.rows == 0 || of.row.block.columns == 0)
    throw std::invalid_argument(fmt::format(
        "--format {}: its scale is of a row or a tensor, of which there are no block tables; give the dumps",
        of.format_name));
}

// Tables that rows lack, by the blocks asked for.
class missing_tables {
 public:
  void see(const tensor_row& row, const block_extent& asked) {
    ++rows_;
    if (!first_) first_ = asked;
    if (row.blocks != nullptr)
      for (const block_table& t : *row.blocks) there_.insert(text_of(t.block));
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[noreturn]] void refuse(const std::string& input, source_kind kind) const {
    if (kind != source_kind::dump && kind != source_kind::recording)
      throw std::invalid_argument(input + ": holds no raw values, so nothing is known of their blocks");
    std::string has;
    for (const std::string& block : there_) has += (has.empty() ? "" : ", ") + block;
    throw std::invalid_argument(
        kind == source_kind::dump
            ? fmt::format("{}: has no tensor with blocks of {} that can be counted", input, text_of(*first_))
            : fmt::format("{}: recorded {} blocks of {}: record with {}, or in training with {}, or give the dumps",
                          input, has.empty() ? "without" : "with blocks of " + has + ", without", text_of(*first_),
                          as_typed(*first_), of_the_recorder(*first_)));
  }
  [[nodiscard]] std::string note() const {
    return fmt::format("{} rows of tensors have no block tables and are left out", rows_);
  }

 private:
  std::uint64_t rows_ = 0;
  std::optional<block_extent> first_;
  std::set<std::string> there_;
};

}  // namespace

bool block_outcome_answer::is_by(const char* what) const { return std::ranges::find(by, what) != by.end(); }

bool asks_of_blocks(const outcome_question& asked) {
  const auto is_block = [](const std::string& name) { return find_block_format(name) != nullptr; };
  const auto blocks = std::ranges::count_if(asked.formats, is_block);
  if (blocks > 0 && static_cast<std::size_t>(blocks) < asked.formats.size())
    throw std::invalid_argument(fmt::format(
        "--format: {} has blocks that share a scale, {} has not: ask for them one after the other",
        *std::ranges::find_if(asked.formats, is_block), *std::ranges::find_if_not(asked.formats, is_block)));
  return blocks > 0;
}

block_outcome_answer block_outcomes_over(const outcome_question& o, const block_outcome_question& of_blocks,
                                         listener& to, const std::function<void(const block_outcome_answer&)>& look) {
  block_outcome_answer all{.by = o.by, .formats = {}, .named = o.run.named_groups(), .groups = {}, .tensors = {}};
  if (o.scales != std::vector<std::string>{"1"})
    throw std::invalid_argument("--scale: blocks choose their own scale; remove this option");
  for (const std::string& name : o.formats) all.formats.push_back(case_of(name, o.rounding));
  source_options how = o.run.how_to_read();
  how.with_sums = false;
  how.with_blocks = true;
  all.from_values = std::ranges::find(o.run.inputs, "-") == o.run.inputs.end() && are_dumps(o.run.inputs, how);
  if (!all.from_values && of_blocks.with_errors)
    throw std::invalid_argument(
        "--with-errors: block tables cannot answer this, only the values can; remove it, or give the dumps");
  std::vector<block_outcome_counter> counters;
  for (block_case& made : all.formats) {
    if (all.from_values) {
      how.quantized.push_back({.row = made.row,
                               .how = made.how,
                               .along_other = of_blocks.along_other,
                               .with_errors = of_blocks.with_errors,
                               .seed = o.rounding.seed});
      if (of_blocks.along_other) made.row.block = turned(made.row.block);
      continue;
    }
    check_tables_tell(made);
    if (of_blocks.along_other) made.row.block = turned(made.row.block);
    counters.emplace_back(made.row, made.how);
  }
  check_named_groups(all);
  if (look) look(all);
  const selection selected = o.run.selected();
  const std::unique_ptr<source> from = open_run(o.run, how, to);
  std::uint64_t steps = 0;
  repeated_steps repeated;
  missing_tables missing;
  const auto outcomes_of = [&](const tensor_row& row) {
    std::vector<quantized_outcomes> here;
    if (row.quantized != nullptr) return *row.quantized;
    for (std::size_t f = 0; f < all.formats.size(); ++f) {
      const block_extent& block = all.formats[f].row.block;
      const block_table* const table = all.from_values ? nullptr : block_table_of(row, block);
      if (table == nullptr) {
        missing.see(row, block);
        return std::vector<quantized_outcomes>{};
      }
      here.push_back({.counts = counters[f](*table), .knows_clamped = true, .errors = {}});
    }
    return here;
  };
  for_each_step(*from, selected, to, [&](const step& now) {
    ++steps;
    repeated.see(now.key, now.scalars);
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      if (!selected.takes(info)) continue;
      const std::vector<quantized_outcomes> here = outcomes_of(row);
      if (here.empty()) continue;
      block_outcome_group& sums = all.groups[outcome_key_of(all, row, info, now.key)];
      sums.mixed_kinds = !sums.steps.empty() && (sums.mixed_kinds || sums.kind != info.kind);
      sums.kind = info.kind;
      sums.steps.insert(now.key.step);
      sums.of.resize(here.size());
      for (std::size_t f = 0; f < here.size(); ++f) sums.of[f] += here[f];
    }
  });
  check_steps_counted(steps, o.run);
  if (all.groups.empty() && missing.rows() > 0) missing.refuse(printable(o.run.inputs.front()), from->kind());
  if (all.groups.empty())
    throw std::invalid_argument(
        o.run.inputs.front() + ": has no values of the selected tensors" +
        (from->tensors().empty() ? " (a step log has none)" : near_tensors(o.run.tensor, *from)));
  if (missing.rows() > 0) to.note(missing.note());
  for (const std::string& line : repeated.lines(o.run)) to.note(line);
  for (const std::string& line : group_notes(all.named, from->tensors(), selected)) to.note(line);
  all.tensors = from->tensors();
  return all;
}

}  // namespace ulp
