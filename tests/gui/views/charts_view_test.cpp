// Pins the views that are charts. Clipping: a bound that is dragged, clicked or typed triggers as often as it is told, infinite
// steps apart. Exponents: bars stay while the scale moves, shares are those of the analysis, ranges and expectations too. Tips
// stay while the pointer rests; the middle button pans; small pictures keep their chart.
#include <QGraphicsView>
#include <QHelpEvent>
#include <QImage>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <QTest>
#include <QToolTip>
#include <cmath>
#include <filesystem>
#include <limits>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/outcomes/expectation.hpp>
#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"

#include "charts/chart.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::scenario_text;

namespace {

std::shared_ptr<const loaded_run> run_of_folder(const std::filesystem::path& folder) {
  std::vector<std::string> inputs;
  for (const auto& f : std::filesystem::directory_iterator(folder)) inputs.push_back(f.path().string());
  return load_run({.inputs = inputs}, ulp::nobody());
}

// One of the charts on the screen.
struct stage {
  document doc;
  view_state state{doc};
  QWidget host;
  view* shown = nullptr;

  stage(const QString& key, const std::shared_ptr<const loaded_run>& run, std::vector<scenario_text> specs) {
    host.resize(900, 600);
    host.show();
    std::vector<replay_entry> replays;
    for (const scenario_text& spec : specs) replays.push_back(replayed(*run, spec));
    for (view* const v : make_views(state, &host)) {
      v->hide();
      if (v->key() == key) shown = v;
    }
    shown->resize(900, 600);
    shown->show();
    doc.set({run}, std::move(replays));
    settle();
  }

  void settle() const {
    QCoreApplication::processEvents();
    shown->catch_up_now();
    QTest::qWait(5);
  }
  [[nodiscard]] chart& plot() const { return *shown->findChild<chart*>(); }
  [[nodiscard]] QString text() const {
    QStringList all;
    for (const QLabel* const label : shown->findChildren<QLabel*>()) all << label->text();
    return all.join('\n').replace(QChar(0xA0), ' ');
  }
  void press(const QString& button) const {
    for (QPushButton* const b : shown->findChildren<QPushButton*>())
      if (b->text() == button) b->click();
    settle();
  }
  [[nodiscard]] chart_level grip() const {
    for (const chart_level& l : plot().levels())
      if (l.is_grip) return l;
    qFatal("nothing can be dragged");
  }
  void drag(Qt::MouseButton button, QPoint from, QPoint to) const {
    QWidget& at = *plot().viewport();
    QTest::mousePress(&at, button, {}, from);
    QTest::mouseMove(&at, (from + to) / 2);
    QTest::mouseMove(&at, to);
  }
  [[nodiscard]] QPoint at_level(double y) const {
    return {static_cast<int>(plot().area().center().x()), static_cast<int>(std::lround(plot().place_of_y(y)))};
  }
  [[nodiscard]] const replay_entry& front() const { return doc.replays()[0]; }
};

scenario_text with_norm(const std::string& bound) {
  scenario_text spec = skipping_spec();
  spec.clip_norm = bound;
  return spec;
}

}  // namespace

class charts_view_test : public QObject {
  Q_OBJECT

 private slots:
  void a_dragged_bound_is_replayed() {
    for (const bool by_value : {false, true}) {
      scenario_text spec = skipping_spec();
      if (by_value) spec.clip_value = "0.001";
      stage s("clipping", digits(), {spec});
      const QPoint from = s.at_level(s.grip().y);
      const QPoint to = from + QPoint(0, by_value ? -40 : 60);
      s.drag(Qt::LeftButton, from, to);
      const QString told = s.text();
      QVERIFY2(told.contains("triggers in"), qPrintable(told));
      QVERIFY(s.front().spec == spec);  // until the button is let go
      QTest::mouseRelease(s.plot().viewport(), Qt::LeftButton, {}, to);
      const scenario_text& after = s.front().spec;
      QCOMPARE(after.clip_norm.empty(), by_value);
      QCOMPARE(after.clip_value.empty(), !by_value);
      QVERIFY(after != spec);
      QTRY_VERIFY(s.front().result != nullptr);
      s.settle();
      QVERIFY2(s.text().startsWith(told), qPrintable(told + " -> " + s.text()));
      const auto clipped = s.front().result->summary.clipped;
      QVERIFY(clipped > 0 && clipped < 800);
      QVERIFY2(told.contains(QString("in %1 of 800 finite steps").arg(clipped)), qPrintable(told));
      QVERIFY(s.state.shown() == s.state.whole());  // it did not zoom
    }
  }

