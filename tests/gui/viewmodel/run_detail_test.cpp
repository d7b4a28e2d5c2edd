// Pins that finer columns count what the steps in them count, whatever they are read from, and that the steps shown are drawn in
// columns of three pixels or one step, after a moment.
#include "viewmodel/run_detail.hpp"

#include <QSignalSpy>
#include <QTest>
#include <filesystem>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "gui/support/fixture.hpp"
#include "viewmodel/view_state.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using ulp::gui::step_range;

namespace {

ulp::listener& quiet = ulp::nobody();
const ulp::tensor_mask both{true, true};

// 1 and 2^-(step mod 30) in each of two tensors; of every second step.
std::string long_recording(const temporary_dir& dir, std::int64_t steps) {
  const std::string path = (dir / "long.ulp").string();
  ulp::recording_writer to(path, ulp::recording_writer::mode::create);
  ulp::step now;
  now.tensors = {{.tensor = 0, .type = ulp::dtype::float32, .factor = 1},
                 {.tensor = 1, .type = ulp::dtype::float32, .factor = 2}};
  for (std::int64_t n = 0; n < steps; ++n) {
    now.key.step = 2 * n;
    const std::vector<float> values{1, std::ldexp(1.0F, -static_cast<int>(now.key.step % 30))};
    for (auto& t : now.tensors) t.table = ulp::count_cells(std::span{values});
    to.write(now, {{.name = "a", .kind = ulp::tensor_kind::weight_grad},
                   {.name = "b", .kind = ulp::tensor_kind::weight_grad}});
  }
  to.close();
  return path;
}

std::map<int, double> counted(const ulp::tensor_tables& tables) { return tables.binades(both).by_exponent; }

// What the recording above holds of the even steps from first to last.
std::map<int, double> expected(std::int64_t first, std::int64_t last) {
  std::map<int, double> all;
  for (std::int64_t step = first + (first & 1); step <= last; step += 2)
    for (const int tensor : {0, 1}) {
      ++all[-tensor];
      ++all[-static_cast<int>(step % 30) - tensor];
    }
  return all;
}

void check(const loaded_run& run, step_range range, std::size_t width) {
  const auto detail = detail_of(run, range, width, quiet);
  QCOMPARE(detail->columns.size(), detail->spans.size());
  QVERIFY(detail->range == range);
  ulp::tensor_tables all;
  for (std::size_t c = 0; c < detail->columns.size(); ++c) {
    const ulp::column_span& span = detail->spans[c];
    QVERIFY(range.first <= span.first_step && span.last_step <= range.last);
    if (c > 0) QVERIFY(detail->spans[c - 1].last_step < span.first_step);
    QCOMPARE(counted(detail->columns[c]), expected(span.first_step, span.last_step));
    all.merge(detail->columns[c]);
  }
  QCOMPARE(counted(all), expected(range.first, range.last));
}

}  // namespace

class run_detail_test : public QObject {
  Q_OBJECT

 private slots:
  void finer_columns_count_what_their_steps_count() {
    const temporary_dir dir;
    const auto run = load_run({.inputs = {long_recording(dir, 700)}}, quiet);
    for (const std::size_t width : {1, 3, 64, 200})
      for (const step_range range : {step_range{0, 1398}, step_range{5, 5}, step_range{6, 6}, step_range{100, 131},
                                     step_range{63, 513}, step_range{128, 255}})
        check(*run, range, width);
    QCOMPARE(detail_of(*run, {10, 29}, 1, quiet)->columns.size(), std::size_t{10});
    QCOMPARE(detail_of(*run, {10, 29}, 4, quiet)->columns.size(), std::size_t{3});
  }

  void other_inputs_are_read_once_more() {
    const auto labelled = load_run({.inputs = {digits_path()}, .factor = "1"}, quiet);
    const auto from_labelled = detail_of(*labelled, {100, 119}, 2, quiet);
    QCOMPARE(from_labelled->columns.size(), std::size_t{10});
    const auto as_it_is = detail_of(*digits(), {100, 119}, 2, quiet);
    const ulp::tensor_mask all(18, true);
    for (std::size_t c = 0; c < 10; ++c)
      QCOMPARE(from_labelled->columns[c].binades(all).by_exponent, as_it_is->columns[c].binades(all).by_exponent);
    const auto few = load_run({.inputs = {digits_path()}, .steps = "100:110", .every = 5}, quiet);
    QCOMPARE(detail_of(*few, {100, 109}, 1, quiet)->columns.size(), std::size_t{2});
  }

