// Pins the views that are tables: what is typed, chosen, sorted and copied, whose numbers stand there, and that none stays
// under the parameters of another replay.
#include <QAbstractItemModel>
#include <QBrush>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <algorithm>
#include <memory>

#include "gui/support/fixture.hpp"
#include "views/formats_view.hpp"
#include "views/policies_view.hpp"
#include "views/policy_map.hpp"
#include "views/steps_view.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::scenario_text;

namespace {

template <typename View>
struct stage {
  document doc;
  view_state state{doc};
  View shown{state, nullptr};

  explicit stage(std::vector<scenario_text> specs = {skipping_spec()}) {
    std::vector<replay_entry> replays;
    for (const scenario_text& spec : specs) replays.push_back(replayed(*digits(), spec));
    shown.resize(900, 600);
    shown.show();
    doc.set({digits()}, std::move(replays));
    settle();
  }
  void settle() {
    QCoreApplication::processEvents();
    shown.catch_up_now();
    QCoreApplication::processEvents();
  }
  [[nodiscard]] QTableView& grid() { return *shown.template findChild<QTableView*>(); }
  [[nodiscard]] int column(const QString& title) {
    for (int c = 0; c < grid().model()->columnCount(); ++c)
      if (grid().model()->headerData(c, Qt::Horizontal).toString() == title) return c;
    qFatal("no column %s", qPrintable(title));
  }
  [[nodiscard]] QString cell(int row, const QString& title) {
    return grid().model()->index(row, column(title)).data().toString();
  }
  [[nodiscard]] QString words() {
    QStringList all;
    for (const QLabel* const label : shown.template findChildren<QLabel*>()) all << label->text();
    return all.join('\n');
  }
  void type(const QString& text) {
    auto* const line = shown.template findChild<QLineEdit*>();
    line->selectAll();
    QTest::keyClicks(line, text);
    QTest::keyClick(line, Qt::Key_Return);
  }
};

std::string number(const ulp::table& t, std::size_t row, const std::string& key) {
  const auto at = std::ranges::find(t.columns, key, &ulp::table_column::key) - t.columns.begin();
  return to_cell(t.rows[row][static_cast<std::size_t>(at)]);
}

}  // namespace

class tables_view_test : public QObject {
  Q_OBJECT

 private slots:
  void the_share_that_may_be_lost_is_typed() {
    stage<formats_view> s;
    const QString before = s.cell(0, "static scales that suffice");
    s.type("0.4");
    s.settle();
    QVERIFY(s.cell(0, "static scales that suffice") != before);
    QVERIFY2(s.words().contains("40 % of the magnitude"), qPrintable(s.words()));
    s.type("2");
    QTRY_VERIFY2(s.words().contains("'2' is not a share"), qPrintable(s.words()));
    QCOMPARE(s.grid().model()->rowCount(), 0);
  }

  void formats_are_those_of_the_steps_shown() {
    stage<formats_view> s;
    const std::string all = number(s.shown.data(), 0, "underflow_share_at_1");
    s.state.set_shown({0, 99});
    s.settle();
    const ulp::table part = s.shown.data();
    QVERIFY(number(part, 0, "underflow_share_at_1") != all);
    QCOMPARE(number(part, 0, "first_step"), std::string{"0"});
    QVERIFY(std::stoll(number(part, 0, "last_step")) >= 99);
    QVERIFY(std::stoll(number(part, 0, "last_step")) < 200);
  }

  // As `ulp advise` leaves them out.
  void steps_after_the_run_was_lost_are_left_out() {
    const temporary_dir dir;
    std::string csv = "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts\n";
    for (int step = 0; step < 60; ++step)
      for (const char* const name : {"a.weight", "b.weight"})
        csv += std::to_string(step) + "," + name +
               (step >= 40 ? ",weight_grad,4,0,4,0,0,0,\n" : ",weight_grad,4,0,0,0,1,-1,2 2\n");
    write_file(dir / "nan.csv", csv);
    ulp::run_text text{.inputs = {(dir / "nan.csv").string()}};
    text.factor = "1";
    const auto run = load_run(text, ulp::nobody());
    stage<formats_view> s;
    s.doc.set({run}, {replayed(*run, usual_scenario())});
    s.settle();
    QCOMPARE(number(s.shown.data(), 0, "last_step"), std::string{"39"});
    QCOMPARE(number(s.shown.data(), 0, "overflow_steps_at_1"), std::string{"0"});
    QVERIFY2(s.words().contains("Steps 0 to 39. Left out, as on the Overview: those from 40 on"),
             qPrintable(s.words()));
    s.state.set_shown({45, 50});
    s.settle();
    QVERIFY2(s.words().contains("The run had been lost by then, in step 40."), qPrintable(s.words()));
  }

