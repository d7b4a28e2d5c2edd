// Pins Tensor scales: its table is what fp8_replay_over says of the worst tensor, of the one chosen, under the recipe chosen, and what
// `ulp replay` would write of these columns; what the picture says; tensors that are not cast and runs without tensors are told in words.
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTest>
#include <cstdlib>
#include <sstream>

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/report/tables/fp8_table.hpp>

#include "charts/chart.hpp"
#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::fp8_row;

namespace {

struct stage {
  document doc;
  view_state state{doc};
  QWidget host;
  view* shown = nullptr;

  explicit stage(const std::shared_ptr<const loaded_run>& run = digits())
      : stage(run, replayed(*run, usual_scenario())) {}
  stage(const std::shared_ptr<const loaded_run>& run, const replay_entry& replay) {
    host.resize(900, 600);
    host.show();
    for (view* const v : make_views(state, &host)) {
      v->hide();
      if (v->key() == "tensor-scales") shown = v;
    }
    shown->resize(900, 600);
    shown->show();
    doc.set({run}, {replay});
  }
  // What the replay in the background gives.
  [[nodiscard]] bool has_rows() const {
    return QTest::qWaitFor([this] { return !shown->data().rows.empty(); }, 20000);
  }
  [[nodiscard]] QComboBox& box(const char* name) const { return *shown->findChild<QComboBox*>(name); }
  [[nodiscard]] QString words() const {
    shown->catch_up_now();
    return words_of(QSize(900, 600),
                    [this](QPainter& to, const QRectF& room) { shown->draw(to, room, theme::light()); })
        .join(' ')
        .replace(QChar(0xA0), ' ');
  }
  [[nodiscard]] std::string tensor() const {
    return shown->data().rows.empty() ? "" : std::get<std::string>(shown->data().rows.front()[1]);
  }
};

// The cells of the view's columns that `ulp replay` writes of a tensor.
std::string said_by_replay(const ulp::table& as, const std::string& recipe, const std::string& tensor) {
  std::vector<fp8_row> own;
  const ulp::fp8_answer answer =
      ulp::fp8_replay_over({.run = digits()->text, .recipe = recipe, .scaler = {}, .parameters = {}, .format = {}},
                           ulp::nobody(), [&](const std::vector<fp8_row>& rows, const auto& tensors) {
                             for (const fp8_row& r : rows)
                               if (tensors[r.tensor].name == tensor) own.push_back(r);
                           });
  const ulp::table all = ulp::fp8_rows_table(own, answer.tensors, ulp::real_text::decimal, ulp::fp8_columns::counts);
  ulp::table some{.columns = as.columns, .rows = {}};
  for (const auto& row : all.rows) {
    auto& to = some.rows.emplace_back();
    for (const ulp::table_column& c : as.columns)
      for (std::size_t i = 0; i < row.size(); ++i)
        if (all.columns[i].key == c.key) to.push_back(row[i]);
  }
  return ulp::to_csv(some);
}

std::string worst_under(const std::string& recipe) {
  const auto answer = ulp::fp8_replay_over(
      {.run = digits()->text, .recipe = recipe, .scaler = {}, .parameters = {}, .format = {}}, ulp::nobody());
  return std::get<std::string>(ulp::fp8_tensors_table(answer).rows.front()[0]);
}

}  // namespace

class tensor_scales_view_test : public QObject {
  Q_OBJECT

