// The first page: what `ulp advise` says of the run, a card for each finding, the picture of the run, and a row for each replay.
#ifndef ULP_GUI_VIEWS_OVERVIEW_VIEW_HPP
#define ULP_GUI_VIEWS_OVERVIEW_VIEW_HPP

#include <QGridLayout>
#include <QLabel>
#include <QScrollArea>
#include <QTableView>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "story_page.hpp"
#include "view.hpp"
#include "viewmodel/rows_model.hpp"
#include "viewmodel/story.hpp"

namespace ulp::gui {

class window_view;

class overview_view final : public view {
  Q_OBJECT
 public:
  overview_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  // The replays.
  [[nodiscard]] table data() const override { return table_; }
  void catch_up_now() override;
  [[nodiscard]] const std::vector<story_card>& cards() const noexcept { return cards_; }
  [[nodiscard]] const story_lines& first_lines() const noexcept { return header_->shown(); }

 signals:
  void asked_for(const QString& view_key);  // something was clicked that another view explains
  // The values of a run show that they were not multiplied by what it says.
  void doubted(std::uint64_t run, const QString& why);

 protected:
  void refresh(view_state::parts what) override;
  bool eventFilter(QObject* of, QEvent* event) override;

 private:
  void show_story();
  void show_table();
  void lay_out_cards();
  void fit_heights();
  void draw_table(QPainter& to, const QRectF& room, const theme& colours) const;
  [[nodiscard]] story_lines told_lines() const;
  void add_recipe(story_lines& to) const;

  story story_;
  std::vector<story_card> cards_;
  // What the cards were made of.
  std::shared_ptr<const told_story> carded_;
  std::shared_ptr<const drawn_replay> carded_result_;
  const told_replay* carded_replay_ = nullptr;
  std::pair<std::uint64_t, std::string> carded_recipe_;  // the run, and under what
  table table_;
  QScrollArea* scroll_;
  QWidget* page_;
  story_header* header_;
  QWidget* card_box_;
  QGridLayout* card_grid_;
  std::vector<card_button*> buttons_;
  QLabel* clear_;
  window_view* hero_;
  QLabel* hero_title_;
  rows_model* rows_;
  QTableView* grid_;
  QLabel* notes_;
};

}  // namespace ulp::gui

#endif
