// Pins the view of layers: its numbers are those of `ulp outcomes`, ranges included, and the first step that it names is the one
// at which that prints the first loss; every row can be reached; what is typed, turned and chosen shows.
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTest>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <ulp/formats/catalog.hpp>

#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"
#include "support/program.hpp"
#include "views/layers_view.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::layer_metric;
using ulp::replay_step;
using ulp::scenario_text;
using ulp::value_range;

namespace {

std::shared_ptr<const loaded_run> run_of(const ulp::run_text& text) { return load_run(text, ulp::nobody()); }

// The view alone, on the screen.
struct stage {
  document doc;
  view_state state{doc};
  layers_view view{state, nullptr};

  explicit stage(const std::shared_ptr<const loaded_run>& run, const scenario_text& spec = usual_scenario()) {
    view.resize(900, 600);
    view.show();
    doc.set({run}, {replayed(*run, spec)});
    settle();
  }
  void settle() {
    QCoreApplication::processEvents();
    view.catch_up_now();
    QTest::qWait(5);
    // Finer columns may have come meanwhile.
    QCoreApplication::processEvents();
    view.catch_up_now();
  }
  QImage picture() {
    settle();
    return view.grab().toImage();
  }
  template <typename T>
  T& part(const QString& name) {
    T* const found = view.findChild<T*>(name);
    if (found == nullptr) qFatal("there is no %s", qPrintable(name));
    return *found;
  }
  void choose(layer_metric m) {
    auto& box = part<QComboBox>("metric");
    box.setCurrentIndex(box.findData(static_cast<int>(m)));
    settle();
  }
  void press(int key) { QTest::keyClick(&view, static_cast<Qt::Key>(key)); }
  [[nodiscard]] QString current() const { return view.accessibleDescription().section('\n', 0, 0); }
};

std::string cell(const ulp::table& t, std::size_t row, const char* key) {
  const auto column = std::ranges::find(t.columns, key, &ulp::table_column::key);
  return ulp::to_cell(t.rows[row][static_cast<std::size_t>(column - t.columns.begin())]);
}

// Of all steps shown, by tensor.
std::map<std::string, value_range> parts_of(const layers_view& view) {
  const ulp::table t = view.data();
  std::map<std::string, value_range> sums;
  for (const auto& row : t.rows)
    if (const auto* const part = std::get_if<value_range>(&row[4])) sums[std::get<std::string>(row[0])] += *part;
  return sums;
}

std::map<std::string, std::string> first_steps_of(const layers_view& view) {
  const ulp::table t = view.data();
  std::map<std::string, std::string> all;
  for (std::size_t i = 0; i < t.rows.size(); ++i)
    all[cell(t, i, "tensor")] = cell(t, i, "from_step") + " " + cell(t, i, "from_step_at_most");
  return all;
}

using csv_row = std::map<std::string, std::string>;
std::vector<csv_row> outcomes(const std::string& arguments) {
  const program_result r = run_ulp("outcomes " + arguments + " --csv -");
  if (r.exit_code != 0) qFatal("%s", r.err.c_str());
  std::stringstream in(r.out);
  std::string line;
  const auto fields = [&line] {
    std::vector<std::string> all;
    std::stringstream cells(line);
    for (std::string one; std::getline(cells, one, ',');) all.push_back(one);
    return all;
  };
  std::getline(in, line);
  const auto keys = fields();
  std::vector<csv_row> rows;
  while (std::getline(in, line)) {
    auto cells = fields();
    cells.resize(keys.size());
    csv_row& row = rows.emplace_back();
    for (std::size_t i = 0; i < keys.size(); ++i) row[keys[i]] = cells[i];
  }
  return rows;
}

value_range range_of(const csv_row& row, const std::string& key) {
  return {std::stod(row.at(key + "_low")), std::stod(row.at(key + "_high"))};
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// 300 tensors in two steps: tensor n of layer n / 3 underflows by n more or less.
struct many_tensors {
  temporary_dir dir;
  std::shared_ptr<const loaded_run> run;
  many_tensors() {
    std::string csv = "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n";
    for (int step = 0; step < 2; ++step)
      for (int n = 0; n < 300; ++n) {
        const std::string lost = std::to_string(n);
        csv += std::to_string(step) + ",model.layers." + std::to_string(n / 3) + ".part" + std::to_string(n % 3) +
               ".weight," + std::to_string(1000 + n) + ",0,0,0,0.2,-45," + lost;
        for (int k = -44; k < -3; ++k) csv += " 0";
        csv += " 1000\n";
      }
    write_file(dir / "hist.csv", csv);
    run = run_of({.inputs = {(dir / "hist.csv").string()}});
  }
};

}  // namespace

class layers_view_test : public QObject {
  Q_OBJECT

