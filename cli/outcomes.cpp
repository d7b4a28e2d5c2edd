// ulp outcomes: how many values underflow, become subnormal or overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <ulp/formats/names.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/codes.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  std::vector<std::string> formats;
  std::vector<std::string> scales{"1"};
  std::vector<std::string> by{"tensor"};
  bool as_recorded = false;
  rounding_text rounding;
  output_options output;
};

struct question {
  std::string format_name;
  ulp::format format;
  ulp::rounding rounding;
  double scale;
};

// What rows are kept apart by; an absent part is summed over.
struct group {
  std::optional<std::size_t> named;  // of --group
  std::optional<std::uint32_t> tensor;
  std::optional<tensor_kind> kind;
  std::optional<std::int64_t> step;
  friend auto operator<=>(const group&, const group&) = default;
};

// The answer to one question; with stochastic rounding `expected` counts.
struct answer {
  outcome_counts counts;
  expected_outcomes expected;
  lost_mass lost;
  rounding_noise noise;
};

struct group_counts {
  std::vector<answer> of;  // to each question
  value_range magnitudes;  // sums over all values, as the lost mass has them
  double squares = 0;
  std::uint64_t censored = 0;  // zeros that may have been lost before they were recorded
  std::set<std::int64_t> steps;
  tensor_kind kind = tensor_kind::unknown;
  bool mixed_kinds = false;
};

// How the scale met the values.
struct units {
  bool recorded = false;  // some factor was not known, or --as-recorded
  bool true_gradient = false;
};

std::string text_of(const units& u) {
  if (u.recorded && u.true_gradient) return "the true gradient where its factor is known, else the values as recorded";
  return u.recorded ? "the values as recorded" : "the true gradient";
}

std::vector<question> questions_of(const options& o) {
  std::vector<question> all;
  for (const std::string& name : o.formats) {
    const format to = value_format_named(name);
    const rounding mode = o.rounding.value(to);
    for (const std::string& scale : o.scales) all.push_back({name, to, mode, positive_number(scale, "--scale")});
  }
  return all;
}

// Each format may have its own.
bool one_rounding(const std::vector<question>& questions) {
  return std::all_of(questions.begin(), questions.end(),
                     [&](const question& q) { return q.rounding == questions.front().rounding; });
}

group group_of(const options& o, const std::vector<tensor_group>& named, const tensor_row& row, const tensor_info& info,
               const step_key& key) {
  const auto by = [&](const char* what) { return std::find(o.by.begin(), o.by.end(), what) != o.by.end(); };
  group g;
  if (by("group")) g.named = ulp::group_of(named, info.name);
  if (by("tensor")) g.tensor = row.tensor;
  if (by("kind")) g.kind = info.kind;
  if (by("step")) g.step = key.step;
  return g;
}

// "1.2", "[1.1, 1.3]".
table_value percent_of(const value_range& part, const value_range& all) {
  if (!(all.high > 0) || !std::isfinite(part.high)) return {};
  const std::string low = fmt::format("{:.4g}", 100 * part.low / all.high);
  const double most = all.exact() || part.high < all.low ? part.high / all.low : 1;
  const std::string high = fmt::format("{:.4g}", 100 * most);
  return low == high ? low : "[" + low + ", " + high + "]";
}

// What is modelled is marked.
table_value decibels_of(const rounding_noise& n) {
  if (!std::isfinite(n.sqnr())) return {};
  return n.squares_exact ? fmt::format("{:.2f}", n.sqnr()) : fmt::format("~{:.1f}", n.sqnr());
}

