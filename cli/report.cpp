// ulp report: one page of HTML about a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/printable.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/model/survey.hpp>
#include <ulp/model/trajectory_watch.hpp>
#include <ulp/report/command_text.hpp>
#include <ulp/report/html.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_options run;
  std::vector<std::string> scalers{"pytorch_gradscaler"};
  std::vector<std::string> parameters;
  std::string format_name = "float16";
  std::string check;
  std::string clip_norm;
  std::string epsilon = "0.001";
  rounding_options rounding;
  std::string output;
};

// A policy of the page, while the steps come in.
struct replayed {
  std::string name;
  std::string set;  // "--set key=value ..." of what it has
  scenario what;
  replayer replay;
  trajectory_watch watch;
  report_replay page;
  bool over = false;
};

constexpr std::size_t inputs_shown = 3;

// "a.npz", "a.npz and 199 more files".
std::string input_text(const std::vector<std::string>& inputs) {
  return inputs.front() + (inputs.size() > 1 ? " and " + count_text(inputs.size() - 1, "more file") : "");
}

// The input and its selection, as typed; `shortened` leaves most inputs out.
std::string arguments_of(const run_options& o, bool shortened) {
  std::string text;
  const std::size_t shown = shortened ? std::min(o.inputs.size(), inputs_shown) : o.inputs.size();
  for (std::size_t i = 0; i < shown; ++i) text += " " + file_argument(o.inputs[i]);
  if (shown < o.inputs.size()) text += fmt::format(" [{}]", count_text(o.inputs.size() - shown, "more file"));
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += option_text(name, value);
  };
  option("--tensor", o.tensor);
  for (const std::string& k : o.kinds) option("--kind", k);
  for (const std::string& r : o.roles) option("--role", r);
  option("--steps", o.steps);
  if (o.every != 1) option("--every", std::to_string(o.every));
  option("--steps-from", o.steps_from);
  if (o.allow_empty) text += " --allow-empty";
  for (const std::string& l : o.limits) option("--limit", l);
  if (!o.scalars.empty()) text += " --scalars " + file_argument(o.scalars);
  option("--factor", o.factor);
  return text;
}

std::string arguments_of(const rounding_options& r) {
  std::string text;
  if (!r.direction.empty()) text += option_text("--rounding", r.direction);
  if (r.saturate) text += " --saturate";
  if (!r.flush.empty()) text += " --ftz " + r.flush;
  if (r.daz) text += " --daz";
  return text;
}

scenario scenario_of(const options& o, const std::string& name, std::string& set) {
  const scaler_entry& entry = scaler_named(name);
  std::vector<std::pair<std::string, parameter_value>> parameters;
  for (const std::string& text : o.parameters) {
    const auto [key, value] = key_and_value(text, "--set");
    if (std::ranges::find(entry.parameters, key, &scaler_parameter::name) == entry.parameters.end()) continue;
    parameters.emplace_back(key, parse_parameter(value));
    set += option_text("--set", text);
  }
  try {
    scenario s{make_scaler(entry, parameters)};
    s.format = value_format_named(o.format_name);
    s.rounding = o.rounding.value(s.format);
    s.seed = o.rounding.seed;
    if (!o.clip_norm.empty()) s.clip_norm = norm_clipping{positive_number(o.clip_norm, "--clip-norm")};
    s.counted = o.run.selected();
    if (!o.check.empty()) s.checked = regex_of(o.check, "--check");
    return s;
  } catch (const parameter_error& problem) {
    throw usage_error(fmt::format("{}: {}", name, problem.what()));
  }
}

