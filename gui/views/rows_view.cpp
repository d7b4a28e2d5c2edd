#include "rows_view.hpp"

#include <QAction>
#include <QBrush>
#include <QClipboard>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <vector>

#include "plot/wrapped.hpp"

namespace ulp::gui {

rows_view::rows_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent)
    : view(state, key, title, question, parent),
      rows_(new rows_model(this)),
      grid_(new QTableView(this)),
      box_(new QVBoxLayout(this)),
      note_(new QLabel(this)),
      middle_(new QLabel(grid_->viewport())) {
  box_->setContentsMargins(8, 8, 8, 8);
  box_->addWidget(note_);
  box_->addWidget(grid_, 1);
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  note_->hide();
  auto* const inside = new QVBoxLayout(grid_->viewport());
  inside->addWidget(middle_);
  middle_->setWordWrap(true);
  middle_->setTextFormat(Qt::PlainText);
  middle_->setAlignment(Qt::AlignCenter);
  middle_->setForegroundRole(QPalette::PlaceholderText);
  middle_->setAttribute(Qt::WA_TransparentForMouseEvents);
  connect(rows_, &QAbstractItemModel::modelReset, this, &rows_view::place_note);
  grid_->setModel(rows_);
  grid_->setAlternatingRowColors(true);
  grid_->setSelectionBehavior(QAbstractItemView::SelectRows);
  grid_->setShowGrid(false);
  grid_->verticalHeader()->hide();
  grid_->verticalHeader()->setDefaultSectionSize(24);
  grid_->horizontalHeader()->setHighlightSections(false);
  grid_->setAccessibleName(title);
  setFocusProxy(grid_);
  auto* const copies = new QAction(tr("&Copy the selected rows"), grid_);
  copies->setShortcut(QKeySequence::Copy);
  copies->setShortcutContext(Qt::WidgetShortcut);
  connect(copies, &QAction::triggered, this, &rows_view::copy);
  grid_->addAction(copies);
  grid_->setContextMenuPolicy(Qt::ActionsContextMenu);
}

void rows_view::let_sort() {
  grid_->horizontalHeader()->setSortIndicatorClearable(true);
  grid_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
  grid_->setSortingEnabled(true);
}

void rows_view::fit_columns() {
  constexpr int most = 420;
  grid_->resizeColumnsToContents();
  for (int column = 0; column < rows_->columnCount(); ++column)
    grid_->setColumnWidth(column, std::min(grid_->columnWidth(column), most));
}

void rows_view::copy() const {
  std::vector<int> chosen;
  for (const QModelIndex& row : grid_->selectionModel()->selectedRows()) chosen.push_back(row.row());
  std::ranges::sort(chosen);
  if (!chosen.empty()) QGuiApplication::clipboard()->setText(rows_->text_of(chosen));
}

void rows_view::set_note(const QString& text, const QString& hint) {
  told_ = text;
  hint_ = hint;
  place_note();
}

void rows_view::place_note() {
  QStringList all{told_, hint_};
  all.removeAll(QString());
  const bool has_rows = rows_->rowCount() > 0;
  QLabel* const shown = has_rows ? note_ : middle_;
  QLabel* const hidden = has_rows ? middle_ : note_;
  shown->setText(all.join(has_rows ? '\n' : ' '));
  shown->setVisible(!all.isEmpty());
  hidden->clear();
  hidden->hide();
}

void rows_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const QFontMetricsF metrics(to.font());
  const double height = metrics.height() + 6;
  double y = room.top();
  if (rows_->rowCount() == 0) {
    const QString why = !why_empty().isEmpty() ? why_empty() : told_;
    return draw_empty(to, room, colours, why.isEmpty() ? tr("Nothing to list.") : why);
  }
  to.setPen(colours.text);
  if (!told_.isEmpty()) {
    // Whole lines, in a third of the room at most.
    const double lines = std::max(1.0, std::floor(room.height() / 3 / metrics.lineSpacing()));
    const QString note = fitted(to.font(), room.width(), lines * metrics.lineSpacing() + 1, told_);
    const double used = wrapped_height(to.font(), room.width(), note);
    draw_wrapped(to, QRectF(room.left(), y, room.width(), used), note);
    y += used + 8;
  }
  // Under the header; where not all rows fit, a line is kept to say so.
  const int fits = std::max(0, static_cast<int>((room.bottom() - y) / height) - 1);
  struct drawn_column {
    double x;
    double width;
  };
  const auto widths = [&](int first, int shown) {
    std::vector<drawn_column> all;
    double x = room.left();
    for (int column = 0; column < rows_->columnCount(); ++column) {
      double width = metrics.horizontalAdvance(rows_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
      for (int row = first; row < first + shown; ++row)
        width = std::max(width, metrics.horizontalAdvance(rows_->index(row, column).data().toString()));
      width = std::min(width, room.width() / 2);
      if (column > 0 && x + width > room.right() + 1) break;
      all.push_back({x, width});
      x += width + 18;
    }
    return all;
  };
  int shown = std::min(rows_->rowCount(), fits);
  int first = shown < rows_->rowCount() ? std::clamp(first_drawn(shown), 0, rows_->rowCount() - shown) : 0;
  std::vector<drawn_column> columns = widths(first, shown);
  if ((shown < rows_->rowCount() || static_cast<int>(columns.size()) < rows_->columnCount()) && shown == fits) {
    shown = std::max(0, fits - 1);
    first = std::clamp(first_drawn(shown), 0, rows_->rowCount() - shown);
    columns = widths(first, shown);
  }
  const auto columns_shown = static_cast<int>(columns.size());
  for (int row = first; row < first + shown; ++row) {
    const auto tint = rows_->index(row, 0).data(Qt::BackgroundRole).value<QBrush>();
    if (tint.style() != Qt::NoBrush)
      to.fillRect(QRectF(room.left() - 4, y + height * (row - first + 1), room.width() + 8, height), tint);
  }
  for (int column = 0; column < columns_shown; ++column) {
    const auto [x, width] = columns[static_cast<std::size_t>(column)];
    const auto align = [&](int row) {
      return static_cast<int>(rows_->index(row, column).data(Qt::TextAlignmentRole).value<Qt::Alignment>());
    };
    to.setPen(colours.faint);
    const QString title = rows_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    to.drawText(QRectF(x, y, width, height), align(first), metrics.elidedText(title, Qt::ElideRight, width + 1));
    to.setPen(colours.text);
    for (int row = first; row < first + shown; ++row)
      to.drawText(QRectF(x, y + height * (row - first + 1), width, height), align(row),
                  metrics.elidedText(rows_->index(row, column).data().toString(), Qt::ElideRight, width + 1));
  }
  to.setPen(QPen(colours.grid, 1));
  to.drawLine(QPointF(room.left(), y + height), QPointF(room.right(), y + height));
  to.setPen(colours.faint);
  to.drawText(QRectF(room.left(), y + height * (shown + 1), room.width(), height), Qt::AlignVCenter,
              left_out(first, shown, columns_shown));
}

QString rows_view::left_out(int first, int rows, int columns) const {
  QStringList parts;
  if (rows < rows_->rowCount())
    parts << tr("rows %1 to %2 of %3").arg(first + 1).arg(first + rows).arg(rows_->rowCount());
  if (const int more = rows_->columnCount() - columns; more > 0)
    parts << (more == 1 ? tr("one more column") : tr("%1 more columns").arg(more));
  return parts.join(tr(", and "));
}

}  // namespace ulp::gui
