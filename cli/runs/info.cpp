// ulp info: what is in an input.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/block_table.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct info_arguments {
  run_text run;
  bool digest = false;
  output_options output;
};

// What is said of one tensor over all steps.
struct tensor_account {
  std::uint64_t steps = 0;
  std::uint64_t numel = 0;
  count_range zeros;
  dtype type = dtype::unknown;
  std::uint64_t infinite = 0;
  std::uint64_t nan = 0;
  double max_abs = 0;
  double min_abs = not_known;
};

// How much the rows know, as far as all of them do.
class row_contents {
 public:
  void see(const tensor_row& row) {
    const bool binades = std::ranges::any_of(row.table.cells, [](const cell& c) { return c.slot == whole_binade; });
    binades_ += binades ? 1 : 0;
    buckets_ += row.table.buckets.empty() ? 0 : 1;
    sums_ += row.table.has_sums ? 1 : 0;
    errors_ += row.table.has_errors ? 1 : 0;
    codes_ += row.codes.empty() ? 0 : 1;
    for (const edge_counts& e : row.table.edges) ++edges_[e.at / row.unit()];
    if (row.blocks == nullptr) return;
    for (const block_table& t : *row.blocks) ++blocks_[fmt::format("{}x{}", t.block.rows, t.block.columns)];
  }
  [[nodiscard]] std::string text(std::uint64_t rows) const {
    if (rows == 0) return "-";
    std::string all = buckets_ == rows   ? "buckets: counts are ranges"
                      : buckets_ > 0     ? fmt::format("buckets in {} of {} rows", grouped(buckets_), grouped(rows))
                      : binades_ == 0    ? "exact cells"
                      : binades_ == rows ? "binades: counts are ranges"
                                         : fmt::format("binades in {} of {} rows", grouped(binades_), grouped(rows));
    const auto part = [&](std::uint64_t n, const std::string& what) {
      if (n == rows) all += ", " + what;
      if (n > 0 && n < rows) all += fmt::format(", {} in {} of {} rows", what, grouped(n), grouped(rows));
    };
    part(sums_, "exact sums");
    part(errors_, "error ladder");
    part(codes_, "complete codes");
    for (const auto& [at, n] : edges_) part(n, "edge at " + shortest(at));
    for (const auto& [extent, n] : blocks_) part(n, "blocks of " + extent);
    return all;
  }

 private:
  std::uint64_t binades_ = 0;
  std::uint64_t buckets_ = 0;
  std::uint64_t sums_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t codes_ = 0;
  std::map<double, std::uint64_t> edges_;
  std::map<std::string, std::uint64_t> blocks_;
};

struct account {
  std::vector<tensor_account> tensors;
  std::uint64_t steps = 0;     // each attempt by itself
  std::uint64_t numbers = 0;   // of different steps
  std::uint64_t repeated = 0;  // steps with several attempts
  std::int32_t attempts = 0;   // of the step at hand
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t factor_known = 0;
  std::set<double> factors;
  row_contents contents;
  rank_coverage ranks;
  std::uint64_t rows = 0;
  std::uint64_t scales = 0;  // steps whose loss scale is known
  double least_scale = not_known;
  double greatest_scale = not_known;
  std::uint64_t bounded = 0;  // steps with bounds on the largest gradient
  std::uint64_t uncertain = 0;
  bool has_found_inf = false;
  std::uint64_t overflowed = 0;
  std::int64_t first_overflow = 0;
};

account read(source& from, const selection& selected) {
  account a{.ranks = rank_coverage(from.header())};
  for_each_step(from, selected, on_stderr(), [&](const step& now) {
    if (a.steps == 0) a.first = now.key.step;
    a.attempts = a.steps > 0 && a.last == now.key.step ? a.attempts + 1 : 1;
    a.numbers += a.attempts == 1 ? 1 : 0;
    a.repeated += a.attempts == 2 ? 1 : 0;
    a.last = now.key.step;
    ++a.steps;
    a.ranks.see(now.key, now.ranks);
    a.scales += std::isnan(now.scalars.loss_scale) ? 0 : 1;
    a.least_scale = std::fmin(a.least_scale, now.scalars.loss_scale);
    a.greatest_scale = std::fmax(a.greatest_scale, now.scalars.loss_scale);
    const bool is_bounded = now.bounds && (now.bounds->low > 0 || std::isfinite(now.bounds->high));
    a.bounded += is_bounded ? 1 : 0;
    a.uncertain += is_bounded && !now.bounds->certain ? 1 : 0;
    a.has_found_inf = a.has_found_inf || now.scalars.found_inf.has_value();
    if (now.scalars.found_inf.value_or(false) && a.overflowed++ == 0) a.first_overflow = now.key.step;
    a.tensors.resize(from.tensors().size());
    for (const tensor_row& row : now.tensors) {
      if (!selected.takes(from.tensors()[row.tensor])) continue;
      ++a.rows;
      a.factor_known += std::isnan(row.factor) ? 0 : 1;
      if (!std::isnan(row.factor)) a.factors.insert(row.factor);
      a.contents.see(row);
      tensor_account& t = a.tensors[row.tensor];
      ++t.steps;
      t.numel += row.table.numel;
      t.zeros += {row.table.zeros, row.table.zeros + row.table.maybe_zeros};
      t.type = row.type;
      t.infinite += row.table.infinities();
      t.nan += row.table.nans;
      t.max_abs = std::isnan(row.table.max_abs) ? row.table.max_abs
                  : std::isnan(t.max_abs)       ? t.max_abs
                                                : std::fmax(t.max_abs, row.table.max_abs);
      if (row.table.min_abs > 0) t.min_abs = std::fmin(t.min_abs, row.table.min_abs);
    }
  });
  return a;
}

