// Pins what all views look at: many changes are one signal, the cursor stands on steps of the run, zoom and filter are
// undone in order, filters select tensors, the scale that is tried out goes before that of the replay in front.
#include "viewmodel/view_state.hpp"

#include <QTest>
#include <memory>

#include <ulp/model/cells/cell_counter.hpp>

using namespace ulp;
using ulp::gui::document;
using ulp::gui::view_state;
using range = view_state::step_range;

namespace {

// Steps 0, 10, ..., 90 of three tensors.
std::shared_ptr<const gui::loaded_run> small_run() {
  const auto run = std::make_shared<gui::loaded_run>();
  run->text.inputs = {"small.ulp"};
  run->tensors = {{.name = "conv1.weight"}, {.name = "conv2.weight"}, {.name = "fc.bias"}};
  const std::vector<float> values{1e-6F, 0.5F, 2};
  for (int n = 0; n < 10; ++n) {
    step now;
    now.key.step = 10 * n;
    for (std::uint32_t t = 0; t < 3; ++t)
      now.tensors.push_back(
          {.tensor = t, .type = dtype::float32, .factor = 1, .table = count_cells(std::span{values})});
    run->picture.add(now, run->tensors);
  }
  return run;
}

// Skipped at 30 and 70; the scale is 2^(step / 10).
gui::replay_entry small_replay() {
  const auto result = std::make_shared<gui::drawn_replay>();
  for (int n = 0; n < 10; ++n) {
    replay_step s;
    s.step = 10 * n;
    s.scale_used = s.scale_next = std::ldexp(1.0, n);
    s.skipped = n == 3 || n == 7;
    result->steps.push_back(s);
  }
  return {.result = result, .failure = {}};
}

struct told_parts {
  explicit told_parts(view_state& state) {
    QObject::connect(&state, &view_state::changed, &state, [this](view_state::parts what) { all << what; });
  }
  // What was told since the last call, one value for each signal.
  QList<view_state::parts> take() {
    QCoreApplication::processEvents();
    return std::exchange(all, {});
  }
  QList<view_state::parts> all;
};

using parts = view_state::parts;
using signals_told = QList<parts>;

}  // namespace

class view_state_test : public QObject {
  Q_OBJECT

  document doc_;
  std::unique_ptr<view_state> state_;

 private slots:
  void init() {
    state_ = std::make_unique<view_state>(doc_);
    doc_.set({small_run()}, {small_replay(), small_replay()});
    QCoreApplication::processEvents();
  }

  void without_a_run_nothing_moves() {
    document none;
    view_state state(none);
    told_parts told(state);
    state.set_cursor(5);
    state.move_cursor(1);
    state.move_to_skip(1);
    state.set_shown({3, 4});
    state.undo();
    QCOMPARE(state.cursor_step(), 0);
    QCOMPARE(state.cursor_index(), std::size_t{0});
    QCOMPARE(state.scale_at(7), 1.0);
    QVERIFY(state.shown() == range{});
    QVERIFY(told.take().isEmpty());
  }

  void many_changes_are_one_signal() {
    told_parts told(*state_);
    state_->set_cursor(30);
    state_->set_cursor(40);
    state_->set_shown({20, 60});
    state_->set_tried_scale(3);
    QVERIFY(told.all.isEmpty());  // not before the event loop is reached
    QCOMPARE(told.take(),
             (signals_told{parts{view_state::cursor} | view_state::range | view_state::columns | view_state::scale}));
    state_->set_filter("conv");
    QCOMPARE(told.take(), (signals_told{view_state::tensors}));
  }

  void what_changes_nothing_is_not_told() {
    state_->set_cursor(30);
    state_->set_filter("conv");
    state_->set_tensor(1);
    state_->set_tried_scale(3);
    told_parts told(*state_);
    told.take();
    state_->set_cursor(30);
    state_->set_cursor(39);  // the step before 39 is 30
    state_->set_filter("conv");
    state_->set_tensor(1);
    state_->set_tried_scale(3);
    state_->set_front(0);
    state_->set_front(9);  // there is none
    state_->set_shown({0, 90});
    QVERIFY(told.take().isEmpty());
  }

  void changes_made_while_told_are_told_too() {
    QList<parts> all;
    connect(state_.get(), &view_state::changed, this, [&](parts what) {
      all << what;
      if (what == view_state::cursor) state_->set_tried_scale(4);
    });
    state_->set_cursor(50);
    QTRY_COMPARE(all.size(), 2);
    QCOMPARE(all, (signals_told{view_state::cursor, view_state::scale}));
  }

