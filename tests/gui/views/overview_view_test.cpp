// Pins the first page: its words are those of `ulp advise`, its cards lead to what shows them, nothing is concluded before the
// factor is known, and what a replay does to a healthy run is said too.
#include "views/overview_view.hpp"

#include <QLabel>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <algorithm>

#include "gui/support/fixture.hpp"
#include "gui/support/picture.hpp"
#include "support/program.hpp"
#include "viewmodel/shown_text.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::finding_grade;
using ulp::scenario_text;

namespace {

struct page {
  document doc;
  view_state state{doc};
  QWidget host;
  overview_view view{state, &host};

  page(std::vector<std::shared_ptr<const loaded_run>> runs, std::vector<replay_entry> replays) {
    host.resize(1000, 700);
    view.resize(1000, 700);
    host.show();
    doc.set(std::move(runs), std::move(replays));
    QCoreApplication::processEvents();
    view.catch_up_now();
  }
  explicit page(const std::vector<scenario_text>& specs) : page({digits()}, entries(specs)) {}

  [[nodiscard]] static std::vector<replay_entry> entries(const std::vector<scenario_text>& specs) {
    std::vector<replay_entry> all;
    for (const scenario_text& spec : specs) all.push_back(replayed(*digits(), spec));
    return all;
  }
  [[nodiscard]] QString line(const QString& title) const {
    for (const auto& [name, text] : view.first_lines().lines)
      if (name == title) return text;
    return {};
  }
  [[nodiscard]] const story_card* card(const QString& question) const {
    for (const story_card& c : view.cards())
      if (c.question.contains(question)) return &c;
    return nullptr;
  }
  [[nodiscard]] QTableView& grid() const { return *view.findChild<QTableView*>(); }
  [[nodiscard]] int column(const QString& title) const {
    for (int c = 0; c < grid().model()->columnCount(); ++c)
      if (grid().model()->headerData(c, Qt::Horizontal).toString() == title) return c;
    return -1;
  }
  [[nodiscard]] QString cell(int row, const QString& title) const {
    return grid().model()->index(row, column(title)).data().toString();
  }
  void double_click(int row, const QString& title) const {
    const QPoint place = grid().visualRect(grid().model()->index(row, column(title))).center();
    QTest::mouseClick(grid().viewport(), Qt::LeftButton, {}, place);
    QTest::mouseDClick(grid().viewport(), Qt::LeftButton, {}, place);
  }
};

scenario_text without_scale() {
  scenario_text spec = in_format("float16");
  spec.scaler = "static";
  spec.parameters = {"loss_scale=1"};
  return spec;
}

// The lines of `ulp advise` that begin with these words.
QString advised(const std::string& words, const std::string& input) {
  const program_result told = run_ulp("advise " + input);
  const auto at = told.out.find(words);
  if (told.exit_code != 0 || at == std::string::npos) return "advise failed: " + QString::fromStdString(told.err);
  const auto from = told.out.find_first_not_of(' ', at + words.size());
  return QString::fromStdString(told.out.substr(from, told.out.find('\n', from) - from));
}

}  // namespace

class overview_view_test : public QObject {
  Q_OBJECT

 private slots:
  void the_first_lines_and_cards_are_those_of_advise() {
    const page p({usual_scenario()});
    QCOMPARE(p.line("What happened"), advised("What happened", digits_path()));
    QCOMPARE(p.line("What to change").section('\n', 0, 0), advised("What to change", digits_path()));
    QCOMPARE(p.line("How sure"), advised("How sure", digits_path()));
    const program_result all = run_ulp("advise " + digits_path());
    std::size_t told = 0;
    for (const story_card& card : p.view.cards()) {
      if (card.question.contains("under this replay")) continue;
      ++told;
      QVERIFY2(all.out.find(card.question.toStdString() + "\n  " + card.conclusion.toStdString() + "\n") !=
                   std::string::npos,
               qPrintable(card.question));
    }
    QVERIFY(told >= 6);
    // Worst first.
    QVERIFY(std::ranges::is_sorted(p.view.cards(), {}, &story_card::grade));
  }

