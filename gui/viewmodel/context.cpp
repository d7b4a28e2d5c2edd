#include "context.hpp"

#include <QObject>
#include <QStringList>
#include <algorithm>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

bool is_rule(const std::string& text) { return text.find('=') != std::string::npos; }

// The options by which less than the whole run was read.
run_text selection_of(const run_text& how) {
  run_text part{.tensor = how.tensor, .kinds = how.kinds, .roles = how.roles, .steps = how.steps, .every = how.every};
  std::erase_if(part.kinds, is_rule);
  std::erase_if(part.roles, is_rule);
  return part;
}

}  // namespace

std::vector<restriction> restrictions_of(const view_state& state, const heeded& by) {
  using enum restriction::kind;
  std::vector<restriction> all;
  const loaded_run* const run = state.current_run();
  if (run == nullptr) return all;
  if (state.shown() != state.whole())
    all.push_back({steps, QObject::tr("steps %1 to %2").arg(state.shown().first).arg(state.shown().last)});
  if (state.tensor())
    all.push_back({tensor, QObject::tr("tensor %1").arg(shown_text(run->tensors[*state.tensor()].name))});
  if (!state.filter().isEmpty())
    all.push_back({filter, QObject::tr("filter %1").arg(shown_text(state.filter().toStdString()))});
  if (state.tried_scale()) all.push_back({tried_scale, QObject::tr("tried 2^%1").arg(*state.tried_scale())});
  if (run->text.selects())
    all.push_back(
        {reading, QObject::tr("read with %1").arg(shown_text(arguments_of(selection_of(run->text))).trimmed())});
  std::erase_if(all, [&](const restriction& r) { return !by(r.of); });
  return all;
}

void lift(restriction::kind of, view_state& state) {
  using enum restriction::kind;
  switch (of) {
    case steps: return state.set_shown(state.whole());
    case tensor: return state.set_tensor(std::nullopt);
    case filter: return static_cast<void>(state.set_filter({}));
    case tried_scale: return state.set_tried_scale(std::nullopt);
    case reading: break;
  }
  run_text how = state.doc().how();
  how.tensor.clear();
  how.steps.clear();
  how.every = 1;
  std::erase_if(how.kinds, [](const std::string& k) { return !is_rule(k); });
  std::erase_if(how.roles, [](const std::string& r) { return !is_rule(r); });
  state.doc().read_again(std::move(how));
}

QString scales_note(const view_state& state, const heeded& by) {
  if (state.current_run() == nullptr || state.tried_scale() || !by(restriction::kind::tried_scale)) return {};
  const auto result = state.front().result;
  return result && result->per_layer ? QObject::tr("at the least of the layers' scales") : QString();
}

QString context_of(const view_state& state, const heeded& by, std::optional<std::int64_t> only) {
  if (state.current_run() == nullptr) return {};
  QStringList texts;
  for (const restriction& r : restrictions_of(state, by))
    if (!only || r.of != restriction::kind::steps) texts << r.text;
  if (only)
    texts.prepend(texts.isEmpty() ? QObject::tr("step %1, all tensors").arg(*only) : QObject::tr("step %1").arg(*only));
  else if (texts.isEmpty())
    texts << QObject::tr("all steps, all tensors");
  if (const QString note = scales_note(state, by); !note.isEmpty()) texts << note;
  return texts.join(", ");
}

}  // namespace ulp::gui
