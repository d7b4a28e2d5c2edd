#include "fp8_replay.hpp"

#include <fmt/format.h>

#include <optional>
#include <ulp/report/tables/fp8_table.hpp>
#include <vector>

#include "command.hpp"
#include "listening.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

// Rows as they come, some thousands at a time: a run may have millions.
class rows_csv {
 public:
  rows_csv(const std::string& path, real_text reals) : csv_(path), reals_(reals) {}

  void add(const std::vector<fp8_row>& rows, const std::vector<tensor_info>& tensors) {
    constexpr std::size_t enough = 4096;
    kept_.insert(kept_.end(), rows.begin(), rows.end());
    if (kept_.size() >= enough) write(tensors);
  }
  void finish(const std::vector<tensor_info>& tensors) {
    write(tensors);
    csv_.finish();
  }

 private:
  void write(const std::vector<tensor_info>& tensors) {
    if (!kept_.empty()) with_ = fp8_columns_of(kept_.front());
    csv_.write(fp8_rows_table(kept_, tensors, reals_, with_));
    kept_.clear();
  }

  csv_stream csv_;
  real_text reals_;
  fp8_columns with_ = fp8_columns::counts;  // of rows that there are none of
  std::vector<fp8_row> kept_;
};

}  // namespace

int replay_fp8(const fp8_question& asked, const output_options& output, bool hexadecimal) {
  refuse_overwriting_inputs(output, asked.run.files());
  const real_text reals = hexadecimal ? real_text::hexadecimal : real_text::decimal;
  std::optional<rows_csv> csv;
  if (!output.csv.empty()) csv.emplace(output.csv, reals);
  listening to(output.machine_stdout());
  const fp8_answer answer = fp8_replay_over(
      asked, to, csv ? [&](const auto& rows, const auto& tensors) { csv->add(rows, tensors); } : fp8_hearer{});
  if (csv) csv->finish(answer.tensors);
  if (output.csv == "-") return done;
  const std::vector<summary_line> lines = lines_of(answer, asked);
  const table tensors = fp8_tensors_table(answer);
  if (output.json) {
    print_json("replay-fp8", lines, "tensors", tensors);
    return done;
  }
  print_text(lines);
  constexpr std::size_t most = 40;
  table shown = tensors;
  if (shown.rows.size() > most) shown.rows.resize(most);
  fmt::print("\nTensors, the worst first{}\n{}",
             tensors.rows.size() > most ? fmt::format(" ({} of {}; all with --json)", most, tensors.rows.size()) : "",
             to_text(shown));
  return done;
}

int sweep_fp8(const fp8_grid& grid, const run_text& of, const output_options& output, std::uint64_t most) {
  refuse_overwriting_inputs(output, of.files());
  listening to(output.machine_stdout());
  const fp8_sweep_answer answer = fp8_sweep_over(grid, of, to);
  table t = fp8_sweep_table(answer);
  write_table("sweep-fp8", t, output, false);
  if (output.machine_stdout()) return done;
  fmt::print("{} over {} of {}; * Pareto-optimal in steps that saturate and underflow, among those of its formats\n\n",
             count_text(answer.recipes.size(), "recipe"), count_text(answer.steps, "step"),
             count_text(answer.tensors, "tensor"));
  const std::size_t rows = t.rows.size();
  if (rows > most) t.rows.resize(most);
  fmt::print("{}", to_text(t));
  if (rows > most) fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", most, grouped(rows));
  return done;
}

}  // namespace ulp::cli
