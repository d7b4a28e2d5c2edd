// A picture with steps along x: click sets the cursor, dragging zooms, the middle button moves, the wheel zooms about the
// pointer.
#ifndef ULP_GUI_VIEWS_STEP_VIEW_HPP
#define ULP_GUI_VIEWS_STEP_VIEW_HPP

#include <QPointF>
#include <optional>

#include "plot/frame.hpp"
#include "view.hpp"

namespace ulp::gui {

class step_view : public picture_view {
  Q_OBJECT
 public:
  step_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent);

 protected:
  // The plot area of the last picture, and what is told at a place of it; empty for nothing.
  [[nodiscard]] const std::optional<frame>& drawn() const noexcept { return drawn_; }
  void keep(const frame& f) { keep(f, f.area()); }
  // With other plot areas over the same steps: the mouse works in all of `reach`.
  void keep(const frame& f, const QRectF& reach) {
    drawn_ = f;
    reach_ = reach;
  }
  [[nodiscard]] virtual QString told_at(QPointF place) const = 0;

  // Of a view that zooms along y as well, with Shift and the wheel, about y in pixels; false where it does not.
  virtual bool zoom_y(double /*y*/, double /*factor*/) { return false; }
  // By so many pixels from where it was when the middle button was pressed; `begins` when it is.
  virtual void move_y(double /*pixels*/, bool /*begins*/) {}

  // The cursor as a line, and the range that is being dragged.
  void draw_cursor(QPainter& to, const frame& f, const theme& colours) const;

  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  // The range as it was when the middle button was pressed.
  struct held {
    QPointF from;
    step_range shown;
  };
  void move_held();

  std::optional<frame> drawn_;
  QRectF reach_;
  std::optional<QPointF> pressed_;
  std::optional<held> held_;
  QPointF pointer_;
};

}  // namespace ulp::gui

#endif
