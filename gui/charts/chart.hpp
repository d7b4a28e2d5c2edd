// A chart of Qt Charts without what is wrong with it: no themes (they overwrite colours), no press without an item under the
// pointer (QTBUG-118669 crashes), no points outside the axes (they are drawn), one replace() for each change (append() is
// quadratic).
#ifndef ULP_GUI_CHARTS_CHART_HPP
#define ULP_GUI_CHARTS_CHART_HPP

#include <QChart>
#include <QChartView>
#include <QPointF>
#include <QString>
#include <optional>
#include <vector>

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
struct chart_ticks {  // at the foot, a row for each list that has any
  QColor colour;
  std::vector<double> at;
};
struct hatching {  // over what has been drawn
  QString name;
  double left = 0;
  double right = 0;
  double top = 0;
};

class chart : public QChartView {
  Q_OBJECT
 public:
  explicit chart(QWidget* parent = nullptr);

  void set_axes(const QString& x_title, double left, double right, const QString& y_title, double bottom, double top,
                const char* x_format = "%.0f", const char* y_format = "%.0f");
  // All series again. Points are cut at the axes.
  void show(const std::vector<chart_band>& bands, const std::vector<chart_bars>& bars,
            const std::vector<chart_line>& lines, const std::vector<hatching>& hatched = {},
            const std::vector<chart_ticks>& ticks = {});
  void set_theme(const theme& colours);
  // Where a value of the horizontal axis lies, from the left edge of the chart.
  [[nodiscard]] double place_of(double x) const;
  [[nodiscard]] double left() const;
  [[nodiscard]] double right() const;
  // In `room`, at any size.
  void draw(QPainter& to, const QRectF& room);

 signals:
  void clicked(double x, double y);
  void dragged(double from, double to);
  void undone();
  void wheeled(double x, bool closer);
  void pointed(QPoint global, double x, double y);
  void resized();

 protected:
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void drawForeground(QPainter* painter, const QRectF& rect) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  [[nodiscard]] QPointF value_at(QPointF place) const;
  // What one series of Qt Charts draws: an area down to the foot, or a line.
  struct shape {
    QList<QPointF> points;
    QBrush fill;  // Qt::NoBrush: a line
    QPen pen;
  };
  void show_shapes(const std::vector<shape>& shapes);
  void make_room();
  // The legend, the hatching and the ticks.
  void draw_over(QPainter& to) const;

  std::vector<legend_entry> legend_;
  std::vector<hatching> hatched_;
  std::vector<chart_ticks> ticks_;
  double legend_height_ = -1;
  QValueAxis* x_;
  QValueAxis* y_;
  theme colours_;
  bool themed_ = false;
  std::optional<QPointF> pressed_;
  QPointF pointer_;
};

}  // namespace ulp::gui

#endif
