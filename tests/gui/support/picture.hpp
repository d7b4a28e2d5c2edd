// Pictures as tests see them.
#ifndef ULP_TESTS_GUI_SUPPORT_PICTURE_HPP
#define ULP_TESTS_GUI_SUPPORT_PICTURE_HPP

#include <QColor>
#include <QImage>
#include <QPainter>
#include <QStringList>
#include <functional>

namespace ulp::test {

struct ink {
  double share = 0;  // of the pixels that differ from the background
  int colours = 0;   // as four bits a channel tell them apart
};
[[nodiscard]] ink ink_of(const QImage& picture, const QColor& background);

// The mean difference of the channels, 0 to 255, of both pictures at a hundred pixels' width: what they show, not how
// their letters are drawn.
[[nodiscard]] double distance(const QImage& a, const QImage& b);

// The words of a picture.
[[nodiscard]] QStringList words_of(QSize size, const std::function<void(QPainter&, const QRectF&)>& draw);

}  // namespace ulp::test

#endif