  void what_a_replay_does_to_a_healthy_run_is_said() {
    const page well({usual_scenario()});
    QVERIFY(well.line("Under this replay").isEmpty());
    QVERIFY(well.view.first_lines().grade == finding_grade::fine);

    const page p({without_scale()});
    const story_card* const card = p.card("under this replay");
    QVERIFY(card != nullptr);
    QVERIFY(card->grade == finding_grade::notable);
    QCOMPARE(p.line("Under this replay"), card->conclusion);
    QVERIFY(p.view.first_lines().grade == finding_grade::notable);
    // As `ulp outcomes` counts.
    const auto outcomes =
        run_shell("ulp outcomes " + digits_path() +
                  " --format float16 --scale 1 --by tensor --json | grep '\"tensor\": *\"" + card->tensor + "\"'");
    QVERIFY2(!outcomes.out.empty(), outcomes.err.c_str());
    const auto number = [&](const std::string& key) {
      const auto at = outcomes.out.find("\"" + key + "\":");
      return at == std::string::npos ? -1 : std::stod(outcomes.out.substr(at + key.size() + 3));
    };
    const auto& worst = card->bars.front();
    QCOMPARE(worst.label, card->tensor);
    const double nonzero = number("numel") - number("zero") - number("nonfinite");
    QVERIFY(nonzero > 0);
    QVERIFY(std::abs(worst.share.low - number("underflow_low") / nonzero) < 1e-12);
    QVERIFY(std::abs(worst.share.high - number("underflow_high") / nonzero) < 1e-12);
  }

  void nothing_is_concluded_before_the_factor_is_known() {
    const auto run = std::make_shared<loaded_run>(*digits());
    run->as_recorded = true;
    const page p({run}, {replayed(*digits(), usual_scenario())});
    QVERIFY(p.view.cards().empty());
    QVERIFY(p.line("What happened").isEmpty());
    QVERIFY(!p.line("Not judged yet").isEmpty());
  }

  void a_card_leads_to_what_shows_it() {
    page p({without_scale()});
    QSignalSpy asked(&p.view, &overview_view::asked_for);
    const auto buttons = p.view.findChildren<card_button*>();
    const auto click = [&](const QString& question) {
      for (card_button* const b : buttons)
        if (b->card().question.contains(question)) return b->click();
      qFatal("no such card");
    };
    click("under this replay");
    QCOMPARE(asked.takeFirst().first().toString(), QString("layers"));
    QVERIFY(p.state.tensor().has_value());
    QCOMPARE(p.state.current_run()->tensors[*p.state.tensor()].name, p.card("under this replay")->tensor);
    QCOMPARE(p.state.cursor_step(), *p.card("under this replay")->step);
    click("Which format holds");
    QCOMPARE(asked.takeFirst().first().toString(), QString("formats"));
    QCOMPARE(p.state.tried_scale(), std::optional<int>{0});
    click("clipping by the norm");
    QCOMPARE(asked.takeFirst().first().toString(), QString("clipping"));
    // By keyboard, and for those who do not see it.
    buttons.front()->setFocus();
    QTest::keyClick(buttons.front(), Qt::Key_Space);
    QCOMPARE(asked.size(), 1);
    for (const card_button* const b : buttons) QVERIFY(!b->accessibleName().isEmpty());
  }

  void scales_of_tensors_are_shown_by_their_view() {
    page p({in_format("float8_e4m3fn")});
    QSignalSpy asked(&p.view, &overview_view::asked_for);
    for (const char* const question : {"E4M3 or E5M2", "Delayed scaling"}) {
      QVERIFY2(p.card(question) != nullptr, question);
      for (card_button* const b : p.view.findChildren<card_button*>())
        if (b->card().question.contains(question)) b->click();
      QCOMPARE(asked.takeFirst().first().toString(), QString("tensor-scales"));
    }
  }

  // In the format that it speaks of, which is not the replay's.
  void lost_updates_are_a_card_that_leads_to_them() {
    const temporary_dir dir;
    const std::string path = weights_that_stop(dir);
    const auto run = load_run({.inputs = {path}}, ulp::nobody());
    page p({run}, {replayed(*run, usual_scenario())});
    const story_card* const card = p.card("Are updates lost");
    QVERIFY(card != nullptr);
    QVERIFY2(card->conclusion.contains("no float32 copy of the bfloat16 weights, 100 % of the updates of block.a"),
             qPrintable(card->conclusion));
    QSignalSpy asked(&p.view, &overview_view::asked_for);
    for (card_button* const b : p.view.findChildren<card_button*>())
      if (b->card().question == card->question) b->click();
    QCOMPARE(asked.takeFirst().first().toString(), QString("layers"));
    QVERIFY(p.state.metric_of_layers() == ulp::layer_metric::lost_updates);
    QCOMPARE(QString::fromStdString(p.state.weights_format()), QString("bfloat16"));
    QCOMPARE(run->tensors[p.state.tensor().value()].name, std::string("weight/block.a"));
    QCOMPARE(p.state.cursor_step(), std::int64_t{4});
    // A card of values leads back to one of theirs, a card that leads elsewhere leaves it.
    look_at({.view = ""}, p.state);
    QVERIFY(p.state.metric_of_layers() == ulp::layer_metric::lost_updates);
    for (const story_card& other : p.view.cards())
      if (other.view == "layers" && other.weights_format.empty()) look_at(other, p.state);
    look_at({.view = "layers"}, p.state);
    QVERIFY(p.state.metric_of_layers() == ulp::layer_metric::underflow);
  }

