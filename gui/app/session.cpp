#include "session.hpp"

#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <filesystem>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/model/plan/hardware.hpp>

#include "viewmodel/typed_option.hpp"
#include "views/layer_words.hpp"

namespace ulp::gui {
namespace {

constexpr int version = 1;

// Those with a key of their own; the others are left out where they are what they usually are.
bool has_key(const std::string& option) { return option == "scaler" || option == "set" || option == "format"; }

QString key_of(const text_option& o) { return QString::fromStdString(o.name).replace('-', '_'); }

// "key=value" each.
QJsonObject object_of(const std::vector<std::string>& parameters) {
  QJsonObject o;
  for (const std::string& p : parameters) {
    const auto [name, value] = key_and_value(p, "--set");
    o[QString::fromStdString(name)] = QString::fromStdString(value);
  }
  return o;
}

QJsonArray array_of(const std::vector<std::string>& texts) {
  QJsonArray list;
  for (const std::string& one : texts) list << QString::fromStdString(one);
  return list;
}

QJsonObject object_of(const session::replay& r) {
  scenario_text spec = r.spec;
  scenario_text usual;
  QJsonObject o{{"run", static_cast<qint64>(r.run)},
                {"scaler", QString::fromStdString(spec.scaler)},
                {"parameters", object_of(spec.parameters)},
                {"format", QString::fromStdString(spec.format)}};
  const std::vector<text_option> given = options_of(spec);
  const std::vector<text_option> others = options_of(usual);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (const QString text = text_of(given[i]); !has_key(given[i].name) && text != text_of(others[i]))
      o[key_of(given[i])] = text;
  return o;
}

// What differs from what is usual; lists as such.
QJsonObject object_of(run_text how) {
  run_text usual;
  QJsonObject o;
  const std::vector<text_option> given = options_of(how);
  const std::vector<text_option> others = options_of(usual);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (text_of(given[i]) == text_of(others[i])) continue;
    QJsonArray list;
    if (auto* const* const values = std::get_if<std::vector<std::string>*>(&given[i].value)) list = array_of(**values);
    o[key_of(given[i])] = list.isEmpty() ? QJsonValue(text_of(given[i])) : QJsonValue(list);
  }
  return o;
}

// Sessions are written by hand too: what has another type than it should would change what is shown without a word.
[[noreturn]] void refuse_type(const QString& key, const char* type) {
  throw std::invalid_argument(QString("'%1' must be %2").arg(key, type).toStdString());
}

QString text_of(const QJsonValue& value, const QString& key) {
  if (!value.isString() && !value.isUndefined()) refuse_type(key, "a string");
  return value.toString();
}

std::optional<std::int64_t> number_in(const QJsonObject& o, const char* key) {
  const QJsonValue value = o[key];
  if (value.isUndefined()) return std::nullopt;
  if (!value.isDouble() || static_cast<double>(value.toInteger()) != value.toDouble()) refuse_type(key, "an integer");
  return value.toInteger();
}

// "key=value" each, of the object under that key.
std::vector<std::string> parameters_in(const QJsonObject& o, const QString& key) {
  if (o.contains(key) && !o[key].isObject()) refuse_type(key, "an object");
  std::vector<std::string> all;
  const QJsonObject parameters = o[key].toObject();
  for (auto p = parameters.begin(); p != parameters.end(); ++p)
    all.push_back(p.key().toStdString() + "=" + text_of(p.value(), p.key()).toStdString());
  return all;
}

std::vector<std::string> texts_in(const QJsonObject& o, const QString& key) {
  if (o.contains(key) && !o[key].isArray()) refuse_type(key, "a list of strings");
  std::vector<std::string> all;
  for (const auto& one : o[key].toArray()) all.push_back(text_of(one, key).toStdString());
  return all;
}

std::optional<fp8_spec> fp8_of(const QJsonObject& o) {
  const QString recipe = text_of(o["fp8_recipe"], "fp8_recipe");
  if (recipe.isEmpty()) return std::nullopt;
  return checked({.recipe = recipe.toStdString(),
                  .parameters = parameters_in(o, "fp8_parameters"),
                  .kept_out = texts_in(o, "fp8_kept_out")});
}

session::replay replay_of(const QJsonObject& o) {
  session::replay r{.run = static_cast<std::size_t>(number_in(o, "run").value_or(-1))};
  r.spec.scaler = scaler_named(text_of(o["scaler"], "scaler").toStdString()).name;  // not an alias
  r.spec.format = text_of(o["format"], "format").toStdString();
  QStringList known{"run", "scaler", "format", "parameters"};
  r.spec.parameters = parameters_in(o, "parameters");
  for (const text_option& option : options_of(r.spec)) {
    const QString key = key_of(option);
    known << key;
    if (!has_key(option.name) && o.contains(key)) set_text(option, text_of(o[key], key));
  }
  for (const QString& key : o.keys())
    if (!known.contains(key)) throw std::invalid_argument("a replay has no '" + key.toStdString() + "'");
  static_cast<void>(scenario_of(r.spec));
  return r;
}

run_text reading_of(const QJsonObject& o) {
  run_text how;
  QStringList known;
  for (const text_option& option : options_of(how)) {
    const QString key = key_of(option);
    known << key;
    if (!o.contains(key)) continue;
    if (auto* const* const values = std::get_if<std::vector<std::string>*>(&option.value)) {
      **values = texts_in(o, key);
    } else {
      set_text(option, text_of(o[key], key));
    }
  }
  for (const QString& key : o.keys())
    if (!known.contains(key)) throw std::invalid_argument("reading has no '" + key.toStdString() + "'");
  static_cast<void>(how.selected());
  static_cast<void>(how.how_to_read());
  return how;
}

// Throws std::invalid_argument.
std::optional<named_block_format> block_of(const session& s) {
  if (s.block.empty()) return std::nullopt;
  return block_formats_named({s.block}, "block").front();
}

// Throws std::invalid_argument.
void take(const QJsonObject& o, session& s) {
  const auto refuse = [](const QString& why) { throw std::invalid_argument(why.toStdString()); };
  if (o["runs"].toArray().size() > qsizetype{document::most_replays})
    refuse(QObject::tr("names more than %1 runs").arg(document::most_replays));
  for (const auto& run : o["runs"].toArray()) {
    s.runs.emplace_back();
    for (const auto& input : run.toArray()) {
      s.runs.back().push_back(text_of(input, "runs").toStdString());
      std::error_code ignored;
      const auto kind = std::filesystem::status(s.runs.back().back(), ignored).type();
      using enum std::filesystem::file_type;
      if (kind != regular && kind != not_found && kind != none && kind != directory)
        refuse(QObject::tr("names something that is not a file: %1").arg(input.toString()));
    }
    if (s.runs.back().empty()) refuse(QObject::tr("has a run without inputs"));
  }
  if (s.runs.empty()) refuse(QObject::tr("names no run"));
  for (const auto& r : o["replays"].toArray()) s.replays.push_back(replay_of(r.toObject()));
  if (s.replays.empty() || s.replays.size() > document::most_replays)
    refuse(QObject::tr("has no replays, or more than %1").arg(document::most_replays));
  for (const session::replay& r : s.replays)
    if (r.run >= s.runs.size()) refuse(QObject::tr("replays a run that it does not list"));
  if (o.contains("reading") && !o["reading"].isObject()) refuse_type("reading", "an object");
  s.reading = reading_of(o["reading"].toObject());
  s.view = text_of(o["view"], "view");
  s.filter = text_of(o["filter"], "filter");
  if (const QString problem = view_state::problem_with_filter(s.filter); !problem.isEmpty())
    refuse(QObject::tr("the filter: %1").arg(problem));
  if (const QString metric = text_of(o["metric"], "metric"); !metric.isEmpty()) {
    const auto named = metric_named(metric);
    if (!named) refuse(QObject::tr("the metric '%1' is not one of %2").arg(metric, metric_keys().join(", ")));
    s.metric = *named;
  }
  s.weights_format = text_of(o["weights_format"], "weights_format").toStdString();
  if (!s.weights_format.empty()) static_cast<void>(value_format_named(s.weights_format));
  s.fp8 = fp8_of(o);
  s.plan.lose = text_of(o["plan_lose"], "plan_lose").toStdString();
  if (const QString hardware = text_of(o["plan_hardware"], "plan_hardware"); !hardware.isEmpty())
    s.plan.hardware = plan_hardware_named(hardware.toStdString()).name;
  s.block = text_of(o["block"], "block").toStdString();
  s.block_rows = texts_in(o, "block_rows");
  static_cast<void>(block_of(s));
  static_cast<void>(block_formats_named(s.block_rows, "block_rows"));
  s.first_step = number_in(o, "first_step");
  s.last_step = number_in(o, "last_step");
  s.cursor = number_in(o, "cursor");
}

}  // namespace