  void a_share_is_answered_by_its_label_and_taken_by_a_click() {
    stage s("clipping", digits(), {with_norm("0.001")});
    const chart_level one = s.plot().levels().front();
    QVERIFY2(one.text.startsWith("1 % of steps: "), qPrintable(one.text));
    const QPoint label(static_cast<int>(s.plot().area().right()) + 30, static_cast<int>(s.plot().place_of_y(one.y)));
    QTest::mouseClick(s.plot().viewport(), Qt::LeftButton, {}, label);
    QCOMPARE(QString::fromStdString(s.front().spec.clip_norm), one.text.section(' ', -1));
    QTRY_VERIFY(s.front().result != nullptr);
    QCOMPARE(s.front().result->summary.clipped, std::uint64_t{8});
    s.settle();
    QVERIFY2(s.text().contains("in 8 of 800 finite steps (1 %)"), qPrintable(s.text()));
  }

  void a_bound_on_scaled_gradients_is_compared_with_those() {
    scenario_text spec = with_norm("3e5");
    spec.order = "clip,unscale,check";
    const stage s("clipping", digits(), {spec});
    const auto clipped = s.front().result->summary.clipped;
    QVERIFY2(clipped > 0 && clipped < 800, qPrintable(QString::number(clipped)));
    QVERIFY2(s.text().contains(QString("in %1 of 800 finite steps").arg(clipped)), qPrintable(s.text()));
  }

  void on_paper_clipping_tells_its_bound_and_offers_none() {
    const auto paper = [](const stage& s) {
      return words_of({448, 244}, [&](QPainter& to, const QRectF& room) { s.shown->draw(to, room, theme::light()); })
          .join(' ');
    };
    const QString bound = paper(stage("clipping", digits(), {with_norm("0.25")}));
    QVERIFY2(bound.contains("Clip norm 0.25 triggers in"), qPrintable(bound));
    const stage none("clipping", digits(), {skipping_spec()});
    QVERIFY2(!paper(none).contains("no bound yet"), qPrintable(paper(none)));
    QCOMPARE(none.grip().text, QString("no bound yet"));
  }

  void infinite_steps_are_apart() {
    const temporary_dir dir;
    const float infinity = std::numeric_limits<float>::infinity();
    write_file(dir / "g.step1.npy", npy_of({0.5F}));
    write_file(dir / "g.step2.npy", npy_of({infinity}));
    write_file(dir / "g.step3.npy", npy_of({3, 4}));
    const stage s("clipping", run_of_folder(dir.path()), {with_norm("1")});
    QCOMPARE(s.front().result->summary.clipped, std::uint64_t{2});
    QVERIFY2(s.text().contains("in 2 of 3 steps: in 1 of 2 finite steps (50 %), and in 1 with infinities"),
             qPrintable(s.text()));
  }

  void bars_stay_while_the_scale_moves() {
    const stage s("exponents", digits(), {skipping_spec()});
    const QPair<double, double> axis{s.plot().left(), s.plot().right()};
    auto& slider = *s.shown->findChild<QSlider*>();
    QStringList bands;
    for (const int log2 : {-16, 0, 12, 40}) {
      slider.setValue(log2);
      s.settle();
      QCOMPARE((QPair{s.plot().left(), s.plot().right()}), axis);
      QStringList names;
      for (const legend_entry& e : s.plot().legend()) names << e.text;
      bands << names.join(',');
    }
    // The key stands for the bands that are seen.
    QVERIFY(!bands.front().contains("overflows") && bands.back().contains("overflows"));
    QVERIFY(bands.front().contains("becomes zero"));
  }

  void bars_are_hatched_where_a_part_of_them_is_lost() {
    const stage s("exponents", digits(), {skipping_spec()});
    auto& slider = *s.shown->findChild<QSlider*>();
    bool none = false;
    bool some = false;
    for (int log2 = -16; log2 <= 40; log2 += 2) {
      slider.setValue(log2);
      s.settle();
      const bool is_hatched =
          std::ranges::any_of(s.plot().legend(), [](const legend_entry& e) { return e.text == "partly lost"; });
      const bool is_lost = !s.text().contains("lost 0 %") || !s.text().contains("overflow 0 %");
      QVERIFY2(is_lost || !is_hatched, qPrintable(s.text()));
      none = none || !is_lost;
      some = some || is_hatched;
    }
    QVERIFY(none && some);
  }