 private slots:
  void the_worst_tensor_is_shown_and_any_can_be_chosen() {
    stage s;
    QVERIFY(s.has_rows());
    QCOMPARE(s.tensor(), worst_under("te_delayed:hybrid"));
    QVERIFY(ulp::to_csv(s.shown->data()) == said_by_replay(s.shown->data(), "te_delayed:hybrid", s.tensor()));
    QComboBox& tensors = s.box("tensor");
    QCOMPARE(tensors.itemText(0), "the worst: " + QString::fromStdString(s.tensor()));
    const int last = tensors.count() - 1;
    QVERIFY(last > 3);
    tensors.setCurrentIndex(last);
    emit tensors.activated(last);
    QCOMPARE(QString::fromStdString(s.tensor()), tensors.itemText(last));
    QVERIFY(s.state.tensor().has_value());  // in all views
    QVERIFY(ulp::to_csv(s.shown->data()) == said_by_replay(s.shown->data(), "te_delayed:hybrid", s.tensor()));
    emit tensors.activated((tensors.setCurrentIndex(0), 0));
    QVERIFY(!s.state.tensor());
  }

  void another_recipe_is_replayed() {
    stage s;
    for (const char* const recipe : {"te_current:hybrid", "keras:hybrid", "te_delayed:e4m3"}) {
      emit s.box("recipe").textActivated(recipe);
      QTRY_VERIFY(s.has_rows());
      QCOMPARE(s.box("recipe").currentText(), QString(recipe));
      QCOMPARE(s.tensor(), worst_under(recipe));
      QVERIFY(ulp::to_csv(s.shown->data()) == said_by_replay(s.shown->data(), recipe, s.tensor()));
    }
  }

  void the_picture_says_what_it_shows() {
    stage s;
    QVERIFY(s.has_rows());
    const QString words = s.words();
    for (const char* const part : {"scale used", "ideal scale", "amax", "off by more than a binade in", "float8_e5m2"})
      QVERIFY2(words.contains(part), qPrintable(words));
    QVERIFY2(words.contains(QString::fromStdString(s.tensor())), qPrintable(words));
  }

  void a_filter_leaves_the_worst_of_some() {
    stage s;
    QVERIFY(s.has_rows());
    const QString name = s.box("tensor").itemText(s.box("tensor").count() - 1);
    QVERIFY(s.state.set_filter("^" + name + "$"));
    QTRY_COMPARE(QString::fromStdString(s.tensor()), name);
    QTRY_COMPARE(s.box("tensor").count(), 2);
    QVERIFY(s.state.set_filter("nothing has this name"));
    QTRY_VERIFY(s.shown->data().rows.empty());
    QVERIFY(s.words().contains("The filter leaves no tensor that is cast under te_delayed:hybrid."));
  }

  void what_is_not_cast_is_told() {
    const auto run = load_run({.inputs = {(source_dir() / "examples/transformer.ulp").string()}}, ulp::nobody());
    stage s(run);
    QVERIFY(s.has_rows());
    const auto& tensors = run->tensors;
    const auto vector = std::ranges::find_if(tensors, [](const ulp::tensor_info& t) { return t.shape.size() == 1; });
    QVERIFY(vector != tensors.end());
    s.state.set_tensor(static_cast<std::uint32_t>(vector - tensors.begin()));
    QTRY_VERIFY(s.shown->data().rows.empty());
    const QString words = s.words();
    QVERIFY2(words.contains("is not cast under te_delayed:hybrid: vectors such as biases and norms are not."),
             qPrintable(words));
  }

  void a_run_without_tensors_says_so() {
    const temporary_dir dir;
    write_file(dir / "log.csv", "step,maxabs\n1,3\n2,5\n");
    const stage s(load_run({.inputs = {(dir / "log.csv").string()}}, ulp::nobody()));
    QVERIFY2(s.words().contains("The run has no tensors"), qPrintable(s.words()));
    QVERIFY(s.shown->data().rows.empty());
  }

  void what_cannot_be_replayed_says_why() {
    const temporary_dir dir;
    write_file(dir / "g.step5.npy", npy_of({1, 0.5F}));
    auto run = std::make_shared<loaded_run>(*load_run({.inputs = {(dir / "g.step5.npy").string()}}, ulp::nobody()));
    const replay_entry replay = replayed(*run, usual_scenario());
    run->text.inputs = {(dir / "gone.npy").string()};
    const stage s(run, replay);
    QVERIFY2(s.words().contains("gone.npy"), qPrintable(s.words()));
  }