QByteArray to_json(const session& s) {
  QJsonArray runs;
  for (const auto& inputs : s.runs) {
    QJsonArray files;
    for (const std::string& input : inputs) files << QString::fromStdString(input);
    runs << files;
  }
  QJsonArray replays;
  for (const session::replay& r : s.replays) replays << object_of(r);
  QJsonObject o{
      {"ulpscope_session", version}, {"runs", runs}, {"replays", replays}, {"view", s.view}, {"filter", s.filter}};
  if (const QJsonObject reading = object_of(s.reading); !reading.isEmpty()) o["reading"] = reading;
  if (s.metric != session{}.metric) o["metric"] = metric_key(s.metric);
  if (!s.weights_format.empty()) o["weights_format"] = QString::fromStdString(s.weights_format);
  if (s.fp8) {
    o["fp8_recipe"] = QString::fromStdString(s.fp8->recipe);
    if (!s.fp8->parameters.empty()) o["fp8_parameters"] = object_of(s.fp8->parameters);
    if (!s.fp8->kept_out.empty()) o["fp8_kept_out"] = array_of(s.fp8->kept_out);
  }
  if (s.plan.hardware != plan_spec{}.hardware) o["plan_hardware"] = QString::fromStdString(s.plan.hardware);
  if (!s.plan.lose.empty()) o["plan_lose"] = QString::fromStdString(s.plan.lose);
  if (!s.block.empty()) o["block"] = QString::fromStdString(s.block);
  if (!s.block_rows.empty()) o["block_rows"] = array_of(s.block_rows);
  const auto set = [&](const char* key, const std::optional<std::int64_t>& value) {
    if (value) o[key] = static_cast<qint64>(*value);
  };
  set("first_step", s.first_step);
  set("last_step", s.last_step);
  set("cursor", s.cursor);
  return QJsonDocument(o).toJson();
}

