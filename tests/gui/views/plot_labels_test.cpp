// Pins that labels of a picture lie in it, over no other and over nothing that must be seen; and axes whose last number is
// not cut, and whose numbers stay apart.
#include "plot/plot_labels.hpp"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QTest>

using namespace ulp::gui;

namespace {

struct paper {
  QImage image{400, 300, QImage::Format_ARGB32};
  QPainter to;
  QRectF area{50, 50, 300, 200};
  paper() {
    image.fill(Qt::white);
    to.begin(&image);
  }
  // Columns with ink, in the rows from `top` on.
  [[nodiscard]] std::vector<int> inked(int top) const {
    std::vector<int> all;
    for (int x = 0; x < image.width(); ++x)
      for (int y = top; y < image.height(); ++y)
        if (image.pixelColor(x, y) != Qt::white) {
          all.push_back(x);
          break;
        }
    return all;
  }
};

}  // namespace

class plot_labels_test : public QObject {
  Q_OBJECT

 private slots:
  void no_label_lies_over_another_or_outside() {
    paper p;
    plot_labels labels(p.to, p.area, theme::light());
    const QSizeF size = labels.size_of("overflow");
    const QPointF first(60, 60);
    QVERIFY(labels.draw("overflow", Qt::black, {first}));
    QVERIFY(!labels.draw("overflow", Qt::black, {first + QPointF(5, 3)}));
    QVERIFY(labels.draw("overflow", Qt::black, {first, first + QPointF(0, size.height() + 1)}));
    QVERIFY(!labels.draw("overflow", Qt::black, {{40, 100}, {345, 100}, {100, 245}}));
    labels.block({100, 150, 50, 50});
    QVERIFY(!labels.draw("overflow", Qt::black, {{110, 160}}));
  }

  void lines_are_avoided_where_there_is_another_place() {
    paper p;
    plot_labels labels(p.to, p.area, theme::light());
    labels.avoid({{50, 100, 300, 3}});
    QVERIFY(labels.draw("x", Qt::black, {{60, 95}, {60, 200}}));
    QVERIFY(!labels.draw("x", Qt::black, {{60, 200}}));  // there it is
    QVERIFY(labels.draw("x", Qt::black, {{60, 95}}));    // better there than not at all
  }

  void the_last_number_of_an_axis_is_whole_and_numbers_stay_apart() {
    for (const double last : {120.0, 800.0, 100000.0, 10000000.0, 1e12}) {
      paper p;
      const frame f(QRectF(0, 0, 400, 300), 0, last, 0, 1);
      f.draw_steps_axis(p.to, theme::light(), {});
      p.to.end();
      const auto inked = p.inked(static_cast<int>(f.area().bottom()) + 6);
      QVERIFY(!inked.empty());
      // A number that is cut ends at the last column.
      QVERIFY2(inked.back() < 399, qPrintable(QString::number(last)));
      int gaps = 0;
      for (std::size_t i = 1; i < inked.size(); ++i) gaps += inked[i] - inked[i - 1] > 7 ? 1 : 0;
      QVERIFY2(gaps >= 1, qPrintable(QString::number(last)));
    }
  }

  void a_key_that_is_too_long_is_shortened() {
    paper p;
    draw_legend(p.to, QRectF(0, 0, 200, 300),
                {{QString(200, 'x'), QPen(Qt::black), QBrush()}, {"y", QPen(Qt::black), QBrush()}}, theme::light());
    p.to.end();
    QVERIFY(p.inked(0).back() <= 200);
  }
};

QTEST_MAIN(plot_labels_test)
#include "plot_labels_test.moc"
