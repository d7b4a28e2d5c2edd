// A chart of Qt Charts without what is wrong with it: no themes (they overwrite colours), no press without an item under the
// pointer (QTBUG-118669 crashes), no points outside the axes (they are drawn), one replace() for each change (append() is
// quadratic), no axes (they cut labels), no tool tips of its items (theirs, which are empty, replace ours).
#ifndef ULP_GUI_CHARTS_CHART_HPP
#define ULP_GUI_CHARTS_CHART_HPP

#include <QChart>
#include <QChartView>
#include <QPointF>
#include <QString>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "axes.hpp"
#include "levels.hpp"
#include "plot/frame.hpp"
#include "plot/theme.hpp"

class QValueAxis;

namespace ulp::gui {

struct chart_line {
  QString name;  // in the legend; none where it is empty
  QPen pen;
  std::vector<QPointF> points;  // NaN in y begins a new piece
  bool noise = false;           // up and down at every pixel: drawn thin, which is many times faster
};
struct chart_band {
  QString name;
  QColor colour;
  double left = 0;
  double right = 0;
};
struct chart_bars {
  QString name;
  QColor colour;
  std::vector<QPointF> tops;  // at the middle of bars one wide
};
struct chart_ticks {  // at an edge, a row for each list that has any
  QColor colour;
  std::vector<double> at;
};
struct hatching {  // over what has been drawn
  QString name;
  double left = 0;
  double right = 0;
  double top = 0;
};
struct chart_content {
  std::vector<chart_band> bands = {};
  std::vector<chart_bars> bars = {};
  std::vector<chart_line> lines = {};
  std::vector<hatching> hatched = {};
  std::vector<chart_ticks> foot = {};
  std::vector<chart_ticks> head = {};
  std::vector<chart_level> levels = {};
};

class chart : public QChartView {
  Q_OBJECT
 public:
  explicit chart(QWidget* parent = nullptr);

  void set_axes(const chart_axis& x, const chart_axis& y);
  // All of it again. Points are cut at the axes.
  void show(const chart_content& content);
  void set_theme(const theme& colours);
  // At least so much room is left of the plot.
  void reserve_left(double width) { least_left_ = width; }
  // What is told of a place, while the pointer moves and while it rests.
  void set_tip(std::function<QString(double x, double y)> tip) { tip_ = std::move(tip); }
  // Where a value of the horizontal axis lies, from the left edge of the chart.
  [[nodiscard]] double place_of(double x) const;
  // Where one of the vertical axis does, from the top.
  [[nodiscard]] double place_of_y(double y) const { return axes_.y_of(area(), y); }
  [[nodiscard]] double left() const { return axes_.x.low; }
  [[nodiscard]] double right() const { return axes_.x.high; }
  [[nodiscard]] QRectF area() const { return QChartView::chart()->plotArea(); }
  [[nodiscard]] const std::vector<chart_level>& levels() const noexcept { return levels_; }
  [[nodiscard]] const std::vector<legend_entry>& legend() const noexcept { return legend_; }
  // In `room`, at any size.
  void draw(QPainter& to, const QRectF& room);

 signals:
  void clicked(double x, double y);
  void dragged(double from, double to);
  void undone();
  void wheeled(double x, bool closer);
  // With the middle button: what is at the left edge then.
  void panned(double left);
  void level_clicked(double y);
  void level_dragged(double y);
  void level_dropped(double y);
  void resized();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void drawBackground(QPainter* painter, const QRectF& rect) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;
  void resizeEvent(QResizeEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  [[nodiscard]] QPointF value_at(QPointF place) const;
  // What one series of Qt Charts draws: an area down to the foot, or a line.
  struct shape {
    QList<QPointF> points;
    QBrush fill;  // Qt::NoBrush: a line
    QPen pen;
  };
  void show_shapes(const std::vector<shape>& shapes);
  // For the legend above the plot, and for labels around it.
  void make_room();
  // What is under the series, and over them.
  void draw_under(QPainter& to) const;
  void draw_over(QPainter& to) const;
  void draw_ticks(QPainter& to, const std::vector<chart_ticks>& rows, double edge, double direction) const;
  void show_tip(QPoint global);
  void point_at(QPointF place);

  // What a button that is down does.
  struct zooming {};
  struct panning {
    double left;
  };
  struct moving_level {};
  struct press {
    QPointF at;
    std::variant<zooming, panning, moving_level> what;
  };

  chart_axes axes_;
  std::vector<legend_entry> legend_;
  std::vector<hatching> hatched_;
  std::vector<chart_ticks> foot_;
  std::vector<chart_ticks> head_;
  std::vector<chart_level> levels_;
  std::function<QString(double, double)> tip_;
  QRectF room_;
  double least_left_ = 0;
  QValueAxis* x_;
  QValueAxis* y_;
  theme colours_;
  std::optional<press> pressed_;
  QPointF pointer_;
};

}  // namespace ulp::gui

#endif