std::string shape_text(const tensor_info& info) {
  std::string shape;
  for (const auto n : info.shape) shape += (shape.empty() ? "" : "x") + std::to_string(n);
  return shape;
}

table tensor_table(const source& from, const account& a) {
  struct row {
    const tensor_info& info;
    const tensor_account& seen;
  };
  std::vector<row> rows;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (a.tensors[i].steps == 0) continue;
    rows.push_back({from.tensors()[i], a.tensors[i]});
  }
  const std::vector<column<row>> columns = {
      {"tensor", "tensor", [](const row& r) { return r.info.name; }},
      {"kind", "kind", [](const row& r) { return std::string{to_string(r.info.kind)}; }},
      {"role", "role", [](const row& r) { return std::string{to_string(r.info.role)}; }},
      {"type", "type", [](const row& r) { return std::string{to_string(r.seen.type)}; }},
      {"shape", "shape", [](const row& r) { return shape_text(r.info); }},
      {"steps", "steps", [](const row& r) { return exactly(r.seen.steps); }},
      {"numel", "elements", [](const row& r) { return exactly(r.seen.numel); }, range_keys::where_open},
      {"zero", "zeros", [](const row& r) { return r.seen.zeros; }, range_keys::where_open},
      {"nonfinite", "", [](const row& r) { return exactly(r.seen.infinite + r.seen.nan); }, range_keys::where_open},
      {"", "infinite", [](const row& r) { return exactly(r.seen.infinite); }},
      {"nan", "NaN", [](const row& r) { return exactly(r.seen.nan); }, range_keys::where_open},
      {"max_abs", "largest", [](const row& r) { return r.seen.max_abs; }},
      {"min_abs", "least nonzero", [](const row& r) { return r.seen.min_abs; }},
  };
  return table_of(columns, rows);
}

std::string scale_text(const account& a) {
  if (a.scales == 0) return "not logged";
  const std::string range = a.least_scale == a.greatest_scale
                                ? as_power(a.least_scale)
                                : fmt::format("{} to {}", as_power(a.least_scale), as_power(a.greatest_scale));
  const std::string steps = a.scales == a.steps ? "" : fmt::format(" in {} of the steps", grouped(a.scales));
  return fmt::format("logged{}: {}", steps, range);
}

summary_line factor_line(const account& a) {
  const bool one = a.factors.size() == 1 && a.factor_known == a.rows;
  std::string text = "-";
  if (one)
    text = as_power(*a.factors.begin());
  else if (a.rows > 0 && a.factor_known == a.rows)
    text = fmt::format("known, {} different values", a.factors.size());
  else if (a.rows > 0 && a.factor_known == 0)
    text = "not known: scales multiply the values as recorded (see --factor)";
  else if (a.rows > 0)
    text = fmt::format("known in {} of {} rows", grouped(a.factor_known), grouped(a.rows));
  return {"factor",
          text,
          {{"factor", one ? table_value{*a.factors.begin()} : table_value{}},
           {"factor_known_rows", integer(a.factor_known)},
           {"factors", integer(a.factors.size())}}};
}

summary_line bounds_line(const account& a) {
  std::string text;
  if (a.bounded > 0) text = "bounded by the overflows in " + count_text(a.bounded, "step");
  if (a.bounded > 0 && a.uncertain > 0)
    text += fmt::format(", ~ in {}: the log does not say which of them were skipped", grouped(a.uncertain));
  return {"largest", text, {{"bounded_steps", integer(a.bounded)}, {"uncertain_steps", integer(a.uncertain)}}};
}

