// The window picture as a view: zoomed along both axes, told place by place.
#ifndef ULP_GUI_VIEWS_WINDOW_VIEW_HPP
#define ULP_GUI_VIEWS_WINDOW_VIEW_HPP

#include "step_view.hpp"
#include "window_picture.hpp"

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
  [[nodiscard]] QString told_at(QPointF place) const override { return picture_.told_at(place); }
  bool zoom_y(double y, double factor) override;
  void move_y(double pixels, bool begins) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  void show_binades(std::optional<binade_range> shown);

  window_picture picture_;
  std::optional<binade_range> chosen_;  // nullopt: those that fit
  std::optional<binade_range> held_;    // as they were when the middle button was pressed
};

}  // namespace ulp::gui

#endif
