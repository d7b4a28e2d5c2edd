#include "arguments.hpp"

#include <QCommandLineParser>
#include <QFileInfo>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/output/program.hpp>
#include <ulp/model/plan/hardware.hpp>
#include <utility>

#include "chosen_inputs.hpp"
#include "language.hpp"
#include "themes.hpp"
#include "viewmodel/typed_option.hpp"
#include "views/all_views.hpp"
#include "views/layer_words.hpp"

namespace ulp::gui {
namespace {

[[noreturn]] void print_and_end(const QString& text) {
  if (std::fputs(text.toUtf8().constData(), stdout) < 0 || std::fflush(stdout) != 0)
    refuse("standard output cannot be written");
  std::exit(0);
}

// Of `ulp replay`: what is registered under the same names, said to several policies at once, or means something else here.
bool is_own(const std::string& option) { return option == "scaler" || option == "tensor" || option == "steps"; }

void add_options(QCommandLineParser& to, const std::vector<text_option>& options) {
  for (const text_option& o : options)
    if (!is_own(o.name))
      to.addOption({QString::fromStdString(o.name), QString::fromStdString(o.help), QString::fromStdString(o.type)});
}

void take_options(const QCommandLineParser& given, const std::vector<text_option>& options) {
  for (const text_option& o : options) {
    const QString name = QString::fromStdString(o.name);
    if (is_own(o.name) || !given.isSet(name)) continue;
    if (auto* const* const list = std::get_if<std::vector<std::string>*>(&o.value))
      for (const QString& value : given.values(name)) (*list)->push_back(value.toStdString());
    else
      set_text(o, o.type.empty() ? "yes" : given.value(name));
  }
}

// That of --recipe, with those of `parameters` that its policy has, which are taken out.
std::optional<fp8_spec> recipe(const QCommandLineParser& given, std::vector<std::string>& parameters) {
  if (!given.isSet("recipe")) return std::nullopt;
  fp8_question asked = question_of({}, fp8_spec{.recipe = given.value("recipe").toStdString()});
  take_parameters(asked, parameters);
  return checked(spec_of(asked));
}

// That of the configuration, where it trains in FP8: with all parameters, since then no loss is scaled.
std::optional<fp8_spec> recipe(const configuration& own, std::vector<std::string>& parameters) {
  try {
    const auto asked = fp8_question_of(own, {}, parameters);
    if (!asked) return std::nullopt;
    parameters.clear();
    return checked(spec_of(*asked));
  } catch (const std::invalid_argument& lack) {
    print_error("ulpscope: note: " + printable(lack.what()) + "\n");
    return std::nullopt;
  }
}

struct asked_replays {
  std::vector<scenario_text> scenarios;  // of --config and of --scaler A,B with the other options in each
  std::optional<fp8_spec> fp8;           // of --recipe, else of --config; with the --set that its policy has
};

asked_replays replays(const QCommandLineParser& given) {
  scenario_text common;
  take_options(given, options_of(common));
  refuse_blocks_as_format(common.format);
  asked_replays asked{.scenarios = {}, .fp8 = recipe(given, common.parameters)};
  std::optional<configuration> own;
  if (given.isSet("config")) {
    own = read_configuration({given.value("config").toStdString(), given.value("framework").toStdString()}, common);
    for (const std::string& line : configuration_notes(*own)) print_error("ulpscope: note: " + printable(line) + "\n");
    if (!asked.fp8 && common.format.empty()) asked.fp8 = recipe(*own, common.parameters);
  }
  std::vector<std::string> scalers;
  // The run's own, which only reading it tells.
  if (!given.isSet("scaler") && !own && common.parameters.empty() && common.start.empty()) {
    scenario_text usual = common;
    usual.scaler = usual_scenario().scaler;
    if (usual.format.empty()) usual.format = usual_scenario().format;
    static_cast<void>(scenario_of(usual));
    asked.scenarios = {common};
    return asked;
  }
  if (given.isSet("scaler") || !own)
    for (const QString& scaler : given.value("scaler").split(',')) scalers.push_back(scaler.toStdString());
  asked.scenarios = under_each(common, scalers, own);
  for (scenario_text& one : asked.scenarios) {
    one.scaler = scaler_named(one.scaler).name;  // not an alias
    if (one.format.empty()) one.format = usual_scenario().format;
    static_cast<void>(scenario_of(one));
  }
  return asked;
}

run_text reading(const QCommandLineParser& given, run_text how) {
  take_options(given, options_of(how));
  static_cast<void>(how.selected());
  static_cast<void>(how.how_to_read());
  return how;
}

// What it gives; a mistake ends the program.
template <typename Work>
auto or_refuse(Work work) {
  try {
    return work();
  } catch (const std::exception& mistake) {
    refuse(QString::fromUtf8(mistake.what()));
  }
}

// The file that is named as one, or is the only input and is one; empty for none.
QString session_file(const QCommandLineParser& given) {
  if (given.isSet("session")) return given.value("session");
  const QStringList inputs = given.positionalArguments();
  return inputs.size() == 1 && is_session(inputs.front()) ? inputs.front() : QString();
}

// Of a folder the run that it holds.
document::inputs_of_run files_of(const QString& input) {
  if (!QFileInfo(input).isDir()) return {input.toStdString()};
  const std::vector<document::inputs_of_run> runs = runs_of(inputs_in(input));
  if (runs.empty()) refuse(input + ": no file in this folder is named like a recording, a dump or a log");
  if (runs.size() == 1) return runs.front();
  QStringList names;
  for (const auto& run : runs) names << name_of(run);
  refuse(input + ": the folder holds several runs, name one of them: " + names.join(", "));
}

// As the other programs take them.
void take_steps(const QString& text, session& s) {
  const selection shown = or_refuse([&] { return run_text{.steps = text.toStdString()}.selected(); });
  if (shown.first_step != selection{}.first_step) s.first_step = shown.first_step;
  if (shown.end_step != selection{}.end_step) s.last_step = shown.end_step - 1;
}

}  // namespace

void refuse(const QString& why) {
  print_error("ulpscope: " + printable(why.toStdString()) + "\n");
  std::exit(2);
}

arguments parse_arguments() {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "What 16 bits do to the gradients of a training run.\n"
      "Example: ulpscope examples/digits.ulp --view window --export window.png");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("INPUT", QString::fromStdString(inputs_help()), "[INPUT...]");
  parser.addOption({"compare", "a second run, aligned with the first by step; may be repeated", "INPUT"});
  parser.addOption({"session", "a saved session; may also be given as INPUT", "FILE"});
  parser.addOption({"view", "the view: " + view_keys().join(' '), "NAME", "overview"});
  parser.addOption({"metric", "what Layers shows: " + metric_keys().join(' '), "NAME"});
  parser.addOption({"recipe",
                    "an FP8 recipe, as in ulp replay, for Tensor scales, Layers and Overview; takes the --set that its "
                    "policy has",
                    "NAME"});
  parser.addOption(
      {"block",
       "formats whose blocks share a scale (see ulp formats --blocks): Exponents shows the first, relative "
       "to that scale, and Formats compares all",
       "NAME,..."});
  parser.addOption({"hardware", "of Plan: only treatments that it has, as in ulp plan", "NAME"});
  parser.addOption({"lose", "of Plan: the share of a tensor's energy that it may lose (1e-3)", "X"});
  parser.addOption({"export", "write the view to a file and quit: .png .svg .pdf .csv .json", "FILE"});
  parser.addOption({"size", "of the picture", "WxH", "1100x700"});
  parser.addOption({"theme", theme_names().join(", "), "NAME"});
  parser.addOption({"language", "of the texts (default: the desktop's): " + languages().join(", "), "NAME"});
  parser.addOption(
      {"scaler",
       "a policy, or several for comparison (default: that whose loss scales the run logged, else pytorch_gradscaler)",
       "NAME,...", "pytorch_gradscaler"});
  parser.addOption({"config",
                    "adds a first policy, and takes format and clipping unless given, from a framework's "
                    "configuration, as in ulp replay",
                    "FILE"});
  parser.addOption({"framework", "whose configuration --config is, where its keys do not say it", "NAME"});
  scenario_text scenario;
  add_options(parser, options_of(scenario));
  parser.addOption({"tensor", "show only tensors whose name contains a match", "REGEX"});
  parser.addOption({"steps", "show only steps A to B", "A:B"});
  parser.addOption({"step", "the step of the cursor", "N"});
  run_text how;
  add_options(parser, options_of(how));  // of everything opened
  if (!parser.parse(QCoreApplication::arguments())) refuse(parser.errorText());
  if (parser.isSet("help") || parser.isSet("help-all")) print_and_end(parser.helpText());
  if (parser.isSet("version"))
    print_and_end(QCoreApplication::applicationName() + " " + QCoreApplication::applicationVersion() + "\n");