table table_of(const options& o, const std::vector<question>& questions, const std::map<group, group_counts>& groups,
               const std::vector<tensor_group>& named, const std::vector<tensor_info>& tensors, const units& u) {
  const bool many_formats = o.formats.size() > 1;
  const bool many_scales = o.scales.size() > 1;
  const auto title_by = [&](const char* what) {
    return std::find(o.by.begin(), o.by.end(), what) != o.by.end() ? what : "";
  };
  table t;
  t.columns = {{"group", title_by("group")},
               {"tensor", title_by("tensor")},
               {"kind", title_by("kind")},
               {"step", title_by("step")},
               {"format", many_formats ? "format" : ""},
               {"rounding", one_rounding(questions) ? "" : "rounding"},
               {"scale", ""},
               {"", many_scales ? "scale" : "", false, true},
               {"scale_of", ""},
               {"numel", "elements"},
               {"zero", "zero"},
               {"nonfinite", "non-finite"},
               {"underflow", "underflow", true},
               {"", "% of nonzero", false, true},
               {"", "lost L1 %", false, true},
               {"subnormal", "subnormal", true},
               {"overflow", "overflow", true},
               {"underflow_sd", "", true},
               {"subnormal_sd", "", true},
               {"overflow_sd", "", true},
               {"lost_l1", "", true},
               {"lost_l2", "", true},
               {"", "SQNR dB", false, true},
               {"mse", ""},
               {"sqnr_db", ""},
               {"sqnr_db_low", ""},
               {"cosine", ""},
               {"noise_exact", ""},
               {"censored", ""},
               {"l1", ""},
               {"l2", ""}};
  const auto exactly = [](std::uint64_t n) { return count_range{n, n}; };
  // In CSV a pair of columns only where it has to be.
  const bool open_zeros =
      std::ranges::any_of(groups, [](const auto& g) { return g.second.of.front().counts.maybe_zero > 0; });
  for (table_column& c : t.columns)
    if (c.key == "zero" || c.key == "l1") c.range = open_zeros;
  for (const auto& [key, counts] : groups) {
    for (std::size_t q = 0; q < questions.size(); ++q) {
      const answer& a = counts.of[q];
      const bool drawn = questions[q].rounding.direction == direction::stochastic;
      const auto deviation = [&](const expected_count& c) {
        return drawn ? table_value{c.deviation()} : table_value{};
      };
      const auto count = [&](const count_range& fixed, const expected_count& mean) {
        return drawn ? table_value{mean} : table_value{fixed};
      };
      const outcome_counts& c = a.counts;
      // Of those that are not known to be zero, see underflow_share.
      const auto nonzero = static_cast<double>(c.nonzero().high);
      const value_range underflow =
          drawn ? a.expected.underflow.mean
                : value_range{static_cast<double>(c.underflow.low), static_cast<double>(c.underflow.high)};
      t.rows.push_back(
          {key.named ? table_value{named[*key.named].name} : table_value{},
           key.tensor ? table_value{tensors[*key.tensor].name} : table_value{},
           counts.mixed_kinds ? table_value{} : table_value{std::string{to_string(counts.kind)}},
           counts.steps.size() == 1 ? table_value{*counts.steps.begin()} : table_value{},
           questions[q].format_name,
           o.rounding.direction.empty() ? to_string(questions[q].rounding) : o.rounding.direction,
           questions[q].scale,
           as_power(questions[q].scale),
           std::string{u.recorded ? (u.true_gradient ? "mixed" : "recorded") : "true_gradient"},
           exactly(c.numel),
           c.zeros(),
           exactly(c.nonfinite),
           count(c.underflow, a.expected.underflow),
           percent_of(underflow, {nonzero, nonzero}),
           percent_of(a.lost.magnitudes, counts.magnitudes),
           count(c.subnormal, a.expected.subnormal),
           count(c.overflow, a.expected.overflow),
           deviation(a.expected.underflow),
           deviation(a.expected.subnormal),
           deviation(a.expected.overflow),
           a.lost.magnitudes,
           value_range{std::sqrt(a.lost.squares.low), std::sqrt(a.lost.squares.high)},
           decibels_of(a.noise),
           a.noise.mean_square(),
           a.noise.sqnr(),
           a.noise.least_sqnr(),
           a.noise.cosine(),
           a.noise.exact,
           static_cast<std::int64_t>(counts.censored),
           counts.magnitudes.exact() ? table_value{counts.magnitudes.high} : table_value{counts.magnitudes},
           std::sqrt(counts.squares)});
    }
  }
  return t;
}

void add(answer& to, const tensor_row& row, const question& q, double factor) {
  const multiplier by{.scale = q.scale, .factor = factor};
  to.counts += outcomes_of(row, q.format, q.rounding, by);
  to.lost += lost_to_underflow(row, q.format, q.rounding, by);
  to.noise += noise_of(row, q.format, q.rounding, by);
  if (q.rounding.direction == direction::stochastic) to.expected += expected_outcomes_of(row, q.format, q.rounding, by);
}

