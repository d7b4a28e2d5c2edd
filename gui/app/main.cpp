// ulpscope: the viewer. With --export it draws one picture without a display.
#include <QApplication>
#include <QFont>
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/program.hpp>

#include "allocator.hpp"
#include "arguments.hpp"
#include "export.hpp"
#include "language.hpp"
#include "main_window.hpp"
#include "themes.hpp"
#include "views/all_views.hpp"

namespace {

using namespace ulp::gui;

void refuse_what_selects_nothing(const session& asked, const view_state& state) {
  const loaded_run& run = *state.current_run();
  if (!run.tensors.empty() && std::ranges::find(state.selected(), true) == state.selected().end())
    refuse("--tensor: no tensor has a name that '" + asked.filter + "' matches");
  if (run.picture.steps().empty() && (asked.first_step || asked.last_step || asked.cursor))
    refuse("--steps, --step: the run has no steps");
  const auto all = state.whole();
  if (asked.first_step.value_or(all.first) > all.last || asked.last_step.value_or(all.last) < all.first)
    refuse(QString("--steps: the run has the steps %1 to %2").arg(all.first).arg(all.last));
  if (asked.cursor && (*asked.cursor < all.first || *asked.cursor > all.last))
    refuse(QString("--step: the run has the steps %1 to %2").arg(all.first).arg(all.last));
}

// As `ulp` does of an input. What the replays found is in the views.
void tell_notes(const loaded_run& run) {
  const auto tell = [](const char* kind, const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      ulp::print_error("ulpscope: " + std::string{kind} + ulp::printable(line) + "\n");
  };
  tell("warning: ", run.warnings);
  tell("note: ", run.notes);
}

// What amaxes alone cannot be asked the views say.
void replay(replay_entry& r, const loaded_run& run) {
  try {
    r.result = replay_run(run, r.spec, ulp::nobody());
  } catch (const std::invalid_argument& problem) {
    if (!run.amaxes_only) throw;
    r.failure = QString::fromUtf8(problem.what());
  }
}

int write(const arguments& a) {
  const theme colours = theme_named(a.colours).value_or(theme::light());
  QApplication::setPalette(colours.palette());
  try {
    std::vector<std::shared_ptr<const loaded_run>> runs;
    for (const auto& inputs : a.asked.runs) {
      ulp::run_text text = a.asked.reading;
      text.inputs = inputs;
      runs.push_back(load_run(text, ulp::nobody()));
      tell_notes(*runs.back());
    }
    std::vector<replay_entry> replays = entries_of(a.asked);
    for (replay_entry& r : replays) {
      r.spec = with_own_scaler(r.spec, *runs[r.run]);
      replay(r, *runs[r.run]);
    }
    document doc;
    doc.read_with(a.asked.reading);
    view_state state(doc);
    state.set_room(a.size.width());
    doc.set(std::move(runs), std::move(replays));
    look_as(a.asked, state);
    refuse_what_selects_nothing(a.asked, state);
    QWidget host;
    for (view* const v : make_views(state, &host))
      if (v->key() == a.asked.view) export_view(*v, a.output, a.size, colours);
  } catch (const std::bad_alloc&) {
    refuse("out of memory");
  } catch (const std::exception& problem) {
    refuse(QString::fromUtf8(problem.what()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return_free_memory();
  ulp::open_standard_descriptors();
  ulp::end_by_terminate_with("ulpscope", 2);
  ulp::catch_ending_signals(ulp::end_by_signal);
  QCoreApplication::setApplicationName("ulpscope");
  QCoreApplication::setOrganizationName("ulpscope");
  QCoreApplication::setApplicationVersion(ULP_VERSION);
  arguments a;
  {
    // Mistakes are told without a display.
    const QCoreApplication before(argc, argv);
    for (int i = 1; i < argc; ++i)  // else another file may have the name that Qt makes of it
      if (const QByteArray given = argv[i]; QString::fromUtf8(given).toUtf8() != given)
        refuse("'" + QString::fromUtf8(given) + "' is not UTF-8: rename the file");
    a = parse_arguments();
  }
  if (!a.output.isEmpty())
    qputenv("QT_QPA_PLATFORM", "offscreen");
  else if (!qEnvironmentVariableIsSet("DISPLAY") && !qEnvironmentVariableIsSet("WAYLAND_DISPLAY") &&
           !qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
    refuse("there is no display: --export FILE draws without one");
  QApplication application(argc, argv);
  speak(a.language);
  QApplication::setStyle(program_style());
  // Without ligatures: "float16" is found in a PDF.
  QFont font = QApplication::font();
  font.setStyleStrategy(QFont::PreferNoShaping);
  QApplication::setFont(font);
  QApplication::setDesktopFileName("org.ulpscope.ulpscope");
  if (!a.output.isEmpty()) return write(a);

  QApplication::setWindowIcon(program_icon());
  use_theme(a.colours.isEmpty() ? remembered_theme() : a.colours);
  main_window window;
  window.open(a.asked);
  window.show();
  return QApplication::exec();
}