 private slots:
  void numbers_are_those_of_ulp_outcomes_data() {
    QTest::addColumn<ulp::run_text>("run");
    QTest::addColumn<QString>("options");
    const std::string root = source_dir().string();
    const auto row = [&](const char* name, const ulp::run_text& run, const QString& options) {
      QTest::newRow(name) << run << options;
    };
    row("digits", {.inputs = {root + "/examples/digits.ulp"}}, {});
    row("transformer", {.inputs = {root + "/examples/transformer.ulp"}}, {});
    row("octaves", {.inputs = {digits_path()}}, {});
    row("a factor of 3", {.inputs = {root + "/examples/digits.step00100.safetensors"}, .factor = "3"}, "--factor 3");
  }
  void numbers_are_those_of_ulp_outcomes() {
    QFETCH(const ulp::run_text, run);
    QFETCH(const QString, options);
    stage s(run_of(run));
    int open = 0;
    for (const int log2 : {0, 16}) {
      s.state.set_tried_scale(log2);
      s.settle();
      const auto rows = outcomes(run.inputs.front() + " --format float16 --by tensor --scale 2^" +
                                 std::to_string(log2) + " " + options.toStdString());
      for (const auto& [metric, key] : {std::pair{layer_metric::underflow, "underflow"},
                                        {layer_metric::subnormal, "subnormal"},
                                        {layer_metric::lost_l1, "lost_l1"},
                                        {layer_metric::lost_l2, "lost_l2"}}) {
        s.choose(metric);
        const auto parts = parts_of(s.view);
        for (const csv_row& expected : rows) {
          value_range part = parts.at(expected.at("tensor"));
          if (metric == layer_metric::lost_l2) part = {std::sqrt(part.low), std::sqrt(part.high)};
          const value_range truth = range_of(expected, key);
          const std::string told = std::string{key} + " of " + expected.at("tensor") + ": " + ulp::to_cell(part) +
                                   " where ulp has " + ulp::to_cell(truth);
          QVERIFY2(near(part.low, truth.low) && near(part.high, truth.high), told.c_str());
          open += truth.exact() ? 0 : 1;
        }
      }
    }
    const bool has_ranges = QString(QTest::currentDataTag()) == "octaves" || !options.isEmpty();
    QCOMPARE(open > 0, has_ranges);
  }

  void the_first_step_is_that_of_ulp_outcomes_data() {
    QTest::addColumn<ulp::run_text>("run");
    QTest::addColumn<int>("log2");
    const std::string root = source_dir().string();
    const ulp::run_text digits{.inputs = {root + "/examples/digits.ulp"}};
    QTest::newRow("digits, in columns of two steps") << digits << 16;
    QTest::newRow("digits, another scale") << digits << 4;
    ulp::run_text read_from_the_start = digits;
    read_from_the_start.tensor = ".";
    QTest::newRow("not read as it is") << read_from_the_start << 16;
    QTest::newRow("octaves") << ulp::run_text{.inputs = {digits_path()}} << 0;
  }
  void the_first_step_is_that_of_ulp_outcomes() {
    QFETCH(const ulp::run_text, run);
    QFETCH(const int, log2);
    std::map<std::string, std::pair<std::string, std::string>> expected;  // perhaps, for certain
    for (const csv_row& row :
         outcomes(run.inputs.front() + " --format float16 --by tensor,step --scale 2^" + std::to_string(log2))) {
      auto& [perhaps, certain] = expected.try_emplace(row.at("tensor"), "-", "-").first->second;
      if (perhaps == "-" && row.at("underflow_high") != "0") perhaps = row.at("step");
      if (certain == "-" && row.at("underflow_low") != "0") certain = row.at("step");
    }
    stage s(run_of(run));
    s.state.set_tried_scale(log2);
    s.settle();
    int some = 0;
    for (const auto& [tensor, first] : first_steps_of(s.view)) {
      const auto& [perhaps, certain] = expected.at(tensor);
      QCOMPARE(QString::fromStdString(first), QString::fromStdString(perhaps + " " + certain));
      some += perhaps == "-" ? 0 : 1;
    }
    QVERIFY(some > 1);
  }

