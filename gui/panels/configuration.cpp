#include "configuration.hpp"

#include <QFileDialog>
#include <QMessageBox>
#include <exception>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

QString load_configuration(const QString& path, view_state& state) {
  const scenario_text before = state.front().spec;
  scenario_text given = before;
  given.parameters.clear();
  given.start.clear();
  given.format.clear();
  given.clip_norm.clear();
  given.clip_value.clear();
  const configuration found = read_configuration(path.toStdString(), given);
  given = with_configuration(given, found);
  if (given.format.empty()) given.format = before.format;
  if (given.clip_norm.empty() && given.clip_value.empty()) given.order.clear();
  static_cast<void>(scenario_of(given));
  state.doc().change_replay(state.front_index(), given);
  QString told;
  try {
    if (const auto fp8 = fp8_question_of(found, {})) state.set_fp8(checked(spec_of(*fp8)));
  } catch (const std::invalid_argument& lack) {
    told += shown_text(lack.what()) + "\n";
  }
  for (const std::string& note : found.said.notes) told += shown_text(note) + "\n";
  return told;
}

void choose_configuration(view_state& state, QWidget* parent) {
  const QString title = QObject::tr("Load configuration");
  const QString path = QFileDialog::getOpenFileName(parent, title);
  if (path.isEmpty()) return;
  QString told;
  try {
    told = load_configuration(path, state);
  } catch (const std::exception& mistake) {
    told = shown_text(mistake.what());
  }
  if (told.isEmpty()) return;
  QMessageBox box(QMessageBox::Information, title, told.trimmed(), QMessageBox::Ok, parent);
  box.setTextFormat(Qt::PlainText);
  box.exec();
}

}  // namespace ulp::gui
