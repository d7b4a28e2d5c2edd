// The colours of pictures, light and dark. Replays have a colour and a line style each, so that colour is never the only cue.
#ifndef ULP_GUI_PLOT_THEME_HPP
#define ULP_GUI_PLOT_THEME_HPP

#include <QColor>
#include <QPalette>
#include <QPen>
#include <cstddef>

namespace ulp::gui {

struct theme {
  bool dark = false;
  QColor background;
  QColor text;
  QColor faint;  // secondary text, frames
  QColor grid;
  QColor heat_low;   // of a heat map, almost nothing
  QColor heat_high;  // and most
  QColor lost;       // bands: rounded to zero,
  QColor subnormal;
  QColor overflow;
  QColor cursor;

  [[nodiscard]] static theme light();
  [[nodiscard]] static theme night();
  [[nodiscard]] static theme high_contrast();  // on black
  // The one that goes with the palette's window colour.
  [[nodiscard]] static theme of(const QPalette& palette);
  // What widgets are drawn with.
  [[nodiscard]] QPalette palette() const;

  // strength 0 to 1.
  [[nodiscard]] QColor heat(double strength) const;
  // Of replay number `index`: colours of Okabe and Ito, "Color Universal Design" (2008).
  [[nodiscard]] QPen line(std::size_t index, double width = 2) const;
};

}  // namespace ulp::gui

#endif
