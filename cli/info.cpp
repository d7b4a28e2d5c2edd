// ulp info: what is in an input.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <ulp/io/printable.hpp>
#include <ulp/io/ranks.hpp>
#include <ulp/io/recording.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
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
    return all;
  }

 private:
  std::uint64_t binades_ = 0;
  std::uint64_t buckets_ = 0;
  std::uint64_t sums_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t codes_ = 0;
  std::map<double, std::uint64_t> edges_;
};

struct account {
  std::vector<tensor_account> tensors;
  std::uint64_t steps = 0;
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
  progress shown("steps", from.step_count());
  step now;
  while (from.next(now)) {
    shown.advance();
    if (!selected.takes(now.key.step) || now.key.microbatch != -1) continue;
    if (a.steps == 0) a.first = now.key.step;
    a.last = now.key.step;
    ++a.steps;
    a.ranks.see(now.key, now.ranks);
    a.scales += std::isnan(now.scalars.loss_scale) ? 0 : 1;
    a.least_scale = std::fmin(a.least_scale, now.scalars.loss_scale);
    a.greatest_scale = std::fmax(a.greatest_scale, now.scalars.loss_scale);
    a.bounded += now.bounds ? 1 : 0;
    a.uncertain += now.bounds && !now.bounds->certain ? 1 : 0;
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
  }
  return a;
}

table tensor_table(const source& from, const account& a) {
  table t;
  t.columns = {{"tensor", "tensor"},     {"kind", "kind"},   {"role", "role"},       {"type", "type"},
               {"shape", "shape"},       {"steps", "steps"}, {"numel", "elements"},  {"zeros", "zeros"},
               {"infinite", "infinite"}, {"nan", "NaN"},     {"max_abs", "largest"}, {"min_abs", "least nonzero"}};
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const tensor_account& x = a.tensors[i];
    if (x.steps == 0) continue;
    const tensor_info& info = from.tensors()[i];
    std::string shape;
    for (const auto n : info.shape) shape += (shape.empty() ? "" : "x") + std::to_string(n);
    const auto integer = [](std::uint64_t n) { return count_range{n, n}; };
    t.rows.push_back({info.name, std::string{to_string(info.kind)}, std::string{to_string(info.role)},
                      std::string{to_string(x.type)}, shape, integer(x.steps), integer(x.numel), x.zeros,
                      integer(x.infinite), integer(x.nan), x.max_abs, x.min_abs});
  }
  return t;
}

std::string scale_text(const account& a) {
  if (a.scales == 0) return "not logged";
  const std::string range = a.least_scale == a.greatest_scale
                                ? as_power(a.least_scale)
                                : fmt::format("{} to {}", as_power(a.least_scale), as_power(a.greatest_scale));
  const std::string steps = a.scales == a.steps ? "" : fmt::format(" in {} of the steps", grouped(a.scales));
  return fmt::format("logged{}: {}", steps, range);
}

int run(const options& o) {
  refuse_overwriting_inputs(o.output, o.run.files());
  const std::unique_ptr<source> from = open_run(o.run);
  if (o.digest) {
    if (o.run.selects() || o.output.machine_stdout())
      throw usage_error("--digest covers the whole input and prints plain text: remove selections, --csv and --json");
    fmt::print("{}\n", digest_of(*from));
    return done;
  }
  if (from->header().format == 1) note(without_checksums(o.run.inputs.front()));
  const account a = read(*from, o.run.selected());
  const table t = tensor_table(*from, a);
  if (o.output.machine_stdout()) {
    write_table(t, o.output);
    return done;
  }
  const auto line = [](std::string_view what, const std::string& value) {
    fmt::print("{:<12} {}\n", what, printable(value));
  };
  line("input",
       fmt::format("{}{}: {}", o.run.inputs.front(), o.run.inputs.size() > 1 ? " ..." : "", from->description()));
  const run_header header = from->header();
  if (!header.run_id.empty())
    line("run", fmt::format("{}, rank {} of {}, {} gradients, {}", header.run_id, header.rank, header.world,
                            header.reduction, header.layout));
  line("steps", a.steps == 0 ? "none" : fmt::format("{}: {} to {}", grouped(a.steps), a.first, a.last));
  if (header.world > 1 && a.steps > 0)
    line("ranks", a.ranks.incomplete() == 0 ? "every step is complete" : a.ranks.text());
  line("tensors", fmt::format("{}, {}", t.rows.size(), count_text(a.rows, "row")));
  line("counts", a.contents.text(a.rows));
  line("factor",
       a.rows == 0                ? "-"
       : a.factor_known == a.rows ? a.factors.size() == 1 ? as_power(*a.factors.begin())
                                                          : fmt::format("known, {} different values", a.factors.size())
       : a.factor_known == 0 ? "not known: scales multiply the values as recorded (see --factor)"
                                  : fmt::format("known in {} of {} rows", grouped(a.factor_known), grouped(a.rows)));
  line("loss scale", scale_text(a));
  line("overflows", !a.has_found_inf    ? "not logged"
                    : a.overflowed == 0 ? "none logged"
                                        : fmt::format("logged in {}, first in step {}",
                                                      count_text(a.overflowed, "step"), a.first_overflow));
  if (a.bounded > 0)
    line("largest",
         fmt::format("bounded by the overflows in {}{}", count_text(a.bounded, "step"),
                     a.uncertain == 0 ? ""
                                      : fmt::format(", ~ in {}: the log does not say which of them were skipped",
                                                    grouped(a.uncertain))));
  fmt::print("\n");
  write_table(t, o.output);
  return done;
}

}  // namespace

command info_command() {
  auto o = std::make_shared<options>();
  command made{.name = "info", .help = "show what a recording or another input holds"};
  add_run(made, o->run);
  made.add("--digest", &o->digest, "print only a SHA-256 of the content, independent of how it was split and ordered");
  add_output(made, o->output);
  made.footer = "Example:\n  ulp info examples/digits.ulp";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