  void the_first_step_is_found_in_the_background_too() {
    stage s(run_of({.inputs = {(source_dir() / "examples/digits.ulp").string()}}));
    s.state.set_tried_scale(4);
    QTRY_VERIFY([&] {
      const auto all = first_steps_of(s.view);
      return std::ranges::all_of(all, [](const auto& one) {
        return one.second.substr(0, one.second.find(' ')) == one.second.substr(one.second.find(' ') + 1);
      });
    }());
  }

  void what_is_not_read_stays_within_bounds() {
    const auto run = run_of({.inputs = {(source_dir() / "examples/digits.ulp").string()}});
    stage s(run);
    const ulp::layer_question q{.metric = layer_metric::underflow, .to = ulp::float16, .mode = {}};
    const double scale = 16;
    std::vector<ulp::layer_column> columns;
    for (const drawn_column& c : s.state.drawn()->columns) columns.push_back({c.tables, {scale, 2 * scale}});
    ulp::listener& quiet = ulp::nobody();
    const ulp::layer_answer answer = answer_to(q, columns, run->tensors.size(), quiet);
    layer_reading reading{.drawn = s.state.drawn(),
                          .wanted = ulp::tensor_mask(run->tensors.size(), true),
                          .tried_scale = 4,
                          .replay = nullptr};
    const found_steps all = found(reading, answer, quiet);
    const counted_steps counted = counted_by_step(reading, answer, quiet);
    QVERIFY(all.complete && counted.complete);
    reading.most_tables = 1;
    const found_steps some = found(reading, answer, quiet);
    const counted_steps few = counted_by_step(reading, answer, quiet);
    QVERIFY(!some.complete && !few.complete);
    int wider = 0;
    for (std::size_t t = 0; t < run->tensors.size(); ++t) {
      if (!all.of[t].earliest) continue;
      QVERIFY(some.of[t].earliest.value() <= all.of[t].earliest.value());
      if (some.of[t].latest) QVERIFY(all.of[t].latest.value() <= some.of[t].latest.value());
      wider += some.of[t].exact() ? 0 : 1;
    }
    QVERIFY(wider > 0);
    for (std::size_t i = 0; i < answer.cells.size(); ++i) {
      const value_range exact = counted.answer.cells[i].part;
      const value_range open = few.answer.cells[i].part;
      QVERIFY(exact.exact());
      QVERIFY(open.low <= exact.low && exact.high <= open.high);
    }
  }

  void metrics_have_headings_of_format_and_scale() {
    stage s(digits());
    QVERIFY(s.view.heading().contains("in float16 at the replay's scale (2^16)"));
    s.state.set_tried_scale(0);
    s.settle();
    QVERIFY(s.view.heading().contains("at 2^0, tried out"));
    s.state.set_filter("^bn1.weight$");
    s.state.set_tried_scale(30);
    s.settle();
    QVERIFY2(s.view.heading().startsWith("Nothing underflows in float16 at 2^30, tried out; only names"),
             qPrintable(s.view.heading()));
    s.state.set_filter("");
    s.state.set_tried_scale(std::nullopt);
    s.doc.set({digits()}, {replayed(*digits(), skipping_spec())});
    s.settle();
    QVERIFY2(s.view.heading().contains(QRegularExpression("at the replay's scale \\(2\\^\\d+ to 2\\^24\\)")),
             qPrintable(s.view.heading()));
    auto& box = s.part<QComboBox>("metric");
    QSet<QString> seen;
    const int values = box.count() - 1;
    for (int i = 0; i < values; ++i) {
      box.setCurrentIndex(i);
      s.settle();
      QVERIFY(!s.view.data().rows.empty());
      seen.insert(s.view.heading());
    }
    QCOMPARE(seen.size(), values);
    // The last is of weights and their updates, which this run does not hold.
    QVERIFY(!box.model()->flags(box.model()->index(values, 0)).testFlag(Qt::ItemIsEnabled));
    QVERIFY(box.itemData(values, Qt::ToolTipRole).toString().contains("ulp record --joint"));
    s.choose(layer_metric::lost_updates);
    QVERIFY(s.view.data().rows.empty());
    QVERIFY(words_of({900, 600}, [&](QPainter& to, const QRectF& room) { s.view.draw(to, room, theme::light()); })
                .join(' ')
                .contains("holds no joint tables"));
    s.choose(layer_metric::underflow);
    QVERIFY(!s.view.data().rows.empty());
  }

