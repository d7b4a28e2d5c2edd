#include "fp8_reading.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/amax/amax_table.hpp>
#include <ulp/io/source/source.hpp>
#include <unordered_map>

namespace ulp {
namespace {

// A tensor of which only the name is known: --kind says what it is.
tensor_info named_tensor(const std::string& name, const source_options& how) {
  tensor_info t{.name = name};
  for (const auto& [expression, kind] : how.kinds)
    if (t.kind == tensor_kind::unknown && expression.matches(name)) t.kind = kind;
  return t;
}

fp8_reading read_amaxes(std::span<fp8_replayer> replays, amax_table& from, const run_text& run, listener& to,
                        const fp8_hearer& hears) {
  const source_options how = run.how_to_read();
  const selection selected = run.selected();
  fp8_reading read{.is_of_amaxes = true};
  std::unordered_map<std::string, std::uint32_t> indices;
  std::set<std::int64_t> steps;
  std::vector<fp8_row> rows;
  work reading(to, "rows", 0);
  for (amax_row now; from.next(now);) {
    reading.advance();
    if (!selected.takes(now.step)) continue;
    const auto [index, is_new] = indices.try_emplace(now.tensor, static_cast<std::uint32_t>(read.tensors.size()));
    if (is_new) read.tensors.push_back(named_tensor(now.tensor, how));
    steps.insert(now.step);
    for (fp8_replayer& replay : replays) {
      const auto row = replay.advance({.step = now.step}, index->second, static_cast<double>(now.amax), read.tensors);
      if (!row || !hears || &replay != &replays.front()) continue;
      rows.assign(1, *row);
      hears(rows, read.tensors);
    }
  }
  read.steps = steps.size();
  return read;
}

fp8_reading read_tables(std::span<fp8_replayer> replays, const run_text& run, listener& to, const fp8_hearer& hears) {
  source_options how = run.how_to_read();
  how.infer = true;
  const std::unique_ptr<source> from = open_run(run, how, to);
  if (from->tensors().empty())
    throw std::invalid_argument(fmt::format(
        "{}: a {} knows no tensors, and these policies scale each: give a recording, dumps, or a table with the columns "
        "step, tensor, amax",
        run.inputs.front(), from->description()));
  fp8_reading read;
  for_each_step(*from, run.selected(), to, [&](const step& now) {
    ++read.steps;
    for (fp8_replayer& replay : replays) {
      const std::vector<fp8_row> rows = replay.advance(now, from->tensors());
      if (hears && &replay == &replays.front()) hears(rows, from->tensors());
    }
  });
  read.tensors = from->tensors();
  return read;
}

// nullptr where the input is something else.
std::unique_ptr<amax_table> amaxes_of(const run_text& run) {
  if (run.inputs.size() != 1 || std::filesystem::is_directory(run.inputs.front())) return nullptr;
  return amax_table::open(run.inputs.front(), run.how_to_read().limits);
}

}  // namespace

fp8_reading read_into(std::span<fp8_replayer> replays, const run_text& run, listener& to, const fp8_hearer& hears) {
  const std::unique_ptr<amax_table> amaxes = amaxes_of(run);
  if (amaxes == nullptr && run.inputs.front() == "-")
    throw std::invalid_argument(
        "standard input is no table with the columns step, tensor, amax, which these policies take from there");
  const fp8_reading read =
      amaxes != nullptr ? read_amaxes(replays, *amaxes, run, to, hears) : read_tables(replays, run, to, hears);
  check_steps_counted(read.steps, run);
  for (const fp8_replayer& replay : replays)
    if (replay.summaries().empty())
      throw std::invalid_argument(fmt::format("{}: no tensor is cast under {}: --tensor, --kind and --role leave none",
                                              run.inputs.front(), replay.recipe().name));
  return read;
}

}  // namespace ulp
