#include "arguments.hpp"

#include <QCommandLineParser>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <ulp/io/printable.hpp>
#include <ulp/io/program.hpp>
#include <ulp/io/whole_file.hpp>
#include <utility>

#include "views/all_views.hpp"

namespace ulp::gui {
namespace {

[[noreturn]] void print_and_end(const QString& text) {
  std::fputs(text.toUtf8().constData(), stdout);
  if (std::fflush(stdout) != 0) refuse("standard output cannot be written");
  std::exit(0);
}

// The scenarios of --scaler A,B with the other options in each.
std::vector<scenario_spec> scenarios(const QCommandLineParser& given) {
  std::vector<scenario_spec> all;
  const QStringList scalers = given.value("scaler").split(',');
  for (const QString& scaler : scalers) {
    scenario_spec spec;
    spec.scaler = scaler.toStdString();
    const auto take = [&](const char* option, std::string& into) { into = given.value(option).toStdString(); };
    take("format", spec.format);
    take("rounding", spec.rounding);
    take("clip-norm", spec.clip_norm);
    take("clip-value", spec.clip_value);
    take("order", spec.order);
    take("check", spec.check);
    const scaler_entry* const entry = find_scaler(spec.scaler);
    if (entry != nullptr) spec.scaler = entry->name;  // not an alias
    for (const QString& set : given.values("set")) {
      const auto at = set.indexOf('=');
      if (at <= 0) refuse("--set: '" + set + "' is not key=value");
      const std::string name = set.left(at).toStdString();
      const auto is = [&](const scaler_parameter& p) { return p.name == name; };
      if (scalers.size() == 1 || entry == nullptr || std::ranges::any_of(entry->parameters, is))
        spec.parameters.emplace_back(name, set.mid(at + 1).toStdString());
    }
    try {
      static_cast<void>(scenario_of(spec));
    } catch (const std::invalid_argument& mistake) {
      refuse(scaler + ": " + QString::fromUtf8(mistake.what()));
    }
    all.push_back(std::move(spec));
  }
  for (const QString& set : given.values("set")) {
    const std::string name = set.left(set.indexOf('=')).toStdString();
    const auto has = [&](const scenario_spec& s) {
      return std::ranges::find(s.parameters, name, &std::pair<std::string, std::string>::first) != s.parameters.end();
    };
    if (std::ranges::none_of(all, has))
      refuse("--set: no scaler has a parameter '" + QString::fromStdString(name) + "'");
  }
  if (given.isSet("order") && !given.isSet("clip-norm") && !given.isSet("clip-value"))
    refuse("--order: without --clip-norm or --clip-value there is nothing to order");
  return all;
}

void take_steps(const QString& text, session& s) {
  const QStringList ends = text.split(':');
  bool good = ends.size() == 2;
  const auto number = [&](const QString& end) -> std::optional<std::int64_t> {
    if (end.isEmpty()) return std::nullopt;
    bool is = false;
    const std::int64_t n = end.toLongLong(&is);
    good = good && is;
    return n;
  };
  if (good) {
    s.first_step = number(ends[0]);
    s.last_step = number(ends[1]);
    if (s.last_step) --*s.last_step;
    if (s.first_step && s.last_step && *s.last_step < *s.first_step) good = false;
  }
  if (!good) refuse("--steps: '" + text + "' is not A:B");
}

}  // namespace

void refuse(const QString& why) {
  print_error("ulpscope: " + printable(why.toStdString()) + "\n");
  std::exit(2);
}

arguments parse_arguments() {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "What 16 bits do to the gradients of a training run. INPUT is what `ulp replay` reads: a recording, dumps, a "
      "histogram CSV or a step log.\n"
      "Example: ulpscope examples/digits.ulp --view window --export window.png");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("INPUT", "the run", "[INPUT...]");
  parser.addOption({"compare", "a second run, aligned with the first by step; may be repeated", "INPUT"});
  parser.addOption({"session", "a session that was saved, in place of INPUT and what says how it is replayed", "FILE"});
  parser.addOption({"view", "the view: " + view_keys().join(' '), "NAME", "overview"});
  parser.addOption({"export", "write the view to a file and quit: .png .svg .pdf .csv .json", "FILE"});
  parser.addOption({"size", "of the picture", "WxH", "1100x700"});
  parser.addOption({"theme", "light or dark", "NAME"});
  parser.addOption({"scaler", "a policy, or several for comparison", "NAME,...", "pytorch_gradscaler"});
  parser.addOption({"set", "a parameter of every policy that has it", "key=value"});
  parser.addOption({"format", "of the scaled gradients", "F", "float16"});
  parser.addOption({"rounding", "as of `ulp replay`", "R"});
  parser.addOption({"clip-norm", "clip to this norm", "X"});
  parser.addOption({"clip-value", "clip each value to this magnitude", "X"});
  parser.addOption({"order", "of unscaling, overflow check and clipping: unscale,check,clip in some order", "LIST"});
  parser.addOption({"check", "the tensors whose overflow the policy sees", "REGEX"});
  parser.addOption({"tensor", "tensors whose name contains a match", "REGEX"});
  parser.addOption({"steps", "the steps that are shown, A to B", "A:B"});
  parser.addOption({"step", "the step of the cursor", "N"});
  parser.addOption(
      {"limit", "raise a limit on what inputs may cost, as in `ulp replay`; applies to everything opened", "NAME=N"});
  parser.addOption({"allow-empty", "take dumps without any tensor that is read as empty steps"});
  if (!parser.parse(QCoreApplication::arguments())) refuse(parser.errorText());
  if (parser.isSet("help") || parser.isSet("help-all")) print_and_end(parser.helpText());
  if (parser.isSet("version")) print_and_end(QCoreApplication::applicationName() + " " + QCoreApplication::applicationVersion() + "\n");