  void it_is_said_which_tensors_are_counted() {
    stage s("exponents", digits(), {skipping_spec()});
    QVERIFY2(s.text().contains("all 18 tensors"), qPrintable(s.text()));
    QVERIFY(s.state.set_filter("conv"));
    s.settle();
    QVERIFY2(s.text().contains(" of 18 tensors"), qPrintable(s.text()));
  }

  void no_scale_is_tried_by_a_button() {
    stage s("exponents", digits(), {skipping_spec()});
    s.press("No scale");
    QCOMPARE(s.state.tried_scale(), std::optional{0});
    QVERIFY2(s.text().contains("at 2^0: "), qPrintable(s.text()));
    s.press("Follow replay");
    QVERIFY(!s.state.tried_scale());
  }

  void shares_are_those_of_the_analysis() {
    for (const char* const how : {"nearest-even", "stochastic"}) {
      scenario_text spec = skipping_spec();
      spec.rounding.direction = how;
      stage s("exponents", digits(), {spec});
      s.state.set_tried_scale(-8);
      s.state.set_cursor(333);
      s.settle();
      const auto from = ulp::open_recording(digits_path(), 333, 333);
      ulp::step recorded;
      QVERIFY(from->next(recorded));
      const ulp::treatment meant = ulp::scenario_of(spec).recipe.usual();
      ulp::outcome_counts counts;
      ulp::expected_outcomes expected;
      for (const ulp::tensor_row& row : recorded.tensors) {
        const ulp::multiplier by{.scale = std::exp2(-8), .factor = row.unit()};
        counts += ulp::outcomes_of(row.table, meant, by, row.type);
        if (meant.rounding.direction == ulp::direction::stochastic)
          expected += ulp::expected_outcomes_of(row.table, meant, by, row.type);
      }
      const auto percent = [&](double low, double high) {
        const auto text = [&](double n) {
          return QString::number(100 * n / static_cast<double>(counts.nonzero().high), 'g', 4);
        };
        return text(low) == text(high) ? text(low) : QString("[%1, %2]").arg(text(low), text(high));
      };
      QVERIFY(!counts.underflow.exact());
      QString lost = "lost " +
                     percent(static_cast<double>(counts.underflow.low), static_cast<double>(counts.underflow.high)) +
                     " %, ";
      if (meant.rounding.direction == ulp::direction::stochastic) {
        const ulp::value_range sd = expected.underflow.deviation();
        QVERIFY(expected.underflow.mean.low > 0 && sd.high > 0);
        lost = QString::fromUtf8("expected over all draws: lost %1 \u00b1 %2 %, ")
                   .arg(percent(expected.underflow.mean.low, expected.underflow.mean.high), percent(sd.low, sd.high));
      }
      QVERIFY2(s.text().contains(lost), qPrintable(lost + " is not in " + s.text()));
    }
  }

  void what_is_not_known_is_a_range() {
    // A histogram does not tell whether a value is 2^-25 itself, which float16 rounds to zero.
    const temporary_dir dir;
    write_file(dir / "run.hist.csv",
               "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n"
               "0,g,40,0,0,0,0.4,-25,10 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 30\n");
    const auto run = run_of_folder(dir.path());
    stage s("exponents", run, {usual_scenario()});
    s.press("No scale");
    QVERIFY2(s.text().contains("lost [0, 25] %"), qPrintable(s.text()));
  }

  void the_replays_scales_are_told_beside_one() {
    stage s("exponents", digits(), {skipping_spec()});
    QVERIFY(!s.text().contains("The replay used"));
    s.press("All steps shown");
    const auto scales = s.state.scales_in(0, 799);
    QVERIFY(!scales.exact());
    QVERIFY2(s.text().contains(QString("steps 0 to 799")) &&
                 s.text().contains(QString("used [2^%1, 2^%2]").arg(std::log2(scales.low)).arg(std::log2(scales.high))),
             qPrintable(s.text()));
  }