  void parameters_are_those_of_the_policy() {
    stage s;
    QVERIFY(s.has_rows());
    const auto parameters = s.shown->findChild<QLineEdit*>("parameters");
    parameters->setText("amax_history_len=4  margin=1");
    emit parameters->editingFinished();
    QCOMPARE(name_of(s.state.fp8()), std::string("te_delayed:hybrid amax_history_len=4 margin=1"));
    QVERIFY(s.state.has_own_fp8());
    QTRY_VERIFY(s.has_rows());
    parameters->setText("marginn=1");
    emit parameters->editingFinished();
    QVERIFY2(s.shown->findChild<QLabel*>(QString(), Qt::FindDirectChildrenOnly)->isVisible(), "the mistake is told");
    QCOMPARE(name_of(s.state.fp8()), std::string("te_delayed:hybrid amax_history_len=4 margin=1"));
    // Of another policy those remain that it has.
    emit s.box("recipe").textActivated("msamp:hybrid");
    QCOMPARE(name_of(s.state.fp8()), std::string("msamp:hybrid margin=1"));
  }

  void scales_of_the_run_itself_are_drawn_beside_the_replay() {
    stage s(load_run({.inputs = {(source_dir() / "tests/data/live_scales.ulp").string()}}, ulp::nobody()));
    s.state.set_fp8({.recipe = "te_delayed:e5m2", .parameters = {"amax_history_len=4", "margin=1"}});
    QVERIFY(s.has_rows());
    const QString words = s.words();
    for (const char* const part : {"the run's own scale", "The run's own scales are the replay's in 23 of 24 steps",
                                   "1.GRAD_OUTPUT1", "values are not counted"})
      QVERIFY2(words.contains(part), qPrintable(words));
    QVERIFY(!words.contains("of the nonzero values"));
    // Tensors that the run has no histograms of can be chosen, and filtered.
    const int last = s.box("tensor").count() - 1;
    QCOMPARE(last, 3);
    s.box("tensor").setCurrentIndex(last);
    emit s.box("tensor").activated(last);
    QCOMPARE(s.tensor(), std::string("1.GEMM1_INPUT"));
    QVERIFY(!s.state.tensor());
    QVERIFY(s.state.set_filter("WEIGHT"));
    QTRY_COMPARE(s.box("tensor").count(), 2);
    // One that has some has no such scale.
    s.state.set_filter("");
    s.state.set_tensor(0);
    QVERIFY2(s.words().contains("are not of 0.weight"), qPrintable(s.words()));
  }

  // Golden values of TransformerEngine: its own kernel's scales.
  void a_table_of_amaxes_is_replayed() {
    const auto run =
        load_run({.inputs = {(source_dir() / "tests/data/golden_fp8/te_delayed_bulk_max_h4_m1_e5m2.csv").string()}},
                 ulp::nobody());
    QVERIFY(run->amaxes_only);
    stage s(run, {});
    s.state.set_fp8({.recipe = "te_delayed:e5m2", .parameters = {"amax_history_len=4", "margin=1"}});
    QVERIFY2(s.has_rows(), qPrintable(s.words()));
    std::vector<double> golden;
    std::istringstream lines(read_file(run->text.inputs.front()));
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#') || line.starts_with("step")) continue;
      std::vector<std::string> fields(1);
      for (const char c : line)
        if (c == ',')
          fields.emplace_back();
        else
          fields.back() += c;
      if (fields[1] == s.tensor()) golden.push_back(std::strtod(fields[3].c_str(), nullptr));
    }
    const ulp::table shown = s.shown->data();
    QCOMPARE(shown.rows.size(), golden.size());
    for (std::size_t i = 0; i < golden.size(); ++i) QCOMPARE(std::get<double>(shown.rows[i][3]), golden[i]);
  }
};

QTEST_MAIN(tensor_scales_view_test)
#include "tensor_scales_view_test.moc"
