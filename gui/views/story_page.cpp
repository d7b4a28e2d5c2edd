#include "story_page.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double padding = 12;
constexpr double edge = 4;  // the coloured side

QFont bold(QFont font) {
  font.setBold(true);
  return font;
}

double title_width(const QFont& font, const story_lines& story) {
  double widest = 0;
  for (const auto& [title, text] : story.lines) widest = std::max(widest, QFontMetricsF(font).horizontalAdvance(title));
  return widest + 16;
}

// Calls each(title, box of the text, whether it is the first) from the top of `room` on; returns the height used.
template <typename Each>
double lay_out(const QFont& font, const QRectF& room, const story_lines& story, Each each) {
  const double titles = title_width(font, story);
  const double left = room.left() + edge + padding;
  // On narrow pages titles stand above their texts.
  const bool is_narrow = room.width() < 3.2 * titles;
  double y = room.top() + padding;
  bool is_first = true;
  for (const auto& [title, text] : story.lines) {
    const QFontMetricsF metrics(is_first ? bold(font) : font);
    const double indent = is_narrow ? 0 : titles;
    if (is_narrow && !title.isEmpty()) y += metrics.height() + 2;
    const double width = std::max(40.0, room.right() - padding - left - indent);
    const QRectF box(left + indent, y, width, 1e6);
    const double height = metrics.boundingRect(box, Qt::TextWordWrap, text).height();
    each(title, QPointF(left, is_narrow ? y - metrics.height() - 2 : y), QRectF(box.topLeft(), QSizeF(width, height)),
         text, is_first);
    y += height + 6;
    is_first = false;
  }
  return y - 6 + padding - room.top();
}

void draw_panel(QPainter& to, const QRectF& room, const QColor& side, bool at_top, const theme& colours) {
  to.save();
  to.setPen(QPen(colours.grid, 1));
  to.setBrush(colours.background);
  to.drawRoundedRect(room.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
  if (at_top)
    to.fillRect(QRectF(room.topLeft(), QSizeF(room.width(), edge - 1)), side);
  else
    to.fillRect(QRectF(room.topLeft(), QSizeF(edge, room.height())), side);
  to.restore();
}

// From 1e-6, the least that is seen, to all.
double length_of(double share) { return share > 0 ? std::clamp(1 + std::log10(share) / 6, 0.02, 1.0) : 0; }

void draw_bars(QPainter& to, const QRectF& room, const std::vector<finding_bar>& bars, const theme& colours) {
  const QFontMetricsF metrics(to.font());
  const double row = metrics.height() + 3;
  const auto fitting = static_cast<std::size_t>(std::max(0.0, std::floor(room.height() / row)));
  const std::size_t shown = std::min(bars.size(), fitting);
  const double labels = room.width() * 0.34;
  const double texts = room.width() * 0.36;
  for (std::size_t i = 0; i < shown; ++i) {
    const finding_bar& bar = bars[i];
    const QRectF line(room.left(), room.top() + row * static_cast<double>(i), room.width(), row);
    to.setPen(colours.text);
    to.drawText(QRectF(line.left(), line.top(), labels - 6, row), Qt::AlignVCenter,
                metrics.elidedText(shown_text(bar.label), Qt::ElideMiddle, labels - 6));
    const QRectF area(line.left() + labels, line.center().y() - 4, room.width() - labels - texts - 6, 8);
    to.fillRect(area, colours.grid);
    to.fillRect(QRectF(area.topLeft(), QSizeF(area.width() * length_of(bar.share.high), area.height())),
                bar.grade == finding_grade::fine ? colours.heat(0.7) : colour_of(bar.grade, colours));
    to.setPen(colours.faint);
    to.drawText(QRectF(line.right() - texts, line.top(), texts, row), Qt::AlignVCenter | Qt::AlignLeft,
                metrics.elidedText(shown_text(bar.text), Qt::ElideRight, texts));
  }
}

void draw_line(QPainter& to, const QRectF& room, const card_line& line, const theme& colours) {
  const QFontMetricsF metrics(to.font());
  to.setPen(colours.faint);
  to.drawText(QRectF(room.left(), room.bottom() - metrics.height(), room.width(), metrics.height()),
              Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(line.name, Qt::ElideRight, room.width()));
  const QRectF area = room.adjusted(0, 4, 0, -metrics.height() - 4);
  if (area.height() < 16) return;
  extremes all;
  for (const extremes& e : line.pieces) all.merge(e);
  const double span = std::max(all.greatest - all.least, 1.0);
  const auto y_of = [&](double value) { return area.bottom() - 8 - (value - all.least) / span * (area.height() - 10); };
  to.setPen(Qt::NoPen);
  to.setBrush(colours.line(1).color());
  const double step = area.width() / static_cast<double>(line.pieces.size());
  double before = not_known;
  for (std::size_t i = 0; i < line.pieces.size(); ++i) {
    const extremes& e = line.pieces[i];
    if (!std::isfinite(e.least)) {
      before = not_known;
      continue;
    }
    // Joined to the piece before, so that the line of steps has no gaps.
    const double top = std::isfinite(before) ? std::max(e.greatest, before) : e.greatest;
    const double bottom = std::isfinite(before) ? std::min(e.least, before) : e.least;
    const double x = area.left() + step * static_cast<double>(i);
    to.drawRect(QRectF(QPointF(x, y_of(e.greatest) - 0.75), QPointF(x + std::max(step, 1.0), y_of(e.least) + 0.75)));
    to.drawRect(QRectF(QPointF(x, y_of(top) - 0.75), QPointF(x + 1.5, y_of(bottom) + 0.75)));
    before = (e.least + e.greatest) / 2;
    if (e.least == e.greatest) before = e.least;
  }
  to.setPen(QPen(colours.line(0).color(), 1));
  for (const double mark : line.marks) {
    const double x = area.left() + mark * area.width();
    to.drawLine(QPointF(x, area.bottom() - 5), QPointF(x, area.bottom()));
  }
}

}  // namespace

