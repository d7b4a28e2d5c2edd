// Where magnitudes become what a format makes of them at a loss scale: as bands of a picture, in words, and as rulers for other
// formats.
#ifndef ULP_GUI_VIEWS_FORMAT_BANDS_HPP
#define ULP_GUI_VIEWS_FORMAT_BANDS_HPP

#include <QString>
#include <QWidget>

#include <ulp/ask/columns/run_columns.hpp>

#include "plot/theme.hpp"

namespace ulp::gui {

class chart;

// As log2 of magnitudes before scaling.
struct format_bands {
  format_limits at;
  // Stochastic rounding: what is below at.nonzero may become zero, and what is above at.overflow overflows under every draw.
  bool is_drawn = false;
};
[[nodiscard]] format_bands bands_of(const treatment& how, double log2_scale);
// Of the magnitudes [2^exponent, 2^(exponent + 1)).
[[nodiscard]] QString fate_of(const format_bands& bands, int exponent);

// One line for each of the usual formats, from the smallest result above zero up to overflow, thin where it is subnormal;
// names in a column of their own, which ends at the plot of `axis`.
[[nodiscard]] double rulers_height();
[[nodiscard]] double ruler_names_width(const QFont& font);
void draw_rulers(QPainter& to, const QRectF& room, const theme& colours, const chart& axis, double log2_scale);

class ruler_strip final : public QWidget {
  Q_OBJECT
 public:
  ruler_strip(const chart& axis, QWidget* parent);
  void show_scale(double log2);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const chart& axis_;
  double log2_ = 0;
};

}  // namespace ulp::gui

#endif
