// Pins the Window: its limits are named, in the picture or at its edge; its key lists what is drawn; it is zoomed and moved
// along both axes; what is told at a place is what `ulp` counts; what was logged is below, and is left out where asked.
#include "views/window_view.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <QTest>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>
#include <limits>
#include <memory>

#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::scenario_text;

namespace {

constexpr QSize size(900, 600);

struct stage {
  document doc;
  view_state state{doc};
  window_view window{state, nullptr};

  explicit stage(std::vector<scenario_text> specs = {usual_scenario()}) {
    std::vector<replay_entry> replays;
    for (const scenario_text& spec : specs) replays.push_back(replayed(*digits(), spec));
    open(digits(), std::move(replays));
  }
  explicit stage(const std::shared_ptr<const loaded_run>& run) { open(run, {replayed(*run, usual_scenario())}); }

  void open(const std::shared_ptr<const loaded_run>& run, std::vector<replay_entry> replays) {
    window.resize(size);
    window.show();
    doc.set({run}, std::move(replays));
    settle();
  }
  void settle() {
    QCoreApplication::processEvents();
    window.catch_up_now();
    window.grab();
  }
  [[nodiscard]] QImage picture() {
    state.refine_now();  // or else columns become finer in a while
    settle();
    return window.grab().toImage();
  }
  [[nodiscard]] QString told(QPointF at) {
    QMouseEvent event(QEvent::MouseMove, at, window.mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
    QCoreApplication::sendEvent(&window, &event);
    return QToolTip::text();
  }
  void turn_wheel(QPointF at, int notches, Qt::KeyboardModifiers with) {
    QWheelEvent event(at, window.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, with, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&window, &event);
  }
  void move(QPoint from, QPoint to) {
    QTest::mousePress(&window, Qt::MiddleButton, {}, from);
    QTest::mouseMove(&window, (from + to) / 2);
    QTest::mouseMove(&window, to);
    QTest::mouseRelease(&window, Qt::MiddleButton, {}, to);
    settle();
  }
};

QStringList words_of(stage& s, QSize of = size) {
  s.settle();
  return ulp::test::words_of(of, [&](QPainter& to, const QRectF& room) { s.window.draw(to, room, theme::light()); });
}

}  // namespace

class window_view_test : public QObject {
  Q_OBJECT

 private slots:
  void the_limits_of_the_front_replay_are_named() {
    stage s({usual_scenario(), skipping_spec()});
    for (const QSize of : {size, QSize(480, 320), QSize(3000, 2000)}) {
      const QStringList words = words_of(s, of);
      for (const char* const name : {"overflow", "smallest normal", "becomes zero", "gradient", "step"})
        QVERIFY2(words.count(name) == 1, qPrintable(words.join('|')));
    }
  }

  void limits_far_away_are_told_at_the_edge() {
    stage s({in_format("bfloat16")});
    const QStringList words = words_of(s);
    QVERIFY2(words.contains("overflow above 2^112.00"), qPrintable(words.join('|')));
    QVERIFY(!words.filter("subnormal below 2^-14").empty());
    QVERIFY(!words.contains("overflow"));
    // Only what becomes of gradients there: those below the limit of zero are below that of normal numbers, too.
    QVERIFY(words.filter("becomes zero").empty());
  }

  void the_key_lists_what_is_drawn() {
    stage plain;
    const QStringList without = words_of(plain);
    QVERIFY(without.contains("gradients, stronger is more (log)"));
    QVERIFY(!without.contains("skipped steps"));
    QVERIFY(!without.contains("no finite nonzero gradient"));
    stage skips({skipping_spec()});
    QVERIFY(words_of(skips).contains("skipped steps"));
    skips.state.set_shown({400, 500});
    QVERIFY(!words_of(skips).contains("skipped steps"));
    QVERIFY(plain.state.set_filter("no tensor has this name"));
    const QStringList none = words_of(plain);
    QVERIFY(none.contains("loss"));
    QVERIFY2(none.filter("gradients, ").empty() && none.filter("float16").empty(), qPrintable(none.join('|')));
    QVERIFY(!none.contains("no finite nonzero gradient"));
  }

  void before_a_replay_there_are_no_limits() {
    stage s;
    s.doc.set({digits()}, {replay_entry{}});
    const QStringList words = words_of(s);
    QVERIFY(words.contains("gradient"));
    QVERIFY(!words.contains("overflow"));
  }

  void the_middle_button_moves_the_steps() {
    stage s;
    s.state.set_shown({200, 399});
    s.settle();
    s.move({600, 250}, {400, 255});
    const auto moved = s.state.shown();
    QCOMPARE(moved.last - moved.first, std::int64_t{199});
    QVERIFY2(moved.first > 225 && moved.first < 275, qPrintable(QString::number(moved.first)));
    s.move({400, 250}, {600, 250});
    QCOMPARE(s.state.shown().first, std::int64_t{200});
    for (int i = 0; i < 20; ++i) s.move({300, 250}, {700, 250});
    QCOMPARE(s.state.shown().first, std::int64_t{0});
    QCOMPARE(s.state.shown().last, std::int64_t{199});
    s.state.undo();  // of all of it
    QVERIFY(s.state.shown() == (step_range{200, 399}));
  }