  arguments a;
  session& s = a.asked;
  const QString saved = session_file(parser);
  if (parser.isSet("session") || !saved.isEmpty()) {
    QStringList others{"config", "framework", "compare"};
    for (const text_option& o : options_of(scenario)) others << QString::fromStdString(o.name);
    for (const QString& other : others)
      if (parser.isSet(other)) refuse(QString("--session: already sets --%1; remove one of them").arg(other));
    if (parser.isSet("session") && !parser.positionalArguments().isEmpty())
      refuse("--session: already names its runs; remove INPUT");
    s = or_refuse([&] { return read_session(saved); });
  } else {
    document::inputs_of_run first;
    for (const QString& input : parser.positionalArguments())
      for (std::string& file : files_of(input)) first.push_back(std::move(file));
    if (!first.empty()) s.runs.push_back(std::move(first));
    if (parser.isSet("compare") && s.runs.empty()) refuse("--compare: needs an INPUT to compare with");
    for (const QString& other : parser.values("compare")) s.runs.push_back(files_of(other));
    const asked_replays asked = or_refuse([&] { return replays(parser); });
    s.fp8 = asked.fp8;
    for (std::size_t run = 0; run < std::max<std::size_t>(1, s.runs.size()); ++run)
      for (const scenario_text& spec : asked.scenarios) s.replays.push_back({.spec = spec, .run = run});
    if (s.replays.size() > document::most_replays)
      refuse(QString("%1 replays are too many for one picture: at most %2, policies times runs")
                 .arg(s.replays.size())
                 .arg(document::most_replays));
  }
  if (parser.isSet("view") || s.view.isEmpty()) s.view = parser.value("view");
  if (!view_keys().contains(s.view)) refuse("--view: '" + s.view + "' is not one of " + view_keys().join(", "));
  if (parser.isSet("metric")) {
    const auto metric = metric_named(parser.value("metric"));
    if (!metric) refuse("--metric: '" + parser.value("metric") + "' is not one of " + metric_keys().join(", "));
    s.metric = *metric;
  }
  if (std::vector<std::string> none; parser.isSet("recipe") && !saved.isEmpty())
    s.fp8 = or_refuse([&] { return recipe(parser, none); });
  if (parser.isSet("block")) {
    s.block_rows.clear();
    for (const QString& name : parser.value("block").split(',')) s.block_rows.push_back(name.toStdString());
    static_cast<void>(or_refuse([&] { return block_formats_named(s.block_rows, "--block"); }));
    s.block = s.block_rows.front();
  }
  if (parser.isSet("hardware"))
    s.plan.hardware = or_refuse([&] { return plan_hardware_named(parser.value("hardware").toStdString()); }).name;
  if (parser.isSet("lose")) s.plan.lose = parser.value("lose").toStdString();
  // In the window it is said where it was typed.
  if (parser.isSet("lose") || (parser.isSet("export") && !s.plan.lose.empty()))
    if (!(or_refuse([&] { return positive_number(s.plan.lose, "--lose"); }) < 1))
      refuse("--lose: a share below 1, such as 1e-3");
  if (parser.isSet("tensor")) s.filter = parser.value("tensor");
  if (const QString problem = view_state::problem_with_filter(s.filter); !problem.isEmpty())
    refuse("--tensor: " + problem);
  if (parser.isSet("steps")) take_steps(parser.value("steps"), s);
  if (parser.isSet("step")) {
    bool number = false;
    s.cursor = parser.value("step").toLongLong(&number);
    if (!number) refuse("--step: '" + parser.value("step") + "' is not a step");
  }

