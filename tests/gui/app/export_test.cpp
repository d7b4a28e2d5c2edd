// Pins exports: every view in light and dark as PNG, SVG, PDF, CSV and JSON has ink and numbers; SVG is well-formed,
// and SVG and PDF (that in light), drawn again by rsvg-convert and pdftoppm, show what the PNG shows; pictures of a
// view on the screen leave it as it is; an unknown suffix and a folder that is not there are refused and leave no file.
#include "app/export.hpp"

#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QProcess>
#include <QStandardPaths>
#include <QTest>
#include <QXmlStreamReader>
#include <memory>

#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::scenario_text;

namespace {

constexpr QSize size(720, 460);

// Views of the example run under two replays, the first with skipped steps and clipping.
struct open_views {
  document doc;
  view_state state{doc};
  QWidget host;
  std::vector<view*> all;

  open_views() {
    scenario_text first = skipping_spec();
    first.clip_norm = "0.25";
    doc.set({digits()}, {replayed(*digits(), first), replayed(*digits(), in_format("bfloat16"))});
    all = make_views(state, &host);
  }
  view& named(const QString& key) {
    for (view* const v : all)
      if (v->key() == key) return *v;
    qFatal("no view %s", qPrintable(key));
  }
};

QString run_quietly(const QString& program, const QStringList& arguments) {
  QProcess process;
  process.start(program, arguments);
  if (!process.waitForFinished(30000)) return program + " does not end";
  return process.exitCode() == 0 ? QString() : program + ": " + process.readAllStandardError();
}

QByteArray bytes_of(const QString& path) { return QByteArray::fromStdString(read_file(path.toStdString())); }

// Much nearer to the picture than empty paper is. Letters and lines may be thinner or thicker.
bool shows_the_same(const QImage& drawn, const QImage& picture, const theme& colours) {
  QImage paper(picture.size(), QImage::Format_RGB32);
  paper.fill(colours.background);
  return !drawn.isNull() && distance(drawn, picture) < 0.7 * distance(paper, picture);
}

std::string refusal(view& v, const QString& path) {
  try {
    export_view(v, path, size, theme::light());
    return "";
  } catch (const std::exception& why) {
    return why.what();
  }
}

}  // namespace

class export_test : public QObject {
  Q_OBJECT

  temporary_dir dir_;
  std::unique_ptr<open_views> views_;

  static void add_keys() {
    QTest::addColumn<QString>("key");
    for (const QString& key : view_keys()) QTest::newRow(qPrintable(key)) << key;
  }
  QString path(const QString& name) const { return QString::fromStdString((dir_ / name.toStdString()).string()); }

 private slots:
  void init() { views_ = std::make_unique<open_views>(); }