int run(const options& o) {
  refuse_overwriting_inputs(o.output, o.run.files());
  const std::vector<question> questions = questions_of(o);
  const selection selected = o.run.selected();
  const std::vector<tensor_group> named = o.run.named_groups();
  const bool by_group = std::ranges::find(o.by, "group") != o.by.end();
  if (by_group != !named.empty())
    throw usage_error(by_group ? "--by group: say which groups by --group NAME=REGEX"
                               : "--group: is used with --by group");
  source_options how = o.run.how_to_read();
  how.with_errors = true;  // dumps are read again anyway
  const std::unique_ptr<source> from = open_run(o.run, how);

  std::map<group, group_counts> groups;
  units u;
  std::uint64_t steps = 0;
  {
    progress shown("steps", from->step_count());
    step now;
    while (from->next(now)) {
      shown.advance();
      if (!selected.takes(now.key.step) || now.key.microbatch != -1) continue;
      ++steps;
      for (const tensor_row& row : now.tensors) {
        const tensor_info& info = from->tensors()[row.tensor];
        if (!selected.takes(info)) continue;
        const bool known = !o.as_recorded && !std::isnan(row.factor);
        (known ? u.true_gradient : u.recorded) = true;
        group_counts& sums = groups[group_of(o, named, row, info, now.key)];
        sums.mixed_kinds = !sums.steps.empty() && (sums.mixed_kinds || sums.kind != info.kind);
        sums.kind = info.kind;
        sums.steps.insert(now.key.step);
        sums.of.resize(questions.size());
        const double factor = known ? row.factor : 1;
        // float16 loses gradients that the other types of dumps hold.
        if (row.type == dtype::float16 || !info.through.empty()) sums.censored += row.table.zeros;
        const value_range magnitudes = magnitudes_bounds(row.table);
        sums.magnitudes += {magnitudes.low / factor, magnitudes.high / factor};
        sums.squares += squares_sum(row.table).value / factor / factor;
        for (std::size_t q = 0; q < questions.size(); ++q) add(sums.of[q], row, questions[q], factor);
      }
    }
  }
  check_steps_counted(steps, o.run);
  if (groups.empty())
    throw usage_error(o.run.inputs.front() + ": has no values of the selected tensors (a step log has none)");

  for (const std::string& line : group_notes(named, from->tensors(), selected)) note(line);
  std::uint64_t censored = 0;
  for (const auto& [key, counts] : groups) censored += counts.censored;
  if (censored > 0)
    note(fmt::format(
        "{} zeros may have underflowed before recording: their values had already been rounded to a narrow format",
        grouped(censored)));
  const table t = table_of(o, questions, groups, named, from->tensors(), u);
  if (!o.output.machine_stdout()) {
    std::string names;
    for (const std::string& name : o.formats) names += (names.empty() ? "" : ", ") + name;
    fmt::print("{}, {}, loss scale {} on {}\n", names,
               one_rounding(questions) ? o.rounding.text(questions.front().format) : "rounded as listed",
               o.scales.size() > 1 ? "as listed" : as_power(questions.front().scale), text_of(u));
    const bool drawn =
        std::ranges::any_of(questions, [](const question& q) { return q.rounding.direction == direction::stochastic; });
    fmt::print(
        "underflow: nonzero rounded to zero; lost L1: its share of the sum of magnitudes; SQNR: ~ where it is "
        "modelled\n");
    fmt::print("[low, high] where the input does not decide{}\n\n",
               drawn ? "; mean ± standard deviation over all draws" : "");
  }
  write_table(t, o.output);
  return done;
}

}  // namespace

command outcomes_command() {
  auto o = std::make_shared<options>();
  command made{.name = "outcomes", .help = "count the values that underflow, become subnormal or overflow in a format"};
  add_run(made, o->run);
  add_groups(made, o->run);
  made.add("--format", &o->formats, "the formats (see ulp formats)",
           {.type = "F,...", .required = true, .split_at_commas = true});
  made.add("--scale", &o->scales, "loss scales on the true gradient",
           {.type = "S,...", .show_default = true, .split_at_commas = true});
  made.add("--by", &o->by, "separate rows by tensor, kind, step, group, or several of them; sum over the rest",
           {.type = "WHAT,...",
            .show_default = true,
            .split_at_commas = true,
            .one_of = {"tensor", "kind", "step", "group"}});
  made.add("--as-recorded", &o->as_recorded, "apply the scale to the values as recorded, whatever their factor");
  add_rounding(made, o->rounding);
  add_output(made, o->output);
  made.footer =
      "--csv and --json add L1 and L2 sums, the parts lost, MSE, cosine similarity, and whether these are exact. They "
      "are exact for dumps and for recordings made with ulp record --with-errors, otherwise modelled (~).\n"
      "Example:\n"
      "  ulp outcomes examples/digits.ulp --format fp16,cb16 --scale 1,2^15 --by kind";
  made.run = [o] {
    o->formats = joined_names(o->formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
