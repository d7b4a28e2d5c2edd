// Pins each view without a screen, on the example run and on small inputs: what is clicked, dragged, turned, typed and
// chosen changes what all views look at, and what is shown; every view is reached by name for those who do not see it;
// damaged and odd runs are said to be so.
#include <QAbstractItemModel>
#include <QCheckBox>
#include <QComboBox>
#include <QGraphicsView>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QWheelEvent>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>

#include <ulp/io/recording/recording.hpp>
#include "gui/support/fixture.hpp"

#include "gui/support/picture.hpp"
#include "panels/inspector.hpp"
#include "panels/scenario_editor.hpp"
#include "views/all_views.hpp"
#include "views/overview_view.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::scenario_text;

namespace {

constexpr QSize size(900, 600);

// One view on the screen.
struct stage {
  document doc;
  view_state state{doc};
  QWidget host;
  std::vector<view*> all;
  view* shown = nullptr;

  explicit stage(std::vector<scenario_text> specs = {skipping_spec()}) {
    std::vector<replay_entry> replays;
    for (const scenario_text& spec : specs) replays.push_back(replayed(*digits(), spec));
    all = make_views(state, &host);
    for (view* const v : all) v->hide();
    host.resize(size);
    host.show();
    doc.set({digits()}, std::move(replays));
  }

  void show(const QString& key) {
    for (view* const v : all)
      if (v->key() == key) shown = v;
    shown->resize(size);
    shown->show();
    shown->raise();
    settle();
  }
  // Until nothing is drawn or counted any more.
  void settle() const {
    QCoreApplication::processEvents();
    shown->state().refine_now();
    shown->catch_up_now();
    QTest::qWait(5);
  }
  [[nodiscard]] QImage picture() const {
    settle();
    return shown->grab().toImage();
  }
  template <typename T>
  [[nodiscard]] T& part(const QString& name = {}) const {
    T* const found = shown->findChild<T*>(name);
    if (found == nullptr) qFatal("%s has no such part", qPrintable(shown->key()));
    return *found;
  }
  [[nodiscard]] QWidget& plot() const {
    auto* const chart = shown->findChild<QGraphicsView*>();
    return chart == nullptr ? static_cast<QWidget&>(*shown) : *chart->viewport();
  }
  [[nodiscard]] QTableView& grid() const { return part<QTableView>(); }
  [[nodiscard]] QString cell(int row, int column) const { return grid().model()->index(row, column).data().toString(); }
  [[nodiscard]] QString cell(int row, const char* title) const {
    for (int column = 0; column < grid().model()->columnCount(); ++column)
      if (grid().model()->headerData(column, Qt::Horizontal).toString() == title) return cell(row, column);
    qFatal("no column %s", title);
  }

  // In the middle of the plot's height, at that part of its width.
  [[nodiscard]] QPoint at(double part) const {
    return {static_cast<int>(part * plot().width()), static_cast<int>(0.55 * plot().height())};
  }
  void click(double part) const { QTest::mouseClick(&plot(), Qt::LeftButton, {}, at(part)); }
  void drag(double from, double to) const {
    QTest::mousePress(&plot(), Qt::LeftButton, {}, at(from));
    QTest::mouseMove(&plot(), at((from + to) / 2));
    QTest::mouseMove(&plot(), at(to));
    QTest::mouseRelease(&plot(), Qt::LeftButton, {}, at(to));
  }
  void turn_wheel(double part, int notches) const {
    const QPointF place = at(part);
    QWheelEvent event(place, plot().mapToGlobal(place), {}, {0, 120 * notches}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&plot(), &event);
  }
};

void double_click(QTableView& grid, int row, int column) {
  const QPoint place = grid.visualRect(grid.model()->index(row, column)).center();
  QTest::mouseClick(grid.viewport(), Qt::LeftButton, {}, place);
  QTest::mouseDClick(grid.viewport(), Qt::LeftButton, {}, place);
}

QString shown_text(const view& v) {
  QStringList all;
  for (const QLabel* const label : v.findChildren<QLabel*>()) all << label->text();
  return all.join('\n');
}

std::shared_ptr<const loaded_run> run_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> inputs;
  for (const auto& f : files) inputs.push_back(f.string());
  return load_run({.inputs = inputs}, ulp::nobody());
}

}  // namespace