  void pictures_have_ink_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<bool>("dark");
    for (const QString& key : view_keys()) {
      QTest::newRow(qPrintable(key + " light")) << key << false;
      QTest::newRow(qPrintable(key + " dark")) << key << true;
    }
  }
  void pictures_have_ink() {
    QFETCH(const QString, key);
    QFETCH(const bool, dark);
    view& v = views_->named(key);
    const theme colours = dark ? theme::night() : theme::light();
    const QString base = path(key);
    for (const char* const suffix : {".png", ".svg", ".pdf"}) export_view(v, base + suffix, size, colours);

    const QImage png(base + ".png");
    QCOMPARE(png.size(), size * 2);
    QCOMPARE(png.pixelColor(2, 2), colours.background);
    const ink seen = ink_of(png, colours.background);
    QVERIFY2(seen.share > 0.004 && seen.share < 0.95, qPrintable(QString::number(seen.share)));
    QVERIFY2(seen.colours >= 8, qPrintable(QString::number(seen.colours)));

    const QByteArray svg = bytes_of(base + ".svg");
    QXmlStreamReader xml(svg);
    int texts = 0;
    while (!xml.atEnd())
      if (xml.readNext() == QXmlStreamReader::StartElement && xml.name() == QStringLiteral("text")) ++texts;
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QVERIFY(texts >= 3);
    QVERIFY(svg.contains("<title>" + v.title().toUtf8() + "</title>"));

    const QByteArray pdf = bytes_of(base + ".pdf");
    QVERIFY(pdf.startsWith("%PDF-") && pdf.trimmed().endsWith("%%EOF"));

    if (const QString program = QStandardPaths::findExecutable("rsvg-convert"); !program.isEmpty()) {
      const QString again = base + ".svg.png";
      QCOMPARE(run_quietly(program, {base + ".svg", "--output", again}), QString());
      QVERIFY(shows_the_same(QImage(again), png, colours));
    }
    if (const QString program = QStandardPaths::findExecutable("pdftoppm"); !program.isEmpty() && !dark) {
      QCOMPARE(run_quietly(program, {"-png", "-singlefile", "-r", "96", base + ".pdf", base + ".pdf"}), QString());
      const QImage drawn(base + ".pdf.png");
      QVERIFY(qAbs(drawn.width() - size.width()) <= 1 && qAbs(drawn.height() - size.height()) <= 1);
      QVERIFY(shows_the_same(drawn, png, colours));
    }
  }

  void numbers_are_those_of_the_view() {
    for (const view* const v : views_->all) {
      if (v->key() == "policies") continue;  // no sweep was run
      if (v->key() == "compare") continue;   // one run is open
      export_view(views_->named(v->key()), path("numbers.csv"), size, theme::light());
      export_view(views_->named(v->key()), path("numbers.json"), size, theme::light());
      const auto rows = static_cast<qsizetype>(v->data().rows.size());
      QVERIFY2(rows > 0, qPrintable(v->key()));
      const QByteArray csv = bytes_of(path("numbers.csv"));
      QCOMPARE(csv.count('\n'), rows + 1);
      QVERIFY(csv.startsWith(QByteArray::fromStdString(v->data().columns.front().key) + ','));
      QJsonParseError problem;
      const QJsonArray json = QJsonDocument::fromJson(bytes_of(path("numbers.json")), &problem).array();
      QCOMPARE(problem.error, QJsonParseError::NoError);
      QCOMPARE(json.size(), rows);
    }
  }

  void two_exports_are_the_same_bytes_data() { add_keys(); }
  void two_exports_are_the_same_bytes() {
    QFETCH(const QString, key);
    view& v = views_->named(key);
    export_view(v, path("first.svg"), size, theme::light());
    export_view(v, path("second.svg"), size, theme::light());
    QVERIFY(bytes_of(path("first.svg")) == bytes_of(path("second.svg")));
  }

  void a_picture_leaves_the_view_on_the_screen_as_it_is_data() { add_keys(); }
  void a_picture_leaves_the_view_on_the_screen_as_it_is() {
    QFETCH(const QString, key);
    view& v = views_->named(key);
    views_->host.resize(640, 480);
    v.resize(640, 480);
    v.show();
    views_->host.show();
    v.state().refine_now();
    v.catch_up_now();
    QTest::qWait(1);
    const QImage before = v.grab().toImage();
    export_view(v, path("big.png"), {1500, 1000}, theme::night());
    QVERIFY2(v.grab().toImage() == before, "the view is drawn in another size, or in the colours of the picture");
  }

  void what_cannot_be_written_is_refused() {
    view& v = views_->named("window");
    for (const char* const name : {"picture.bmp", "picture", "picture.", ".png.txt"}) {
      const std::string why = refusal(v, path(name));
      QVERIFY2(why.find("is not one of png, svg, pdf, csv, json") != std::string::npos, why.c_str());
      QVERIFY(!std::filesystem::exists(dir_ / name));
    }
    const std::string no_folder = refusal(v, path("no/such/folder/picture.png"));
    QVERIFY2(no_folder.find("no/such/folder/picture.png") != std::string::npos, no_folder.c_str());
    std::filesystem::create_directory(dir_ / "taken.png");
    QVERIFY(!refusal(v, path("taken.png")).empty());
    QVERIFY(std::filesystem::is_directory(dir_ / "taken.png"));
    QVERIFY2(refusal(v, "/dev/full/picture.svg").find("picture.svg") != std::string::npos, "a device is no folder");
  }

  void suffixes_may_be_in_capitals() {
    export_view(views_->named("scale"), path("PICTURE.PNG"), size, theme::light());
    QCOMPARE(QImage(path("PICTURE.PNG")).size(), size * 2);
  }

  void there_is_a_font() {
    // Without one every letter is a box, and nothing else says so.
    QVERIFY(QFontInfo(QApplication::font()).family() != QString());
    QVERIFY(QFontMetrics(QApplication::font()).inFont('g'));
  }
};

QTEST_MAIN(export_test)
#include "export_test.moc"
