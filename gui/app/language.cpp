#include "language.hpp"

#include <QCoreApplication>
#include <QDir>
#include <QLibraryInfo>
#include <QLocale>
#include <QTranslator>

namespace ulp::gui {
namespace {

const QString own_language = QStringLiteral("en");  // of the texts in the sources

QString language_of_desktop() {
  const QStringList known = languages();
  for (const QString& wanted : QLocale::system().uiLanguages())
    if (const QString language = wanted.section('-', 0, 0); known.contains(language)) return language;
  return own_language;
}

void install_texts(const QString& file, const QString& folder) {
  auto* const texts = new QTranslator(QCoreApplication::instance());
  if (texts->load(file, folder))
    QCoreApplication::installTranslator(texts);
  else
    delete texts;
}

}  // namespace

QStringList languages() {
  QStringList all{own_language};
  for (const QString& file : QDir(":/i18n").entryList({"ulpscope_*.qm"}))
    all << file.section('_', 1).section('.', 0, 0);
  all.sort();
  return all;
}

void speak(const QString& language) {
  const QString spoken = language.isEmpty() ? language_of_desktop() : language;
  if (spoken == own_language) return;
  // Qt's own words, such as those of its dialogs, where they are installed.
  install_texts("qtbase_" + spoken, QLibraryInfo::path(QLibraryInfo::TranslationsPath));
  install_texts("ulpscope_" + spoken, ":/i18n");
}

}  // namespace ulp::gui