  void lost_updates_are_of_weights_in_a_format_of_their_own() {
    const temporary_dir dir;
    stage s(run_of({.inputs = {weights_that_stop(dir)}}));
    s.choose(layer_metric::lost_updates);
    QVERIFY2(s.view.heading().startsWith("No update is lost by weights kept in float16 without a master copy"),
             qPrintable(s.view.heading()));
    QVERIFY2(s.view.heading().contains("Updates are -lr times the gradient"), qPrintable(s.view.heading()));
    auto& formats = s.part<QComboBox>("weights_format");
    QVERIFY(formats.isVisible());
    formats.setCurrentIndex(formats.findData("bfloat16"));
    s.settle();
    QVERIFY2(s.view.heading().startsWith("Share of updates lost by weights kept in bfloat16"),
             qPrintable(s.view.heading()));
    const auto parts = parts_of(s.view);
    QCOMPARE(parts.size(), std::size_t{2});
    QVERIFY(parts.at("weight/block.a") == (value_range{8, 8}));
    QVERIFY(parts.at("weight/block.b") == (value_range{0, 0}));
    QCOMPARE(first_steps_of(s.view).at("weight/block.a"), std::string("4 4"));
    s.press(Qt::Key_Down);
    QVERIFY2(s.view.accessibleDescription().contains("steps shown: 50 % (8 of 16 updates)"),
             qPrintable(s.view.accessibleDescription()));
    QVERIFY2(s.view.accessibleDescription().contains("first lost update: step 4"),
             qPrintable(s.view.accessibleDescription()));
    const QString words = words_of({900, 600}, [&](QPainter& to, const QRectF& room) {
                            s.view.draw(to, room, theme::light());
                          }).join(' ');
    QVERIFY(words.contains("no nonzero update recorded"));  // of b in step 2
    // No loss scale matters, and no replay.
    QVERIFY(!s.view.heeds(restriction::kind::tried_scale));
    s.state.set_tried_scale(30);
    s.settle();
    QVERIFY(parts_of(s.view) == parts);
    s.part<QLineEdit>("filter").setText("block.b");
    s.settle();
    QVERIFY2(s.view.heading().startsWith("No update is lost by weights kept in bfloat16"),
             qPrintable(s.view.heading()));
    s.choose(layer_metric::underflow);
    QVERIFY(formats.isHidden());
  }

  // A column holds two steps, and the replay has a scale for each.
  void a_column_whose_scale_changes_counts_as_the_replay_does() {
    stage s(run_of({.inputs = {(source_dir() / "examples/digits.ulp").string()}}), skipping_spec());
    value_range sum;
    for (const auto& [tensor, part] : parts_of(s.view)) sum += part;
    std::uint64_t replayed = 0;
    for (const replay_step& step : s.doc.replays()[0].result->steps) {
      QVERIFY(step.underflow.exact());
      replayed += step.underflow.low;
    }
    QVERIFY(replayed > 0);
    QCOMPARE(sum.low, static_cast<double>(replayed));
    QCOMPARE(sum.high, static_cast<double>(replayed));
  }

  void kinds_are_a_choice() {
    stage s(digits());
    auto& kind = s.part<QComboBox>("kind");
    QVERIFY(kind.isVisible());
    QCOMPARE(kind.count(), 3);
    kind.setCurrentIndex(1);
    s.settle();
    std::set<std::string> left;
    for (const auto& [tensor, sum] : parts_of(s.view)) left.insert(tensor);
    QVERIFY(left.size() < 18 && left.contains("conv1.weight") && !left.contains("conv1"));
    s.state.set_filter("fc");
    s.settle();
    QCOMPARE(kind.currentIndex(), 1);
    QVERIFY(s.view.heading().contains("; only weight gradients; only names that match fc"));
    s.state.set_filter("^fc1$");  // of one kind alone
    s.settle();
    QVERIFY(kind.isHidden());
    QCOMPARE(parts_of(s.view).size(), std::size_t{1});
  }

