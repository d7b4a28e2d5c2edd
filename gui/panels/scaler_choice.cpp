#include "scaler_choice.hpp"

#include <QHeaderView>
#include <QKeyEvent>
#include <QScreen>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>
#include <algorithm>
#include <string_view>

#include <ulp/model/machines/scaler.hpp>

namespace ulp::gui {
namespace {

constexpr int room_at_sides = 16;

QString plain(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

// The repository that its source is in, without the owner.
QString framework_of(const scaler_entry& entry) {
  const QString repository = plain(entry.source).section(' ', 0, 0).section('/', -1);
  return repository.isEmpty() ? QObject::tr("without a framework") : repository;
}

bool matches(const scaler_entry& entry, const QString& framework, const QString& searched) {
  QString all = framework + ' ' + plain(entry.name) + ' ' + plain(entry.summary);
  for (const std::string_view alias : entry.aliases) all += ' ' + plain(alias);
  const QStringList words = searched.split(' ', Qt::SkipEmptyParts);
  return std::ranges::all_of(words, [&](const QString& w) { return all.contains(w, Qt::CaseInsensitive); });
}

}  // namespace

scaler_choice::scaler_choice(QWidget* parent)
    : QPushButton(parent),
      list_(new QWidget(this, Qt::Popup)),
      searched_(new QLineEdit(list_)),
      tree_(new QTreeWidget(list_)) {
  setAccessibleName(tr("Scaler"));
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  auto* const box = new QVBoxLayout(list_);
  box->setContentsMargins(4, 4, 4, 4);
  box->addWidget(searched_);
  box->addWidget(tree_);
  searched_->setPlaceholderText(tr("search scalers and frameworks"));
  searched_->setAccessibleName(tr("Search scalers and frameworks"));
  searched_->setClearButtonEnabled(true);
  searched_->installEventFilter(this);
  tree_->setHeaderHidden(true);
  tree_->setColumnCount(2);
  tree_->setRootIsDecorated(false);
  tree_->setAllColumnsShowFocus(true);
  tree_->setAccessibleName(tr("Scalers by framework"));
  for (const scaler_entry& entry : scaler_catalog()) {
    const QString framework = framework_of(entry);
    const auto known = tree_->findItems(framework, Qt::MatchExactly);
    QTreeWidgetItem* group = known.isEmpty() ? nullptr : known.front();
    if (group == nullptr) {
      group = new QTreeWidgetItem(tree_, {framework});
      group->setFlags(Qt::ItemIsEnabled);
      group->setFirstColumnSpanned(true);
      QFont bold = font();
      bold.setBold(true);
      group->setFont(0, bold);
    }
    auto* const item = new QTreeWidgetItem(group, {plain(entry.name), plain(entry.summary)});
    item->setToolTip(1, item->text(1));
  }
  tree_->expandAll();
  tree_->resizeColumnToContents(0);
  connect(this, &QPushButton::clicked, this, &scaler_choice::open_list);
  connect(searched_, &QLineEdit::textChanged, this, &scaler_choice::search);
  connect(searched_, &QLineEdit::returnPressed, this, [this] { choose(tree_->currentItem()); });
  connect(tree_, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) { choose(item); });
  connect(tree_, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) { choose(item); });
}

void scaler_choice::set_scaler(const QString& name) {
  scaler_ = name;
  setText(fontMetrics().elidedText(name, Qt::ElideRight, width() - room_at_sides));
  const scaler_entry* const entry = find_scaler(name.toStdString());
  setToolTip(entry == nullptr ? name : name + ": " + plain(entry->summary));
}

QSize scaler_choice::minimumSizeHint() const { return {120, QPushButton::minimumSizeHint().height()}; }

void scaler_choice::resizeEvent(QResizeEvent* event) {
  QPushButton::resizeEvent(event);
  setText(fontMetrics().elidedText(scaler_, Qt::ElideRight, width() - room_at_sides));
}

void scaler_choice::open_list() {
  const QRect room = screen()->availableGeometry();
  list_->resize(std::min(620, room.width()), std::min(460, room.height()));
  const QPoint below = mapToGlobal(QPoint(0, height()));
  list_->move(std::clamp(below.x(), room.left(), room.right() - list_->width() + 1),
              std::clamp(below.y(), room.top(), room.bottom() - list_->height() + 1));
  searched_->clear();
  search({});
  list_->show();
  searched_->setFocus();
}

void scaler_choice::search(const QString& searched) {
  QTreeWidgetItem* best = nullptr;
  QTreeWidgetItem* meant = nullptr;
  for (int g = 0; g < tree_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* const group = tree_->topLevelItem(g);
    bool any = false;
    for (int i = 0; i < group->childCount(); ++i) {
      QTreeWidgetItem* const item = group->child(i);
      const scaler_entry* const entry = find_scaler(item->text(0).toStdString());
      const bool shown = entry != nullptr && matches(*entry, group->text(0), searched);
      item->setHidden(!shown);
      any = any || shown;
      if (!shown) continue;
      // What is named so, by itself or by another name, goes before what merely holds the word.
      const bool is_meant = !searched.isEmpty() && find_scaler(searched.trimmed().toStdString()) == entry;
      if (is_meant) meant = item;
      if (best == nullptr || item->text(0) == scaler_) best = item;
    }
    group->setHidden(!any);
  }
  if (meant != nullptr) best = meant;
  tree_->setCurrentItem(best);
  if (best != nullptr) tree_->scrollToItem(best, QAbstractItemView::PositionAtCenter);
}

void scaler_choice::choose(const QTreeWidgetItem* item) {
  if (item == nullptr || item->parent() == nullptr) return;
  list_->hide();
  if (item->text(0) == scaler_) return;
  set_scaler(item->text(0));
  emit changed();
}

// The list is walked while the field is typed in.
bool scaler_choice::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up || key == Qt::Key_PageDown || key == Qt::Key_PageUp) {
      const QTreeWidgetItem* const before = tree_->currentItem();
      static_cast<QObject*>(tree_)->event(event);
      if (tree_->currentItem() != nullptr && tree_->currentItem()->parent() == nullptr &&
          tree_->currentItem() != before)
        static_cast<QObject*>(tree_)->event(event);  // past a heading
      return true;
    }
  }
  return QPushButton::eventFilter(watched, event);
}

}  // namespace ulp::gui