  void only_some_steps_are_listed() {
    stage<steps_view> s;
    const auto& steps = s.doc.replays()[0].result->steps;
    const auto skips = std::ranges::count_if(steps, &ulp::replay_step::skipped);
    QCOMPARE(s.grid().model()->rowCount(), static_cast<int>(steps.size()));
    s.shown.findChild<QComboBox*>()->setCurrentIndex(1);
    QCOMPARE(s.grid().model()->rowCount(), static_cast<int>(skips));
    for (int row = 0; row < s.grid().model()->rowCount(); ++row) QCOMPARE(s.cell(row, "skipped"), QString("yes"));
    QVERIFY(s.grid().model()->index(0, 0).data(Qt::BackgroundRole).isValid());
    QVERIFY2(s.words().contains("of 800 steps"), qPrintable(s.words()));
  }

  void scales_of_a_column_have_one_unit() {
    scenario_text small = skipping_spec();
    small.parameters = {"init_scale=4"};
    stage<steps_view> s({small});
    QCOMPARE(s.cell(0, "scale"), QString("2^2"));
    small.parameters = {"init_scale=3000"};
    stage<steps_view> odd({small});
    QCOMPARE(odd.cell(0, "scale"), QString("3000"));
  }

  void rows_are_sorted_by_number_and_copied() {
    stage<steps_view> s;
    s.grid().sortByColumn(s.column("step"), Qt::DescendingOrder);
    QCOMPARE(s.cell(0, "step"), QString("799"));
    s.grid().sortByColumn(s.column("scale"), Qt::AscendingOrder);
    const auto exponent = [&](int row) { return s.cell(row, "scale").mid(2).toInt(); };
    for (int row = 1; row < 800; ++row) QVERIFY(exponent(row) >= exponent(row - 1));
    s.grid().sortByColumn(-1, Qt::AscendingOrder);
    QCOMPARE(s.cell(5, "step"), QString("5"));
    s.grid().selectRow(5);
    for (QAction* const a : s.grid().actions()) a->trigger();
    const QStringList lines = QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), 2);
    QVERIFY(lines[0].startsWith("step\toverflow\tscale\t"));
    QVERIFY(lines[1].startsWith("5\t"));
    QCOMPARE(s.state.cursor_step(), std::int64_t{5});
  }

  void the_cursor_is_in_the_middle() {
    stage<steps_view> s;
    s.state.set_cursor(400);
    s.settle();
    QCOMPARE(s.grid().currentIndex().row(), 400);
    const int middle = s.grid().visualRect(s.grid().currentIndex()).center().y();
    QVERIFY(std::abs(middle - s.grid().viewport()->height() / 2) < 60);
  }

  void exported_steps_are_those_of_replay() {
    stage<steps_view> s;
    const std::string csv = to_csv(s.shown.data());
    QVERIFY(csv.starts_with("step,found_inf,scale_used,scale_next,skipped,critical_scale,"));
    QVERIFY(csv.find("\n0,1,16777216,8388608,1,") != std::string::npos);
  }

  void before_a_sweep_it_is_said_what_to_press() {
    stage<policies_view> s;
    QVERIFY2(s.words().contains("Press Sweep"), qPrintable(s.words()));
    s.type("init_scale=8,16777216");
    QTRY_COMPARE(s.grid().model()->rowCount(), 2);
    QVERIFY(!s.words().contains("Press Sweep") && s.words().contains("Double-click"));
  }

  void a_cell_of_the_map_is_a_row_of_the_table() {
    stage<policies_view> s;
    s.type("init_scale=8,16777216 growth_interval=50,100");
    QTRY_COMPARE(s.grid().model()->rowCount(), 4);
    auto* const map = s.shown.findChild<policy_map*>();
    QVERIFY(map->isVisible());
    QCOMPARE(map->map().cells.size(), std::size_t{4});
    QCoreApplication::processEvents();
    QTest::mouseClick(map, Qt::LeftButton, {}, map->place_of(2).value());
    QCOMPARE(s.grid().currentIndex().row(), 2);
    QTest::mouseDClick(map, Qt::LeftButton, {}, map->place_of(2).value());
    QCOMPARE(s.doc.replays().size(), std::size_t{2});
    QTRY_VERIFY(!s.doc.busy());
    QCOMPARE(s.cell(2, "skipped"), QString::number(s.doc.replays()[1].result->summary.skipped));
    // The one that was added is of the same sweep.
    s.state.set_front(1);
    QCoreApplication::processEvents();
    QVERIFY2(!s.words().contains("no longer in front"), qPrintable(s.words()));
  }

  void a_sweep_says_whose_it_is_once_another_replay_is_in_front() {
    stage<policies_view> s({skipping_spec(), in_format("bfloat16")});
    s.type("init_scale=8,16777216");
    QTRY_COMPARE(s.grid().model()->rowCount(), 2);
    s.state.set_front(1);
    QTRY_VERIFY2(s.words().contains("no longer in front"), qPrintable(s.words()));
    s.state.set_front(0);
    QTRY_VERIFY2(s.words().contains("Least regret"), qPrintable(s.words()));
  }

  void what_was_swept_for_another_replay_is_dropped() {
    stage<policies_view> s({skipping_spec(), in_format("bfloat16")});
    s.type("init_scale=8,16777216 growth_interval=50,100");
    s.state.set_front(1);
    QTest::qWait(1500);
    QCOMPARE(s.grid().model()->rowCount(), 0);
  }
};

QTEST_MAIN(tables_view_test)
#include "tables_view_test.moc"
