#include "chosen_inputs.hpp"

#include <QDir>
#include <QFileInfo>
#include <map>
#include <string_view>

#include <ulp/io/inputs/open.hpp>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

// Which of the kinds its name is of; as many as there are where it is of none.
std::size_t kind_of(const QString& file, const std::vector<input_format>& kinds) {
  std::size_t kind = 0;
  while (kind < kinds.size() && !QDir::match(text(kinds[kind].globs).split(' '), QFileInfo(file).fileName())) ++kind;
  return kind;
}

}  // namespace

QString input_filters() {
  QStringList all;
  QStringList single;
  for (const input_format& kind : input_formats()) {
    all << text(kind.globs);
    single << QStringLiteral("%1 (%2)").arg(text(kind.name), text(kind.globs));
  }
  const QString session = "*.ulpscope.json";
  return QStringList{QObject::tr("Runs and sessions (%1 %2)").arg(all.join(' '), session), single.join(";;"),
                     QObject::tr("Sessions (%1 *.json)").arg(session), QObject::tr("All files (*)")}
      .join(";;");
}

std::vector<document::inputs_of_run> runs_of(const QStringList& files) {
  const std::vector<input_format> kinds = input_formats();
  std::vector<document::inputs_of_run> runs;
  std::map<std::size_t, std::size_t> run_of_kind;
  for (const QString& file : files) {
    const std::size_t kind = kind_of(file, kinds);
    const bool together =
        kind < kinds.size() && (kinds[kind].is_dump || kinds[kind].globs.find("tfevents") != kinds[kind].globs.npos);
    const auto known = run_of_kind.find(kind);
    if (together && known != run_of_kind.end()) {
      runs[known->second].push_back(file.toStdString());
      continue;
    }
    if (together) run_of_kind[kind] = runs.size();
    runs.push_back({file.toStdString()});
  }
  return runs;
}

QString name_of(const document::inputs_of_run& run) {
  const QString first = QFileInfo(shown_text(run.front())).fileName();
  return run.size() == 1 ? first : QObject::tr("%1 and %2 more").arg(first).arg(run.size() - 1);
}

QStringList inputs_in(const QString& folder) {
  QStringList globs;
  for (const input_format& kind : input_formats()) globs << text(kind.globs).split(' ');
  const QDir dir(folder);
  QStringList files;
  for (const QString& name : dir.entryList(globs, QDir::Files, QDir::Name)) files << dir.filePath(name);
  return files;
}

}  // namespace ulp::gui
