#include "overview_view.hpp"

#include <QFontMetricsF>
#include <QPainter>
#include <QTextDocument>
#include <algorithm>
#include <cmath>
#include <ulp/report/estimates.hpp>
#include <utility>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

// The median of log2 of the scales used in the last fifth of the steps.
double settled(const std::vector<replay_step>& steps) {
  std::vector<double> last;
  for (std::size_t i = steps.size() - (steps.size() + 4) / 5; i < steps.size(); ++i)
    last.push_back(std::log2(steps[i].scale_used));
  if (last.empty()) return not_known;
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end());
  return *middle;
}

table_value share(const outcome_counts& c, const value_range& of) {
  if (c.nonzero().high == 0) return {};
  return percent_text(of);
}

enum column : std::uint8_t { replay, scale_at_end, skipped, first_skip, underflow, overflow, clipped, diverged };

}  // namespace

overview_view::overview_view(view_state& state, QWidget* parent)
    : rows_view(state, "overview", tr("Overview"), tr("Is anything wrong?"), parent), words_(new QTextBrowser(this)) {
  box().addWidget(words_, 2);
  words_->setOpenLinks(false);
  words_->setAccessibleName(tr("Findings in words"));
  connect(words_, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
    const QStringList parts = link.toString().split('/');
    this->state().set_front(parts.first().toULongLong());
    this->state().set_cursor(parts.last().toLongLong());
    emit asked_for("scale");
  });
  connect(&grid(), &QTableView::activated, this, [this](const QModelIndex& index) {
    this->state().set_front(static_cast<std::size_t>(index.row()));
    const auto result = this->state().front().result;
    switch (index.column()) {
      case underflow: return emit asked_for("layers");
      case overflow: return emit asked_for("window");
      case clipped: return emit asked_for("clipping");
      case first_skip:
        if (result && result->summary.first_skip) this->state().set_cursor(*result->summary.first_skip);
        return emit asked_for("scale");
      case diverged:
        if (result && result->summary.first_divergence) this->state().set_cursor(*result->summary.first_divergence);
        return emit asked_for("scale");
      default: return emit asked_for("scale");
    }
  });
  grid().setToolTip(tr("Double-click a number for the view that explains it"));
}

void overview_view::refresh(view_state::parts what) {
  if (!what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) return;
  table_ = {};
  table_.columns = {{"replay", "replay"},
                    {"settled_scale", "settled scale", alignment::right},
                    {"skipped", "skipped"},
                    {"first_skip", "first skip"},
                    {"underflow", "underflow", alignment::right},
                    {"overflow", "overflow", alignment::right},
                    {"clipped", "clipped steps"},
                    {"diverged", "open loop from"}};
  QString words;
  const loaded_run* const run = state().current_run();
  if (run == nullptr) words += QStringLiteral("<p>%1</p>").arg(why_empty());
  for (const auto& open : state().doc().runs()) {
    words += QStringLiteral("<p>%1: %2 in %3.</p>")
                 .arg(shown_text(open->text.inputs.front()).toHtmlEscaped(),
                      QString::fromStdString(count_text(open->picture.steps().size(), "step")),
                      QString::fromStdString(count_text(open->tensors.size(), "tensor")));
    for (const std::string& warning : open->warnings)
      words += QStringLiteral("<p>&#9888; %1</p>").arg(shown_text(warning).toHtmlEscaped());
    for (const std::string& note : open->notes)
      words += QStringLiteral("<p>%1</p>").arg(shown_text(note).toHtmlEscaped());
  }
  for (const replay_entry& r : state().doc().replays()) {
    const std::string name = state().doc().title_of(r).toStdString();
    std::vector<table_value> row{name, {}, {}, {}, {}, {}, {}, {}};
    if (!r.failure.isEmpty()) {
      words += QStringLiteral("<h4>%1</h4><p>%2</p>").arg(shown_text(name).toHtmlEscaped(), r.failure.toHtmlEscaped());
    } else if (r.result && r.result->steps.empty()) {
      words += QStringLiteral("<h4>%1</h4><p>%2</p>")
                   .arg(shown_text(name).toHtmlEscaped(), tr("Nothing was replayed: the run has no steps."));
    } else if (r.result) {
      const trajectory_summary& s = r.result->summary;
      const auto step_or_nothing = [](const std::optional<std::int64_t>& step) {
        return step ? table_value{*step} : table_value{};
      };
      // A scale that fell to 0 settled there, whatever it was on its way.
      const bool fell = !r.result->steps.empty() && !(r.result->steps.back().scale_used > 0);
      row[scale_at_end] = fell ? std::string{"0"} : power_text(settled(r.result->steps));
      const std::string skips = skipped_text(s.skipped, s.uncertain, s.bounds);
      row[skipped] = skips.starts_with('~') ? table_value{skips} : static_cast<std::int64_t>(s.skipped);
      row[first_skip] = step_or_nothing(s.first_skip);
      if (s.has_counts) {
        row[underflow] = share(s.counts, underflow_share(s.counts));
        row[overflow] = share(s.counts, share_of_nonzero(s.counts, s.counts.overflow));
      }
      row[clipped] = static_cast<std::int64_t>(s.clipped);
      row[diverged] = step_or_nothing(s.first_divergence);
      words += QStringLiteral("<h4>%1</h4>").arg(shown_text(name).toHtmlEscaped());
      if (!s.error.empty())
        words += QStringLiteral("<p>%1</p>")
                     .arg(tr("The policy ended the run: %1").arg(shown_text(s.error).toHtmlEscaped()));
      if (s.first_skip)
        words += QStringLiteral("<p><a href=\"%1/%2\">%3</a></p>")
                     .arg(&r - state().doc().replays().data())
                     .arg(*s.first_skip)
                     .arg(tr("first skipped step: %1").arg(*s.first_skip));
      if (r.result->warnings.empty() && s.error.empty() && !s.first_skip && !s.first_divergence && s.uncertain == 0 &&
          !r.result->told_nothing)
        words += QStringLiteral("<p>%1</p>").arg(tr("Nothing is wrong with this trajectory."));
      for (const std::string& warning : r.result->warnings)
        words += QStringLiteral("<p>&#9888; %1</p>").arg(shown_text(warning).toHtmlEscaped());
      if (s.uncertain > 0) words += QStringLiteral("<p>~ %1</p>").arg(shown_text(uncertain_text(s)).toHtmlEscaped());
      for (const std::string& note : r.result->notes)
        words += QStringLiteral("<p>%1</p>").arg(shown_text(note).toHtmlEscaped());
    }
    if (run != nullptr) table_.rows.push_back(std::move(row));
  }
  rows().set(table_);
  grid().resizeColumnsToContents();
  words_->setHtml(words);
}

void overview_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const double rows_height = std::min(
      room.height() / 2, (static_cast<double>(table_.rows.size()) + 2) * (QFontMetricsF(to.font()).height() + 6));
  rows_view::draw(to, QRectF(room.topLeft(), QSizeF(room.width(), rows_height)), colours);
  QTextDocument text;
  text.setDefaultFont(to.font());
  text.setDefaultStyleSheet(QStringLiteral("* { color: %1 }").arg(colours.text.name()));
  text.setHtml(QStringLiteral("<div style='color:%1'>%2</div>").arg(colours.text.name(), words_->toHtml()));
  text.setTextWidth(room.width());
  to.save();
  to.translate(room.left(), room.top() + rows_height + 8);
  text.drawContents(&to);
  to.restore();
}

QString overview_view::legend() const {
  return tr(
      "One row per replay, with what is wrong in words. Double-click a number to open the view that explains it.");
}

}  // namespace ulp::gui