  void it_opens_at_the_first_overflow_that_was_logged() {
    document doc;
    view_state state(doc);
    const auto run = std::make_shared<gui::loaded_run>();
    run->text.inputs = {"overflowing.ulp"};
    for (int n = 0; n < 5; ++n) {
      step now;
      now.key.step = n;
      now.scalars.found_inf = n >= 3;
      run->picture.add(now, {});
    }
    doc.set({run}, {gui::replay_entry{}});
    QCoreApplication::processEvents();
    QCOMPARE(state.cursor_step(), 3);
  }

  void the_cursor_stands_on_steps_of_the_run() {
    const std::vector<std::pair<std::int64_t, std::int64_t>> wishes{{0, 0},   {10, 10}, {14, 10},  {19, 10},
                                                                    {89, 80}, {90, 90}, {500, 90}, {-3, 0}};
    for (const auto& [wish, step] : wishes) {
      state_->set_cursor(wish);
      QCOMPARE(state_->cursor_step(), step);
      QCOMPARE(state_->cursor_index(), static_cast<std::size_t>(step / 10));
    }
    state_->set_cursor(40);
    state_->move_cursor(2);
    QCOMPARE(state_->cursor_step(), 60);
    state_->move_cursor(-100);
    QCOMPARE(state_->cursor_step(), 0);
    state_->move_cursor(100);
    QCOMPARE(state_->cursor_step(), 90);
  }

  void the_cursor_moves_to_skipped_steps() {
    for (const std::int64_t step : {30, 70, 70}) {
      state_->move_to_skip(1);
      QCOMPARE(state_->cursor_step(), step);
    }
    for (const std::int64_t step : {30, 30}) {
      state_->move_to_skip(-1);
      QCOMPARE(state_->cursor_step(), step);
    }
  }

  void the_range_stays_inside_the_run() {
    QVERIFY(state_->shown() == (range{0, 90}));
    state_->set_shown({70, 20});
    QVERIFY(state_->shown() == (range{20, 70}));
    state_->set_shown({-50, 1000});
    QVERIFY(state_->shown() == state_->whole());
    state_->set_shown({400, 500});
    QVERIFY(state_->shown() == (range{90, 90}));
  }

  void a_pan_keeps_the_width_and_is_one_change() {
    state_->set_shown({20, 60});
    state_->pan_to(25);
    state_->pan_to(30);
    QVERIFY((state_->shown() == range{30, 70}));
    state_->pan_to(-1000);
    QCOMPARE(state_->shown().last - state_->shown().first, std::int64_t{40});
    QCOMPARE(state_->shown().first, state_->whole().first);
    state_->pan_to(1000000);
    QCOMPARE(state_->shown().last - state_->shown().first, std::int64_t{40});
    QCOMPARE(state_->shown().last, state_->whole().last);
    state_->undo();
    QVERIFY((state_->shown() == range{20, 60}));
    state_->pan_to(25);
    state_->set_shown({0, 10});
    state_->undo();
    QVERIFY((state_->shown() == range{25, 65}));
  }

  void zoom_and_filter_are_undone_in_order() {
    state_->set_shown({20, 70});
    state_->set_filter("conv");
    state_->set_tensor(1);
    state_->set_shown({30, 40});
    state_->set_cursor(50);  // is not undone
    state_->undo();
    QVERIFY(state_->shown() == (range{20, 70}));
    QCOMPARE(*state_->tensor(), 1U);
    state_->undo();
    QVERIFY(!state_->tensor());
    QCOMPARE(state_->filter(), QString("conv"));
    QCOMPARE(state_->selected(), (tensor_mask{true, true, false}));
    state_->undo();
    QCOMPARE(state_->filter(), QString());
    QCOMPARE(state_->selected(), (tensor_mask{true, true, true}));
    state_->undo();
    QVERIFY(state_->shown() == (range{0, 90}));
    told_parts told(*state_);
    told.take();
    state_->undo();  // nothing is left
    QVERIFY(told.take().isEmpty());
    QCOMPARE(state_->cursor_step(), 50);
  }