class views_test : public QObject {
  Q_OBJECT

 private slots:
  void pictures_over_steps_share_cursor_and_zoom_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<double>("left");
    QTest::addColumn<double>("right");
    for (const char* const key : {"window", "scale", "clipping"}) QTest::newRow(key) << QString(key) << 0.3 << 0.8;
    QTest::newRow("layers") << QString("layers") << 0.3 << 0.55;  // its numbers are at the right
  }
  void pictures_over_steps_share_cursor_and_zoom() {
    QFETCH(const QString, key);
    QFETCH(const double, left);
    QFETCH(const double, right);
    const double between = (left + right) / 2;
    scenario_text spec = skipping_spec();
    spec.clip_norm = "0.25";
    stage s({spec});
    s.show(key);
    const QImage first = s.picture();

    s.click(left);
    const std::int64_t near = s.state.cursor_step();
    const QImage with_cursor = s.picture();
    QVERIFY(with_cursor != first);
    s.click(right);
    const std::int64_t far = s.state.cursor_step();
    QVERIFY2(near > 100 && near < 300, qPrintable(QString::number(near)));
    QVERIFY2(far > 550 && far < 780, qPrintable(QString::number(far)));

    s.drag(left, right);
    QVERIFY(std::abs(s.state.shown().first - near) <= 1);
    QVERIFY(std::abs(s.state.shown().last - far) <= 1);
    QCOMPARE(s.state.cursor_step(), far);  // dragging does not move it
    const QImage zoomed = s.picture();
    QVERIFY(distance(zoomed, first) > 0.2);
    s.click(between);
    const std::int64_t middle = s.state.cursor_step();
    QVERIFY(middle > near + 150 && middle < far - 150);

    s.turn_wheel(between, 1);
    const auto closer = s.state.shown();
    QVERIFY(closer.first > near && closer.last < far && closer.first < middle && closer.last > middle);
    s.turn_wheel(between, -1);
    QVERIFY(s.state.shown().last - s.state.shown().first > closer.last - closer.first);

    for (int i = 0; i < 3; ++i) QTest::mouseClick(&s.plot(), Qt::RightButton, {}, s.at(0.5));
    QVERIFY(s.state.shown() == s.state.whole());
    s.state.set_cursor(0);
    QVERIFY(distance(s.picture(), first) < 0.5);
  }

  void a_drag_beyond_the_edge_ends_at_the_edge() {
    stage s;
    s.show("window");
    s.drag(0.5, 1.4);
    QCOMPARE(s.state.shown().last, std::int64_t{799});
    QVERIFY(s.state.shown().first > 300);
  }

  void the_window_shows_tensors_and_replays() {
    stage s({skipping_spec(), in_format("bfloat16")});
    s.show("window");
    const QImage all = s.picture();
    const auto rows = s.shown->data().rows.size();
    QVERIFY(s.state.set_filter("^fc2$"));
    QVERIFY(distance(s.picture(), all) > 0.5);
    QVERIFY(s.shown->data().rows.size() < rows);
    QVERIFY(s.state.set_filter("no tensor has this name"));
    const QImage none = s.picture();
    QVERIFY(ink_of(none, none.pixelColor(2, 2)).share > 0);  // it says so
    QVERIFY(s.shown->data().rows.empty());
    s.state.undo();
    s.state.undo();
    QVERIFY(distance(s.picture(), all) < 0.1);
    s.doc.remove_replay(1);
    QVERIFY(distance(s.picture(), all) > 0.05);
  }

  void the_slider_tries_a_scale() {
    stage s;
    s.show("exponents");
    auto& slider = s.part<QSlider>();
    const QImage first = s.picture();
    const QString told = shown_text(*s.shown);
    QCOMPARE(slider.value(), 24);  // of the replay
    slider.setValue(2);
    QCOMPARE(s.state.tried_scale(), std::optional{2});
    QVERIFY(distance(s.picture(), first) > 0.5);
    QVERIFY(shown_text(*s.shown) != told);
    QVERIFY(shown_text(*s.shown).contains("2^2"));
    QTest::keyClick(&slider, Qt::Key_Right);
    QCOMPARE(s.state.tried_scale(), std::optional{3});
    for (QPushButton* const b : s.shown->findChildren<QPushButton*>())
      if (b->text().contains("Follow")) QTest::mouseClick(b, Qt::LeftButton);
    QVERIFY(!s.state.tried_scale());
    QVERIFY(distance(s.picture(), first) < 0.1);
    QCOMPARE(shown_text(*s.shown), told);
  }

  void the_exponents_are_those_of_the_cursor_or_the_range() {
    stage s;
    s.show("exponents");
    const auto sum = [&] {
      double all = 0;
      for (const auto& row : s.shown->data().rows) all += std::get<double>(row[1]);
      return all;
    };
    const double one = sum();
    QVERIFY(one > 0);
    const QString told = shown_text(*s.shown);
    s.state.set_cursor(700);
    s.settle();
    QVERIFY(shown_text(*s.shown) != told);
    QVERIFY(shown_text(*s.shown).contains("70"));
    for (QPushButton* const box : s.shown->findChildren<QPushButton*>())
      if (box->text().contains("All steps")) QTest::mouseClick(box, Qt::LeftButton, {}, {10, box->height() / 2});
    s.settle();
    const double every = sum();
    QVERIFY(every > 100 * one);
    s.state.set_shown({0, 399});
    s.settle();
    QVERIFY(sum() < 0.6 * every && sum() > 0.4 * every);
    s.state.set_filter("^fc2$");
    s.settle();
    QVERIFY(sum() < 0.1 * every);
  }

  void layers_are_filtered_as_is_typed() {
    stage s;
    s.show("layers");
    auto& filter = s.part<QLineEdit>("filter");
    const auto tensors = [&] {
      QStringList names;
      for (const auto& row : s.shown->data().rows) {
        const QString name = QString::fromStdString(std::get<std::string>(row[0]));
        if (names.isEmpty() || names.back() != name) names << name;
      }
      return names;
    };
    QCOMPARE(tensors().size(), 18);
    const QImage all = s.picture();
    QTest::keyClicks(&filter, "^fc1");
    s.settle();
    QStringList left = tensors();
    left.sort();
    QCOMPARE(left, (QStringList{"fc1", "fc1.bias", "fc1.weight"}));
    QVERIFY(distance(s.picture(), all) > 0.5);
    QTest::keyClicks(&filter, "(");
    s.settle();
    QCOMPARE(s.state.filter(), QString("^fc1"));  // of what is no expression nothing is taken
    QVERIFY(filter.palette().color(QPalette::Text) != s.shown->palette().color(QPalette::Text));
    QVERIFY(filter.toolTip().contains("a ( is not closed"));
    s.click(0.6);
    s.settle();
    QCOMPARE(filter.text(), QString("^fc1("));
    s.state.set_filter("");
    s.settle();
    QCOMPARE(filter.text(), QString());
    QCOMPARE(tensors().size(), 18);
  }

  void a_double_click_on_a_layer_selects_it() {
    stage s;
    s.show("layers");
    const QImage all = s.picture();
    QTest::mouseDClick(s.shown, Qt::LeftButton, {}, s.at(0.6));
    QVERIFY(s.state.tensor().has_value());
    const QString name = QString::fromStdString(digits()->tensors[*s.state.tensor()].name);
    QVERIFY(!name.isEmpty());
    QVERIFY(s.picture() != all);  // its name stands out
    QTest::mouseDClick(s.shown, Qt::LeftButton, {}, s.at(0.6));
    QVERIFY(!s.state.tensor().has_value());
    // The worst tensor is the first row.
    const auto worst = std::get<std::string>(s.shown->data().rows.front()[0]);
    QTest::mouseDClick(s.shown, Qt::LeftButton, {}, QPoint(s.at(0.6).x(), 110));
    QCOMPARE(digits()->tensors[*s.state.tensor()].name, worst);
  }

  void layers_have_metrics() {
    stage s;
    s.show("layers");
    auto& metric = s.part<QComboBox>();
    QSet<QString> seen;
    const int of_values = metric.count() - 1;  // the last is of updates, which this run does not hold
    for (int i = 0; i < of_values; ++i) {
      metric.setCurrentIndex(i);
      s.settle();
      const auto rows = s.shown->data().rows;
      QVERIFY2(!rows.empty(), qPrintable(metric.itemText(i)));
      QString text;
      for (const auto& row : rows) text += QString::fromStdString(to_cell(row[3])) + ' ';
      seen.insert(text);
    }
    QVERIFY(seen.size() >= of_values - 1);  // overflow and another may both be zero everywhere
  }

  void the_scale_view_compares() {
    stage s({skipping_spec(), usual_scenario()});
    s.show("scale");
    const QImage both = s.picture();
    QCOMPARE(s.shown->data().rows.size(), std::size_t{1600});
    for (QPushButton* const box : s.shown->findChildren<QPushButton*>())
      if (box->text().contains("Difference")) QTest::mouseClick(box, Qt::LeftButton, {}, {10, box->height() / 2});
    const QImage difference = s.picture();
    QVERIFY(distance(difference, both) > 0.5);
    s.doc.remove_replay(1);
    s.settle();
    QCOMPARE(s.shown->data().rows.size(), std::size_t{800});
  }

  void clipping_is_counted() {
    stage s({skipping_spec()});
    s.show("clipping");
    QVERIFY(shown_text(*s.shown).contains("No clipping"));
    const QImage without = s.picture();
    scenario_text spec = skipping_spec();
    spec.clip_norm = "0.25";
    s.doc.set({digits()}, {replayed(*digits(), spec)});
    QVERIFY(distance(s.picture(), without) > 0.05);
    const auto& summary = s.doc.replays()[0].result->summary;
    QVERIFY(summary.clipped > 0 && summary.clipped < 800);
    QVERIFY(shown_text(*s.shown).contains(QString("in %1 of 800").arg(summary.clipped)));
  }

  void formats_are_counted_anew_for_other_tensors() {
    stage s;
    s.show("formats");
    QTRY_VERIFY(s.grid().model()->rowCount() >= 8);
    const auto column = [&] {
      QStringList all;
      for (int row = 0; row < s.grid().model()->rowCount(); ++row) all << s.cell(row, "lost magnitude at 1");
      return all;
    };
    const QStringList before = column();
    QVERIFY(s.cell(0, 0).contains("float16"));
    s.state.set_filter("^conv1$");
    QTRY_VERIFY(column() != before);
    s.state.set_tried_scale(-10);
    s.settle();
    QVERIFY(s.cell(0, "underflow at 2^-10") != s.cell(0, "underflow at 1"));
  }

  void formats_are_told_for_each_tensor() {
    stage s;
    s.show("formats");
    QTest::mouseClick(s.shown->findChildren<QPushButton*>().front(), Qt::LeftButton);  // each tensor
    s.settle();
    QCOMPARE(s.shown->data().rows.size(), std::size_t{18});
    // The worst first, and as `ulp outcomes` counts them: float16's last row needs no scale at most.
    const auto none = [&](std::size_t row) {
      const auto cells = s.shown->data().rows[row];
      return std::count_if(cells.begin() + 2, cells.end(),
                           [](const ulp::table_value& v) { return std::get<std::string>(v) == "none"; });
    };
    for (std::size_t row = 1; row < 18; ++row) QVERIFY(none(row) <= none(row - 1));
    s.state.set_filter("^conv1$");
    s.settle();
    QCOMPARE(s.shown->data().rows.size(), std::size_t{1});
    // bfloat16 has the range of float32: any scale from 2^-60 on does.
    const auto columns = s.shown->data().columns;
    const auto bfloat16 =
        std::ranges::find(columns, std::string{"bfloat16"}, &ulp::table_column::key) - columns.begin();
    QVERIFY(std::get<std::string>(s.shown->data().rows[0][static_cast<std::size_t>(bfloat16)]) != "none");
  }

  void a_tried_scale_is_drawn_over_the_steps() {
    for (const char* const key : {"window", "scale"}) {
      stage s;
      s.show(key);
      const QImage before = s.picture();
      s.state.set_tried_scale(4);
      QVERIFY2(distance(s.picture(), before) > 0.05, key);
      s.state.set_tried_scale(std::nullopt);
      QVERIFY2(distance(s.picture(), before) < 0.01, key);
    }
  }

  void the_exponents_of_the_cursor_are_of_that_step_alone() {
    // Columns of the example run hold several steps.
    stage s;
    s.show("exponents");
    for (const std::int64_t step : {0, 333, 799}) {
      s.state.set_cursor(step);
      s.settle();
      QVERIFY2(shown_text(*s.shown).contains("step " + QString::number(step)), qPrintable(shown_text(*s.shown)));
      const auto from = ulp::open_recording(digits_path(), step, step);
      ulp::step recorded;
      QVERIFY(from->next(recorded));
      ulp::binade_counts expected;
      for (const ulp::tensor_row& row : recorded.tensors) expected.add(row.table, row.factor);
      std::map<int, double> shown;
      for (const auto& row : s.shown->data().rows)
        shown[static_cast<int>(std::get<std::int64_t>(row[0]))] = std::get<double>(row[1]);
      QCOMPARE(shown, expected.by_exponent);
    }
  }

  void runs_are_compared_in_one_picture() {
    stage s;
    const auto other = std::make_shared<loaded_run>(*digits());
    other->id = new_run_id();
    const temporary_dir dir;
    std::filesystem::copy_file(digits_path(), dir / "run.ulp");
    other->text.inputs = {(dir / "run.ulp").string()};
    auto entry = replayed(*digits(), in_format("bfloat16"));
    entry.run = 1;
    s.doc.set({digits(), other}, {replayed(*digits(), skipping_spec()), entry});
    s.show("overview");
    QVERIFY(s.cell(0, 0).startsWith("digits.ulp: ") && s.cell(1, 0).startsWith("run.ulp: "));
    QVERIFY(shown_text(*s.shown).contains("/run.ulp: 800 steps of 18 tensors"));
    s.show("scale");
    QCOMPARE(s.shown->data().rows.size(), std::size_t{1600});
    // Behind the bars of the run in front the outline of the other.
    s.show("exponents");
    const QImage alone = s.picture();
    s.state.set_front(1);
    s.settle();
    QVERIFY(distance(s.picture(), alone) > 0.05);
  }

  void every_view_says_how_it_is_read() {
    stage s;
    for (const view* const v : s.all) QVERIFY2(v->legend().size() > 80, qPrintable(v->key()));
  }

  void a_sweep_ends_in_replays() {
    stage s;
    s.show("policies");
    auto& values = s.part<QLineEdit>();
    QVERIFY(values.text().contains("init_scale="));
    values.selectAll();
    QTest::keyClicks(&values, "init_scale=8,16777216 growth_interval=50,100");
    for (QPushButton* const b : s.shown->findChildren<QPushButton*>()) QTest::mouseClick(b, Qt::LeftButton);
    QTRY_COMPARE(s.grid().model()->rowCount(), 4);
    QVERIFY(s.cell(0, "set").contains("init_scale=8"));
    // A start at 2^24 costs skips that its own class shares, and the best of all does not.
    const auto number = [&](int row, const char* title) {
      return s.cell(row, title).remove('~').section(' ', 0, 0).toDouble();
    };
    int high = 0;
    for (int row = 0; row < 4; ++row) {
      if (!s.cell(row, "set").contains("init_scale=16777216")) continue;
      ++high;
      QVERIFY(number(row, "free regret") > number(row, "regret") + 1);
    }
    QCOMPARE(high, 2);
    QVERIFY2(shown_text(*s.shown).contains("Best of all in hindsight, "), qPrintable(shown_text(*s.shown)));
    const QString last = s.cell(3, "set");
    double_click(s.grid(), 3, 1);
    QTRY_COMPARE(s.doc.replays().size(), std::size_t{2});
    QTRY_VERIFY(!s.doc.busy());
    const replay_entry& added = s.doc.replays()[1];
    QVERIFY(added.result != nullptr);
    QVERIFY2(last.contains(QString::fromStdString(added.spec.parameters[0])), qPrintable(last));
    QCOMPARE(s.cell(3, "skipped").toInt(), static_cast<int>(added.result->summary.skipped));
    for (int i = 0; i < 10; ++i) double_click(s.grid(), 0, 1);
    QTRY_VERIFY(!s.doc.busy());
    QCOMPARE(s.doc.replays().size(), document::most_replays);
  }

  void mistakes_in_a_sweep_are_said() {
    stage s;
    s.show("policies");
    auto& values = s.part<QLineEdit>();
    for (const auto& [typed, said] : std::vector<std::pair<QString, QString>>{{"init_scale", "'init_scale'"},
                                                                              {"init_scale=", "'init_scale='"},
                                                                              {"=5", "'=5'"},
                                                                              {"nosuch=1", "nosuch"},
                                                                              {"init_scale=many", "init_scale"}}) {
      values.selectAll();
      QTest::keyClicks(&values, typed);
      QTest::keyClick(&values, Qt::Key_Return);
      QTRY_VERIFY2(shown_text(*s.shown).contains(said), qPrintable(shown_text(*s.shown)));
      QCOMPARE(s.grid().model()->rowCount(), 0);
    }
  }

  void a_step_in_the_table_is_the_cursor() {
    stage s;
    s.show("steps");
    QCOMPARE(s.grid().model()->rowCount(), 800);
    QCOMPARE(s.cell(17, 0), QString("17"));
    const QPoint place = s.grid().visualRect(s.grid().model()->index(5, 0)).center();
    QTest::mouseClick(s.grid().viewport(), Qt::LeftButton, {}, place);
    QCOMPARE(s.state.cursor_step(), std::int64_t{5});
    QTest::keyClick(&s.grid(), Qt::Key_Down);
    QCOMPARE(s.state.cursor_step(), std::int64_t{6});

    s.state.set_cursor(640);
    s.settle();
    QCOMPARE(s.grid().currentIndex().row(), 640);
    QCOMPARE(s.grid().selectionModel()->selectedRows().size(), 1);
    const QRect row = s.grid().visualRect(s.grid().model()->index(640, 0));
    QVERIFY(s.grid().viewport()->rect().contains(row));
  }

  void the_table_says_what_the_replay_did() {
    stage s;
    s.show("steps");
    const auto& steps = s.doc.replays()[0].result->steps;
    const ulp::table all = s.shown->data();
    for (const std::size_t n : {std::size_t{0}, std::size_t{7}, std::size_t{799}}) {
      QCOMPARE(std::get<std::int64_t>(all.rows[n][0]), steps[n].step);
      QCOMPARE(std::get<double>(all.rows[n][2]), steps[n].scale_used);
      QCOMPARE(std::get<bool>(all.rows[n][4]), steps[n].skipped);
      QCOMPARE(s.cell(static_cast<int>(n), "scale").toStdString(), ulp::as_power(steps[n].scale_used));
      QCOMPARE(s.cell(static_cast<int>(n), "skipped"), QString(steps[n].skipped ? "yes" : ""));
    }
    QVERIFY(steps[0].skipped);
  }

  void a_run_without_steps_is_called_nothing_else() {
    const temporary_dir dir;
    const std::string path = (dir / "none.ulp").string();
    ulp::recording_writer(path, ulp::recording_writer::mode::create).close();
    const auto run = run_of({path});
    document doc;
    view_state state(doc);
    doc.set({run}, {{.result = replay_run(*run, ulp::gui::usual_scenario(), ulp::nobody())}});
    QWidget host;
    for (view* const v : make_views(state, &host)) {
      v->catch_up_now();
      const auto rows = v->data().rows;
      if (v->key() == "overview") {
        const auto& lines = qobject_cast<overview_view*>(v)->first_lines().lines;
        QCOMPARE(lines.size(), std::size_t{1});
        QCOMPARE(lines[0].second, QString("The run has no steps."));
        QVERIFY(qobject_cast<overview_view*>(v)->cards().empty());
        QCOMPARE(rows.size(), std::size_t{1});
        for (std::size_t i = 1; i < rows[0].size(); ++i) QVERIFY(rows[0][i].index() == 0);
      } else {
        QVERIFY2(rows.empty(), qPrintable(v->key()));
      }
      if (v->key() == "scale") {
        v->resize(600, 400);
        v->show();
        QVERIFY(v->findChild<QPushButton*>()->y() < 50);  // above what is said, not beside it
        v->hide();
      }
    }
    state.move_cursor(1);
    state.move_to_skip(1);
    state.set_shown({3, 5});
  }

  void the_inspector_tells_the_parameters() {
    stage s;
    s.show("overview");
    const inspector about(s.state);
    const QString told = about.findChild<QTextBrowser*>()->toPlainText();
    QVERIFY2(told.contains("init_scale = 16777216") && !told.contains("init_scale = 16777216 (default)"),
             qPrintable(told));
    QVERIFY(told.contains("growth_factor = 2 (default)"));
  }

  void a_scenario_is_replayed_as_it_is_typed() {
    stage s;
    s.show("overview");
    scenario_editor editor(s.state);
    editor.resize(320, 600);
    editor.show();
    QCoreApplication::processEvents();
    auto* const format = editor.findChild<QComboBox*>("format");
    QCOMPARE(format->currentText(), QString("float16"));
    format->setEditText("bfloat1");
    QTest::qWait(350);
    QCOMPARE(s.doc.replays()[0].spec.format, std::string{"float16"});
    const auto problem = [&] {
      QStringList all;
      for (const QLabel* const label : editor.findChildren<QLabel*>())
        if (label->isVisible() && label->text().contains("bfloat1")) all << label->text();
      return all.join(' ');
    };
    QVERIFY(!problem().isEmpty());
    format->setEditText("bfloat16");
    QTRY_COMPARE(s.doc.replays()[0].spec.format, std::string{"bfloat16"});
    QVERIFY(problem().isEmpty());
    QCOMPARE(s.doc.replays()[0].spec.parameters, skipping_spec().parameters);
    QTRY_VERIFY(s.doc.replays()[0].result != nullptr);

    // What is under More is of the same scenario.
    editor.findChild<QCheckBox*>("saturate")->setChecked(true);
    editor.findChild<QLineEdit*>("start")->setText("scale=8 _growth_tracker=3");
    editor.findChild<QLineEdit*>("seed")->setText("x");
    QTest::qWait(350);
    QVERIFY(!s.doc.replays()[0].spec.rounding.saturate);
    editor.findChild<QLineEdit*>("seed")->setText("9");
    QTRY_VERIFY(s.doc.replays()[0].spec.rounding.saturate);
    QCOMPARE(s.doc.replays()[0].spec.start, (std::vector<std::string>{"scale=8", "_growth_tracker=3"}));
    QCOMPARE(s.doc.replays()[0].spec.rounding.seed, std::uint64_t{9});
    QTRY_VERIFY(s.doc.replays()[0].result != nullptr);
    QCOMPARE(s.doc.replays()[0].result->steps.front().scale_used, 8.0);

    QTest::mouseClick(editor.findChild<QPushButton*>("add"), Qt::LeftButton);
    QTRY_COMPARE(s.doc.replays().size(), std::size_t{2});
    QCoreApplication::processEvents();
    QCOMPARE(s.state.front_index(), std::size_t{1});
    QCOMPARE(editor.findChild<QListWidget*>()->count(), 2);
    auto* const scaler = editor.findChild<scaler_choice*>("scaler");
    scaler->set_scaler("tf_keras_dynamic");
    emit scaler->changed();
    QTRY_COMPARE(s.doc.replays()[1].spec.scaler, std::string{"tf_keras_dynamic"});
    QVERIFY(s.doc.replays()[1].spec.parameters.empty());
    QCOMPARE(s.doc.replays()[0].spec.scaler, std::string{"pytorch_gradscaler"});
    editor.findChild<QListWidget*>()->setCurrentRow(0);
    QTRY_COMPARE(s.state.front_index(), std::size_t{0});
    QTRY_COMPARE(scaler->scaler(), QString("pytorch_gradscaler"));
    QTRY_VERIFY(!s.doc.busy());
  }

  void every_view_has_a_name_and_can_be_reached_by_keyboard() {
    stage s;
    for (view* const v : s.all) {
      QVERIFY2(!v->accessibleName().isEmpty() && v->accessibleName() == v->title(), qPrintable(v->key()));
      QVERIFY2(v->accessibleDescription().endsWith('?') || v->key() == "exponents", qPrintable(v->key()));
      QVERIFY2(v->focusPolicy() != Qt::NoFocus, qPrintable(v->key()));
      for (const QLineEdit* const line : v->findChildren<QLineEdit*>())
        QVERIFY2(!line->accessibleName().isEmpty(), qPrintable(v->key()));
      for (const QSlider* const slider : v->findChildren<QSlider*>())
        QVERIFY2(!slider->accessibleName().isEmpty(), qPrintable(v->key()));
    }
    QCOMPARE(static_cast<qsizetype>(s.all.size()), view_keys().size());
    for (std::size_t i = 0; i < s.all.size(); ++i) QCOMPARE(s.all[i]->key(), view_keys()[static_cast<qsizetype>(i)]);
  }

  void without_a_run_every_view_says_so() {
    document doc;
    view_state state(doc);
    QWidget host;
    host.resize(size);
    host.show();
    for (view* const v : make_views(state, &host)) {
      v->resize(size);
      v->show();
      QCoreApplication::processEvents();
      const QImage picture = v->grab().toImage();
      QVERIFY2(ink_of(picture, picture.pixelColor(picture.width() / 2, picture.height() - 12)).share > 0.001,
               qPrintable(v->key()));
      QVERIFY2(v->data().rows.empty(), qPrintable(v->key()));
    }
  }

  void odd_runs_are_drawn_honestly_data() {
    QTest::addColumn<QString>("kind");
    for (const char* const kind : {"one step", "all NaN", "all zero", "step log", "overflow log", "empty log"})
      QTest::newRow(kind) << QString(kind);
  }
  void odd_runs_are_drawn_honestly() {
    QFETCH(const QString, kind);
    const temporary_dir dir;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    if (kind == "one step") {
      write_file(dir / "g.step5.npy", npy_of({1, -0.5F, 1e-7F, 70000, 0}));
    } else if (kind == "all NaN") {
      write_file(dir / "g.step5.npy", npy_of({nan, nan, nan}));
      write_file(dir / "g.step6.npy", npy_of({nan, nan, nan}));
    } else if (kind == "all zero") {
      write_file(dir / "g.step5.npy", npy_of({0, 0}));
    } else if (kind == "step log") {
      write_file(dir / "log.csv", "step,maxabs\n1,3\n2,nan\n3,70000\n");
    } else if (kind == "overflow log") {
      write_file(dir / "log.csv", "step,found_inf\n1,0\n");
    } else {
      write_file(dir / "log.csv", "step,found_inf\n");
    }
    std::vector<std::filesystem::path> files;
    for (const auto& f : std::filesystem::directory_iterator(dir.path())) files.push_back(f.path());
    std::shared_ptr<const loaded_run> run;
    try {
      run = run_of(files);
    } catch (const std::exception& refused) {
      QVERIFY2(kind == "empty log" && std::string{refused.what()}.find("log.csv") != std::string::npos, refused.what());
      return;
    }
    stage s;
    s.doc.set({run}, {replayed(*run, usual_scenario())});
    for (const view* const v : s.all) {
      s.show(v->key());
      const QImage picture = s.picture();
      QVERIFY2(ink_of(picture, picture.pixelColor(picture.width() / 2, picture.height() - 12)).share > 0.0005,
               qPrintable(v->key()));
      s.click(0.5);
      s.drag(0.3, 0.7);
      s.turn_wheel(0.5, 2);
      s.settle();
      s.state.undo();
      for (QSlider* const slider : s.shown->findChildren<QSlider*>()) slider->setValue(slider->maximum());
      for (QPushButton* const box : s.shown->findChildren<QPushButton*>()) box->toggle();
      s.settle();
      s.shown->hide();
      s.state.set_tried_scale(std::nullopt);
    }
    QCOMPARE(s.state.whole().last - s.state.whole().first + 1, static_cast<std::int64_t>(run->picture.steps().size()));
  }
};

QTEST_MAIN(views_test)
#include "views_test.moc"