std::vector<replayed> replays_of(const options& o) {
  std::vector<replayed> all;
  std::set<std::string> keys;
  for (const std::string& text : o.parameters)
    if (const auto [key, value] = key_and_value(text, "--set"); !keys.insert(key).second)
      throw usage_error(fmt::format("--set: {} is given twice", key));
  for (const std::string& name : o.scalers) {
    std::string set;
    const scenario s = scenario_of(o, name, set);
    all.push_back({name, set, s, replayer(s), trajectory_watch(s.scaler), {}});
    all.back().page.name = s.scaler.entry().name;
    for (const auto& p : s.scaler.parameters())
      if (!std::holds_alternative<std::monostate>(p.value))
        all.back().page.parameters +=
            (all.back().page.parameters.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  }
  for (const std::string& text : o.parameters) {
    const std::string key = key_and_value(text, "--set").first;
    if (std::ranges::none_of(
            all, [&](const replayed& r) { return r.set.find(option_text("--set", text)) != std::string::npos; }))
      throw usage_error(fmt::format("--set: none of {} has a parameter '{}'", fmt::join(o.scalers, ", "), key));
  }
  return all;
}

constexpr std::array matrix_formats{"float16", "cbfloat16", "bfloat16", "float8_e5m2", "float8_e4m3fn"};

// Share of nonzero gradients that underflow without a loss scale, by group or kind and format.
table matrix_of(const survey& run, const std::vector<tensor_set>& sets, const char* title, const rounding_options& r) {
  table t;
  t.columns = {{"", title}, {"", "gradients", false, true}};
  for (const char* const f : matrix_formats) t.columns.push_back({"", f, false, true});
  for (const tensor_set& set : sets) {
    std::vector<table_value> row{set.name, {}};
    for (const char* const f : matrix_formats) {
      const format to = *find_format(f);
      const outcome_counts c = run.outcomes(set, to, r.value(to), 1);
      const value_range underflow = underflow_share(c);
      const auto share = [&](double part) {
        return c.nonzero().high == 0 ? std::string{"-"} : fmt::format("{:.3g} %", 100 * part);
      };
      const std::string low = share(underflow.low);
      const std::string high = share(underflow.high);
      row[1] = count_range{c.numel, c.numel};
      row.emplace_back(low == high ? low : low + " to " + high);
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

int run(const options& o) {
  std::vector<std::string> read = o.run.files();
  keep_inputs({.csv = o.output}, read);
  std::vector<replayed> replays = replays_of(o);
  const scenario& first = replays.front().what;
  if (first.rounding.direction == direction::stochastic)
    throw usage_error("--rounding: a report is of deterministic roundings; see ulp outcomes for stochastic ones");
  advice_options how{.format_name = o.format_name, .format = first.format, .rounding = first.rounding};
  how.epsilon = positive_number(o.epsilon, "--epsilon");
  if (!(how.epsilon < 1)) throw usage_error("--epsilon: a share below 1, such as 0.001 for 0.1 %");
  how.groups = o.run.named_groups();
  const std::vector<scenario> scenarios = scaler_trials(how, first.counted, first.checked);

  const std::unique_ptr<source> from = open_run(o.run);
  check_tensors_exist(o.check, *from);
  std::optional<whole_file> file;  // now: where it cannot be written nobody waits for it
  if (o.output != "-") file.emplace(o.output);
  survey seen(first.counted, first.checked);
  sweep trials(scenarios);
  run_notes notes;
  report_page page{.format_name = o.format_name, .format = first.format, .rounding = first.rounding};
  std::vector<tensor_outcome> tensors;
  {
    progress shown("steps", from->step_count());
    step now;
    while (from->next(now)) {
      shown.advance();
      if (!first.counted.takes(now.key.step) || now.key.microbatch != -1) continue;
      notes.see(now);
      seen.add(now, from->tensors());
      trials.add(now, from->tensors());
      // Columns of all pictures are the same steps, with tensors or without.
      octave_counts& octaves = page.octaves.at_step(now.key.step);
      for (const tensor_row& t : now.tensors)
        if (seen.choice()[t.tensor].counted) octaves.add(t.table, t.factor);
      tensor_losses& losses = page.losses.at_step(now.key.step);
      for (replayed& r : replays) {
        if (r.over) {
          r.page.scales.at_step(now.key.step);
          continue;
        }
        tensors.clear();
        const bool is_first = &r == &replays.front();
        const trajectory_row row = r.replay.advance(now, from->tensors(), is_first ? &tensors : nullptr);
        if (row.lacks_input) throw usage_error(fmt::format("{}: {}", r.name, row.error));
        r.page.sum.add(row);
        r.page.scales.at_step(now.key.step).add(row);
        r.watch.add(row);
        r.over = !row.error.empty();
        if (!is_first) continue;
        for (const tensor_outcome& t : tensors) losses.add(t);
      }
    }
  }
  check_steps_counted(seen.steps().size(), o.run);
  check_tensors_counted(seen.choice(), *from);

  page.input = input_text(o.run.inputs);
  page.tensors = from->tensors();
  page.steps = seen.steps().size();
  page.findings = advice_of(seen, from->tensors(), scenarios, trials.results(), how);
  for (const replayed& r : replays)
    for (const std::string& line : policy_notes(r.what, o.format_name)) note(line);
  for (const std::string& line : notes.lines(seen.choice())) note(line);
  if (seen.as_recorded())
    note("the factor of the recorded values is not known: scales multiply the values as recorded (see --factor)");
  if (!o.clip_norm.empty()) page.clip_norm = positive_number(o.clip_norm, "--clip-norm");
  const bool by_group = !how.groups.empty();
  const std::vector<tensor_set> sets =
      by_group ? sets_by_group(seen, from->tensors(), how.groups) : sets_by_kind(seen, from->tensors());
  page.matrix = matrix_of(seen, sets, by_group ? "group" : "kind", o.rounding);
  for (const std::string& line : group_notes(sets)) note(line);
  page.notes = told();
  const auto add_command = [&](const char* command, const std::string& options) {
    const auto text = [&](bool shortened) {
      return fmt::format("ulp {}{}{}", command, arguments_of(o.run, shortened), options);
    };
    page.commands.push_back({text(false), o.run.inputs.size() > inputs_shown ? text(true) : ""});
  };
  const std::string rounded = arguments_of(o.rounding);
  const std::string checked = o.check.empty() ? "" : option_text("--check", o.check);
  std::string grouping;
  for (const std::string& g : o.run.groups) grouping += option_text("--group", g);
  const std::string clipped = o.clip_norm.empty() ? "" : " --clip-norm " + o.clip_norm;
  for (replayed& r : replays) {
    r.page.warnings = r.watch.warnings();
    add_command("replay", fmt::format(" --scaler {}{} --format {}{}{}{}", r.name, r.set, shell_quoted(o.format_name),
                                      rounded, checked, clipped));
    page.replays.push_back(std::move(r.page));
  }
  if (!page.findings.empty())
    add_command("advise",
                fmt::format(" --format {} --epsilon {}{}{}", shell_quoted(o.format_name), o.epsilon, rounded, checked) +
                    grouping);
  if (!page.matrix.rows.empty())
    add_command("outcomes", fmt::format(" --format {} --by {}{}{}", fmt::join(matrix_formats, ","),
                                        by_group ? "group" : "kind", grouping, rounded));

  if (!file) {
    fmt::print("{}", html_of(page));
    return done;
  }
  file->write(html_of(page));
  file->finish();
  fmt::print("{}: {} of {} under {} polic{}\n", printable(o.output), count_text(page.steps, "step"),
             printable(page.input), replays.size(), replays.size() == 1 ? "y" : "ies");
  return done;
}

}  // namespace

command report_command() {
  auto o = std::make_shared<options>();
  command made{.name = "report", .help = "one HTML page about a run: findings, pictures, numbers"};
  add_run(made, o->run);
  add_groups(made, o->run);
  made.add("-o,--output", &o->output, "the page to write; - for standard output",
           {.type = "FILE.html", .required = true});
  made.add("--scaler", &o->scalers, "the policies to replay, see `ulp scalers`",
           {.type = "NAME,...", .show_default = true, .split_at_commas = true});
  made.add("--set", &o->parameters, "a parameter, for the policies that have it", {.type = "key=value"});
  made.add("--format", &o->format_name, "the format that is scaled, see `ulp formats`",
           {.type = "F", .show_default = true});
  made.add("--check", &o->check, "the tensors whose overflow the scaler sees, as in ulp replay", {.type = "REGEX"});
  made.add("--clip-norm", &o->clip_norm, "clip the unscaled gradients to this L2 norm", {.type = "X"});
  made.add("--epsilon", &o->epsilon, "the share of the nonzero gradients that may underflow",
           {.type = "X", .show_default = true});
  add_rounding(made, o->rounding);
  made.footer =
      "Example:\n"
      "  ulp report examples/digits.ulp --scaler pytorch,cerebras --clip-norm 1 -o /tmp/digits.html";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