  arguments a;
  session& s = a.asked;
  if (parser.isSet("session")) {
    for (const char* const other :
         {"scaler", "set", "format", "rounding", "clip-norm", "clip-value", "order", "check", "compare"})
      if (parser.isSet(other)) refuse(QString("--session: says itself what --%1 says").arg(other));
    if (!parser.positionalArguments().isEmpty()) refuse("--session: names its runs itself: leave INPUT out");
    try {
      s = read_session(parser.value("session"));
    } catch (const std::runtime_error& problem) {
      refuse(QString::fromUtf8(problem.what()));
    }
  } else {
    document::inputs_of_run first;
    for (const QString& input : parser.positionalArguments()) first.push_back(input.toStdString());
    if (!first.empty()) s.runs.push_back(std::move(first));
    if (parser.isSet("compare") && s.runs.empty()) refuse("--compare: with which run? Give an INPUT");
    for (const QString& other : parser.values("compare")) s.runs.push_back({other.toStdString()});
    const std::vector<scenario_spec> specs = scenarios(parser);
    for (std::size_t run = 0; run < std::max<std::size_t>(1, s.runs.size()); ++run)
      for (const scenario_spec& spec : specs) s.replays.push_back({.spec = spec, .run = run});
    if (s.replays.size() > document::most_replays)
      refuse(QString("%1 replays are too many for one picture: at most %2, policies times runs")
                 .arg(s.replays.size())
                 .arg(document::most_replays));
  }
  if (parser.isSet("view") || s.view.isEmpty()) s.view = parser.value("view");
  if (!view_keys().contains(s.view)) refuse("--view: '" + s.view + "' is none of " + view_keys().join(", "));
  if (parser.isSet("tensor")) s.filter = parser.value("tensor");
  if (const QString problem = view_state::problem_with_filter(s.filter); !problem.isEmpty())
    refuse("--tensor: " + problem);
  if (parser.isSet("steps")) take_steps(parser.value("steps"), s);
  if (parser.isSet("step")) {
    bool number = false;
    s.cursor = parser.value("step").toLongLong(&number);
    if (!number) refuse("--step: '" + parser.value("step") + "' is no step");
  }

  a.how.allow_empty = parser.isSet("allow-empty");
  try {
    for (const QString& limit : parser.values("limit")) set_limit(a.how.limits, limit.toStdString());
  } catch (const std::invalid_argument& mistake) {
    refuse("--limit: " + QString::fromUtf8(mistake.what()));
  }
  a.output = parser.value("export");
  if (parser.isSet("export") && a.output.isEmpty()) refuse("--export: which file?");
  if (is_one_of(a.output.toStdString(), {parser.value("session").toStdString()}))
    refuse("--export: " + a.output + " is read here and would be overwritten");
  if (parser.isSet("export") && s.runs.empty()) refuse("--export: which run? Give an INPUT");
  a.colours = parser.value("theme");
  if (!a.colours.isEmpty() && a.colours != "light" && a.colours != "dark")
    refuse("--theme: '" + a.colours + "' is neither light nor dark");
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
