// A view that is one chart, with controls above it.
#ifndef ULP_GUI_VIEWS_CHART_VIEW_HPP
#define ULP_GUI_VIEWS_CHART_VIEW_HPP

#include <QColor>
#include <QHBoxLayout>
#include <cstdint>
#include <vector>

#include "view.hpp"

namespace ulp::gui {

class chart;
struct chart_axis;
struct chart_line;
struct chart_ticks;

class chart_view : public view {
  Q_OBJECT
 public:
  chart_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;

 protected:
  // Fills the chart; returns why there is nothing, or an empty string.
  [[nodiscard]] virtual QString fill(const theme& colours) = 0;
  [[nodiscard]] chart& plot() const noexcept { return *chart_; }
  [[nodiscard]] QHBoxLayout& controls() const noexcept { return *controls_; }
  // Of the steps shown.
  [[nodiscard]] chart_axis steps_axis(const QString& title) const;
  // The step under the cursor, from the foot to the top of the plot.
  [[nodiscard]] chart_line cursor_line(const theme& colours, double bottom, double top) const;
  // Marks of single steps at the foot, thinned to what can be distinguished.
  [[nodiscard]] chart_ticks ticks(const std::vector<std::int64_t>& steps, const QColor& colour) const;
  // As many pixels as lines may be fine.
  [[nodiscard]] double fineness() const;
  // What is told over the chart; in a picture elsewhere, too, where there is room for it.
  [[nodiscard]] virtual QString words() const { return {}; }
  // The height that it takes there.
  [[nodiscard]] double words_height(const QPainter& to, const QRectF& room) const;
  // What is filled is a picture elsewhere: nothing can be clicked or dragged.
  [[nodiscard]] bool is_on_paper() const noexcept { return on_paper_; }
  // What is drawn around a picture of the chart elsewhere, while the chart has the picture's size.
  virtual void draw_beside(QPainter&, const QRectF&, const theme&) {}
  // Steps run along x: the cursor, zooming, panning and undo work as everywhere.
  void link_steps();
  void refresh(view_state::parts what) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  chart* chart_;
  QHBoxLayout* controls_;
  QString why_;
  bool on_paper_ = false;
};

}  // namespace ulp::gui

#endif
