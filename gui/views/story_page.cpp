#include "story_page.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "plot/wrapped.hpp"
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
    const double height = wrapped_height(is_first ? bold(font) : font, width, text);
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

// Where the parts of a card lie, from its top edge on; `height` is what they take together.
struct card_places {
  double question = 0;
  double conclusion = 0;
  double picture = 0;
  double height = 0;
};

constexpr double above_words = edge + 7;
constexpr double below_picture = 8;

double height_of_row(const QFontMetricsF& metrics) { return metrics.height() + 3; }

// With all that it says, but for an essay.
card_places wanted_places(const QFont& font, double width, const story_card& card) {
  constexpr double most_lines = 6;
  const QFontMetricsF metrics(font);
  const QFontMetricsF heavy(bold(font));
  const double inside = width - 2 * padding;
  card_places p;
  p.question = std::min(wrapped_height(font, inside, card.question), 2 * metrics.lineSpacing() + 1);
  p.conclusion = std::min(wrapped_height(bold(font), inside, card.conclusion), most_lines * heavy.lineSpacing() + 1);
  if (!card.bars.empty())
    p.picture = height_of_row(metrics) * static_cast<double>(card.bars.size());
  else if (card.line)
    p.picture = 4 * metrics.height();
  p.height = above_words + p.question + 3 + p.conclusion + (p.picture > 0 ? 4 + p.picture : 0) + below_picture;
  return p;
}

// Words come first, then a picture that can be read, if there is one.
card_places places_in(const QFont& font, const QSizeF& room, const story_card& card) {
  card_places p = wanted_places(font, room.width(), card);
  const double row = height_of_row(QFontMetricsF(font));
  const double heavy = QFontMetricsF(bold(font)).lineSpacing();
  const double least_picture = p.picture > 0 ? std::min(p.picture, 2.5 * row) : 0;
  if (p.height > room.height()) p.question = std::min(p.question, QFontMetricsF(font).lineSpacing());
  const double rest = room.height() - above_words - p.question - 3 - below_picture;
  const auto lines_in = [&](double height) { return std::max(1.0, std::floor(height / heavy)) * heavy + 1; };
  const double beside_picture = lines_in(rest - 4 - least_picture);
  const bool is_pictured = least_picture > 0 && rest - 4 - least_picture >= std::min(p.conclusion, 2 * heavy);
  p.conclusion = std::min(p.conclusion, is_pictured ? beside_picture : lines_in(rest));
  p.picture = is_pictured ? std::max(0.0, rest - p.conclusion - 4) : 0;
  p.height = room.height();
  return p;
}

// From 1e-6, the least that is seen, to all.
double length_of(double share) { return share > 0 ? std::clamp(1 + std::log10(share) / 6, 0.02, 1.0) : 0; }

// Names and numbers take what they need, as far as there is something left for the bars.
void draw_bars(QPainter& to, const QRectF& room, const std::vector<finding_bar>& bars, const theme& colours) {
  const QFontMetricsF metrics(to.font());
  const double row = height_of_row(metrics);
  const auto fitting = static_cast<std::size_t>(std::max(0.0, std::floor((room.height() + 1) / row)));
  const std::size_t shown = std::min(bars.size(), fitting);
  double labels = 0;
  double texts = 0;
  for (std::size_t i = 0; i < shown; ++i) {
    labels = std::max(labels, metrics.horizontalAdvance(shown_text(bars[i].label)) + 9);
    texts = std::max(texts, metrics.horizontalAdvance(shown_text(bars[i].text)) + 9);
  }
  constexpr double least_bar = 44;
  labels = std::min(labels, 0.45 * room.width());
  texts = std::min(texts, std::max(0.3 * room.width(), room.width() - labels - least_bar));
  labels = std::min(labels, room.width() - texts - least_bar);
  for (std::size_t i = 0; i < shown; ++i) {
    const finding_bar& bar = bars[i];
    const QRectF line(room.left(), room.top() + row * static_cast<double>(i), room.width(), row);
    to.setPen(colours.text);
    to.drawText(QRectF(line.left(), line.top(), labels - 8, row), Qt::AlignVCenter,
                metrics.elidedText(shown_text(bar.label), Qt::ElideMiddle, labels - 8));
    const QRectF area(line.left() + labels, line.center().y() - 4, room.width() - labels - texts, 8);
    to.fillRect(area, colours.grid);
    to.fillRect(QRectF(area.topLeft(), QSizeF(area.width() * length_of(bar.share.high), area.height())),
                bar.grade == finding_grade::fine ? colours.heat(0.7) : colour_of(bar.grade, colours));
    to.setPen(colours.faint);
    to.drawText(QRectF(line.right() - texts + 8, line.top(), texts - 8, row), Qt::AlignVCenter | Qt::AlignLeft,
                metrics.elidedText(shown_text(bar.text), Qt::ElideRight, texts - 8));
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
            draw_wrapped(to, box, text);
          });
  to.setFont(font);
  return height;
}

