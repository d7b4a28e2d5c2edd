#include "session.hpp"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <stdexcept>

namespace ulp::gui {
namespace {

constexpr int version = 1;

QJsonObject object_of(const scenario_spec& s) {
  QJsonObject parameters;
  for (const auto& [name, value] : s.parameters)
    parameters[QString::fromStdString(name)] = QString::fromStdString(value);
  QJsonObject o{{"scaler", QString::fromStdString(s.scaler)},
                {"parameters", parameters},
                {"format", QString::fromStdString(s.format)}};
  const auto set = [&](const char* key, const std::string& value) {
    if (!value.empty()) o[key] = QString::fromStdString(value);
  };
  set("rounding", s.rounding);
  set("clip_norm", s.clip_norm);
  set("clip_value", s.clip_value);
  set("check", s.check);
  return o;
}

scenario_spec spec_of(const QJsonObject& o) {
  const auto text = [&](const char* key) { return o[key].toString().toStdString(); };
  scenario_spec s;
  s.scaler = text("scaler");
  const QJsonObject parameters = o["parameters"].toObject();
  for (auto p = parameters.begin(); p != parameters.end(); ++p)
    s.parameters.emplace_back(p.key().toStdString(), p.value().toString().toStdString());
  s.format = text("format");
  s.rounding = text("rounding");
  s.clip_norm = text("clip_norm");
  s.clip_value = text("clip_value");
  s.check = text("check");
  static_cast<void>(scenario_of(s));
  return s;
}

}  // namespace

QByteArray to_json(const session& s) {
  QJsonArray inputs;
  for (const std::string& input : s.inputs) inputs << QString::fromStdString(input);
  QJsonArray replays;
  for (const scenario_spec& r : s.replays) replays << object_of(r);
  const QJsonObject o{{"ulpscope_session", version},
                      {"inputs", inputs},
                      {"replays", replays},
                      {"view", s.view},
                      {"filter", s.filter},
                      {"first_step", static_cast<double>(s.shown.first)},
                      {"last_step", static_cast<double>(s.shown.last)},
                      {"cursor", static_cast<double>(s.cursor)}};
  return QJsonDocument(o).toJson();
}

session session_from(const QByteArray& json, const QString& name) {
  const auto refuse = [&](const QString& why) { throw std::runtime_error((name + ": " + why).toStdString()); };
  QJsonParseError error;
  const QJsonObject o = QJsonDocument::fromJson(json, &error).object();
  if (error.error != QJsonParseError::NoError)
    refuse(QObject::tr("byte %1: %2").arg(error.offset).arg(error.errorString()));
  if (o["ulpscope_session"].toInt() != version)
    refuse(QObject::tr("is no session of ulpscope, or one of a later version"));
  session s;
  for (const auto& input : o["inputs"].toArray()) s.inputs.push_back(input.toString().toStdString());
  if (s.inputs.empty()) refuse(QObject::tr("names no input"));
  try {
    for (const auto& r : o["replays"].toArray()) s.replays.push_back(spec_of(r.toObject()));
  } catch (const std::invalid_argument& mistake) {
    refuse(QString::fromUtf8(mistake.what()));
  }
  if (s.replays.empty() || s.replays.size() > document::most_replays)
    refuse(QObject::tr("has no replays, or more than %1").arg(document::most_replays));
  s.view = o["view"].toString();
  s.filter = o["filter"].toString();
  s.shown = {static_cast<std::int64_t>(o["first_step"].toDouble()),
             static_cast<std::int64_t>(o["last_step"].toDouble())};
  s.cursor = static_cast<std::int64_t>(o["cursor"].toDouble());
  return s;
}

}  // namespace ulp::gui
