// What the run logged, below a picture over its steps: a thin row for each of loss, gradient norm, learning rate and loss
// scale that was logged.
#ifndef ULP_GUI_VIEWS_LOGGED_STRIP_HPP
#define ULP_GUI_VIEWS_LOGGED_STRIP_HPP

#include <QPainter>
#include <QRectF>
#include <QString>
#include <cstddef>
#include <memory>
#include <vector>

#include <ulp/report/pictures/logged_series.hpp>

#include "plot/frame.hpp"
#include "viewmodel/drawn_columns.hpp"

namespace ulp::gui {

class logged_strip {
 public:
  static constexpr double least_height = 34;  // of a row that can be read
  static constexpr double gap = 5;            // above each row

  void show(const std::shared_ptr<const loaded_run>& run);
  [[nodiscard]] std::size_t rows() const noexcept { return series_.size(); }
  // The first `rows` of them, of equal height, in `area`; labels are at its left. Returns their frames.
  std::vector<frame> draw(QPainter& to, const QRectF& area, std::size_t rows, step_range shown,
                          const theme& colours) const;
  // All that was logged of a step; empty where there is none.
  [[nodiscard]] QString told_at(std::int64_t step) const;

 private:
  std::vector<logged_series> series_;
};

}  // namespace ulp::gui

#endif
