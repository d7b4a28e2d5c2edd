// Pins that what Tensor scales draws is what fp8_replay_over says of the same run, for every recipe that can be replayed; that of a
// long run the rows of one tensor are kept, the worst unless another is asked for; and the order of the tensors.
#include "viewmodel/tensor_scales.hpp"

#include <QTest>
#include <map>
#include <set>

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/report/tables/fp8_table.hpp>

#include "gui/support/fixture.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::fp8_row;

namespace {

// As text, in which NaN equals NaN.
std::string text_of(double x) { return ulp::to_cell(x) + (x == 0 || x == x ? "" : "nan"); }

struct replayed_rows {
  std::map<std::uint32_t, std::vector<fp8_row>> rows;
  std::vector<std::string> names;  // as the table of `ulp replay` sorts the tensors
};

replayed_rows said_by_replay(const loaded_run& run, const std::string& recipe) {
  replayed_rows all;
  const ulp::fp8_answer answer =
      ulp::fp8_replay_over({.run = run.text, .recipe = recipe, .scaler = {}, .parameters = {}, .format = {}},
                           ulp::nobody(), [&](const std::vector<fp8_row>& rows, const auto&) {
                             for (const fp8_row& r : rows) all.rows[r.tensor].push_back(r);
                           });
  for (const auto& row : ulp::fp8_tensors_table(answer).rows) all.names.push_back(std::get<std::string>(row[0]));
  return all;
}

bool is_drawn_as(const scaled_step& s, const fp8_row& r) {
  return s.step == r.key.step && text_of(s.amax) == text_of(r.amax) &&
         text_of(s.multiplied_by) == text_of(r.multiplied_by) && text_of(s.ideal) == text_of(r.ideal) &&
         s.saturated == r.counts.overflow && s.underflow == r.counts.underflow && s.saturates == r.saturates &&
         s.stale == r.is_stale() && s.held == r.scales.held && text_of(s.binades_off()) == text_of(r.binades_off());
}

}  // namespace

class tensor_scales_test : public QObject {
  Q_OBJECT

 private slots:
  void recipes_are_those_that_can_be_replayed() {
    const std::vector<std::string> names = fp8_recipe_names();
    QVERIFY(std::ranges::find(names, usual_fp8_recipe) != names.end());
    std::set<std::string> families;
    for (const std::string& name : names) {
      QCOMPARE(ulp::fp8_recipe_named(name).name, name);
      families.insert(name.substr(0, name.find(':')));
    }
    for (const ulp::fp8_recipe_entry& e : ulp::fp8_recipe_catalog())
      QCOMPARE(families.contains(std::string{e.name}), e.unfit.empty());
  }

  void rows_are_those_of_the_replay_data() {
    QTest::addColumn<QString>("recipe");
    for (const std::string& name : fp8_recipe_names()) QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  void rows_are_those_of_the_replay() {
    QFETCH(const QString, recipe);
    const auto drawn = scales_under(*digits(), {.recipe = recipe.toStdString()}, {}, ulp::nobody());
    const replayed_rows said = said_by_replay(*digits(), recipe.toStdString());
    QCOMPARE(drawn->recipe, recipe.toStdString());
    QCOMPARE(drawn->rows.size(), said.rows.size());
    QVERIFY(said.rows.size() > 3);
    for (const auto& [tensor, rows] : said.rows) {
      const std::vector<scaled_step>& own = drawn->rows.at(tensor);
      QCOMPARE(own.size(), rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        QVERIFY2(is_drawn_as(own[i], rows[i]), qPrintable(QString("tensor %1, row %2").arg(tensor).arg(i)));
      QCOMPARE(drawn->summaries.at(tensor).steps, rows.size());
    }
    std::vector<std::string> order;
    for (const std::uint32_t t : drawn->worst_first) order.push_back(drawn->tensors[t].name);
    QCOMPARE(order, said.names);
    QVERIFY(!drawn->notes.empty());  // weight gradients stand in for those of activations
  }

  void of_a_long_run_one_tensor_is_kept() {
    const auto all = scales_under(*digits(), {}, {}, ulp::nobody());
    const std::uint32_t worst = all->worst_first.front();
    const std::uint32_t best = all->worst_first.back();
    QVERIFY(worst != best);
    for (const auto& [asked, kept] :
         {std::pair{std::string{}, worst}, {all->tensors[best].name, best}, {std::string{"nowhere"}, worst}}) {
      const auto one = scales_under(*digits(), {}, asked, ulp::nobody(), 100);
      QCOMPARE(one->rows.size(), std::size_t{1});
      QCOMPARE(one->rows.begin()->first, kept);
      QCOMPARE(one->worst_first, all->worst_first);
      QVERIFY(ulp::to_csv(table_of(*one, kept)) == ulp::to_csv(table_of(*all, kept)));
    }
  }

  // The file is of TransformerEngine's own amaxes: te_delayed_bulk_max_h4_m1_e5m2, where a step uses what the step
  // before it left.
  void scales_of_the_run_itself_are_those_of_the_step_before() {
    const auto run = load_run({.inputs = {(source_dir() / "tests/data/live_scales.ulp").string()}}, ulp::nobody());
    QVERIFY(run->has_live_scales);
    const fp8_spec spec{.recipe = "te_delayed:e5m2", .parameters = {"amax_history_len=4", "margin=1"}};
    const auto all = scales_under(*run, spec, {}, ulp::nobody());
    QVERIFY(all->is_of_amaxes);
    QVERIFY(all->live.has_value());
    QCOMPARE(all->rows.size(), std::size_t{3});
    std::size_t other = 0;
    for (const auto& [tensor, rows] : all->rows) {
      QVERIFY(std::isnan(rows.front().live));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].live == rows[i].multiplied_by) continue;
        ++other;
        QCOMPARE(all->tensors[tensor].name, std::string("1.GEMM1_WEIGHT"));
        QCOMPARE(rows[i].step, std::int64_t{6});
        QCOMPARE(rows[i].live, 3.0);
      }
      const ulp::table t = table_of(*all, tensor);
      QVERIFY(ulp::to_csv(t).find("nan") == std::string::npos);
      for (const auto& row : t.rows) QCOMPARE(row.back().index(), std::size_t{0});  // nothing is counted
    }
    QCOMPARE(other, std::size_t{1});
  }
};

QTEST_GUILESS_MAIN(tensor_scales_test)
#include "tensor_scales_test.moc"