  void filters_select_tensors() {
    QVERIFY(state_->set_filter("weight$"));
    QCOMPARE(state_->filtered(), (tensor_mask{true, true, false}));
    for (const QString& none : {QString("conv("), QString("(?!fc)"), QString(20000, '(') + QString(20000, ')')}) {
      QVERIFY(!state_->set_filter(none));
      const QString problem = view_state::problem_with_filter(none);
      QVERIFY2(problem.contains(" is not a valid regular expression: ") && !problem.contains('\n'),
               qPrintable(problem));
    }
    QCOMPARE(state_->filter(), QString("weight$"));
    QCOMPARE(state_->filtered(), (tensor_mask{true, true, false}));
    state_->set_tensor(1);
    QCOMPARE(state_->filtered(), (tensor_mask{true, true, false}));
    QCOMPARE(state_->selected(), (tensor_mask{false, true, false}));
    QVERIFY(state_->set_filter("fc"));  // another filter ends the choice of one tensor
    QVERIFY(!state_->tensor());
    QCOMPARE(state_->selected(), (tensor_mask{false, false, true}));
    QVERIFY(state_->set_filter("none of these"));
    QCOMPARE(state_->selected(), (tensor_mask{false, false, false}));
  }

  void pictures_of_gradients_leave_out_weights() {
    gui::loaded_run run = *small_run();
    run.tensors[0].kind = tensor_kind::weight_grad;
    run.tensors[1].kind = tensor_kind::weight;
    run.tensors[2].kind = tensor_kind::update;
    QCOMPARE(state_->gradients_of(run), (tensor_mask{true, false, false}));
    QCOMPARE(state_->filtered(run), (tensor_mask{true, true, true}));
    run.text.kinds = {"fc=unknown"};  // says what tensors are, and selects none
    QCOMPARE(state_->gradients_of(run), (tensor_mask{true, false, false}));
    QVERIFY(state_->set_filter("conv2|fc"));  // no gradient is left
    QCOMPARE(state_->gradients_of(run), (tensor_mask{false, true, true}));
    QVERIFY(state_->set_filter(""));
    run.text.kinds = {"weight"};
    QCOMPARE(state_->gradients_of(run), (tensor_mask{false, true, false}));
  }

  void the_scale_is_that_of_the_front_replay_or_the_tried_one() {
    QCOMPARE(state_->scale_at(0), 1.0);
    QCOMPARE(state_->scale_at(35), 8.0);
    QCOMPARE(state_->scale_at(1000), 512.0);
    QCOMPARE(state_->scale_at(-5), 1.0);
    state_->set_tried_scale(-3);
    QCOMPARE(state_->scale_at(35), 0.125);
    state_->set_tried_scale(std::nullopt);
    QCOMPARE(state_->scale_at(35), 8.0);
  }

  void a_new_run_starts_afresh_but_keeps_the_filter() {
    state_->set_filter("conv");
    state_->set_tensor(1);
    state_->set_shown({20, 30});
    state_->set_cursor(50);
    told_parts told(*state_);
    told.take();
    const auto other = std::make_shared<ulp::gui::loaded_run>(*small_run());
    other->id = ulp::gui::new_run_id();
    other->text.inputs = {"other.ulp"};
    doc_.set({other}, {small_replay()});
    QCOMPARE(told.take(), (signals_told{parts{view_state::run} | view_state::replays | view_state::cursor |
                                        view_state::range | view_state::columns | view_state::tensors}));
    QVERIFY(state_->shown() == (range{0, 90}));
    QCOMPARE(state_->cursor_step(), 0);
    QVERIFY(!state_->tensor());
    QCOMPARE(state_->filtered(), (tensor_mask{true, true, false}));
    state_->undo();
    QVERIFY(state_->shown() == (range{0, 90}));
  }

  void the_same_run_read_again_is_looked_at_as_before() {
    state_->set_shown({20, 30});
    state_->set_cursor(50);
    doc_.set({small_run()}, {small_replay()});
    QVERIFY(state_->shown() == (range{20, 30}));
    QCOMPARE(state_->cursor_step(), 50);
    state_->set_shown(state_->whole());
    doc_.set({small_run()}, {small_replay()});
    QVERIFY(state_->shown() == state_->whole());
  }

  void the_run_in_more_detail_is_looked_at_as_before() {
    state_->set_shown({20, 30});
    state_->set_tensor(1);
    doc_.set({std::make_shared<ulp::gui::loaded_run>(*state_->shared_run())}, {small_replay()});
    QVERIFY(state_->shown() == (range{20, 30}));
    QCOMPARE(*state_->tensor(), 1U);
    state_->undo();
    QVERIFY(!state_->tensor());
  }

