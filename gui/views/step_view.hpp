// A picture with steps along x: click sets the cursor, dragging zooms, the wheel zooms about the pointer.
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
  void keep(const frame& f) { drawn_ = f; }
  [[nodiscard]] virtual QString told_at(QPointF place) const = 0;

  // The cursor as a line, and the range that is being dragged.
  void draw_cursor(QPainter& to, const frame& f, const theme& colours) const;
  // Left edges of the run's columns in steps, and the right edge of the last.
  [[nodiscard]] std::vector<double> column_edges() const;

  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  std::optional<frame> drawn_;
  std::optional<QPointF> pressed_;
  QPointF pointer_;
};

}  // namespace ulp::gui

#endif
