#include "start_page.hpp"

#include <QCommandLinkButton>
#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QSettings>
#include <QVariantMap>
#include <stdexcept>

#include "panels/heading.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr qsizetype most_recent = 10;
constexpr qsizetype most_shown = 5;

struct question {
  const char* text;
  const char* view;
  std::vector<const char*> scalers;
};

constexpr const char* own_scaler = "";

const std::vector<question>& questions() {
  static const std::vector<question> all{
      {QT_TRANSLATE_NOOP("ulp::gui::start_page", "Which layers underflow, and from which step?"),
       "layers",
       {own_scaler}},
      {QT_TRANSLATE_NOOP("ulp::gui::start_page", "Would another loss scaler have skipped fewer steps?"),
       "scale",
       {"pytorch_gradscaler", "deepspeed", "megatron_dynamic"}},
      {QT_TRANSLATE_NOOP("ulp::gui::start_page", "Which format needs no loss scale?"), "formats", {own_scaler}}};
  return all;
}

session example_for(const question& q) {
  session s;
  s.runs = {{example_path().toStdString()}};
  for (const char* const scaler : q.scalers) {
    s.replays.push_back({.spec = usual_scenario()});
    s.replays.back().spec.scaler = scaler;
  }
  s.view = q.view;
  return s;
}

}  // namespace

QString example_path() {
  const QString name = "examples/digits.ulp";
  const QDir program(QCoreApplication::applicationDirPath());
  QStringList places{program.filePath("../share/ulpscope/" + name)};
  for (QString up = "../"; up.size() <= 5 * 3; up += "../") places << program.filePath(up + name);
  for (const QString& place : places)
    if (QFileInfo(place).isFile()) return QFileInfo(place).canonicalFilePath();
  return {};
}

QStringList recent_files() {
  QStringList all;
  for (const QString& one : QSettings().value("recent").toStringList())
    if (QFileInfo(one).isFile()) all << one;
  return all;
}

void remember_file(const QString& path, const std::optional<run_text>& how) {
  QSettings settings;
  QStringList known = settings.value("recent").toStringList();
  const QString whole = QFileInfo(path).absoluteFilePath();
  known.removeAll(whole);
  known.prepend(whole);
  known = known.mid(0, most_recent);
  settings.setValue("recent", known);
  QVariantMap read = settings.value("read").toMap();
  read.remove(whole);
  for (const QString& file : read.keys())
    if (!known.contains(file)) read.remove(file);
  if (how) {
    session alone{.runs = {{whole.toStdString()}}, .replays = {{.spec = usual_scenario()}}, .reading = *how};
    alone.reading.inputs.clear();
    if (!alone.reading.scalars.empty())
      alone.reading.scalars = QFileInfo(shown_text(alone.reading.scalars)).absoluteFilePath().toStdString();
    read[whole] = to_json(alone);
  }
  settings.setValue("read", read);
}

std::optional<run_text> remembered_reading(const QString& path) {
  const QByteArray json = QSettings().value("read").toMap()[QFileInfo(path).absoluteFilePath()].toByteArray();
  if (json.isEmpty()) return std::nullopt;
  try {
    return session_from(json, path).reading;
  } catch (const std::runtime_error&) {
    return std::nullopt;  // of another version
  }
}

start_page::start_page(QWidget* parent)
    : QScrollArea(parent),
      open_(new QPushButton(tr("Open..."), this)),
      recent_(new QWidget(this)),
      recent_list_(new QVBoxLayout(recent_)) {
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setFocusPolicy(Qt::NoFocus);
  auto* const content = new QWidget(this);
  auto* const sides = new QHBoxLayout(content);
  auto* const box = new QVBoxLayout;
  sides->addStretch(1);
  sides->addLayout(box, 4);
  sides->addStretch(1);
  box->setSpacing(10);
  box->addStretch(1);

  QLabel* const title = make_heading(QStringLiteral("ulpscope"), content);
  QFont large = title->font();
  large.setPointSizeF(2 * large.pointSizeF());
  title->setFont(large);
  box->addWidget(title);
  auto* const about = new QLabel(tr("What 16 bits do to the gradients of a training run, exactly."), content);
  about->setWordWrap(true);
  box->addWidget(about);
  auto* const buttons = new QHBoxLayout;
  auto* const folder = new QPushButton(tr("Open folder..."), content);
  auto* const drop = new QLabel(tr("or drop recordings, dumps or logs here"), content);
  open_->setDefault(true);
  buttons->addWidget(open_);
  buttons->addWidget(folder);
  buttons->addWidget(drop, 1);
  box->addLayout(buttons);
  connect(open_, &QPushButton::clicked, this, &start_page::open_wanted);
  connect(folder, &QPushButton::clicked, this, &start_page::folder_wanted);

  recent_list_->setContentsMargins(0, 8, 0, 0);
  box->addWidget(recent_);

  if (!example_path().isEmpty()) {
    box->addSpacing(8);
    box->addWidget(make_heading(tr("Ask the example: a small network that learns digits in float16"), content));
    for (const question& q : questions()) {
      auto* const ask = new QCommandLinkButton(tr(q.text), content);
      box->addWidget(ask);
      connect(ask, &QPushButton::clicked, this, [this, &q] { emit session_wanted(example_for(q)); });
    }
  }
  box->addStretch(2);
  setWidget(content);
}

void start_page::showEvent(QShowEvent* event) {
  show_recent();
  QScrollArea::showEvent(event);
  open_->setFocus();
}

void start_page::show_recent() {
  while (QLayoutItem* const item = recent_list_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  const QStringList files = recent_files().mid(0, most_shown);
  recent_->setVisible(!files.isEmpty());
  if (files.isEmpty()) return;
  recent_list_->addWidget(make_heading(tr("Recent"), recent_));
  for (const QString& file : files) {
    auto* const button = new QPushButton(QFileInfo(file).fileName().replace('&', "&&"), recent_);
    button->setFlat(true);
    button->setStyleSheet("text-align: left");
    button->setToolTip(file);
    recent_list_->addWidget(button);
    connect(button, &QPushButton::clicked, this, [this, file] { emit file_wanted(file); });
  }
}

}  // namespace ulp::gui