  void what_is_shown_is_refined_after_a_moment() {
    document doc;
    view_state state(doc);
    doc.set({digits()}, {replayed(*digits(), usual_scenario())});
    QTRY_VERIFY(state.drawn()->fine);
    QCOMPARE(state.drawn()->columns.size(), std::size_t{400});  // three pixels each
    state.set_shown({101, 150});
    QVERIFY(!state.drawn()->fine || !state.drawn()->exact);
    const auto before = state.drawn();
    QTRY_VERIFY(state.drawn()->fine);
    QCOMPARE(state.drawn()->columns.size(), std::size_t{50});
    QVERIFY(state.drawn()->exact);
    for (const drawn_column& c : state.drawn()->columns) QCOMPARE(c.span.first_step, c.span.last_step);
    // What somebody still draws stays what it was.
    QVERIFY(!before->columns.empty() && before->columns.front().tables->entries.size() == 18);
    // Half of what was read is still in the picture.
    state.set_shown({126, 175});
    QCoreApplication::processEvents();
    QVERIFY(!state.drawn()->exact);
    QCOMPARE(state.drawn()->columns.front().span.last_step, 126);
    QTRY_VERIFY(state.drawn()->fine);
    QCOMPARE(state.drawn()->columns.size(), std::size_t{50});
  }

  void long_runs_show_blocks_before_steps() {
    const temporary_dir dir;
    const auto run = load_run({.inputs = {long_recording(dir, 11'000)}}, quiet);
    QVERIFY(is_slow_in_steps(*run, {0, 21'998}));
    document doc;
    view_state state(doc);
    doc.set({run}, {{.result = replay_run(*run, usual_scenario(), quiet)}});
    QList<std::size_t> sizes;
    connect(&state, &view_state::changed, this, [&](view_state::parts what) {
      if (what.testFlag(view_state::columns)) sizes << state.drawn()->columns.size();
    });
    QTRY_VERIFY(state.drawn()->fine);
    QVERIFY(state.drawn()->columns.size() > 350 && state.drawn()->columns.size() <= 400);
    QVERIFY(sizes.size() >= 2);
    QVERIFY(std::ranges::is_sorted(sizes));
  }

  void a_run_that_is_read_again_while_it_is_refined_is_not_mixed_with_the_old_one() {
    document doc;
    view_state state(doc);
    doc.set({digits()}, {replayed(*digits(), usual_scenario())});
    for (int i = 0; i < 20; ++i) {
      state.set_shown({10 * i, 10 * i + 99});
      QTest::qWait(85 + 2 * i);  // about when it is refined
      const auto again = std::make_shared<loaded_run>(*digits());
      again->id = new_run_id();
      doc.set({again}, {replay_entry{.result = replayed(*digits(), usual_scenario()).result}});
      QVERIFY(!state.drawn()->detail || state.drawn()->detail->run == state.shared_run()->id);
    }
    QTRY_VERIFY(state.drawn()->fine);
    QCOMPARE(state.drawn()->columns.size(), std::size_t{100});
  }

  void a_picture_on_paper_is_refined_at_once() {
    document doc;
    view_state state(doc);
    doc.set({digits()}, {replayed(*digits(), usual_scenario())});
    state.set_shown({0, 99});
    state.refine_now();
    QVERIFY(state.drawn()->fine);
    QCOMPARE(state.drawn()->columns.size(), std::size_t{100});
  }

  void a_file_that_is_gone_is_said_so() {
    const temporary_dir dir;
    const std::string path = (dir / "gone.ulp").string();
    std::filesystem::copy(digits_path(), path);
    const auto run = load_run({.inputs = {path}}, quiet);
    document doc;
    view_state state(doc);
    doc.set({run}, {replay_entry{.result = replayed(*digits(), usual_scenario()).result}});
    std::filesystem::remove(path);
    QSignalSpy failed(&state, &view_state::refining_failed);
    state.set_shown({10, 20});
    QTRY_COMPARE(failed.size(), 1);
    QVERIFY(failed[0][0].toString().contains("gone.ulp"));
    QVERIFY(!state.drawn()->columns.empty());
  }
};

QTEST_GUILESS_MAIN(run_detail_test)
#include "run_detail_test.moc"