double story_height(const QFont& font, double width, const story_lines& story) {
  return lay_out(font, QRectF(0, 0, width, 1e6), story,
                 [](const QString&, QPointF, const QRectF&, const QString&, bool) {});
}

story_lines shortened_story(const QFont& font, double width, double most, story_lines story) {
  const auto longest = [&] {
    std::size_t at = 0;
    double lines = 1;
    double height = 0;
    double wide = 0;
    std::size_t i = 0;
    lay_out(font, QRectF(0, 0, width, 1e6), story,
            [&](const QString&, QPointF, const QRectF& box, const QString&, bool is_first) {
              const double n = std::round(box.height() / QFontMetricsF(is_first ? bold(font) : font).lineSpacing());
              if (n > lines) {
                at = i;
                lines = n;
                height = box.height();
                wide = box.width();
              }
              ++i;
            });
    return std::tuple(at, lines, height, wide);
  };
  while (story_height(font, width, story) > most) {
    const auto [at, lines, height, wide] = longest();
    if (lines > 1) {
      const QFont of = at == 0 ? bold(font) : font;
      QString& text = story.lines[at].second;
      const QString less = fitted(of, wide, height - QFontMetricsF(of).lineSpacing() + 1, text);
      if (less != text) {
        text = less;
        continue;
      }
    }
    // What happened is told in any case.
    if (story.lines.size() < 2) break;
    story.lines.pop_back();
  }
  return story;
}

double card_height(const QFont& font, double width, const story_card& card) {
  return std::ceil(wanted_places(font, width, card).height);
}

double least_card_height(const QFont& font) {
  return above_words + QFontMetricsF(font).lineSpacing() + 3 + 2 * QFontMetricsF(bold(font)).lineSpacing() + 1 +
         below_picture;
}

void draw_card(QPainter& to, const QRectF& room, const story_card& card, const theme& colours) {
  to.save();
  const QFont font = to.font();
  draw_panel(to, room, colour_of(card.grade, colours), true, colours);
  to.setClipRect(room);
  const card_places p = places_in(font, room.size(), card);
  const double width = room.width() - 2 * padding;
  QRectF at(room.left() + padding, room.top() + above_words, width, p.question);
  to.setPen(colours.faint);
  draw_wrapped(to, at, fitted(font, width, p.question, card.question));
  at = QRectF(at.left(), at.bottom() + 3, width, p.conclusion);
  // All of it is in the tool tip.
  const QString conclusion = fitted(bold(font), width, p.conclusion, card.conclusion);
  to.setFont(bold(font));
  to.setPen(colours.text);
  draw_wrapped(to, at, conclusion);
  to.setFont(font);
  const QRectF picture(at.left(), at.bottom() + 4, width, p.picture);
  if (!card.bars.empty())
    draw_bars(to, picture, card.bars, colours);
  else if (card.line && p.picture > 0)
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
  return {card_width, static_cast<int>(card_height(font(), std::max(width(), card_width), card_))};
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