session session_from(const QByteArray& json, const QString& name) {
  const auto refuse = [&](const QString& why) { throw std::runtime_error((name + ": " + why).toStdString()); };
  QJsonParseError error;
  const QJsonObject o = QJsonDocument::fromJson(json, &error).object();
  if (error.error != QJsonParseError::NoError)
    refuse(QObject::tr("byte %1: %2").arg(error.offset).arg(error.errorString()));
  if (o["ulpscope_session"].toInt() != version)
    refuse(QObject::tr("is not a ulpscope session, or was saved by a later version"));
  session s;
  try {
    take(o, s);
  } catch (const std::invalid_argument& mistake) {
    refuse(QString::fromUtf8(mistake.what()));
  }
  return s;
}

session read_session(const QString& path) {
  if (QFileInfo(path).exists() && !QFileInfo(path).isFile())
    throw std::runtime_error((path + ": " + QObject::tr("is not a regular file")).toStdString());
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) throw std::runtime_error((path + ": " + file.errorString()).toStdString());
  return session_from(file.readAll(), path);
}

bool is_session(const QString& path) {
  constexpr qint64 longest = 1 << 20;
  QFile file(path);
  if (!QFileInfo(path).isFile() || file.size() > longest || !file.open(QIODevice::ReadOnly)) return false;
  if (file.peek(64).trimmed().left(1) != "{") return false;
  return QJsonDocument::fromJson(file.readAll()).object().contains("ulpscope_session");
}

session session_of(const view_state& state, const QString& view) {
  session s;
  for (const auto& run : state.doc().runs()) {
    s.runs.emplace_back();
    for (const std::string& input : run->text.inputs)
      s.runs.back().push_back(QFileInfo(QString::fromStdString(input)).absoluteFilePath().toStdString());
  }
  for (const replay_entry& r : state.doc().replays()) s.replays.push_back({.spec = r.spec, .run = r.run});
  s.reading = state.doc().how();
  if (!s.reading.scalars.empty())
    s.reading.scalars = QFileInfo(QString::fromStdString(s.reading.scalars)).absoluteFilePath().toStdString();
  s.view = view;
  s.filter = state.filter();
  s.metric = state.metric_of_layers();
  if (state.has_own_weights_format()) s.weights_format = state.weights_format();
  if (state.has_own_fp8()) s.fp8 = state.fp8();
  s.plan = state.plan();
  if (state.block()) s.block = state.block()->name;
  for (const named_block_format& row : state.own_block_rows()) s.block_rows.push_back(row.name);
  if (state.shown() != state.whole()) {
    s.first_step = state.shown().first;
    s.last_step = state.shown().last;
  }
  s.cursor = state.cursor_step();
  return s;
}

std::vector<replay_entry> entries_of(const session& s) {
  std::vector<replay_entry> all;
  for (const session::replay& r : s.replays) all.push_back({.spec = r.spec, .run = r.run});
  return all;
}

void look_as(const session& s, view_state& state) {
  state.set_filter(s.filter);
  state.set_metric_of_layers(s.metric);
  state.set_weights_format(s.weights_format);
  if (s.fp8) state.set_fp8(*s.fp8);
  state.set_plan(s.plan);
  state.set_block(block_of(s));
  state.set_block_rows(block_formats_named(s.block_rows, "block_rows"));
  const auto whole = state.whole();
  state.set_shown({s.first_step.value_or(whole.first), s.last_step.value_or(whole.last)});
  if (s.cursor) state.set_cursor(*s.cursor);
}

}  // namespace ulp::gui
