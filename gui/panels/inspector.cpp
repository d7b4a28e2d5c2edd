#include "inspector.hpp"

#include <QVBoxLayout>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

QString text(std::string_view s) { return shown_text(s).toHtmlEscaped(); }

}  // namespace

inspector::inspector(view_state& state, QWidget* parent)
    : QWidget(parent), state_(state), about_(new QTextBrowser(this)) {
  auto* const box = new QVBoxLayout(this);
  box->addWidget(about_, 1);
  about_->setAccessibleName(tr("Where the run and its replay come from"));
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) refresh();
  });
  refresh();
}

void inspector::refresh() {
  const loaded_run* const run = state_.current_run();
  const replay_entry& front = state_.front();
  QString html;
  const auto line = [&](const QString& what, const QString& value) {
    if (!value.isEmpty()) html += QStringLiteral("<p><b>%1</b><br>%2</p>").arg(what, value);
  };
  if (run != nullptr) {
    line(tr("Input"),
         text(run->text.inputs.front()) +
             (run->text.inputs.size() > 1 ? tr(" and %1 more").arg(run->text.inputs.size() - 1) : QString()));
    line(tr("Kind"), text(run->description));
    line(tr("Run"), text(run->header.run_id));
    line(tr("Rank"), run->header.world > 1 ? tr("%1 of %2").arg(run->header.rank).arg(run->header.world) : QString());
    line(tr("Scale of"),
         run->as_recorded ? tr("the values as recorded: their factor is not known") : tr("the true gradient"));
  }
  QString parameters;
  try {
    const scenario s = scenario_of(front.spec);
    for (const scaler_parameter& p : s.recipe.machine().parameters()) {
      const bool set = parameter_of(front.spec, p.name).has_value();
      const QString entry = text(p.name) + " = " + text(to_string(p.value));
      parameters += (set ? "<b>" + entry + "</b>" : entry + tr(" (default)")) + "<br>";
    }
    line(tr("Scaler"), text(s.recipe.machine().entry().name) + "<br>" + text(s.recipe.machine().entry().summary));
    line(tr("Parameters"), parameters);
    line(tr("Source"), text(s.recipe.machine().entry().source));
  } catch (const std::invalid_argument& mistake) {
    line(tr("Scenario"), text(mistake.what()));
  }
  if (front.result) line(tr("Overflow is looked for in"), text(front.result->checked));
  about_->setHtml(html);
}

}  // namespace ulp::gui
