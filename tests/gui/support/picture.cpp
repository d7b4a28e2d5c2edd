#include "picture.hpp"

#include <QBuffer>
#include <QSvgGenerator>
#include <QXmlStreamReader>
#include <cstdlib>
#include <set>

namespace ulp::test {

ink ink_of(const QImage& picture, const QColor& background) {
  const QImage image = picture.convertToFormat(QImage::Format_RGB32);
  std::set<QRgb> colours;
  qint64 inked = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) {
      const QRgb pixel = image.pixel(x, y);
      colours.insert(pixel & 0xF0F0F0);
      const int difference = std::abs(qRed(pixel) - background.red()) + std::abs(qGreen(pixel) - background.green()) +
                             std::abs(qBlue(pixel) - background.blue());
      if (difference > 24) ++inked;
    }
  const double all = std::max(1.0, static_cast<double>(image.width()) * image.height());
  return {.share = static_cast<double>(inked) / all, .colours = static_cast<int>(colours.size())};
}

double distance(const QImage& a, const QImage& b) {
  const QSize size(100, 100 * a.height() / std::max(1, a.width()));
  const auto small = [&](const QImage& of) {
    return of.scaled(size, Qt::IgnoreAspectRatio, Qt::SmoothTransformation).convertToFormat(QImage::Format_RGB32);
  };
  const QImage one = small(a);
  const QImage other = small(b);
  double sum = 0;
  for (int y = 0; y < size.height(); ++y)
    for (int x = 0; x < size.width(); ++x) {
      const QRgb p = one.pixel(x, y);
      const QRgb q = other.pixel(x, y);
      sum += std::abs(qRed(p) - qRed(q)) + std::abs(qGreen(p) - qGreen(q)) + std::abs(qBlue(p) - qBlue(q));
    }
  return sum / (3.0 * size.width() * size.height());
}

QStringList words_of(QSize size, const std::function<void(QPainter&, const QRectF&)>& draw) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(size);
  QPainter to(&svg);
  draw(to, QRectF(QPointF(0, 0), QSizeF(size)));
  to.end();
  QXmlStreamReader xml(buffer.data());
  QStringList words;
  while (!xml.atEnd())
    if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QLatin1String("text"))
      words << xml.readElementText();
  return words;
}

}  // namespace ulp::test
