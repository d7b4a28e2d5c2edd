// ulp sweep: a grid of scalers, parameters, formats and roundings over one run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <ulp/formats/similar.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/sweep.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_options run;
  std::vector<std::string> scalers;
  std::vector<std::string> parameters;
  std::vector<std::string> formats;
  std::vector<std::string> roundings;
  rounding_options rounding;
  std::string check;
  std::uint64_t show = 40;
  output_options output;
};

// A parameter and the values it takes in turn.
struct axis {
  std::string name;
  std::vector<std::string> values;
};

std::vector<axis> axes_of(const options& o) {
  std::vector<axis> all;
  for (const std::string& text : o.parameters) {
    const auto [name, values] = key_and_value(text, "--set");
    if (std::any_of(all.begin(), all.end(), [&](const axis& a) { return a.name == name; }))
      throw usage_error(fmt::format("--set: {} is given twice; its values are a list, {}=v1,v2", name, name));
    axis a{name, {}};
    for (std::size_t at = 0; at <= values.size();) {
      const std::size_t comma = std::min(values.find(',', at), values.size());
      a.values.push_back(values.substr(at, comma - at));
      if (a.values.back().empty()) throw usage_error(fmt::format("--set: '{}' has an empty value", text));
      at = comma + 1;
    }
    all.push_back(std::move(a));
  }
  return all;
}

// One row of the grid.
struct point {
  std::string scaler;
  std::string parameters;  // those that were set
  std::string format;
  std::string rounding;
};

struct grid {
  std::vector<point> points;
  std::vector<scenario> scenarios;
};

void add_points(grid& g, const options& o, const std::string& name, const std::vector<axis>& axes) {
  const scaler_entry& entry = scaler_named(name);
  std::vector<const axis*> own;
  for (const axis& a : axes)
    if (std::any_of(entry.parameters.begin(), entry.parameters.end(), [&](const auto& p) { return p.name == a.name; }))
      own.push_back(&a);
  std::vector<std::size_t> at(own.size(), 0);
  while (true) {
    std::vector<std::pair<std::string, parameter_value>> parameters;
    std::string text;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string& value = own[i]->values[at[i]];
      parameters.emplace_back(own[i]->name, parse_parameter(value));
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", own[i]->name, value);
    }
    for (const std::string& format_name : o.formats)
      for (const std::string& direction : o.roundings) {
        try {
          scenario s{make_scaler(entry, parameters)};
          if (!(s.scaler.scale() >= 0))
            throw usage_error(
                fmt::format("{}: a replay cannot start from the scale {}", name, shortest(s.scaler.scale())));
          s.format = value_format_named(format_name);
          rounding_options rounding = o.rounding;
          rounding.direction = direction;
          s.rounding = rounding.value(s.format);
          s.seed = rounding.seed;
          s.counted = o.run.selected();
          if (!o.check.empty()) s.checked = regex_of(o.check, "--check");
          g.points.push_back({name, text, format_name, rounding.text(s.format)});
          g.scenarios.push_back(std::move(s));
        } catch (const parameter_error& problem) {
          throw usage_error(fmt::format("{}{}{}: {}", name, text.empty() ? "" : " with ", text, problem.what()));
        }
      }
    // The next combination, the last parameter running fastest.
    std::size_t i = own.size();
    while (i > 0 && ++at[i - 1] == own[i - 1]->values.size()) at[--i] = 0;
    if (i == 0) return;
  }
}

std::string near_parameter(const std::vector<std::string>& scalers, const std::string& name) {
  std::vector<std::string_view> names;
  for (const std::string& scaler : scalers)
    for (const auto& p : scaler_named(scaler).parameters) names.push_back(p.name);
  return std::string{nearest_name(name, names)};
}

grid grid_of(const options& o) {
  const std::vector<axis> axes = axes_of(o);
  grid g;
  for (const std::string& name : o.scalers) add_points(g, o, name, axes);
  for (const axis& a : axes) {
    const auto has = [&](const std::string& name) {
      const auto& all = scaler_named(name).parameters;
      return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.name == a.name; });
    };
    if (std::none_of(o.scalers.begin(), o.scalers.end(), has))
      throw usage_error(fmt::format("--set: no parameter '{}' in {}; near: {} (see ulp scalers NAME)", a.name,
                                    fmt::join(o.scalers, ", "), near_parameter(o.scalers, a.name)));
  }
  return g;
}

