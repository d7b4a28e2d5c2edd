// The parts of the first page as pictures, on the screen and on paper alike: what happened in three lines, and a card for each
// finding.
#ifndef ULP_GUI_VIEWS_STORY_PAGE_HPP
#define ULP_GUI_VIEWS_STORY_PAGE_HPP

#include <QAbstractButton>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <utility>
#include <vector>

#include "plot/theme.hpp"
#include "viewmodel/story_cards.hpp"

namespace ulp::gui {

[[nodiscard]] QColor colour_of(finding_grade grade, const theme& colours);

// The first lines: a title each, and what it says. The first is set in bold.
struct story_lines {
  std::vector<std::pair<QString, QString>> lines;
  finding_grade grade = finding_grade::fine;
};
// Draws at the top of `room`, wrapped to its width; returns the height used.
double draw_story(QPainter& to, const QRectF& room, const story_lines& story, const theme& colours);
[[nodiscard]] double story_height(const QFont& font, double width, const story_lines& story);

// With fewer words, where it would be higher than `most`.
[[nodiscard]] story_lines shortened_story(const QFont& font, double width, double most, story_lines story);

// A card is at least so wide; it has a height that shows all of it, and one at which words are left out.
constexpr int card_width = 290;
[[nodiscard]] double card_height(const QFont& font, double width, const story_card& card);
[[nodiscard]] double least_card_height(const QFont& font);
void draw_card(QPainter& to, const QRectF& room, const story_card& card, const theme& colours);

// A card that can be clicked, and reached with the keyboard.
class card_button final : public QAbstractButton {
  Q_OBJECT
 public:
  card_button(story_card card, QWidget* parent);
  [[nodiscard]] const story_card& card() const noexcept { return card_; }
  [[nodiscard]] QSize sizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  story_card card_;
};

// The first lines as a widget.
class story_header final : public QWidget {
  Q_OBJECT
 public:
  explicit story_header(QWidget* parent);
  void show_story(story_lines story);
  [[nodiscard]] const story_lines& shown() const noexcept { return story_; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override { return {600, heightForWidth(std::max(width(), 600))}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  story_lines story_;
};

}  // namespace ulp::gui

#endif