QColor colour_of(finding_grade grade, const theme& colours) {
  switch (grade) {
    case finding_grade::trouble: return colours.lost;
    case finding_grade::notable: return colours.subnormal;
    case finding_grade::fine: return colours.line(2).color();
  }
  return colours.faint;
}

double draw_story(QPainter& to, const QRectF& room, const story_lines& story, const theme& colours) {
  const QFont font = to.font();
  const double height = story_height(font, room.width(), story);
  draw_panel(to, QRectF(room.topLeft(), QSizeF(room.width(), height)), colour_of(story.grade, colours), false, colours);
  lay_out(font, room, story,
          [&](const QString& title, QPointF at, const QRectF& box, const QString& text, bool is_first) {
            to.setFont(font);
            to.setPen(colours.faint);
            to.drawText(QRectF(at, QSizeF(room.width(), box.height())), Qt::AlignTop | Qt::AlignLeft, title);
            to.setFont(is_first ? bold(font) : font);
            to.setPen(colours.text);
            to.drawText(box.adjusted(0, 0, 2, 2), Qt::TextWordWrap, text);
          });
  to.setFont(font);
  return height;
}

double story_height(const QFont& font, double width, const story_lines& story) {
  return lay_out(font, QRectF(0, 0, width, 1e6), story,
                 [](const QString&, QPointF, const QRectF&, const QString&, bool) {});
}

void draw_card(QPainter& to, const QRectF& room, const story_card& card, const theme& colours) {
  to.save();
  const QFont font = to.font();
  draw_panel(to, room, colour_of(card.grade, colours), true, colours);
  const QRectF inside = room.adjusted(padding, edge + 7, -padding, -8);
  const QFontMetricsF metrics(font);
  to.setClipRect(room);
  to.setPen(colours.faint);
  to.drawText(QRectF(inside.topLeft(), QSizeF(inside.width(), metrics.height())), Qt::AlignVCenter,
              metrics.elidedText(card.question, Qt::ElideRight, inside.width()));
  const QFont heavy = bold(font);
  const QFontMetricsF heavy_metrics(heavy);
  const bool is_drawn = !card.bars.empty() || card.line;
  const double lines =
      is_drawn ? 2 : std::max(2.0, std::floor((inside.height() - metrics.height() - 6) / heavy_metrics.height()));
  const QRectF words(inside.left(), inside.top() + metrics.height() + 3, inside.width(),
                     lines * heavy_metrics.height() + 1);
  // What does not fit ends in an ellipsis; all of it is in the tool tip.
  QString conclusion = card.conclusion;
  const auto fits = [&](const QString& text) {
    return heavy_metrics.boundingRect(QRectF(words.topLeft(), QSizeF(words.width(), 1e6)), Qt::TextWordWrap, text)
               .height() <= words.height();
  };
  while (!fits(conclusion) && conclusion.contains(' '))
    conclusion = conclusion.section(' ', 0, -2).remove(QStringLiteral("…")) + QStringLiteral("…");
  to.setFont(heavy);
  to.setPen(colours.text);
  to.drawText(words, Qt::TextWordWrap, conclusion);
  to.setFont(font);
  const QRectF picture(inside.left(), words.bottom() + 4, inside.width(), inside.bottom() - words.bottom() - 4);
  if (!card.bars.empty())
    draw_bars(to, picture, card.bars, colours);
  else if (card.line)
    draw_line(to, picture, *card.line, colours);
  to.restore();
}

card_button::card_button(story_card card, QWidget* parent) : QAbstractButton(parent), card_(std::move(card)) {
  setAccessibleName(card_.question + " " + card_.conclusion);
  setAccessibleDescription(card_.evidence);
  setToolTip(tip_of(card_.conclusion + "\n\n" + card_.evidence));
  setFocusPolicy(Qt::StrongFocus);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  if (!card_.view.isEmpty()) setCursor(Qt::PointingHandCursor);
}

QSize card_button::sizeHint() const {
  const QFontMetrics metrics(font());
  return {300, 8 * metrics.height() + 26};
}

void card_button::paintEvent(QPaintEvent*) {
  QPainter to(this);
  to.setRenderHint(QPainter::Antialiasing);
  const theme colours = theme::of(palette());
  draw_card(to, rect(), card_, colours);
  if (!hasFocus() && !underMouse()) return;
  to.setPen(QPen(palette().color(QPalette::Highlight), hasFocus() ? 2 : 1));
  to.setBrush(Qt::NoBrush);
  to.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 3, 3);
}

story_header::story_header(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setFocusPolicy(Qt::TabFocus);
}

void story_header::show_story(story_lines story) {
  story_ = std::move(story);
  QStringList all;
  for (const auto& [title, text] : story_.lines) all << (title.isEmpty() ? text : title + ": " + text);
  setAccessibleName(all.join(". "));
  updateGeometry();
  update();
}

int story_header::heightForWidth(int width) const {
  return static_cast<int>(std::ceil(story_height(font(), width, story_)));
}

void story_header::paintEvent(QPaintEvent*) {
  QPainter to(this);
  to.setRenderHint(QPainter::Antialiasing);
  to.setFont(font());
  draw_story(to, rect(), story_, theme::of(palette()));
}

}  // namespace ulp::gui
