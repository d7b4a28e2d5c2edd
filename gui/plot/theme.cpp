#include "theme.hpp"

#include <algorithm>
#include <array>

namespace ulp::gui {

theme theme::light() {
  return {.dark = false,
          .background = QColor(0xFF, 0xFF, 0xFF),
          .text = QColor(0x1B, 0x1F, 0x24),
          .faint = QColor(0x5B, 0x65, 0x70),
          .grid = QColor(0xDD, 0xE1, 0xE6),
          .heat_low = QColor(0xD9, 0xEA, 0xEF),
          .heat_high = QColor(0x00, 0x4F, 0x6E),
          .lost = QColor(0xD5, 0x5E, 0x00),
          .subnormal = QColor(0xE6, 0x9F, 0x00),
          .overflow = QColor(0xB0, 0x1E, 0x5A),
          .cursor = QColor(0x1B, 0x1F, 0x24)};
}

theme theme::night() {
  return {.dark = true,
          .background = QColor(0x16, 0x1A, 0x1F),
          .text = QColor(0xE6, 0xE9, 0xED),
          .faint = QColor(0x9A, 0xA5, 0xB1),
          .grid = QColor(0x33, 0x3A, 0x42),
          .heat_low = QColor(0x12, 0x33, 0x40),
          .heat_high = QColor(0x8F, 0xDD, 0xF2),
          .lost = QColor(0xFF, 0x8A, 0x3D),
          .subnormal = QColor(0xF2, 0xC1, 0x4E),
          .overflow = QColor(0xFF, 0x6F, 0xA8),
          .cursor = QColor(0xFF, 0xFF, 0xFF)};
}

theme theme::high_contrast() {
  theme t = night();
  t.background = Qt::black;
  t.text = t.cursor = Qt::white;
  t.faint = QColor(0xD0, 0xD0, 0xD0);
  t.grid = QColor(0x70, 0x70, 0x70);
  t.heat_low = QColor(0x00, 0x50, 0x66);
  t.heat_high = QColor(0xB0, 0xF0, 0xFF);
  return t;
}

theme theme::of(const QPalette& palette) {
  if (palette.color(QPalette::Base) == QColor(Qt::black)) return high_contrast();
  return palette.color(QPalette::Window).lightness() < 128 ? night() : light();
}

QPalette theme::palette() const {
  QPalette p;
  const QColor base = background;
  const bool is_black = background == QColor(Qt::black);  // then fields are seen by the grey around them
  const QColor window = is_black ? QColor(0x2E, 0x2E, 0x2E)
                        : dark   ? QColor(0x2B, 0x31, 0x39)  // light enough for fields and boxes to be seen in it
                                 : QColor(0xF4, 0xF5, 0xF7);
  const QColor button = is_black ? QColor(0x50, 0x50, 0x50)
                        : dark   ? QColor(0x3A, 0x42, 0x4C)
                                 : QColor(0xE9, 0xEC, 0xEF);
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::WindowText, text);
  p.setColor(QPalette::Base, base);
  p.setColor(QPalette::AlternateBase, dark && !is_black ? QColor(0x1F, 0x24, 0x2A) : window);
  p.setColor(QPalette::Text, text);
  p.setColor(QPalette::PlaceholderText, faint);
  p.setColor(QPalette::Button, button);
  p.setColor(QPalette::ButtonText, text);
  p.setColor(QPalette::ToolTipBase, button);
  p.setColor(QPalette::ToolTipText, text);
  p.setColor(QPalette::Highlight, QColor(0x00, 0x72, 0xB2));
  p.setColor(QPalette::HighlightedText, Qt::white);
  p.setColor(QPalette::Link, dark ? QColor(0x6C, 0xC4, 0xF5) : QColor(0x00, 0x5C, 0x96));
  // Frames and marks of widgets are drawn with these.
  const QColor frame = is_black ? text : dark ? QColor(0x84, 0x8E, 0x99) : QColor(0xA8, 0xB0, 0xB8);
  p.setColor(QPalette::Light, dark ? QColor(0x4A, 0x53, 0x5E) : QColor(0xFF, 0xFF, 0xFF));
  p.setColor(QPalette::Midlight, button);
  p.setColor(QPalette::Mid, grid);
  p.setColor(QPalette::Dark, frame);
  p.setColor(QPalette::Shadow, frame);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, faint);
  return p;
}

QColor theme::heat(double strength) const {
  const double s = std::clamp(strength, 0.0, 1.0);
  const auto mix = [&](int a, int b) { return static_cast<int>(a + s * (b - a)); };
  return {mix(heat_low.red(), heat_high.red()), mix(heat_low.green(), heat_high.green()),
          mix(heat_low.blue(), heat_high.blue())};
}

QPen theme::line(std::size_t index, double width) const {
  static const std::array colours{QColor(0xD5, 0x5E, 0x00), QColor(0x00, 0x72, 0xB2), QColor(0x00, 0x9E, 0x73),
                                  QColor(0xCC, 0x79, 0xA7), QColor(0xE6, 0x9F, 0x00), QColor(0x56, 0xB4, 0xE9)};
  static constexpr std::array styles{Qt::SolidLine,   Qt::DashLine,       Qt::DotLine,
                                     Qt::DashDotLine, Qt::DashDotDotLine, Qt::SolidLine};
  QColor colour = colours.at(index % colours.size());
  if (dark) colour = colour.lighter(130);
  QPen pen(colour, width, styles.at(index % styles.size()));
  pen.setCapStyle(Qt::FlatCap);
  return pen;
}

}  // namespace ulp::gui
