// Pins the panels around the views: what restricts the views is told and lifted; what inputs leave open is asked, and an
// answer is read with; what a reading that fails leaves; scalers are found by framework and word; a framework's configuration
// fills the replay in front; the command that is shown.
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>
#include <span>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "gui/support/fixture.hpp"
#include "panels/ask_bar.hpp"
#include "panels/command_line.hpp"
#include "panels/configuration.hpp"
#include "panels/context_bar.hpp"
#include "panels/reading_editor.hpp"
#include "panels/scaler_choice.hpp"
#include "viewmodel/context.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

struct opened {
  document doc;
  view_state state{doc};

  explicit opened(const std::string& input = digits_path()) {
    doc.open({input});
    if (!QTest::qWaitFor([&] { return doc.run() != nullptr && !doc.busy(); }, 20000)) qFatal("%s", input.c_str());
  }
  bool settled() {
    QCoreApplication::processEvents();
    return QTest::qWaitFor([&] { return !doc.busy(); }, 20000);
  }
};

template <typename Widget>
Widget* named(const QWidget& in, const QString& text) {
  for (Widget* const w : in.findChildren<Widget*>())
    if (!w->isHidden() && (w->text().contains(text) || w->accessibleName().contains(text))) return w;
  return nullptr;
}

bool is_asked(const QWidget& bar, const char* question) {
  const auto* const label = bar.findChild<QLabel*>(question);
  return label != nullptr && label->isVisibleTo(&bar);
}

}  // namespace

class panels_test : public QObject {
  Q_OBJECT

  temporary_dir dir_;

  std::string file(const std::string& name, const std::string& content) {
    write_file(dir_ / name, content);
    return (dir_ / name).string();
  }

 private slots:
  void what_restricts_the_views_is_told_and_lifted() {
    opened s;
    context_bar bar(s.state);
    bar.show();
    QCOMPARE(context_of(s.state), QString("all steps, all tensors"));
    QCOMPARE(context_of(s.state, heeds_all, 7), QString("step 7, all tensors"));
    QVERIFY(bar.findChildren<QToolButton*>().isEmpty());
    s.state.set_filter("conv & x|conv");
    s.state.set_shown({100, 300});
    s.state.set_tensor(1);
    s.state.set_tried_scale(-3);
    QTRY_COMPARE(bar.findChildren<QToolButton*>().size(), 4);
    const QString name = QString::fromStdString(s.state.current_run()->tensors[1].name);
    QCOMPARE(context_of(s.state), "steps 100 to 300, tensor " + name + ", filter conv & x|conv, tried 2^-3");
    QCOMPARE(context_of(s.state, heeds_all, 7), "step 7, tensor " + name + ", filter conv & x|conv, tried 2^-3");
    // Above a view that heeds steps alone.
    bar.show_for([](restriction::kind of) { return of == restriction::kind::steps; });
    QTRY_COMPARE(bar.findChildren<QToolButton*>().size(), 1);
    bar.show_for(heeds_all);
    QTRY_COMPARE(bar.findChildren<QToolButton*>().size(), 4);
    named<QToolButton>(bar, "steps 100")->click();
    QVERIFY(s.state.shown() == s.state.whole());
    named<QToolButton>(bar, "tensor ")->click();
    QVERIFY(!s.state.tensor());
    named<QToolButton>(bar, "filter ")->click();
    QVERIFY(s.state.filter().isEmpty());
    named<QToolButton>(bar, "tried ")->click();
    QVERIFY(!s.state.tried_scale());
    QTRY_VERIFY(bar.findChildren<QToolButton*>().isEmpty());
    // Less than the whole run was read.
    s.doc.read_again({.kinds = {"weight_grad", "x=weight"}, .every = 2});
    QVERIFY(s.settled());
    QCOMPARE(context_of(s.state), QString("read with --kind weight_grad --every 2"));
    QTRY_VERIFY(named<QToolButton>(bar, "read with") != nullptr);
    named<QToolButton>(bar, "read with")->click();
    QVERIFY(s.settled());
    QCOMPARE(context_of(s.state), QString("all steps, all tensors"));
    QCOMPARE(s.doc.how().kinds, std::vector<std::string>{"x=weight"});
  }

  void scales_by_layer_are_told() {
    opened s;
    context_bar bar(s.state);
    bar.show();
    ulp::scenario_text by_layer = ulp::gui::usual_scenario();
    by_layer.scaler = "fairscale_layerwise";
    s.doc.add_replay(by_layer);
    QVERIFY(s.settled());
    s.state.set_front(1);
    QCOMPARE(context_of(s.state), QString("all steps, all tensors, at the least of the layers' scales"));
    QTRY_VERIFY(named<QLabel>(bar, "least of the layers") != nullptr);
    s.state.set_filter("conv");
    QTRY_VERIFY(named<QLabel>(bar, "least of the layers") != nullptr);
    s.state.set_tried_scale(4);
    QTRY_VERIFY(named<QLabel>(bar, "least of the layers") == nullptr);
  }

