// Pins lines over steps: a step holds until the next, also where the range begins or ends between two; level stretches are
// one piece, gaps too; where there are more steps than pixels nothing of them is lost.
#include "views/stepped.hpp"

#include <QTest>
#include <cmath>

using namespace ulp::gui;
using ulp::extremes;
using ulp::replay_step;

namespace {

struct series {
  std::vector<replay_step> steps;
  ulp::series_extremes known;

  explicit series(const std::vector<std::pair<std::int64_t, double>>& values) {
    for (const auto& [step, scale] : values) {
      replay_step s;
      s.step = step;
      s.scale_used = std::exp2(scale);
      steps.push_back(s);
    }
    known = ulp::series_extremes(steps.size(), [this](std::size_t i) { return log2_scale(steps[i]); });
  }
  [[nodiscard]] stepped_line over(std::int64_t first, std::int64_t last, double width = 100) const {
    return stepped(steps, known, {first, last}, width, log2_scale);
  }
};

std::vector<double> least_of(const stepped_line& line) {
  std::vector<double> all;
  for (const extremes& e : line.pieces) all.push_back(e.least);
  return all;
}

}  // namespace

class stepped_test : public QObject {
  Q_OBJECT

 private slots:
  void a_step_holds_until_the_next() {
    const series s({{0, 1}, {100, 2}, {200, 3}, {300, 4}});
    const auto between = s.over(110, 190);
    QCOMPARE(least_of(between), (std::vector<double>{2}));
    QCOMPARE(between.edges, (std::vector<double>{110, 191}));
    const auto across = s.over(50, 250);
    QCOMPARE(least_of(across), (std::vector<double>{1, 2, 3}));
    QCOMPARE(across.edges, (std::vector<double>{50, 100, 200, 251}));
    const auto whole = s.over(0, 300);
    QCOMPARE(whole.edges, (std::vector<double>{0, 100, 200, 300, 301}));
    // Beyond the last step of a run that is compared with a longer one there is nothing.
    QVERIFY(s.over(400, 500).pieces.empty());
    QCOMPARE(least_of(s.over(300, 500)), (std::vector<double>{4}));
  }

  void level_stretches_and_gaps_are_one_piece() {
    std::vector<std::pair<std::int64_t, double>> values{{0, 5}};
    for (int i = 1; i < 9; ++i) values.emplace_back(i, 1);
    for (int i = 9; i < 12; ++i) values.emplace_back(i, INFINITY);
    values.emplace_back(12, 7);
    const auto line = series(values).over(0, 12);
    QCOMPARE(line.edges, (std::vector<double>{0, 1, 9, 12, 13}));
    QVERIFY(std::isnan(line.pieces[2].least));
    QCOMPARE(points_of(line)[2], QPointF(1, 1));
    QCOMPARE(points_of(line)[3], QPointF(9, 1));
  }

  void no_spike_is_lost() {
    std::vector<std::pair<std::int64_t, double>> values;
    for (int i = 0; i < 100000; ++i) values.emplace_back(i, i == 77777 ? 30 : 10 + (i == 5 ? -9 : 0));
    const auto line = series(values).over(0, 99999);
    QVERIFY(line.dense);
    QVERIFY(line.pieces.size() <= 50);
    QCOMPARE(line.range().least, 1.0);
    QCOMPARE(line.range().greatest, 30.0);
    QVERIFY(!line.is_noise());
  }

  void lines_are_level_or_upright() {
    std::vector<std::pair<std::int64_t, double>> values;
    for (int i = 0; i < 10000; ++i) values.emplace_back(i, i < 3333 ? 16 : i < 7777 ? 13 : i % 7);
    const auto line = series(values).over(0, 9999);
    QVERIFY(line.dense);
    const auto points = points_of(line);
    for (std::size_t i = 1; i < points.size(); ++i)
      QVERIFY(points[i].x() == points[i - 1].x() || points[i].y() == points[i - 1].y());
    QCOMPARE(points.front(), QPointF(0, 16));
    // A fall within a piece ends below.
    QVERIFY(std::ranges::any_of(points, [](const QPointF& p) { return p.y() == 13 && p.x() < 3400; }));
  }
};

QTEST_GUILESS_MAIN(stepped_test)
#include "stepped_test.moc"