  void every_row_can_be_reached() {
    const many_tensors many;
    stage s(many.run);
    auto& bar = s.part<QScrollBar>("rows");
    QVERIFY(bar.isVisible());
    QCOMPARE(bar.maximum() + bar.pageStep(), 300);
    const QImage first = s.picture();
    const QPointF place(450, 300);
    QWheelEvent turn(place, s.view.mapToGlobal(place), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                     false);
    QCoreApplication::sendEvent(&s.view, &turn);
    QVERIFY(bar.value() > 0);
    QVERIFY(s.state.shown() == s.state.whole());
    QVERIFY(s.picture() != first);
    s.press(Qt::Key_Down);
    QVERIFY2(s.current().startsWith("model.layers.99.part2.weight"), qPrintable(s.current()));  // the worst
    s.press(Qt::Key_End);
    QCOMPARE(bar.value(), bar.maximum());
    QVERIFY2(s.current().startsWith("model.layers.0.part0.weight"), qPrintable(s.current()));
    s.press(Qt::Key_Up);
    QVERIFY2(s.current().startsWith("model.layers.0.part1.weight"), qPrintable(s.current()));
    s.press(Qt::Key_Return);
    QCOMPARE(many.run->tensors[s.state.tensor().value()].name, std::string("model.layers.0.part1.weight"));
    s.press(Qt::Key_Return);
    QVERIFY(!s.state.tensor());
    s.press(Qt::Key_Home);
    QCOMPARE(bar.value(), 0);
    QWheelEvent zoom(place, s.view.mapToGlobal(place), {}, {0, 120}, Qt::NoButton, Qt::ControlModifier,
                     Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&s.view, &zoom);
    QCOMPARE(bar.value(), 0);
  }

  void modules_are_opened_and_closed() {
    const many_tensors many;
    stage s(many.run);
    s.part<QPushButton>("modules").click();
    s.settle();
    s.press(Qt::Key_Down);
    QCOMPARE(s.current(), QString("model.layers: 300 tensors"));
    s.press(Qt::Key_Down);
    QCOMPARE(s.current(), QString("model.layers.0: 3 tensors"));
    s.press(Qt::Key_Down);
    QCOMPARE(s.current(), QString("model.layers.1: 3 tensors"));
    s.press(Qt::Key_Right);
    s.press(Qt::Key_Right);
    QVERIFY(s.current().startsWith("model.layers.1.part0.weight"));
    s.press(Qt::Key_Left);
    QCOMPARE(s.current(), QString("model.layers.1: 3 tensors"));
    s.press(Qt::Key_Left);
    s.press(Qt::Key_Down);
    QCOMPARE(s.current(), QString("model.layers.2: 3 tensors"));
    // 3 + 4 + 5 of them underflow in each of two steps, of 3,012.
    s.press(Qt::Key_Up);
    QVERIFY2(s.view.accessibleDescription().contains("(24 of 6,024 nonzero values)"),
             qPrintable(s.view.accessibleDescription()));
    s.press(Qt::Key_Home);
    s.press(Qt::Key_Left);
    QVERIFY(s.part<QScrollBar>("rows").isHidden());
    s.press(Qt::Key_Return);
    QVERIFY(s.part<QScrollBar>("rows").isVisible());
    QVERIFY(!s.state.tensor());
  }

  void pictures_stay_while_new_ones_are_counted() {
    stage s(digits());
    s.state.set_cursor(400);
    const QImage before = s.picture();
    s.state.set_tried_scale(0);
    QCoreApplication::processEvents();
    const QImage meanwhile = s.view.grab().toImage();
    QVERIFY(distance(meanwhile, before) < 3);
    QVERIFY(distance(s.picture(), before) > 3);
  }

  void without_a_replay_it_says_why() {
    document doc;
    view_state state(doc);
    layers_view view(state, nullptr);
    view.resize(900, 600);
    view.show();
    doc.set({digits()}, {{.spec = usual_scenario(), .run = 0, .result = nullptr, .failure = "no such thing"}});
    QCoreApplication::processEvents();
    QVERIFY(view.data().rows.empty());
    const QImage picture = view.grab().toImage();
    QVERIFY(ink_of(picture, picture.pixelColor(450, 580)).share > 0.001);
    state.set_tried_scale(0);  // which needs none
    QCoreApplication::processEvents();
    view.catch_up_now();
    QVERIFY(!view.data().rows.empty());
  }
};

QTEST_MAIN(layers_view_test)
#include "layers_view_test.moc"
