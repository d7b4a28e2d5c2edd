// Short texts inside a plot area: none over another, nor over what else must be seen.
#ifndef ULP_GUI_PLOT_PLOT_LABELS_HPP
#define ULP_GUI_PLOT_PLOT_LABELS_HPP

#include <QPainter>
#include <QRectF>
#include <QString>
#include <vector>

#include "frame.hpp"

namespace ulp::gui {

class plot_labels {
 public:
  // Labels are in a smaller font than `to` has.
  plot_labels(QPainter& to, const QRectF& area, const theme& colours);

  // No label may lie here; or preferably none.
  void block(const QRectF& where) { blocked_.push_back(where); }
  void avoid(const std::vector<QRectF>& all) { avoided_.insert(avoided_.end(), all.begin(), all.end()); }

  [[nodiscard]] QSizeF size_of(const QString& text) const;
  // At the first of the places, which are top left corners, that is free; false where none is.
  bool draw(const QString& text, const QColor& colour, const std::vector<QPointF>& places);

 private:
  QPainter& to_;
  QRectF area_;
  QFont font_;
  QColor background_;
  std::vector<QRectF> blocked_;
  std::vector<QRectF> avoided_;
};

// What frame::draw_steps draws, piece by piece, as far as it is in the area.
[[nodiscard]] std::vector<QRectF> pieces_in(const frame& f, const std::vector<double>& edges,
                                            const std::vector<extremes>& spans);

}  // namespace ulp::gui

#endif
