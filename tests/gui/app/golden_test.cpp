// Pins what every view looks like, on the releases of Qt that tests/gui/golden has pictures of: lines, colours and places within
// a tolerance that another rasteriser of letters stays in. ULP_WRITE_GOLDEN=1 writes those of this release anew.
#include <QApplication>
#include <QDir>
#include <QFontInfo>
#include <QTest>
#include <algorithm>
#include <cmath>

#include "app/export.hpp"
#include "gui/support/fixture.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

constexpr QSize size(720, 460);
constexpr QSize kept(360, 230);

// The share of places of 2 x 2 pixels of which a channel differs by more than a sixth.
double different(const QImage& a, const QImage& b) {
  const auto blurred = [](const QImage& i) {
    return i.scaled(i.size() / 2, Qt::IgnoreAspectRatio, Qt::SmoothTransformation)
        .convertToFormat(QImage::Format_RGB32);
  };
  const QImage x = blurred(a);
  const QImage y = blurred(b);
  const auto far = [](int p, int q) { return std::abs(p - q) > 40; };
  int n = 0;
  for (int row = 0; row < x.height(); ++row)
    for (int column = 0; column < x.width(); ++column) {
      const QRgb p = x.pixel(column, row);
      const QRgb q = y.pixel(column, row);
      n += far(qRed(p), qRed(q)) || far(qGreen(p), qGreen(q)) || far(qBlue(p), qBlue(q)) ? 1 : 0;
    }
  return static_cast<double>(n) / (x.width() * x.height());
}

}  // namespace

class golden_test : public QObject {
  Q_OBJECT

  const QDir built_ = QDir::current();
  // As tests/gui/golden/qt-6.4.
  const QDir golden_{QString::fromStdString((source_dir() / "tests/gui/golden/qt-").string()) +
                     QString(qVersion()).section('.', 0, 1)};

 private slots:
  void initTestCase() {
    QVERIFY(QDir::setCurrent(QString::fromStdString((source_dir() / "tests/data/octaves").string())));
    QApplication::setStyle("Fusion");
    if (qEnvironmentVariableIsSet("ULP_WRITE_GOLDEN"))
      QVERIFY(golden_.mkpath("."));
    else if (!golden_.exists())
      QSKIP(qPrintable("there are no pictures of this release: " + golden_.path()));
    if (QFontInfo(QApplication::font()).family() != "DejaVu Sans") QSKIP("the pictures are written in DejaVu Sans");
  }

  void views_look_as_they_did_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<bool>("dark");
    for (const QString& key : view_keys())
      for (const bool dark : {false, true}) QTest::newRow(qPrintable(key + (dark ? ".dark" : ".light"))) << key << dark;
  }
  void views_look_as_they_did() {
    QFETCH(const QString, key);
    QFETCH(const bool, dark);
    const theme colours = dark ? theme::night() : theme::light();
    QApplication::setPalette(colours.palette());
    document doc;
    view_state state(doc);
    // The file is named as its user would name it, there.
    const auto run = std::make_shared<loaded_run>(*digits());
    run->text.inputs = {"digits.ulp"};
    doc.set({run}, {replayed(*digits(), skipping_spec()),
                    replayed(*digits(), {.scaler = "cerebras_dls", .format = "float16"})});
    state.set_cursor(333);
    QWidget host;
    const temporary_dir dir;
    const QString path = QString::fromStdString((dir / "now.png").string());
    for (view* const v : make_views(state, &host))
      if (v->key() == key) export_view(*v, path, size, colours);
    const QImage now = QImage(path).scaled(kept, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
    const QString golden = golden_.filePath(QTest::currentDataTag() + QStringLiteral(".png"));
    if (qEnvironmentVariableIsSet("ULP_WRITE_GOLDEN")) QVERIFY(now.save(golden));
    const QImage before(golden);
    QVERIFY2(!before.isNull(), qPrintable(golden));
    const double share = different(now, before);
    if (share > 0.003) now.save(built_.filePath(QTest::currentDataTag() + QStringLiteral(".now.png")));
    QVERIFY2(share <= 0.003, qPrintable(QStringLiteral("%1 of it differs").arg(share)));
  }
};

QTEST_MAIN(golden_test)
#include "golden_test.moc"