// "0.02", "[0.01, 0.03]": percent.
std::string share_text(const sweep_result& r) {
  const auto text = [&](std::uint64_t n) {
    return r.nonzero == 0 ? "0" : fmt::format("{:.4g}", 100 * static_cast<double>(n) / static_cast<double>(r.nonzero));
  };
  const std::string low = text(r.underflow.low);
  const std::string high = text(r.underflow.high);
  return low == high ? low : "[" + low + ", " + high + "]";
}

table table_of(const grid& g, const std::vector<sweep_result>& results, std::uint64_t steps) {
  const std::vector<bool> front = pareto_front(results, steps);
  std::vector<std::size_t> order(results.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The front first; then by lost steps, then by underflow; what is equal stays in the order of the grid.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (front[a] != front[b]) return static_cast<bool>(front[a]);
    const auto lost_a = results[a].lost_steps(steps);
    const auto lost_b = results[b].lost_steps(steps);
    return std::tuple{lost_a, results[a].underflow_share(), a} < std::tuple{lost_b, results[b].underflow_share(), b};
  });
  table t;
  t.columns = {{"rank", "rank"},
               {"pareto", ""},
               {"", "best"},
               {"scaler", "scaler"},
               {"parameters", "set"},
               {"format", "format"},
               {"rounding", "rounding"},
               {"steps", ""},
               {"skipped", "skipped", true},
               {"lost", ""},
               {"", "lost", true},
               {"underflow", "underflow", true},
               {"nonzero", ""},
               {"underflow_share", ""},
               {"", "% of nonzero", false, true},
               {"mean_log2_scale", ""},
               {"", "mean scale", false, true},
               {"last_scale", ""},
               {"", "last scale", false, true},
               {"error", ""},
               {"", "raised"}};
  const bool any_raised =
      std::ranges::any_of(results, [](const sweep_result& r) { return !r.error.empty() || r.poisoned > 0; });
  std::int64_t rank = 0;
  for (const std::size_t i : order) {
    const sweep_result& r = results[i];
    const point& p = g.points[i];
    const auto counts = [&](const count_range& c) { return r.has_counts ? table_value{c} : table_value{}; };
    t.rows.push_back(
        {++rank,
         static_cast<bool>(front[i]),
         std::string{front[i] ? "*" : ""},
         p.scaler,
         p.parameters.empty() ? table_value{} : table_value{p.parameters},
         p.format,
         p.rounding,
         static_cast<std::int64_t>(r.steps),
         count_range{r.skipped, r.skipped},
         static_cast<std::int64_t>(r.lost_steps(steps)),
         any_raised ? table_value{count_range{r.lost_steps(steps), r.lost_steps(steps)}} : table_value{},
         counts(r.underflow),
         r.has_counts ? table_value{static_cast<std::int64_t>(r.nonzero)} : table_value{},
         r.has_counts ? table_value{r.underflow_share()} : table_value{},
         r.has_counts ? table_value{share_text(r)} : table_value{},
         r.mean_log2_scale,
         std::isnan(r.mean_log2_scale) ? table_value{} : table_value{power_text(r.mean_log2_scale)},
         r.last_scale,
         as_power(r.last_scale),
         r.error.empty() ? table_value{} : table_value{r.error},
         r.error.empty() ? table_value{} : table_value{fmt::format("after {} steps", grouped(r.steps - 1))}});
  }
  return t;
}

// Each once, however many scenarios it is true of.
void print_notes(const grid& g, std::vector<std::string> lines, bool factor_unknown) {
  if (factor_unknown)
    lines.emplace_back(
        "the factor of the recorded values is not known: scales multiply the values as recorded (see --factor)");
  for (std::size_t i = 0; i < g.points.size(); ++i)
    for (std::string& text : policy_notes(g.scenarios[i], g.points[i].format))
      if (std::ranges::find(lines, text) == lines.end()) lines.push_back(std::move(text));
  for (const std::string& text : lines) note(text);
}