  void a_factor_that_cannot_be_right_is_asked_for() {
    opened s;
    ask_bar bar(s.state);
    QVERIFY(!is_asked(bar, "factor-question"));
    bar.doubt(s.state.current_run()->id, "too small for float16");
    QVERIFY(is_asked(bar, "factor-question"));
    QVERIFY(bar.findChild<QLabel*>("factor-question")->text().contains("cannot be right"));
    QVERIFY(!bar.findChild<QLineEdit*>()->isVisibleTo(&bar));
    named<QPushButton>(bar, "No, the values are true")->click();
    QVERIFY(s.settled());
    QTRY_VERIFY(!is_asked(bar, "factor-question"));
    QCOMPARE(s.doc.how().factor, std::string("1"));
  }

  void an_unknown_factor_is_asked_for_and_the_answer_is_read_with() {
    opened known;
    const ask_bar silent(known.state);
    QVERIFY(!is_asked(silent, "factor-question"));

    opened s(file("a.npy", npy_of({1, 2, 0.5F})));
    ask_bar bar(s.state);
    bar.show();
    QVERIFY(is_asked(bar, "factor-question"));
    QVERIFY(!named<QPushButton>(bar, "logged scale")->isEnabled());  // none is logged
    auto* const typed = bar.findChild<QLineEdit*>();
    typed->setText("wide");
    QTest::keyClick(typed, Qt::Key_Return);
    QVERIFY(typed->toolTip().contains("'wide'"));
    QVERIFY(s.doc.how().factor.empty() && !s.doc.busy());
    typed->setText("2^3");
    QTest::keyClick(typed, Qt::Key_Return);
    QVERIFY(s.settled());
    QCOMPARE(s.doc.how().factor, std::string{"2^3"});
    QCOMPARE(s.state.current_run()->picture.steps()[0].max_abs, 0.25);
    QVERIFY(!is_asked(bar, "factor-question"));
    QCOMPARE(
        command_of(s.state.front().spec, s.state.current_run()->text),
        "ulp replay " + s.doc.run()->text.inputs[0] + " --factor 2^3 --scaler pytorch_gradscaler --format float16");

    s.doc.read_again({});
    QVERIFY(s.settled());
    QVERIFY(is_asked(bar, "factor-question"));
    QTest::mouseClick(named<QPushButton>(bar, "No"), Qt::LeftButton);
    QVERIFY(s.settled());
    QCOMPARE(s.doc.how().factor, std::string{"1"});
    QVERIFY(!s.state.current_run()->as_recorded);
  }

  void inferred_roles_are_told_until_they_are_kept() {
    const std::string path = (dir_ / "roles.ulp").string();
    {
      ulp::recording_writer to(path, ulp::recording_writer::mode::create);
      ulp::step now;
      now.tensors.push_back({.tensor = 0, .type = ulp::dtype::float32});
      const std::vector<float> values{1, 2};
      now.tensors[0].table = ulp::count_cells(std::span{values});
      for (now.key.step = 0; now.key.step < 2100; ++now.key.step)
        to.write(now, {{.name = "w", .kind = ulp::tensor_kind::weight_grad}});
    }
    opened s(path);
    ask_bar bar(s.state);
    bar.show();
    QVERIFY(is_asked(bar, "roles-question"));
    const QString told = bar.findChild<QLabel*>("roles-question")->text();
    QVERIFY2(told.startsWith("Roles are inferred from the values: 1 gradient went through") && !told.contains(';'),
             qPrintable(told));
    QSignalSpy wanted(&bar, &ask_bar::wanted);
    named<QPushButton>(bar, "Change")->click();
    QCOMPARE(wanted.count(), 1);
    QCOMPARE(wanted[0][0].toString(), QString("role"));
    named<QPushButton>(bar, "Keep")->click();
    QVERIFY(!is_asked(bar, "roles-question"));
    // What is said of them is no inference.
    s.doc.read_again({.roles = {"w=low"}});
    QVERIFY(s.settled());
    QVERIFY(!is_asked(bar, "roles-question"));
  }

  void a_reading_that_fails_leaves_all_as_it_was() {
    opened s;  // its factors are recorded
    QSignalSpy failures(&s.doc, &document::failed);
    const auto id = s.doc.run()->id;
    s.doc.read_again({.factor = "3"});
    QTRY_COMPARE(failures.count(), 1);
    QVERIFY(s.doc.how().factor.empty());
    QCOMPARE(s.doc.run()->id, id);
  }