  void the_gradients_are_zoomed_moved_and_fitted_again() {
    stage s;
    const QImage all = s.picture();
    s.turn_wheel({450, 200}, 1, Qt::ShiftModifier);
    QVERIFY(s.state.shown() == s.state.whole());
    const QImage zoomed = s.picture();
    QVERIFY(distance(zoomed, all) > 0.5);
    s.move({450, 200}, {450, 300});
    QVERIFY(distance(s.picture(), zoomed) > 0.5);
    QTest::mouseDClick(&s.window, Qt::LeftButton, {}, QPoint(20, 200));
    QCOMPARE(s.picture(), all);
    // All steps, all gradients.
    s.state.set_shown({100, 200});
    s.settle();
    s.turn_wheel({450, 200}, 2, Qt::ShiftModifier);
    s.state.set_shown(s.state.whole());
    QCOMPARE(s.picture(), all);
  }

  void what_is_told_is_what_is_counted() {
    stage s;
    s.state.set_shown({100, 131});
    s.settle();
    window_picture picture(s.state);
    picture.refresh(view_state::parts::fromInt(~0U));
    const QImage paper(size, QImage::Format_ARGB32);
    QImage on = paper;
    QPainter to(&on);
    picture.draw(to, QRectF(0, 0, 900, 600), theme::light());
    const frame& f = picture.frames().front();
    std::size_t told = 0;
    for (const auto& row : s.window.data().rows) {
      const auto first = std::get<std::int64_t>(row[0]);
      const auto last = std::get<std::int64_t>(row[1]);
      const auto exponent = std::get<std::int64_t>(row[2]);
      const double step = std::max(first, std::int64_t{100});
      const QString text = picture.told_at({f.x_of(step + 0.1), f.y_of(static_cast<double>(exponent) + 0.5)});
      if (text.isEmpty()) continue;  // outside
      ++told;
      const QString wanted = QString("steps %1 to %2: %3 in [2^%4, 2^%5), ")
                                 .arg(first)
                                 .arg(last)
                                 .arg(QString::fromStdString(
                                     ulp::count_text(static_cast<std::uint64_t>(std::get<double>(row[3])), "gradient")))
                                 .arg(exponent)
                                 .arg(exponent + 1);
      QVERIFY2(text.startsWith(wanted), qPrintable(text + " / " + wanted));
      QVERIFY2(text.contains("float16 at the loss scale 2^16: overflow above 2^0.00, subnormal below"),
               qPrintable(text));
      QVERIFY2(text.endsWith("zero below 2^-41"), qPrintable(text));
    }
    QVERIFY(told > 50);
  }

  void where_the_scale_changes_limits_are_ranges() {
    stage s({skipping_spec()});
    s.state.set_shown({0, 7});
    s.settle();
    const QString text = s.told({150, 200});
    QVERIFY2(text.contains("at the loss scale [2^"), qPrintable(text));
    QVERIFY2(text.contains("zero below [2^-"), qPrintable(text));
  }

  void what_was_logged_is_below() {
    stage s;
    const QStringList words = words_of(s);
    for (const char* const name : {"loss", "gradient norm", "learning rate"})
      QVERIFY2(words.contains(name), qPrintable(words.join('|')));
    const QString text = s.told({450, 600 - 8 - 34 - 12});
    QVERIFY2(text.startsWith("step ") && text.contains(": loss ") && text.contains("learning rate 0.05"),
             qPrintable(text));
  }

  void it_is_drawn_anywhere() {
    stage s;
    window_picture picture(s.state);
    picture.refresh(view_state::parts::fromInt(~0U));
    const QStringList words = words_of({700, 280}, [&](QPainter& to, const QRectF& room) {
      picture.draw(to, room, theme::night(), {.legend = false, .strip = false});
    });
    QVERIFY(words.contains("overflow") && words.contains("step"));
    QVERIFY(!words.contains("loss") && words.filter("stronger").empty());
  }

  void a_log_alone_is_shown() {
    const temporary_dir dir;
    write_file(dir / "run.csv",
               "step,loss,grad_norm,scale,found_inf\n0,2.5,1,65536,0\n1,inf,nan,65536,1\n2,2,4,32768,0\n");
    stage s(load_run({.inputs = {(dir / "run.csv").string()}}, ulp::nobody()));
    const QStringList words = words_of(s);
    QVERIFY2(words.contains("loss (1 infinite or NaN)"), qPrintable(words.join('|')));
    QVERIFY(words.contains("gradient norm (1 infinite or NaN)"));
    QVERIFY(!words.contains("learning rate"));
    QVERIFY(words.contains("step") && !words.contains("gradient"));
    // A value is told as it was logged.
    QVERIFY2(s.told({450, 100}).contains("step 1: loss inf, gradient norm nan, logged loss scale 2^16"),
             qPrintable(QToolTip::text()));
  }

  void one_step_is_a_picture() {
    stage s;
    s.state.set_shown({5, 5});
    const QStringList words = words_of(s);
    QVERIFY2(words.count("5") == 1 && !words.contains("6"), qPrintable(words.join('|')));
    QVERIFY(words.contains("overflow"));
  }
};

QTEST_MAIN(window_view_test)
#include "window_view_test.moc"
