// What each tensor may be kept in: the plan of `ulp plan` as a map.
#ifndef ULP_GUI_VIEWS_PLAN_VIEW_HPP
#define ULP_GUI_VIEWS_PLAN_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <QRectF>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "view.hpp"
#include "viewmodel/background.hpp"
#include "viewmodel/other_answers.hpp"

namespace ulp::gui {

class plan_view final : public view {
  Q_OBJECT
 public:
  plan_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind) const override { return false; }
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] QString shown_under() const override;
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;
  // The middle of its cell on the screen; nullopt where it has none.
  [[nodiscard]] std::optional<QPoint> place_of(std::uint32_t tensor) const;

 protected:
  void refresh(view_state::parts what) override;
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  struct drawn_cell {
    QRectF place;
    std::uint32_t tensor = 0;
    QString why;
  };
  // In place of what is running, or for once.
  void start();
  // Fills cells_.
  void draw_map(QPainter& to, const QRectF& room, const theme& colours);
  [[nodiscard]] const drawn_cell* cell_at(const QPointF& place) const;

  QComboBox* hardware_;
  QLineEdit* lose_;
  background work_;
  std::pair<std::uint64_t, plan_spec> planned_;  // the run, and what for
  std::optional<plan_answer> plan_;
  QString why_not_;
  std::vector<drawn_cell> cells_;  // on the screen
};

}  // namespace ulp::gui

#endif