  void reading_options_are_read_with() {
    opened s(file("b.npy", npy_of({1, 2, 0.5F})));
    reading_editor editor(s.state);
    editor.show();
    auto* const again = editor.findChild<QPushButton*>("read-again");
    QVERIFY(!again->isEnabled());
    auto* const factor = editor.findChild<QLineEdit*>("factor");
    factor->setText("x");
    QVERIFY(!again->isEnabled());
    QVERIFY(named<QLabel>(editor, "--factor") != nullptr);
    factor->setText("4");
    QVERIFY(again->isEnabled());
    QTest::mouseClick(again, Qt::LeftButton);
    QVERIFY(s.settled());
    QCOMPARE(s.doc.how().factor, std::string{"4"});
    QVERIFY(!again->isEnabled());
    editor.ask_for("role");
    QVERIFY(editor.findChild<QLineEdit*>("role") == editor.focusWidget());
    // What was said elsewhere is shown here.
    s.doc.read_again({.factor = "8"});
    QVERIFY(s.settled());
    QCOMPARE(factor->text(), QString("8"));
    // An expression with a blank stays one.
    s.doc.read_again({.roles = {"no such=low"}, .factor = "8"});
    QVERIFY(s.settled());
    QVERIFY(!again->isEnabled());
    factor->setText("16");
    QTest::keyClick(factor, Qt::Key_Return);
    QVERIFY(s.settled());
    QCOMPARE(s.doc.how().roles, std::vector<std::string>{"no such=low"});
    QCOMPARE(s.doc.how().factor, std::string{"16"});
  }

  void scalers_are_found_by_framework_and_word() {
    scaler_choice choice;
    choice.set_scaler("pytorch_gradscaler");
    choice.show();
    QSignalSpy changes(&choice, &scaler_choice::changed);
    choice.click();
    auto* const tree = choice.findChild<QTreeWidget*>();
    auto* const field = choice.findChild<QLineEdit*>();
    QVERIFY(tree->isVisible());
    const auto shown = [&] {
      QStringList all;
      for (int g = 0; g < tree->topLevelItemCount(); ++g)
        for (int i = 0; i < tree->topLevelItem(g)->childCount(); ++i)
          if (!tree->topLevelItem(g)->isHidden() && !tree->topLevelItem(g)->child(i)->isHidden())
            all << tree->topLevelItem(g)->child(i)->text(0);
      return all;
    };
    QCOMPARE(static_cast<std::size_t>(shown().size()), ulp::scaler_catalog().size());
    QCOMPARE(tree->currentItem()->text(0), QString("pytorch_gradscaler"));
    field->setText("megatron hysteresis-no-such");
    QVERIFY(shown().isEmpty());
    QTest::keyClick(field, Qt::Key_Return);  // nothing is chosen
    QCOMPARE(changes.count(), 0);
    field->setText("DeepSpeed lamb");
    QCOMPARE(shown(), QStringList{"deepspeed_unfused"});
    QTest::keyClick(field, Qt::Key_Return);
    QCOMPARE(changes.count(), 1);
    QCOMPARE(choice.scaler(), QString("deepspeed_unfused"));
    QVERIFY(!tree->isVisible());
    // By keys alone, past the headings.
    choice.click();
    QTest::keyClick(field, Qt::Key_Down);
    QVERIFY(tree->currentItem()->parent() != nullptr);
    QVERIFY(tree->currentItem()->text(0) != "deepspeed_unfused");
  }

  void a_configuration_fills_the_replay_in_front() {
    opened s;
    ulp::scenario_text before = s.state.front().spec;
    before.clip_value = "3";
    before.check = "conv";
    s.doc.change_replay(0, before);
    const QString path = QString::fromStdString(
        file("ds.json",
             R"({"fp16":{"enabled":true,"initial_scale_power":12},"gradient_clipping":0.5,"steps_per_print":5})"));
    load_configuration(path, s.state);
    const ulp::scenario_text& spec = s.state.front().spec;
    QVERIFY(spec.scaler.starts_with("deepspeed"));
    QCOMPARE(spec.clip_norm, std::string{"0.5"});
    QVERIFY(spec.clip_value.empty());
    QCOMPARE(spec.check, std::string{"conv"});
    QVERIFY(ulp::scaler_of(spec).scale() == 4096);
    QVERIFY(s.settled());
    const ulp::scenario_text good = spec;
    QVERIFY_EXCEPTION_THROWN(load_configuration(QString::fromStdString(file("x.json", "{")), s.state),
                             std::runtime_error);
    QVERIFY(s.state.front().spec == good);
  }

  void the_command_can_be_copied() {
    opened s;
    s.doc.change_replay(0, skipping_spec());
    QVERIFY(s.settled());
    const command_line line(s.state);
    QCOMPARE(line.findChild<QLineEdit*>("command")->text().toStdString(),
             command_of(skipping_spec(), {.inputs = {digits_path()}}));
    QGuiApplication::clipboard()->clear();
    QTest::mouseClick(line.findChild<QPushButton*>(), Qt::LeftButton);
    QCOMPARE(QGuiApplication::clipboard()->text(), line.findChild<QLineEdit*>("command")->text());
  }
};

QTEST_MAIN(panels_test)
#include "panels_test.moc"
