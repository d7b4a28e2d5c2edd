// Of a recording, which holds counts and no elements: the errors that independent micro-batches would have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/outcomes/row_outcomes.hpp>
#include <ulp/model/recipe/scaling.hpp>

#include "accumulation_ways.hpp"

namespace ulp {
namespace {

// What was recorded of one tensor.
struct seen_tensor {
  std::uint64_t numel = 0;
  std::uint64_t microbatches = 0;  // rows of them in the step that has most
  std::uint64_t nonzero = 0;
  std::vector<count_range> not_normal;  // of each way
};

std::map<std::uint32_t, seen_tensor> read_rows(const accumulate_question& asked,
                                               const std::vector<accumulation_way>& ways, source& from, listener& to) {
  const selection selected = asked.run.selected();
  std::map<std::uint32_t, seen_tensor> all;
  std::map<std::uint32_t, std::pair<step_key, std::uint64_t>> now_counted;
  work reading(to, "steps", from.step_count());
  for (step now; from.next(now);) {
    reading.advance();
    if (!selected.takes(now.key.step)) continue;
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from.tensors()[row.tensor];
      if (!is_scaled(info) || !selected.takes(info)) continue;
      seen_tensor& seen = all[row.tensor];
      seen.numel = std::max(seen.numel, row.table.numel);
      if (now.key.microbatch >= 0) {
        auto& [key, count] = now_counted[row.tensor];
        if (key.step != now.key.step || key.attempt != now.key.attempt) count = 0;
        key = now.key;
        seen.microbatches = std::max(seen.microbatches, ++count);
      }
      seen.nonzero += row.table.nonzero_finite();
      seen.not_normal.resize(ways.size());
      for (std::size_t w = 0; w < ways.size(); ++w) {
        const outcome_counts counts = outcomes_of(row, {ways[w].how.accumulator, ways[w].how.rounding}, multiplier{});
        for (const count_range& part : {counts.underflow, counts.subnormal, counts.overflow})
          seen.not_normal[w] += part;
      }
    }
  }
  return all;
}

}  // namespace

std::vector<accumulation_row> modelled_accumulation(const accumulate_question& asked,
                                                    const std::vector<accumulation_way>& ways, std::uint64_t configured,
                                                    listener& to) {
  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to);
  if (from->kind() != source_kind::recording)
    throw std::invalid_argument(
        fmt::format("{}: accumulation is measured on dumps of micro-batches, and modelled for recordings; this is a {}",
                    asked.run.inputs.front(), from->description()));
  const auto all = read_rows(asked, ways, *from, to);
  if (all.empty())
    throw std::invalid_argument(fmt::format("{}: has no gradients of the selected tensors and steps{}",
                                            asked.run.inputs.front(), near_tensors(asked.run.tensor, *from)));
  std::vector<accumulation_row> rows;
  std::set<std::string> beyond;
  for (const auto& [index, seen] : all) {
    const std::uint64_t recorded = seen.microbatches > 0 ? seen.microbatches : configured;
    const std::uint64_t count = asked.microbatches > 0 ? asked.microbatches : recorded;
    if (count == 0)
      throw std::invalid_argument(
          fmt::format("{}: holds no rows of micro-batches; say how many are accumulated: --microbatches N",
                      asked.run.inputs.front()));
    for (std::size_t w = 0; w < ways.size(); ++w) {
      const double nonzero = static_cast<double>(seen.nonzero);
      const auto share = [&](std::uint64_t n) { return std::min(static_cast<double>(n) / nonzero, 1.0); };
      accumulation_row& row = rows.emplace_back();
      row.tensor = from->tensors()[index].name;
      row.way = ways[w];
      row.microbatches = count;
      row.numel = seen.numel;
      const double modelled = modelled_accumulation_error(ways[w].how, count);
      const bool holds = accumulation_model_holds(ways[w].how, count);
      row.relative_error = holds ? modelled : not_known;
      if (!holds) beyond.insert(fmt::format("{} ({})", ways[w].format_name, ways[w].order));
      if (seen.nonzero > 0)
        row.beyond_normal = value_range{share(seen.not_normal[w].low), share(seen.not_normal[w].high)};
    }
  }
  if (!beyond.empty())
    to.note(
        fmt::format("no number where the model does not hold, for too many micro-batches: {}; see docs/precision.md",
                    fmt::join(beyond, ", ")));
  to.note(
      "modelled: independent micro-batches of mean zero, whose sums are normal numbers of the format; a common mean or "
      "sums that are not normal add to the error");
  return rows;
}

}  // namespace ulp
