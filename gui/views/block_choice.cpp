#include "block_choice.hpp"

#include <QCompleter>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QStringListModel>
#include <stdexcept>

#include "plot/theme.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

block_choice::block_choice(view_state& state, QWidget* parent) : QComboBox(parent), state_(state) {
  setObjectName("block");
  setAccessibleName(tr("Format"));
  setToolTip(
      tr("The replay's format, or one whose blocks share a scale; further rows of ulp formats --blocks are typed"));
  setEditable(true);
  setInsertPolicy(QComboBox::NoInsert);
  lineEdit()->setAccessibleName(tr("Format"));
  setMinimumContentsLength(11);
  QStringList names;
  for (const named_block_format& usual : usual_block_formats()) names << QString::fromStdString(usual.name);
  addItem(tr("of the replay"));
  insertSeparator(1);
  addItems(names);
  for (const block_format& row : block_formats())
    names << QString::fromUtf8(row.name.data(), static_cast<qsizetype>(row.name.size()));
  auto* const completer = new QCompleter(names, this);
  completer->setCaseSensitivity(Qt::CaseInsensitive);
  completer->setFilterMode(Qt::MatchContains);
  setCompleter(completer);
  connect(this, &QComboBox::activated, this, &block_choice::take);
  connect(lineEdit(), &QLineEdit::editingFinished, this, &block_choice::take);
}

void block_choice::take() {
  const QString name = currentText().trimmed();
  QPalette p = palette();
  QString problem;
  if (name.isEmpty() || name == itemText(0)) {
    state_.set_block(std::nullopt);
  } else {
    try {
      state_.set_block(block_formats_named({name.toStdString()}, tr("Format").toStdString()).front());
    } catch (const std::invalid_argument& mistake) {
      problem = shown_text(mistake.what());
      p.setColor(QPalette::Text, theme::of(p).overflow);
    }
  }
  lineEdit()->setPalette(p);
  lineEdit()->setToolTip(problem.isEmpty() ? problem : QStringLiteral("<p>%1</p>").arg(problem.toHtmlEscaped()));
}

void block_choice::follow() {
  const QSignalBlocker quiet(this);
  const auto& block = state_.block();
  const QString name = block ? QString::fromStdString(block->name) : itemText(0);
  if (const int known = findText(name); known >= 0)
    setCurrentIndex(known);
  else
    setEditText(name);
}

}  // namespace ulp::gui