  void numbers_of_replays_are_links() {
    page p({usual_scenario(), skipping_spec()});
    QCOMPARE(p.grid().model()->rowCount(), 2);
    QSignalSpy asked(&p.view, &overview_view::asked_for);
    const auto& summary = p.doc.replays()[1].result->summary;
    QCOMPARE(p.cell(1, "skipped"), QString::number(summary.skipped));
    QCOMPARE(p.cell(0, "skipped"), QString("0"));
    QCOMPARE(p.cell(0, "scale at the end"), QString("2^16"));
    QVERIFY(!p.cell(0, "regret").isEmpty());
    p.state.set_cursor(500);
    p.double_click(1, "first skip");
    QCOMPARE(p.state.front_index(), std::size_t{1});
    QCOMPARE(p.state.cursor_step(), *summary.first_skip);
    p.double_click(0, "underflow");
    QCOMPARE(p.state.front_index(), std::size_t{0});
    p.double_click(0, "overflow");
    p.double_click(0, "regret");
    QStringList keys;
    for (const auto& one : asked) keys << one.first().toString();
    QCOMPARE(keys, (QStringList{"scale", "layers", "window", "policies"}));
    QTest::keyClick(&p.grid(), Qt::Key_Return);
    QCOMPARE(asked.size(), 5);
  }

  void small_pictures_tell_what_happened_and_the_worst_finding() {
    page p({without_scale()});
    for (const QSize size : {QSize(448, 244), QSize(688, 384), QSize(1068, 624)}) {
      const QString words =
          words_of(size, [&](QPainter& to, const QRectF& room) { p.view.draw(to, room, theme::light()); })
              .join(' ')
              .replace(QChar(0xA0), ' ');
      QVERIFY2(words.contains("What happened") && words.contains("What underflows in float16"), qPrintable(words));
      QVERIFY2(words.contains(p.view.cards().front().conclusion.left(20)), qPrintable(words));
    }
  }

  void cards_show_all_that_they_say_and_do_not_move() {
    page p({without_scale()});
    const auto buttons = p.view.findChildren<card_button*>();
    for (const card_button* const b : buttons)
      QVERIFY(b->height() >= static_cast<int>(card_height(b->font(), b->width(), b->card())));
    // The card of the replay has its place before it is known.
    const auto told = tell_story(*digits(), without_scale(), ulp::nobody());
    const auto before = cards_of(*told, nullptr, *digits(), p.state.front());
    QCOMPARE(before.size(), p.view.cards().size());
    QCOMPARE(before.front().question, p.card("under this replay")->question);
  }

  void the_table_has_room_for_its_rows() {
    page p({usual_scenario(), skipping_spec()});
    for (const int width : {400, 1000}) {
      p.view.resize(width, 700);
      QCoreApplication::processEvents();
      const QRect last = p.grid().visualRect(p.grid().model()->index(1, 0));
      QVERIFY2(last.bottom() <= p.grid().viewport()->height(), qPrintable(QString::number(width)));
    }
  }

  void the_story_is_told_in_the_background() {
    document doc;
    view_state state(doc);
    QWidget host;
    overview_view view(state, &host);
    host.resize(900, 600);
    view.resize(900, 600);
    host.show();
    doc.set({digits()}, {replayed(*digits(), usual_scenario())});
    QCoreApplication::processEvents();
    QVERIFY(view.cards().empty());
    QTRY_VERIFY_WITH_TIMEOUT(!view.cards().empty(), 30000);
    // Stays while nothing that it depends on changes; a replay in another format is another story.
    const auto before = view.first_lines().lines;
    state.set_cursor(3);
    state.set_tried_scale(5);
    QCoreApplication::processEvents();
    QCOMPARE(view.first_lines().lines, before);
    doc.change_replay(0, in_format("bfloat16"));
    QTRY_VERIFY_WITH_TIMEOUT(view.data().rows.front()[0].index() != 0 &&
                                 std::get<std::string>(view.data().rows.front()[0]).find("bfloat16") !=
                                     std::string::npos,
                             30000);
    QTRY_VERIFY_WITH_TIMEOUT(
        std::ranges::any_of(view.cards(), [](const story_card& c) { return c.question.contains("bfloat16"); }), 30000);
  }

