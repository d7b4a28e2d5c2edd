// Pins what Layers shows of an FP8 recipe: part and whole of each tensor and column, and the first steps, are what
// `ulp replay --recipe` says of the same file, ranges included; of a run with more rows than are kept too, and of
// what was replayed before.
#include "viewmodel/counted_scales.hpp"

#include <QTest>
#include <map>
#include <sstream>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::layer_metric;
using ulp::value_range;

namespace {

using row = std::map<std::string, std::string>;

std::vector<row> told(const std::string& arguments) {
  const program_result r = run_ulp(arguments + " --csv -");
  if (r.exit_code != 0) qFatal("%s", r.err.c_str());
  std::istringstream in(r.out);
  std::vector<row> all;
  std::vector<std::string> keys;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    if (keys.empty()) {
      keys = fields;
      continue;
    }
    fields.resize(keys.size());
    row& to = all.emplace_back();
    for (std::size_t i = 0; i < keys.size(); ++i) to[keys[i]] = fields[i];
  }
  return all;
}

double number(const row& of, const std::string& key) { return std::stod(of.at(key)); }

// As drawn where `width` steps are in a column, from `first` on.
std::shared_ptr<const drawn_columns> columns_of(const std::shared_ptr<const loaded_run>& run, std::int64_t width,
                                                std::int64_t first) {
  const auto drawn = std::make_shared<drawn_columns>();
  drawn->run = run;
  const std::int64_t last = run->picture.steps().back().key.step;
  drawn->shown = {first, last};
  for (std::int64_t step = first; step <= last; step += width)
    drawn->columns.push_back({.from = static_cast<double>(step),
                              .to = static_cast<double>(step + width),
                              .span = {.first_step = step, .last_step = step + width - 1}});
  return drawn;
}

struct expected_cell {
  value_range part;
  value_range whole;
};

// Of one row that `ulp replay` writes.
std::optional<expected_cell> expected(layer_metric metric, const row& of) {
  if (metric == layer_metric::stale) {
    if (of.at("ideal_scale").empty()) return std::nullopt;
    const double is = of.at("stale") == "true" || of.at("stale") == "1" ? 1 : 0;
    return expected_cell{{is, is}, {1, 1}};
  }
  const double nonzero = number(of, "numel") - number(of, "zero_low") - number(of, "nonfinite");
  if (nonzero == 0) return std::nullopt;
  return expected_cell{{number(of, "saturated_low"), number(of, "saturated_high")}, {nonzero, nonzero}};
}

}  // namespace

class counted_scales_test : public QObject {
  Q_OBJECT

 private slots:
  void cells_are_those_of_ulp_replay_data() {
    QTest::addColumn<int>("metric");
    QTest::addColumn<QString>("input");
    for (const char* const input : {"examples/transformer.ulp", "tests/data/octaves/digits.ulp"}) {
      QTest::addRow("saturated in %s", input) << static_cast<int>(layer_metric::saturated) << input;
      QTest::addRow("stale in %s", input) << static_cast<int>(layer_metric::stale) << input;
    }
  }
  void cells_are_those_of_ulp_replay() {
    QFETCH(const int, metric);
    QFETCH(const QString, input);
    const ulp::layer_question question{.metric = static_cast<layer_metric>(metric), .to = {}, .mode = {}};
    const std::string path = (source_dir() / input.toStdString()).string();
    const auto run = load_run({.inputs = {path}}, ulp::nobody());
    const fp8_spec spec{.recipe = "te_delayed:hybrid", .parameters = {"amax_history_len=16"}};
    const std::vector<row> rows = told("replay " + path + " --recipe te_delayed:hybrid --set amax_history_len=16");
    QVERIFY(rows.size() > 1000);
    for (const auto& [width, first] : {std::pair<std::int64_t, std::int64_t>{1, 0}, {7, 3}}) {
      const auto drawn = columns_of(run, width, first);
      std::map<std::pair<std::string, std::int64_t>, expected_cell> cells;  // by column
      std::map<std::string, std::string> firsts;
      for (const row& r : rows) {
        const auto step = static_cast<std::int64_t>(number(r, "step"));
        const auto cell = expected(question.metric, r);
        if (step < first || !cell) continue;
        expected_cell& to = cells[{r.at("tensor"), (step - first) / width}];
        to.part += cell->part;
        to.whole += cell->whole;
        if (cell->part.high > 0) firsts.try_emplace(r.at("tensor"), r.at("step"));
      }
      const counted_layers counted = counted_scales(drawn, question, spec, nullptr, ulp::nobody());
      const counted_layers unkept = counted_scales(drawn, question, spec, nullptr, ulp::nobody(), 10);
      const counted_layers again = counted_scales(drawn, question, spec, counted.scales, ulp::nobody());
      QVERIFY(counted.scales->complete && !unkept.scales->complete);
      QCOMPARE(counted.scales->rows.size(), rows.size());
      QVERIFY(again.scales == counted.scales);
      std::size_t known = 0;
      for (const counted_layers* const of : {&counted, &unkept, &again})
        for (std::size_t c = 0; c < drawn->columns.size(); ++c)
          for (std::size_t t = 0; t < run->tensors.size(); ++t) {
            const ulp::layer_cell& cell = of->answer.at(c, t);
            const auto found = cells.find({run->tensors[t].name, static_cast<std::int64_t>(c)});
            QCOMPARE(cell.known, found != cells.end());
            if (!cell.known) continue;
            ++known;
            QVERIFY(cell.part == found->second.part);
            QVERIFY(cell.whole == found->second.whole);
          }
      QCOMPARE(known, 3 * cells.size());
      QVERIFY(!firsts.empty());
      for (std::size_t t = 0; t < run->tensors.size(); ++t) {
        const auto found = firsts.find(run->tensors[t].name);
        const auto& earliest = counted.firsts[t].earliest;
        QCOMPARE(earliest ? std::to_string(*earliest) : "", found == firsts.end() ? "" : found->second);
      }
    }
  }

  void what_was_replayed_of_another_recipe_is_not_taken() {
    const auto drawn = columns_of(digits(), 50, 0);
    const ulp::layer_question question{.metric = layer_metric::stale, .to = {}, .mode = {}};
    const counted_layers first = counted_scales(drawn, question, {}, nullptr, ulp::nobody());
    const counted_layers other =
        counted_scales(drawn, question, {.recipe = "te_current:hybrid"}, first.scales, ulp::nobody());
    QVERIFY(other.scales != first.scales);
    double stale = 0;
    for (const ulp::layer_cell& cell : other.answer.cells) stale += cell.part.high;
    QCOMPARE(stale, 0.0);  // each step has its own scale
  }
};

QTEST_GUILESS_MAIN(counted_scales_test)
#include "counted_scales_test.moc"
