// ulpscope: the viewer. With --export it draws one picture without a display.
#include <QApplication>
#include <QCommandLineParser>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>

#include <ulp/io/error.hpp>

#include "export.hpp"
#include "main_window.hpp"
#include "views/all_views.hpp"

namespace {

using namespace ulp::gui;

struct arguments {
  std::vector<std::string> inputs;
  std::vector<scenario_spec> specs;
  QString view = "overview";
  QString output;
  QSize size{1100, 700};
  QString colours;
  QString tensor;
  QString steps;
  QString step;
};

[[noreturn]] void refuse(const QString& why) {
  std::fprintf(stderr, "ulpscope: %s\n", why.toUtf8().constData());
  std::exit(2);
}

arguments parse() {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "What 16 bits do to the gradients of a training run. INPUT is what `ulp replay` reads: a recording, dumps, a "
      "histogram "
      "CSV or a step log.\nExample: ulpscope examples/digits.ulp --view window --export window.png");
  parser.addHelpOption();
  parser.addVersionOption();
  parser.addPositionalArgument("INPUT", "the run", "[INPUT...]");
  parser.addOption({"view", "the view: " + view_keys().join(' '), "NAME", "overview"});
  parser.addOption({"export", "write the view to a file and quit: .png .svg .pdf .csv .json", "FILE"});
  parser.addOption({"size", "of the picture", "WxH", "1100x700"});
  parser.addOption({"theme", "light or dark", "NAME"});
  parser.addOption({"scaler", "a policy, or several for comparison", "NAME,..."});
  parser.addOption({"set", "a parameter of every policy that has it", "key=value"});
  parser.addOption({"format", "of the scaled gradients", "F", "float16"});
  parser.addOption({"clip-norm", "clip to this norm", "X"});
  parser.addOption({"tensor", "tensors whose name contains a match", "REGEX"});
  parser.addOption({"steps", "the steps that are shown, A to B", "A:B"});
  parser.addOption({"step", "the step of the cursor", "N"});
  if (!parser.parse(QCoreApplication::arguments())) refuse(parser.errorText());
  parser.process(*QCoreApplication::instance());  // --help and --version

  arguments a;
  for (const QString& input : parser.positionalArguments()) a.inputs.push_back(input.toStdString());
  a.view = parser.value("view");
  if (!view_keys().contains(a.view)) refuse("--view: '" + a.view + "' is none of " + view_keys().join(", "));
  a.output = parser.value("export");
  if (parser.isSet("export") && a.output.isEmpty()) refuse("--export: which file?");
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
  a.tensor = parser.value("tensor");
  a.steps = parser.value("steps");
  a.step = parser.value("step");
  const QStringList scalers =
      parser.isSet("scaler") ? parser.value("scaler").split(',') : QStringList{"pytorch_gradscaler"};
  for (const QString& scaler : scalers) {
    scenario_spec spec;
    spec.scaler = scaler.toStdString();
    spec.format = parser.value("format").toStdString();
    spec.clip_norm = parser.value("clip-norm").toStdString();
    const ulp::scaler_entry* const entry = ulp::find_scaler(spec.scaler);
    for (const QString& set : parser.values("set")) {
      const auto at = set.indexOf('=');
      if (at <= 0) refuse("--set: '" + set + "' is not key=value");
      const std::string name = set.left(at).toStdString();
      const auto is = [&](const ulp::scaler_parameter& p) { return p.name == name; };
      if (scalers.size() == 1 || entry == nullptr || std::ranges::any_of(entry->parameters, is))
        spec.parameters.emplace_back(name, set.mid(at + 1).toStdString());
    }
    try {
      static_cast<void>(scenario_of(spec));
    } catch (const std::invalid_argument& mistake) {
      refuse(scaler + ": " + QString::fromUtf8(mistake.what()));
    }
    a.specs.push_back(std::move(spec));
  }
  for (const QString& set : parser.values("set")) {
    const std::string name = set.left(set.indexOf('=')).toStdString();
    const auto has = [&](const scenario_spec& s) {
      return std::ranges::find(s.parameters, name, &std::pair<std::string, std::string>::first) != s.parameters.end();
    };
    if (std::ranges::none_of(a.specs, has))
      refuse("--set: no scaler has a parameter '" + QString::fromStdString(name) + "'");
  }
  return a;
}

void apply(const arguments& a, view_state& state) {
  if (!a.tensor.isEmpty() && !state.set_filter(a.tensor))
    refuse("--tensor: '" + a.tensor + "' is no regular expression");
  if (!a.steps.isEmpty()) {
    const QStringList ends = a.steps.split(':');
    bool from = false;
    bool to = false;
    const auto whole = state.whole();
    view_state::step_range range;
    if (ends.size() == 2) {
      range.first = ends[0].isEmpty() ? (from = true, whole.first) : ends[0].toLongLong(&from);
      range.last = ends[1].isEmpty() ? (to = true, whole.last) : ends[1].toLongLong(&to) - 1;
    }
    if (!from || !to || range.last < range.first) refuse("--steps: '" + a.steps + "' is not A:B");
    state.set_shown(range);
  }
  if (!a.step.isEmpty()) {
    bool number = false;
    state.set_cursor(a.step.toLongLong(&number));
    if (!number) refuse("--step: '" + a.step + "' is no step");
  }
}

int write(const arguments& a) {
  if (a.inputs.empty()) refuse("--export: which run? Give an INPUT");
  const theme colours = a.colours == "dark" ? theme::night() : theme::light();
  QApplication::setPalette(colours.palette());
  try {
    const auto quiet = [](double) {};
    const auto run = load_run(a.inputs, quiet);
    std::vector<replay_entry> replays;
    for (const scenario_spec& spec : a.specs)
      replays.push_back({.spec = spec, .result = replay_run(*run, spec, quiet), .failure = {}});
    document doc;
    view_state state(doc);
    doc.set(run, std::move(replays));
    apply(a, state);
    QWidget host;
    for (view* const v : make_views(state, &host))
      if (v->key() == a.view) export_view(*v, a.output, a.size, colours);
  } catch (const std::exception& problem) {
    refuse(QString::fromUtf8(problem.what()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  QCoreApplication::setApplicationName("ulpscope");
  QCoreApplication::setOrganizationName("ulpscope");
  QCoreApplication::setApplicationVersion(ULP_VERSION);
  arguments a;
  {
    // Mistakes are told without a display.
    const QCoreApplication before(argc, argv);
    a = parse();
  }
  if (!a.output.isEmpty())
    qputenv("QT_QPA_PLATFORM", "offscreen");
  else if (!qEnvironmentVariableIsSet("DISPLAY") && !qEnvironmentVariableIsSet("WAYLAND_DISPLAY") &&
           !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
    refuse("there is no display: --export FILE draws without one");
  QApplication application(argc, argv);
  QApplication::setStyle("Fusion");
  QApplication::setDesktopFileName("org.ulpscope.ulpscope");
  if (!a.output.isEmpty()) return write(a);

  if (a.colours == "dark") QApplication::setPalette(theme::night().palette());
  if (a.colours == "light") QApplication::setPalette(theme::light().palette());
  main_window window;
  window.doc().change_replay(0, a.specs.front());
  for (std::size_t i = 1; i < a.specs.size(); ++i) window.doc().add_replay(a.specs[i]);
  QObject::connect(
      &window.doc(), &document::run_changed, &window, [&] { apply(a, window.state()); }, Qt::SingleShotConnection);
  window.show_view(a.view);
  window.open(a.inputs);
  window.show();
  return QApplication::exec();
}