// Names of one thing make scenarios twice.
template <typename T>
void refuse_twins(const std::string& option, const std::vector<std::string>& names, T meaning) {
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (meaning(names[i]) == meaning(names[j]))
        throw usage_error(names[i] == names[j] ? fmt::format("{}: {} is given twice", option, names[i])
                                               : fmt::format("{}: {} and {} are the same", option, names[j], names[i]));
}

int run(const options& given) {
  options o = given;
  keep_inputs(o.output, o.run.files());
  o.formats = joined_names(o.formats);
  if (o.roundings.empty()) o.roundings.emplace_back();
  refuse_twins("--scaler", o.scalers, [](const std::string& name) { return scaler_named(name).name; });
  refuse_twins("--format", o.formats, value_format_named);
  refuse_twins("--rounding", o.roundings, [](const std::string& name) { return name; });
  const grid g = grid_of(o);
  sweep all(g.scenarios);
  const selection selected = o.run.selected();
  const std::unique_ptr<source> from = open_run_for(o.run, g.scenarios);
  check_tensors_exist(o.check, *from);
  run_notes notes;
  bool factor_unknown = false;
  {
    progress shown("steps", from->step_count());
    step now;
    while (from->next(now)) {
      shown.advance();
      if (!selected.takes(now.key.step) || now.key.microbatch != -1) continue;
      notes.see(now);
      for (const tensor_row& t : now.tensors) factor_unknown = factor_unknown || std::isnan(t.factor);
      all.add(now, from->tensors());
    }
  }
  check_steps_counted(all.steps(), o.run);
  std::vector<sweep_result> results;
  {
    progress shown("scenarios", g.points.size());
    results = all.results([&] { shown.advance(); });
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].lacks_input) throw usage_error(fmt::format("{}: {}", g.points[i].scaler, results[i].error));
  check_tensors_counted(all.choice(), *from);
  table t = table_of(g, results, all.steps());
  print_notes(g, notes.lines(all.choice()), factor_unknown);
  write_table(t, o.output, false);
  if (o.output.machine_stdout()) return done;
  const auto counted = [](std::uint64_t n, const char* what) { return count_text(n, what); };
  fmt::print("{} over {}; * no other has as few skipped steps and as little underflow, and less of one of them\n",
             counted(g.points.size(), "scenario"), counted(all.steps(), "step"));
  if (std::ranges::any_of(results, [](const sweep_result& r) { return !r.error.empty(); }))
    fmt::print("steps after a policy raised are lost like skipped ones; its underflow is of the steps before\n");
  if (std::ranges::any_of(results, [](const sweep_result& r) { return r.poisoned > 0; }))
    fmt::print("so are steps whose infinities or NaN were applied\n");
  fmt::print("\n");
  const std::size_t rows = t.rows.size();
  if (rows > o.show) t.rows.resize(o.show);
  fmt::print("{}", to_text(t));
  if (rows > o.show)
    fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", o.show, grouped(rows));
  return done;
}

}  // namespace

command sweep_command() {
  auto o = std::make_shared<options>();
  command made{.name = "sweep", .help = "many scalers, parameters, formats and roundings over one run, ranked"};
  add_run(made, o->run);
  made.add("--scaler", &o->scalers, "the policies, see `ulp scalers`",
           {.type = "NAME,...", .required = true, .split_at_commas = true});
  made.add("--set", &o->parameters,
           "a parameter and its values in turn, for the policies that have it; several make a grid",
           {.type = "key=v1,v2"});
  made.add("--format", &o->formats, "the formats, see `ulp formats`",
           {.type = "F,...", .required = true, .split_at_commas = true});
  made.add("--check", &o->check, "the tensors whose overflow the scaler sees, as in ulp replay", {.type = "REGEX"});
  made.add("--show", &o->show, "how many rows are printed", {.type = "N", .show_default = true, .check = whole_number});
  add_rounding_details(made, o->rounding);
  made.add("--rounding", &o->roundings, "as in ulp replay; several times for several",
           {.type = "R", .group = "Rounding"});
  add_output(made, o->output);
  made.footer =
      "Each scenario gives what `ulp replay` gives; ranges of underflow may be wider, and rank by their middle. "
      "Example:\n"
      "  ulp sweep examples/digits.ulp --scaler pytorch,tf_keras,cerebras --set growth_interval=50,200 --format "
      "fp16,cb16";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