summary info_summary(const source& from, const account& a, const std::vector<std::string>& inputs) {
  const run_header header = from.header();
  const bool has_run = !header.run_id.empty();
  const bool has_steps = a.steps > 0;
  const bool overflowed = a.overflowed > 0;
  const auto tensors =
      static_cast<std::uint64_t>(std::ranges::count_if(a.tensors, [](const tensor_account& t) { return t.steps > 0; }));
  const std::string ranks = header.world <= 1 || !has_steps ? ""
                            : a.ranks.incomplete() == 0     ? "every step is complete"
                                                            : a.ranks.text();
  const std::string repeats = a.repeated == 0 ? ""
                                              : fmt::format("; {} recorded more than once, {} attempts in all",
                                                            count_text(a.repeated, "step"), grouped(a.steps));
  return {
      {"input",
       fmt::format("{}{}: {}", inputs.front(), inputs.size() > 1 ? " ..." : "", from.description()),
       {{"input", inputs.front()}, {"inputs", integer(inputs.size())}, {"description", from.description()}}},
      {"run",
       has_run ? fmt::format("{}, rank {} of {}, {} gradients, {}", header.run_id, header.rank, header.world,
                             header.reduction, header.layout)
               : "",
       {{"run_id", value_if(has_run, header.run_id)},
        {"rank", value_if(has_run, integer(header.rank))},
        {"world", value_if(has_run, integer(header.world))},
        {"reduction", value_if(has_run, header.reduction)},
        {"layout", value_if(has_run, header.layout)}}},
      {from.row_unit() + "s",
       has_steps ? fmt::format("{}: {} to {}{}", grouped(a.numbers), a.first, a.last, repeats) : "none",
       {{"steps", integer(a.steps)},
        {"repeated_steps", integer(a.repeated)},
        {"first_step", value_if(has_steps, a.first)},
        {"last_step", value_if(has_steps, a.last)}}},
      {"columns", from.columns(), {{"columns", value_if(!from.columns().empty(), from.columns())}}},
      {"ranks",
       ranks,
       {{"ranks", value_if(!ranks.empty(), ranks)}, {"incomplete_steps", integer(a.ranks.incomplete())}}},
      {"tensors",
       fmt::format("{}, {}", tensors, count_text(a.rows, "row")),
       {{"tensors", integer(tensors)}, {"tensor_rows", integer(a.rows)}}},
      {"counts", a.contents.text(a.rows), {{"counts", value_if(a.rows > 0, a.contents.text(a.rows))}}},
      factor_line(a),
      {"loss scale",
       scale_text(a),
       {{"loss_scale_steps", integer(a.scales)},
        {"least_loss_scale", a.least_scale},
        {"greatest_loss_scale", a.greatest_scale}}},
      {"overflows",
       !a.has_found_inf ? "not logged"
       : !overflowed
           ? "none logged"
           : fmt::format("logged in {}, first in step {}", count_text(a.overflowed, "step"), a.first_overflow),
       {{"overflow_steps", value_if(a.has_found_inf, integer(a.overflowed))},
        {"first_overflow_step", value_if(overflowed, a.first_overflow)}}},
      bounds_line(a),
  };
}

int run(const info_arguments& o) {
  refuse_overwriting_inputs(o.output, o.run.files());
  source_options how = o.run.how_to_read();
  how.with_blocks = true;
  how.infer = false;  // as it was recorded
  const std::unique_ptr<source> from = open_run(o.run, how, on_stderr());
  if (o.digest) {
    if (o.run.selects() || o.run.attempts != "all" || o.output.machine_stdout())
      throw usage_error("--digest covers the whole input and prints plain text: remove selections, --csv and --json");
    fmt::print("{}\n", digest_of(*from));
    return done;
  }
  if (from->header().format == 1) note(without_checksums(o.run.inputs.front()));
  const account a = read(*from, o.run.selected());
  const table t = tensor_table(*from, a);
  const summary lines = info_summary(*from, a, o.run.inputs);
  if (o.output.json) print_json("info", lines, "tensors", t);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    if (o.output.csv.empty()) fmt::print("\n");
  }
  write_table("info", t, {.csv = o.output.csv}, !o.output.json);
  return done;
}

}  // namespace

command info_command() {
  auto o = std::make_shared<info_arguments>();
  command made{.name = "info", .help = "show what a recording or another input holds"};
  o->run.attempts = "all";
  add_run(made, o->run);
  made.add("--digest", &o->digest, "print only a SHA-256 of the content, independent of how it was split and ordered");
  add_output(made, o->output);
  made.footer = "Example:\n  ulp info examples/digits.ulp";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
