// Pins the table model: that it is a lawful QAbstractItemModel through every change, what its cells and headers say,
// which columns it leaves out, and that numbers sort as numbers.
#include "viewmodel/rows_model.hpp"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QSortFilterProxyModel>
#include <QTest>
#include <utility>

using ulp::table;
using ulp::gui::rows_model;

namespace {

table three_rows() {
  table t;
  t.columns = {{"name", "name"}, {"hidden", ""}, {"n", "count"}, {"power", "power", ulp::alignment::right}};
  t.rows = {{std::string{"conv1"}, std::int64_t{1}, std::int64_t{9}, std::string{"2^4"}},
            {std::string{"fc"}, std::int64_t{2}, std::int64_t{1234567}, std::string{"2^5"}},
            {std::string{"bn"}, std::int64_t{3}, {}, {}}};
  return t;
}

QString text(const rows_model& m, int row, int column) { return m.index(row, column).data().toString(); }

}  // namespace

class rows_model_test : public QObject {
  Q_OBJECT

 private slots:
  void is_lawful_through_every_change() {
    rows_model m;
    const QAbstractItemModelTester tester(&m, QAbstractItemModelTester::FailureReportingMode::QtTest);
    QSignalSpy resets(&m, &QAbstractItemModel::modelReset);
    m.set(three_rows());
    QCOMPARE(m.rowCount(), 3);
    m.set({});
    QCOMPARE(m.rowCount(), 0);
    QCOMPARE(m.columnCount(), 0);
    m.set({{"x", "x"}}, 100000,
          [](std::size_t row, std::size_t) { return ulp::table_value{static_cast<std::int64_t>(row)}; });
    QCOMPARE(m.rowCount(), 100000);
    QCOMPARE(text(m, 99999, 0), QString("99999"));
    QCOMPARE(resets.count(), 3);
  }

  void says_what_the_table_says() {
    rows_model m;
    m.set(three_rows());
    QCOMPARE(m.columnCount(), 3);  // the one without title is left out
    QCOMPARE(m.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QString("count"));
    QCOMPARE(m.headerData(2, Qt::Vertical, Qt::DisplayRole).toInt(), 3);
    QVERIFY(!m.headerData(7, Qt::Horizontal, Qt::DisplayRole).isValid());
    const table t = three_rows();
    for (int row = 0; row < 3; ++row) {
      const auto& cells = t.rows[static_cast<std::size_t>(row)];
      QCOMPARE(text(m, row, 0).toStdString(), to_cell(cells[0]));
      QCOMPARE(text(m, row, 1).toStdString(), to_cell(cells[2]));
    }
    QCOMPARE(text(m, 1, 2), QString("2^5"));
    QVERIFY(m.rowCount(m.index(0, 0)) == 0 && m.columnCount(m.index(0, 0)) == 0);
  }

  void numbers_stand_at_the_right() {
    rows_model m;
    m.set(three_rows());
    const auto right = [&](int column) {
      return m.index(0, column).data(Qt::TextAlignmentRole).value<Qt::Alignment>().testFlag(Qt::AlignRight);
    };
    QVERIFY(!right(0));
    QVERIFY(right(1));
    QVERIFY(right(2));  // text, but marked as a number
  }

  void numbers_sort_as_numbers() {
    rows_model m;
    m.set(three_rows());
    QSortFilterProxyModel sorted;
    sorted.setSourceModel(&m);
    sorted.setSortRole(rows_model::value_role);
    sorted.sort(1, Qt::DescendingOrder);
    QCOMPARE(sorted.index(0, 0).data().toString(), QString("fc"));
    QCOMPARE(sorted.index(1, 0).data().toString(), QString("conv1"));
    QCOMPARE(sorted.index(2, 0).data().toString(), QString("bn"));  // nothing is less than any number
  }

  void sorts_texts_by_the_number_they_begin_with() {
    rows_model m;
    table t;
    t.columns = {{"x", "x"}};
    for (const char* const cell : {"2^16", "~2^3 [2^2, 2^4]", "none", "", "1,000 %", "[70, 80]"})
      t.rows.push_back({std::string{cell}});
    m.set(t);
    m.sort(0);
    QStringList order;
    for (int row = 0; row < m.rowCount(); ++row) order << text(m, row, 0);
    QCOMPARE(order, (QStringList{"", "~2^3 [2^2, 2^4]", "[70, 80]", "1,000 %", "2^16", "none"}));
    QCOMPARE(m.set_row(1), std::size_t{1});
    QCOMPARE(m.shown_row(0), 4);
    m.set(t);  // stays sorted
    QCOMPARE(text(m, 5, 0), QString("none"));
    m.sort(-1);
    QCOMPARE(text(m, 0, 0), QString("2^16"));
    QCOMPARE(m.text_of({0, 2}), QString("x\n2^16\nnone\n"));
  }
};

QTEST_GUILESS_MAIN(rows_model_test)
#include "rows_model_test.moc"