  void a_run_under_an_fp8_recipe_has_its_story() {
    page p({usual_scenario()});
    QVERIFY(p.line("In FP8").isEmpty());
    QVERIFY(p.card("under te_delayed:hybrid") == nullptr);
    const std::size_t before = p.view.cards().size();
    p.state.set_fp8({.recipe = "te_delayed:hybrid"});
    QTRY_VERIFY_WITH_TIMEOUT(p.card("What saturates under te_delayed:hybrid?") != nullptr, 30000);
    QVERIFY(p.view.cards().size() >= before + 3);
    QVERIFY(std::ranges::is_sorted(p.view.cards(), {}, &story_card::grade));
    // As `ulp replay` counts.
    const program_result told = run_ulp("replay " + digits_path() + " --recipe te_delayed:hybrid --json");
    std::size_t tensors = 0;
    std::size_t saturating = 0;
    for (std::size_t at = 0; (at = told.out.find("\"saturating_steps\":", at)) != std::string::npos; ++tensors)
      saturating += std::stoi(told.out.substr(at += 19)) > 0 ? 1 : 0;
    QVERIFY(tensors > 0 && saturating > 0);
    const story_card* const card = p.card("What saturates under te_delayed:hybrid?");
    const QString expected = saturating == tensors ? QString("all %1 tensors saturate").arg(tensors)
                                                   : QString("%1 of %2 tensors saturate").arg(saturating).arg(tensors);
    QVERIFY2(card->conclusion.startsWith(expected), qPrintable(card->conclusion));
    QVERIFY2(p.line("In FP8").startsWith("under te_delayed:hybrid: " + card->conclusion), qPrintable(p.line("In FP8")));
    QCOMPARE(card->view, QString("tensor-scales"));
    QVERIFY(p.view.first_lines().grade <= card->grade);
    bool is_noted = false;
    for (const QLabel* const label : p.view.findChildren<QLabel*>())
      is_noted = is_noted || label->text().contains("not cast, as what products give is not: conv1.weight");
    QVERIFY(is_noted);
    // The first lines are those of the run, as before.
    QCOMPARE(p.line("What happened"), advised("What happened", digits_path()));
    p.state.set_fp8({.recipe = "te_current:hybrid"});
    QTRY_VERIFY_WITH_TIMEOUT(p.card("under te_current:hybrid") != nullptr, 30000);
    QVERIFY(p.card("under te_delayed:hybrid") == nullptr);
  }

  // Eight steps of TransformerEngine's amaxes, the run's scale set to 3 in one of them: see
  // tests/cli/runs/fp8_test.cpp.
  void a_recording_with_scales_of_its_own_is_held_against_the_replay() {
    const auto run = load_run({.inputs = {(source_dir() / "tests/data/live_scales.ulp").string()}}, ulp::nobody());
    page p({run}, {replayed(*run, usual_scenario())});
    QVERIFY2(p.line("In FP8").contains("choose its recipe and parameters in Tensor scales"),
             qPrintable(p.line("In FP8")));
    p.state.set_fp8({.recipe = "te_delayed:e5m2", .parameters = {"amax_history_len=4", "margin=1"}});
    QCoreApplication::processEvents();
    p.view.catch_up_now();
    const QString told = p.line("In FP8");
    for (const char* const part :
         {"under te_delayed:e5m2 amax_history_len=4 margin=1: ", "one infinite amax, first at step 5, kept",
          "for up to 3 steps in a row", "in 23 of 24 steps of a tensor", "at step 5, 1.GEMM1_WEIGHT"})
      QVERIFY2(told.contains(part), qPrintable(told));
    QVERIFY(p.view.first_lines().grade == finding_grade::trouble);
    QVERIFY(p.card("those that the run itself had") != nullptr);
    const QString words = words_of({1000, 700}, [&](QPainter& to, const QRectF& room) {
                            p.view.draw(to, room, theme::light());
                          }).join(' ');
    QVERIFY2(words.contains("In FP8"), qPrintable(words));
  }

  void amaxes_alone_have_a_story() {
    const temporary_dir dir;
    write_file(dir / "AMAX.csv", "step,tensor,amax\n0,a,1\n0,b,2\n1,a,inf\n1,b,300\n2,a,4\n2,b,1000\n");
    const auto run = load_run({.inputs = {(dir / "AMAX.csv").string()}}, ulp::nobody());
    QCOMPARE(run->picture.steps().size(), std::size_t{3});
    const page p({run}, {{}});
    QVERIFY2(p.line("In FP8").startsWith("under te_delayed:hybrid: "), qPrintable(p.line("In FP8")));
    QVERIFY(p.line("What happened").isEmpty());
    QVERIFY(p.card("What did amaxes do") != nullptr);
  }
};

QTEST_MAIN(overview_view_test)
#include "overview_view_test.moc"