  void a_bar_tells_its_count() {
    const stage s("exponents", digits(), {skipping_spec()});
    const ulp::table bars = s.shown->data();
    const auto& row = bars.rows[bars.rows.size() / 2];
    const auto exponent = static_cast<double>(std::get<std::int64_t>(row[0]));
    const QPoint place(static_cast<int>(s.plot().place_of(exponent + 0.5)),
                       static_cast<int>(s.plot().area().bottom()) - 5);
    QTest::mouseMove(s.plot().viewport(), place);
    QVERIFY2(QToolTip::text().contains(QString(": %1 gradients").arg(std::get<double>(row[1]))),
             qPrintable(QToolTip::text()));
  }

  void a_tip_stays_while_the_pointer_rests() {
    for (const char* const key : {"scale", "clipping", "exponents"}) {
      const stage s(key, digits(), {skipping_spec()});
      const QPoint place = s.plot().area().center().toPoint();
      QTest::mouseMove(s.plot().viewport(), place);
      QVERIFY2(QToolTip::isVisible(), key);
      const QString text = QToolTip::text();
      QHelpEvent rest(QEvent::ToolTip, place, s.plot().viewport()->mapToGlobal(place));
      QCoreApplication::sendEvent(s.plot().viewport(), &rest);
      QTest::qWait(400);  // hiding is delayed
      QVERIFY2(QToolTip::isVisible() && QToolTip::text() == text, key);
      QToolTip::hideText();
    }
  }

  void the_middle_button_pans() {
    stage s("scale", digits(), {skipping_spec()});
    s.state.set_shown({300, 499});
    s.settle();
    const QPoint middle = s.plot().area().center().toPoint();
    const int quarter = static_cast<int>(s.plot().area().width() / 4);
    s.drag(Qt::MiddleButton, middle, middle + QPoint(quarter, 0));
    QTest::mouseRelease(s.plot().viewport(), Qt::MiddleButton, {}, middle + QPoint(quarter, 0));
    QCOMPARE(s.state.shown().last - s.state.shown().first, std::int64_t{199});
    QVERIFY(std::abs(s.state.shown().first - 250) <= 1);
    s.settle();
    s.drag(Qt::MiddleButton, middle - QPoint(quarter, 0), middle + QPoint(100 * quarter, 0));
    QVERIFY((s.state.shown() == view_state::step_range{0, 199}));  // not beyond the end
    s.state.undo();
    QVERIFY((s.state.shown() == view_state::step_range{300, 499}));  // as one change
  }

  void the_scale_tells_where_it_ends() {
    const stage s("scale", digits(), {skipping_spec()});
    QStringList names;
    for (const legend_entry& e : s.plot().legend()) names << e.text;
    QVERIFY2(names.join('\n').contains(" skipped, ends at " +
                                       QString::fromStdString(ulp::as_power(s.front().result->summary.last_scale))),
             qPrintable(names.join('\n')));
  }

  void the_logged_scale_is_drawn() {
    const temporary_dir dir;
    write_file(dir / "log.csv", "step,scale,found_inf\n0,65536,0\n1,65536,1\n2,32768,0\n");
    const stage s("scale", load_run({.inputs = {(dir / "log.csv").string()}}, ulp::nobody()), {skipping_spec()});
    QStringList names;
    for (const legend_entry& e : s.plot().legend()) names << e.text;
    QVERIFY2(names.contains("logged by the run"), qPrintable(names.join('\n')));
  }

  void small_pictures_keep_their_chart() {
    const stage s("exponents", digits(), {skipping_spec()});
    QImage picture(448, 244, QImage::Format_RGB32);  // of an export of 480 x 320
    const theme colours = theme::light();
    picture.fill(colours.background);
    {
      QPainter to(&picture);
      s.shown->draw(to, picture.rect(), colours);
    }
    int highest = 0;
    for (int x = 0; x < picture.width(); ++x) {
      int filled = 0;
      for (int y = 0; y < picture.height(); ++y) filled += picture.pixelColor(x, y) == colours.heat(0.75) ? 1 : 0;
      highest = std::max(highest, filled);
    }
    QVERIFY2(highest > 70, qPrintable(QString::number(highest)));
  }
};

QTEST_MAIN(charts_view_test)
#include "charts_view_test.moc"
