// ulp precision optimizer: a run of gradients through an optimizer as a library steps it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <ulp/ask/questions/suggestions.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "precision/optimizer_arrays.hpp"
#include "precision/optimizer_input.hpp"
#include "precision/subcommands.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct options {
  std::vector<std::string> inputs;
  std::string dialect;
  std::string weights = "fp32";
  std::string rounding = "own";
  std::vector<std::string> set;
  std::string learning_rate;
  std::string steps;
  std::uint64_t elements = 0;
  std::uint64_t seed = 0;
  std::string first_weights;
  std::vector<std::string> limits;
  std::string output;
  output_options shown;
};

// What is kept in memory until it is written.
constexpr std::uint64_t most_output = 4'000'000'000;

std::string defaults_of(const optimizer_entry& entry) {
  std::string text;
  for (const optimizer_parameter& p : entry.parameters)
    text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

table dialect_table() {
  using row = optimizer_entry;
  const auto text = [](std::string_view row::*of) { return [of](const row& e) { return std::string{e.*of}; }; };
  const std::vector<column<row>> columns = {
      {"dialect", "dialect", text(&row::name)},
      {"aliases", "", [](const row& e) { return fmt::format("{}", fmt::join(e.aliases, ", ")); }},
      {"family", "of", text(&row::family)},
      {"summary", "what", text(&row::summary)},
      {"states", "", text(&row::states)},
      {"defaults", "", defaults_of},
      {"rules", "", text(&row::rules)},
      {"quirks", "", text(&row::quirks)},
      {"source", "", text(&row::source)},
  };
  return table_of(columns, optimizer_catalog());
}

void print_lines(std::string_view title, std::string_view lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    fmt::print("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

table parameter_table_of(const optimizer_entry& entry) {
  using row = optimizer_parameter;
  const std::vector<column<row>> columns = {
      {"dialect", "", [&](const row&) { return std::string{entry.name}; }},
      {"parameter", "", &row::name},
      {"default", "", [](const row& p) { return to_string(p.value); }},
      {"meaning", "", &row::meaning},
  };
  return table_of(columns, entry.parameters);
}

void print_card(const optimizer_entry& entry) {
  fmt::print("{}: {} ({})\n", entry.name, entry.summary, entry.family);
  if (!entry.aliases.empty()) fmt::print("also {}\n", fmt::join(entry.aliases, ", "));
  fmt::print("\nParameters (--set)\n");
  for (const auto& p : entry.parameters) fmt::print("  {:<26} {:<14} {}\n", p.name, to_string(p.value), p.meaning);
  print_lines("States", entry.states);
  print_lines("A step (R rounds to the storage format, fl to float32)", entry.rules);
  print_lines("Quirks", entry.quirks);
  print_lines("Source", entry.source);
}

const optimizer_entry& dialect_named(const std::string& name) {
  if (const optimizer_entry* const entry = find_optimizer(name)) return *entry;
  std::vector<std::string> names;
  for (const optimizer_entry& entry : optimizer_catalog()) {
    names.emplace_back(entry.name);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  throw usage_error(fmt::format("--dialect: there is no optimizer '{}'{}; --dialect list shows them all", name,
                                did_you_mean(name, names)));
}

optimizer_settings settings_of(const std::vector<std::string>& set) {
  optimizer_settings settings;
  for (const std::string& text : set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw usage_error(fmt::format("--set {}: give NAME=VALUE, as in lr=0.01", text));
    settings.emplace_back(text.substr(0, equals), parse_parameter(std::string_view{text}.substr(equals + 1)));
  }
  return settings;
}

// Ascending, each once. None given: 1, 2, 3, 10, 50, 200 and so on as far as there are steps, and the last.
std::vector<std::int64_t> steps_of(const std::string& text, std::uint64_t last) {
  std::vector<std::int64_t> steps;
  if (text.empty()) {
    for (const std::uint64_t step : {1, 2, 3, 10, 50, 200, 1000, 5000, 20000})
      if (step < last) steps.push_back(static_cast<std::int64_t>(step));
    if (last > 0) steps.push_back(static_cast<std::int64_t>(last));
    return steps;
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::uint64_t step = 0;
    const char* const end = text.data() + comma;
    const auto [stop, error] = std::from_chars(text.data() + at, end, step);
    if (error != std::errc() || stop != end || step == 0)
      throw usage_error(fmt::format("--steps {}: give numbers of steps from 1, separated by commas", text));
    if (step > last)
      throw usage_error(
          fmt::format("--steps {}: the input has {}, so step {} is beyond it", text, count_text(last, "step"), step));
    steps.push_back(static_cast<std::int64_t>(step));
    at = comma + 1;
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

struct moment {
  std::int64_t step = 0;
  double rms = 0;      // of w - w0, finite ones
  double largest = 0;  // |w - w0|
  std::uint64_t nonfinite = 0;
  std::uint64_t moved = 0;  // differ from w0
};

moment moment_of(std::int64_t step, std::span<const float> w, std::span<const float> first) {
  moment m{.step = step};
  std::uint64_t finite = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double by = static_cast<double>(w[i]) - static_cast<double>(first[i]);
    if (w[i] != first[i]) ++m.moved;
    if (!std::isfinite(by)) {
      ++m.nonfinite;
      continue;
    }
    ++finite;
    m.rms += by * by;
    m.largest = std::max(m.largest, std::fabs(by));
  }
  m.rms = finite == 0 ? 0 : std::sqrt(m.rms / static_cast<double>(finite));
  return m;
}

table moment_table(const std::vector<moment>& moments) {
  const std::vector<column<moment>> columns = {
      {"step", "step", [](const moment& m) { return m.step; }},
      {"moved", "moved", [](const moment& m) { return exactly(m.moved); }},
      {"rms_move", "rms of w - w0", [](const moment& m) { return m.rms; }},
      {"largest_move", "largest", [](const moment& m) { return m.largest; }},
      {"nonfinite", "inf or NaN", [](const moment& m) { return exactly(m.nonfinite); }},
  };
  return table_of(columns, moments);
}

optimizer_setup setup_of(const options& o, std::size_t size) {
  const parsed<format> weights = parse_format(o.weights);
  if (!weights.value) throw usage_error("--weights: " + weights.error);
  std::vector<std::string> set = o.set;
  if (!o.learning_rate.empty()) set.push_back("lr=" + o.learning_rate);
  return {.size = size,
          .weights = *weights.value,
          .rounding = *parse_weight_rounding(o.rounding),
          .seed = o.seed,
          .parameters = settings_of(set)};
}

optimizer made(const optimizer_entry& entry, const optimizer_setup& setup) {
  try {
    return make_optimizer(entry, setup);
  } catch (const parameter_error& problem) {
    throw usage_error(fmt::format("--set: {}: {}", entry.name, problem.what()));
  } catch (const std::invalid_argument& problem) {
    throw usage_error(fmt::format("--weights: {}", problem.what()));
  }
}

void refuse_same_outputs(const options& o) {
  namespace fs = std::filesystem;
  if (o.shown.csv.empty() || o.shown.csv == "-") return;
  std::error_code error;
  if (fs::weakly_canonical(fs::absolute(o.shown.csv), error) == fs::weakly_canonical(fs::absolute(o.output), error))
    throw usage_error(fmt::format("-o and --csv both write to {}; name another file", o.output));
}

int describe(const options& o) {
  if (o.dialect.empty() || o.dialect == "list") {
    write_table("precision.optimizers", dialect_table(), o.shown);
    if (!o.shown.machine_stdout())
      fmt::print("\nulp precision optimizer --dialect NAME shows parameters, rules, quirks and source.\n");
    return done;
  }
  const optimizer_entry& entry = dialect_named(o.dialect);
  write_table("precision.optimizer", parameter_table_of(entry), o.shown, false);
  if (!o.shown.machine_stdout()) print_card(entry);
  return done;
}

int run(const options& o) {
  if (o.inputs.empty()) return describe(o);
  if (o.dialect.empty() || o.dialect == "list")
    throw usage_error("--dialect is missing: whose optimizer steps; ulp precision optimizer lists them");
  const optimizer_entry& entry = dialect_named(o.dialect);
  static_cast<void>(made(entry, setup_of(o, 0)));  // what is wrong with the parameters, before anything is read
  if (o.output.empty()) throw usage_error("-o is missing: the .npz to write");
  std::vector<std::string> read = o.inputs;
  if (!o.first_weights.empty()) read.push_back(o.first_weights);
  if (o.output == "-") throw usage_error("-o -: an .npz is not written to standard output; name a file");
  refuse_overwriting_inputs({.csv = o.output}, read);
  refuse_overwriting_inputs(o.shown, read);
  refuse_same_outputs(o);

  optimizer_input_options how{.inputs = o.inputs,
                              .weights = o.first_weights,
                              .elements = o.elements,
                              .rounded_to = setup_of(o, 0).weights,
                              .limits = {}};
  for (const std::string& limit : o.limits) {
    try {
      set_limit(how.limits, limit);
    } catch (const std::invalid_argument& problem) {
      throw usage_error(fmt::format("--limit {}: {}", limit, problem.what()));
    }
  }
  optimizer_input input(how);
  const optimizer_setup setup = setup_of(o, input.size());
  optimizer stepped = made(entry, setup);
  const std::size_t batches = stepped.micro_batches();
  const std::uint64_t last = input.rows() / batches;
  if (last == 0)
    throw usage_error(fmt::format("{}: has {}, and a step takes {}", o.inputs.front(),
                                  count_text(input.rows(), "gradient"), batches));
  if (input.rows() % batches != 0)
    note(fmt::format("{} gradients are no multiple of {} micro-batches: the last {} are left out", input.rows(),
                     batches, input.rows() % batches));
  const std::vector<std::int64_t> steps = steps_of(o.steps, last);
  if (input.has_bits() && input.bit_rows() < static_cast<std::uint64_t>(steps.back()))
    throw usage_error(fmt::format("{}: array 'sr_bits': has {}, and step {} is asked for; give fewer --steps",
                                  o.inputs.front(), count_text(input.bit_rows(), "row"), steps.back()));

  optimizer_arrays arrays(setup.weights);
  const std::uint64_t bytes = arrays.bytes_of_moment(stepped);
  if (bytes > most_output / steps.size())
    throw usage_error(
        fmt::format("{} steps of {} bytes are more than the {} that an output may have; give fewer --steps "
                    "or --elements",
                    steps.size(), grouped(bytes), grouped(most_output)));
  std::vector<float> w = input.first_weights();
  round_array(setup.weights, w);
  const std::vector<float> first = w;
  std::vector<float> gradient(input.size() * batches);
  std::vector<std::uint16_t> bits(input.has_bits() ? input.size() : 0);
  std::vector<moment> moments;
  {
    progress shown("steps", static_cast<std::uint64_t>(steps.back()));
    for (const std::int64_t recorded : steps) {
      while (stepped.steps() < recorded) {
        for (std::size_t batch = 0; batch < batches; ++batch)
          input.read(std::span{gradient}.subspan(batch * input.size(), input.size()));
        if (!bits.empty()) input.read_bits(bits);
        stepped.step(gradient, w, bits);
        if (!std::isnan(stepped.gradient_norm()) || entry.states.find("grad_norm") != std::string_view::npos)
          arrays.add_norm(stepped.gradient_norm());
        shown.advance(static_cast<std::uint64_t>(stepped.steps()));
      }
      arrays.add(stepped, w);
      moments.push_back(moment_of(recorded, w, first));
    }
  }
  npz_writer file(o.output);
  arrays.write(file, stepped, o.elements);
  file.finish();

  std::string parameters;
  std::vector<named_value> values;
  for (const optimizer_parameter& p : stepped.parameters()) {
    parameters += (parameters.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
    values.push_back({p.name, std::visit([](const auto& value) { return table_value{value}; }, p.value)});
  }
  const summary lines{
      {"dialect", fmt::format("{} ({})", entry.name, entry.summary), {{"dialect", std::string{entry.name}}}},
      {"parameters", parameters, {{"parameters", named_values{values}}}},
      {"weights",
       o.rounding == "own" ? o.weights : o.weights + ", rounded " + o.rounding,
       {{"weights", o.weights}, {"weight_rounding", o.rounding}}},
      {"elements", grouped(input.size()), {{"elements", integer(input.size())}}},
      {"output", o.output, {{"output", o.output}}},
  };
  const table t = moment_table(moments);
  if (!o.shown.csv.empty()) write_table("precision.optimizer-run", t, {.csv = o.shown.csv}, false);
  if (o.shown.json) {
    print_json("precision.optimizer-run", lines, "steps", t);
  } else if (!o.shown.machine_stdout()) {
    print_text(lines);
    fmt::print("\n{}", to_text(t));
  }
  return done;
}

}  // namespace

command precision_optimizer_command() {
  auto o = std::make_shared<options>();
  command made{.name = "optimizer", .help = "step recorded gradients as the optimizer of a library does, bit for bit"};
  made.add("INPUT", &o->inputs,
           "one .npz with grads [steps, elements], w0 and perhaps sr_bits (uint16), or dumps of steps or their folder; "
           "none: list the dialects");
  made.add("--dialect", &o->dialect, "whose optimizer; list: all of them; without INPUT: describe it",
           {.type = "NAME"});
  made.add("--weights", &o->weights, "format of weights and gradients: fp32, bf16, fp16 or another",
           {.type = "FORMAT", .show_default = true});
  made.add("--lr", &o->learning_rate, "the learning rate, as --set lr=X", {.type = "X"});
  made.add("--set", &o->set, "a parameter of the dialect", {.type = "NAME=VALUE"});
  made.add("--steps", &o->steps, "steps to write, from 1; default 1,2,3,10,50,200,... and the last",
           {.type = "N,N,..."});
  made.add("--elements", &o->elements, "the first elements of each gradient only; 0: all",
           {.type = "N", .check = whole_number});
  made.add("--w0", &o->first_weights, "a dump of the first weights", {.type = "FILE", .check = a_name});
  made.add("--weight-rounding", &o->rounding, "how new weights are rounded; own: as the dialect does",
           {.type = "R", .show_default = true, .one_of = {"own", "nearest", "stochastic", "kahan"}});
  made.add("--seed", &o->seed, "of random bits that the input does not hold", {.type = "N", .check = whole_number});
  made.add("-o,--output", &o->output, "the .npz to write", {.type = "FILE", .check = a_name});
  made.add("--limit", &o->limits, "what reading may cost, see docs/inputs.md", {.type = "NAME=N"});
  add_output(made, o->shown);
  made.footer =
      "Examples:\n"
      "  ulp precision optimizer --dialect bnb_cuda_text_adam8bit\n"
      "  ulp precision optimizer tests/data/golden_optim/inputs.npz --dialect torch_adamw --weights bf16 --lr 0.01 "
      "-o "
      "/tmp/run.npz";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
