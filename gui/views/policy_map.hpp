// The map of a sweep: two parameters are the axes, and each cell has the colour and the number of one policy.
#ifndef ULP_GUI_VIEWS_POLICY_MAP_HPP
#define ULP_GUI_VIEWS_POLICY_MAP_HPP

#include <QRectF>
#include <QWidget>
#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/report/tables/sweep_map.hpp>

#include "plot/theme.hpp"

namespace ulp::gui {

class policy_map final : public QWidget {
  Q_OBJECT
 public:
  explicit policy_map(QWidget* parent);

  void show_sweep(std::vector<swept_policy> policies);
  void set_metric(sweep_metric metric);
  // Framed; nullopt: none.
  void set_chosen(std::optional<std::size_t> policy);
  // Of another replay than the one in front: drawn pale.
  void set_stale(bool stale);
  [[nodiscard]] const sweep_map& map() const noexcept { return map_; }
  // What it takes to write every cell.
  [[nodiscard]] QSize sizeHint() const override;
  // The centre of a policy's cell; nothing where it has none.
  [[nodiscard]] std::optional<QPoint> place_of(std::size_t policy) const;

  void draw(QPainter& to, const QRectF& room, const theme& colours) const;

 signals:
  // By a click and a double click; `policy` as in show_sweep.
  void chosen(std::size_t policy);
  void activated(std::size_t policy);

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  // Where the cells lie in `room`, which the labels share.
  [[nodiscard]] QRectF cells_in(const QRectF& room) const;
  [[nodiscard]] QRectF cell_in(const QRectF& cells, std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> policy_at(const QPointF& place) const;
  [[nodiscard]] QString text_of(std::size_t policy) const;

  std::vector<swept_policy> policies_;
  sweep_map map_;
  sweep_metric metric_ = sweep_metric::regret;
  std::optional<std::size_t> chosen_;
  bool stale_ = false;
};

}  // namespace ulp::gui

#endif