  s.reading = or_refuse([&] { return reading(parser, s.reading); });
  a.output = parser.value("export");
  if (parser.isSet("export") && a.output.isEmpty()) refuse("--export: the file name is empty");
  if (is_one_of(a.output.toStdString(), {saved.toStdString(), parser.value("config").toStdString()}))
    refuse("--export: " + a.output + " is an input and would be overwritten");
  if (parser.isSet("export") && s.runs.empty()) refuse("--export: needs an INPUT");
  a.colours = parser.value("theme");
  if (!a.colours.isEmpty() && !theme_names().contains(a.colours))
    refuse("--theme: '" + a.colours + "' is not one of " + theme_names().join(", "));
  a.language = parser.value("language");
  if (parser.isSet("language") && !languages().contains(a.language))
    refuse("--language: '" + a.language + "' is not one of " + languages().join(", "));
  const QStringList size = parser.value("size").split('x');
  bool wide = false;
  bool high = false;
  if (size.size() == 2) a.size = {size[0].toInt(&wide), size[1].toInt(&high)};
  if (!wide || !high || a.size.width() < 100 || a.size.height() < 100 || a.size.width() > 20000 ||
      a.size.height() > 20000)
    refuse("--size: '" + parser.value("size") + "' is not WIDTHxHEIGHT");
  return a;
}

}  // namespace ulp::gui
