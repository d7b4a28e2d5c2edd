#include "rows_view.hpp"

#include <QFontMetricsF>
#include <QHeaderView>
#include <QPainter>
#include <algorithm>

namespace ulp::gui {

rows_view::rows_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent)
    : view(state, key, title, question, parent),
      rows_(new rows_model(this)),
      grid_(new QTableView(this)),
      box_(new QVBoxLayout(this)),
      note_(new QLabel(this)) {
  box_->setContentsMargins(8, 8, 8, 8);
  box_->addWidget(note_);
  box_->addWidget(grid_, 1);
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  note_->hide();
  grid_->setModel(rows_);
  grid_->setAlternatingRowColors(true);
  grid_->setSelectionBehavior(QAbstractItemView::SelectRows);
  grid_->setShowGrid(false);
  grid_->verticalHeader()->hide();
  grid_->verticalHeader()->setDefaultSectionSize(24);
  grid_->horizontalHeader()->setHighlightSections(false);
  grid_->setAccessibleName(title);
  setFocusProxy(grid_);
}

void rows_view::set_note(const QString& text) {
  note_->setText(text);
  note_->setVisible(!text.isEmpty());
}

void rows_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const QFontMetricsF metrics(to.font());
  const double height = metrics.height() + 6;
  double y = room.top();
  if (rows_->rowCount() == 0) {
    const QString why = !why_empty().isEmpty() ? why_empty() : note_->text();
    return draw_empty(to, room, colours, why.isEmpty() ? tr("Nothing to list.") : why);
  }
  to.setPen(colours.text);
  if (!note_->text().isEmpty()) {
    const QRectF box(room.left(), y, room.width(), room.height());
    const QRectF used = metrics.boundingRect(box, Qt::TextWordWrap, note_->text());
    to.drawText(box, Qt::TextWordWrap, note_->text());
    y += used.height() + 8;
  }
  const auto shown = std::min(rows_->rowCount(), static_cast<int>((room.bottom() - y) / height) - 1);
  double x = room.left();
  for (int column = 0; column < rows_->columnCount() && x < room.right(); ++column) {
    const QString title = rows_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    double width = metrics.horizontalAdvance(title);
    for (int row = 0; row < shown; ++row)
      width = std::max(width, metrics.horizontalAdvance(rows_->index(row, column).data().toString()));
    width = std::min(width, room.width() / 2);
    const auto align = [&](int row) {
      return static_cast<int>(rows_->index(row, column).data(Qt::TextAlignmentRole).value<Qt::Alignment>());
    };
    to.setPen(colours.faint);
    to.drawText(QRectF(x, y, width, height), align(0), title);
    to.setPen(colours.text);
    for (int row = 0; row < shown; ++row)
      to.drawText(QRectF(x, y + height * (row + 1), width, height), align(row),
                  metrics.elidedText(rows_->index(row, column).data().toString(), Qt::ElideRight, width + 1));
    x += width + 18;
  }
  to.setPen(QPen(colours.grid, 1));
  to.drawLine(QPointF(room.left(), y + height), QPointF(std::min(x, room.right()), y + height));
}

}  // namespace ulp::gui
