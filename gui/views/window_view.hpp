// Step x exponent: the gradients as a heat map, and over it the format's limits as each replay's loss scale moves them.
#ifndef ULP_GUI_VIEWS_WINDOW_VIEW_HPP
#define ULP_GUI_VIEWS_WINDOW_VIEW_HPP

#include "step_view.hpp"

namespace ulp::gui {

class window_view final : public step_view {
  Q_OBJECT
 public:
  window_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString told_at(QPointF place) const override;

 private:
  void draw_heat(QPainter& to, const frame& f, const theme& colours) const;
  void draw_limits(QPainter& to, const frame& f, const theme& colours) const;

  std::vector<binade_counts> binades_;  // of the selected tensors, by column
  int lowest_ = 0;                      // binades that hold any
  int highest_ = 0;
  double most_ = 0;  // of one cell
};

}  // namespace ulp::gui

#endif