  void what_is_drawn_are_the_columns_of_the_steps_shown() {
    const auto& whole = *state_->drawn();
    QCOMPARE(whole.columns.size(), std::size_t{10});
    QVERIFY(whole.exact && whole.fine);
    QCOMPARE(whole.columns[3].span.first_step, 30);
    QCOMPARE(whole.columns[3].from, 30.0);
    QCOMPARE(whole.columns[3].to, 40.0);
    QCOMPARE(whole.edges().back(), 91.0);
    QCOMPARE(whole.at(39.9), std::size_t{3});
    QCOMPARE(whole.at(-5), std::size_t{0});
    state_->set_shown({25, 50});
    QCoreApplication::processEvents();
    const auto part = state_->drawn();
    QCOMPARE(part->columns.size(), std::size_t{4});
    QCOMPARE(part->columns.front().from, 25.0);
    QVERIFY(!part->exact);  // the first holds step 20
    QVERIFY(part->shown == (range{25, 50}));
    QCOMPARE(part->merged().entries.front().table.numel, std::uint64_t{4 * 3});
  }

  void a_column_has_the_scales_of_its_steps() {
    QCOMPARE(state_->scales_in(30, 59), (value_range{8, 32}));
    QCOMPARE(state_->scales_in(35, 39), (value_range{8, 8}));
    QCOMPARE(state_->scales_in(-5, -1), (value_range{1, 1}));
    state_->set_tried_scale(-3);
    QCOMPARE(state_->scales_in(0, 90), (value_range{0.125, 0.125}));
  }

  void the_run_is_that_of_the_replay_in_front() {
    const auto other = std::make_shared<ulp::gui::loaded_run>(*small_run());
    other->id = ulp::gui::new_run_id();
    other->text.inputs = {"other.ulp"};
    other->tensors.pop_back();
    ulp::step late;
    late.key.step = 200;
    other->picture.add(late, other->tensors);
    ulp::gui::replay_entry second = small_replay();
    second.run = 1;
    doc_.set({small_run(), other}, {small_replay(), second});
    // Both are seen whole, aligned by step.
    QVERIFY(state_->whole() == (range{0, 200}));
    QVERIFY(state_->shown() == (range{0, 200}));
    QCOMPARE(state_->current_run()->text.inputs.front(), std::string("small.ulp"));
    QCOMPARE(state_->selected().size(), std::size_t{3});
    state_->set_shown({20, 30});
    state_->set_cursor(50);
    state_->set_tensor(2);
    told_parts told(*state_);
    told.take();
    state_->set_front(1);
    QVERIFY(told.take().front().testFlag(view_state::run));
    QVERIFY(state_->shared_run() == other);
    QCOMPARE(state_->selected(), (tensor_mask{true, true}));
    QVERIFY(state_->shown() == (range{20, 30}));
    QCOMPARE(state_->cursor_step(), 50);
    doc_.remove_replay(1);
    QCOMPARE(state_->current_run()->text.inputs.front(), std::string("small.ulp"));
  }

  void a_run_that_is_added_is_seen_whole() {
    const auto first = state_->shared_run();
    const auto longer = std::make_shared<ulp::gui::loaded_run>(*small_run());
    longer->id = ulp::gui::new_run_id();
    longer->text.inputs = {"longer.ulp"};
    ulp::step late;
    late.key.step = 200;
    longer->picture.add(late, longer->tensors);
    ulp::gui::replay_entry second = small_replay();
    second.run = 1;
    state_->set_tensor(1);
    doc_.set({first, longer}, {small_replay(), second});
    QVERIFY(state_->shown() == (range{0, 200}));
    QCOMPARE(*state_->tensor(), 1U);
    doc_.remove_replay(1);
    QVERIFY(state_->shown() == (range{0, 90}));
  }

  void what_is_typed_letter_by_letter_is_undone_at_once() {
    state_->set_shown({20, 70});
    for (const char* const text : {"c", "co", "con"}) state_->set_filter(text);
    state_->set_shown({30, 40});
    state_->set_filter("fc");
    state_->undo();
    QCOMPARE(state_->filter(), QString("con"));
    state_->undo();
    QVERIFY(state_->shown() == (range{20, 70}));
    state_->undo();
    QCOMPARE(state_->filter(), QString());
  }

  void the_front_is_always_a_replay_that_exists() {
    state_->set_front(1);
    QCOMPARE(state_->front_index(), std::size_t{1});
    doc_.remove_replay(1);
    QCOMPARE(state_->front_index(), std::size_t{0});
    QVERIFY(state_->front().result != nullptr);
  }
};

QTEST_GUILESS_MAIN(view_state_test)
#include "view_state_test.moc"
