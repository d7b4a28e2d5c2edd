// Pins the open run and its replays: that reading and replaying end in what the libraries say, that a change drops what
// was being computed, that a bad input leaves what was open, and that a replay that fails stops no other.
#include "viewmodel/document.hpp"

#include <QSignalSpy>
#include <QTest>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>

#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using ulp::first_look;
using ulp::scenario_text;
using ulp::gui::document;
using ulp::gui::drawn_replay;
using ulp::gui::load_run;
using ulp::gui::loaded_run;
using ulp::gui::replay_entry;
using ulp::gui::replay_run;
using ulp::gui::tables_of_step;

namespace {

// Does not want what it is told of.
class stopping final : public ulp::listener {
 public:
  void note(const std::string& /*line*/) override {}
  void warn(const std::string& /*line*/) override {}
  void tell(const std::string& /*line*/) override {}
  void configured(const ulp::configuration& /*by*/) override {}
  void begin(const std::string& /*unit*/, std::uint64_t /*total*/) override {}
  void advance() override { throw ulp::gui::background::stopped{}; }
  void end() noexcept override {}
};

std::vector<double> scales(const drawn_replay& r) {
  std::vector<double> all;
  for (const ulp::replay_step& s : r.steps) all.push_back(s.scale_used);
  return all;
}

scenario_text from_scale(const std::string& init_scale) {
  scenario_text spec = ulp::gui::usual_scenario();
  set_parameter(spec, "init_scale", init_scale);
  return spec;
}

void open_digits(document& doc) {
  doc.open({digits_path()});
  QTRY_VERIFY(doc.run() != nullptr);
  QTRY_VERIFY(!doc.busy());
}

}  // namespace

class document_test : public QObject {
  Q_OBJECT

 private slots:
  void opening_reads_and_replays() {
    document doc;
    QSignalSpy run(&doc, &document::run_changed);
    QSignalSpy idle(&doc, &document::idle);
    QSignalSpy failed(&doc, &document::failed);
    doc.open({digits_path()});
    QVERIFY(doc.busy());
    QVERIFY(doc.run() == nullptr);
    QVERIFY(idle.wait(20000));
    QVERIFY(!doc.busy());
    QCOMPARE(run.count(), 1);
    QCOMPARE(idle.count(), 1);
    QCOMPARE(failed.count(), 0);
    QCOMPARE(doc.run()->picture.steps().size(), std::size_t{800});
    QCOMPARE(doc.run()->tensors.size(), std::size_t{18});
    QCOMPARE(doc.replays().size(), std::size_t{1});
    QVERIFY(doc.replays()[0].result != nullptr);
    QCOMPARE(doc.replays()[0].result->steps.size(), std::size_t{800});
    QVERIFY(doc.replays()[0].result->checked.find("13 weight gradients") != std::string::npos);
  }

  void a_change_while_computing_leaves_the_last() {
    document doc;
    doc.open({digits_path()});
    QTRY_VERIFY(doc.run() != nullptr);  // the first replay has just been started
    for (const char* const scale : {"1024", "4096", "16384"}) doc.change_replay(0, from_scale(scale));
    doc.add_replay(from_scale("8"));
    doc.change_replay(0, from_scale("16777216"));
    QTRY_VERIFY(!doc.busy());
    QCOMPARE(doc.replays().size(), std::size_t{2});
    for (const replay_entry& r : doc.replays()) {
      QVERIFY(r.result != nullptr);
      QCOMPARE(scales(*r.result), scales(*replayed(*digits(), r.spec).result));
    }
    QCOMPARE(doc.replays()[0].result->steps.front().scale_used, 16777216.0);
    QVERIFY(doc.replays()[0].result->summary.skipped > 0);
  }

  void a_changed_replay_never_shows_another_result() {
    document doc;
    open_digits(doc);
    bool wrong = false;
    connect(&doc, &document::replays_changed, this, [&] {
      for (const replay_entry& r : doc.replays())
        if (r.result && !r.spec.parameters.empty() &&
            r.result->steps.front().scale_used != std::stod(*parameter_of(r.spec, "init_scale")))
          wrong = true;
    });
    for (int i = 4; i < 12; ++i) {
      doc.change_replay(0, from_scale(std::to_string(1 << i)));
      QTest::qWait(i);  // sometimes before, sometimes after the result
    }
    QTRY_VERIFY(!doc.busy());
    QVERIFY(!wrong);
    QCOMPARE(doc.replays()[0].result->steps.front().scale_used, 2048.0);
  }

  void replays_are_added_and_removed() {
    document doc;
    open_digits(doc);
    for (int i = 0; i < 8; ++i) doc.add_replay(from_scale(std::to_string(2 << i)));
    QCOMPARE(doc.replays().size(), document::most_replays);
    doc.remove_replay(1);  // while it, or one before it, is computed
    QTRY_VERIFY(!doc.busy());
    QCOMPARE(doc.replays().size(), document::most_replays - 1);
    QVERIFY(std::ranges::all_of(doc.replays(), [](const replay_entry& r) { return r.result != nullptr; }));
    QCOMPARE(doc.replays()[1].result->steps.front().scale_used, 4.0);
    while (doc.replays().size() > 1) doc.remove_replay(0);
    doc.remove_replay(0);  // there always is one
    QCOMPARE(doc.replays().size(), std::size_t{1});
    QCOMPARE(doc.replays()[0].result->steps.front().scale_used, 32.0);
  }

  void the_same_specification_twice_gives_two_results() {
    document doc;
    open_digits(doc);
    doc.add_replay(ulp::gui::usual_scenario());
    QTRY_VERIFY(!doc.busy());
    QVERIFY(doc.replays()[0].result != nullptr && doc.replays()[1].result != nullptr);
  }

  void a_bad_input_leaves_what_was_open() {
    const temporary_dir dir;
    document doc;
    open_digits(doc);
    const auto before = doc.run();
    for (const std::filesystem::path& bad : bad_inputs(dir.path())) {
      QSignalSpy failed(&doc, &document::failed);
      doc.open({bad.string()});
      QTRY_VERIFY(!doc.busy());
      QVERIFY2(failed.count() == 1, bad.c_str());
      const QString why = failed.front().front().toString();
      QVERIFY2(why.contains(QString::fromStdString(bad.filename().string())) && !why.contains('\n'), qPrintable(why));
      QVERIFY(doc.run() == before);
      QVERIFY(doc.replays()[0].result != nullptr);
    }
    document fresh;
    fresh.open({(dir / "empty.ulp").string()});
    QTRY_VERIFY(!fresh.busy());
    QVERIFY(fresh.run() == nullptr);
  }

  void a_replay_that_fails_stops_no_other() {
    const temporary_dir dir;
    // Only whether there was an overflow is known.
    write_file(dir / "log.csv", "step,found_inf\n1,0\n2,1\n3,0\n");
    document doc;
    doc.open({(dir / "log.csv").string()});
    QTRY_VERIFY(doc.run() != nullptr);
    scenario_text largest = ulp::gui::usual_scenario();
    largest.scaler = "openseq2seq_logmax";  // follows the largest gradient
    doc.add_replay(largest);
    doc.add_replay(from_scale("8"));
    QTRY_VERIFY(!doc.busy());
    QVERIFY(doc.replays()[0].result != nullptr);
    QCOMPARE(doc.replays()[0].result->steps.size(), std::size_t{3});
    QVERIFY(doc.replays()[0].result->steps[1].skipped);
    QVERIFY(doc.replays()[1].result == nullptr);
    QVERIFY2(doc.replays()[1].failure.contains("largest gradient"), qPrintable(doc.replays()[1].failure));
    QVERIFY(doc.replays()[2].result != nullptr);
  }

  void an_input_that_vanished_fails_the_replay_with_a_reason() {
    const temporary_dir dir;
    std::filesystem::copy_file(digits_path(), dir / "run.ulp");
    document doc;
    doc.open({(dir / "run.ulp").string()});
    QTRY_VERIFY(doc.run() != nullptr);
    QTRY_VERIFY(!doc.busy());
    std::filesystem::remove(dir / "run.ulp");
    doc.change_replay(0, from_scale("8"));
    QTRY_VERIFY(!doc.busy());
    QVERIFY(doc.replays()[0].result == nullptr);
    QVERIFY2(doc.replays()[0].failure.contains("run.ulp"), qPrintable(doc.replays()[0].failure));
    doc.reload();
    QSignalSpy failed(&doc, &document::failed);
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(doc.run() != nullptr);
  }

  void a_cancel_leaves_what_was_open() {
    document doc;
    QSignalSpy idle(&doc, &document::idle);
    doc.open({digits_path()});
    doc.cancel();
    QVERIFY(!doc.busy());
    QCOMPARE(idle.count(), 1);
    QTest::qWait(50);
    QVERIFY(doc.run() == nullptr);
    open_digits(doc);
    QVERIFY(doc.replays()[0].result != nullptr);
  }

  void a_cancelled_replay_is_not_waited_for() {
    document doc;
    doc.set({digits()}, {replay_entry{}});
    doc.add_replay(from_scale("4"));
    doc.cancel();
    QVERIFY(!doc.busy());
    const auto awaited = [](const replay_entry& r) { return !r.result && r.failure.isEmpty(); };
    QVERIFY(std::ranges::none_of(doc.replays(), awaited));
  }

  void the_last_opened_counts() {
    const temporary_dir dir;
    write_file(dir / "log.csv", "step,maxabs\n1,3\n");
    document doc;
    QSignalSpy run(&doc, &document::run_changed);
    doc.open({digits_path()});
    doc.open({(dir / "log.csv").string()});
    QTRY_VERIFY(!doc.busy());
    QCOMPARE(run.count(), 1);
    QCOMPARE(doc.run()->picture.steps().size(), std::size_t{1});
    QCOMPARE(doc.replays()[0].result->steps.size(), std::size_t{1});
  }

  void a_run_begins_with_its_own_scaler_until_one_is_chosen() {
    document doc;
    const auto open = [&](const std::filesystem::path& file) {
      doc.open({file.string()});
      QTRY_VERIFY(doc.run() != nullptr);
      QTRY_VERIFY(!doc.busy());
    };
    open(source_dir() / "examples/digits.ulp");
    const scenario_text own = doc.replays()[0].spec;
    QCOMPARE(own.scaler, std::string{"pytorch_gradscaler"});
    QCOMPARE(parameter_of(own, "growth_interval"), std::optional<std::string>{"20"});
    const auto& steps = doc.run()->picture.steps();
    for (std::size_t i = 0; i < steps.size(); ++i)
      QCOMPARE(doc.replays()[0].result->steps[i].scale_used, steps[i].scalars.loss_scale);
    // The next run has another, and its own.
    const temporary_dir dir;
    std::string rows = "step,grad_norm,loss_scale,found_inf\n";
    for (int i = 0; i < 30; ++i)
      rows += std::to_string(i) + ",1.5," + (i < 12 ? "1024" : "512") + (i == 11 ? ",1\n" : ",0\n");
    std::ofstream(dir / "run.csv") << rows;
    open(dir / "run.csv");
    QCOMPARE(parameter_of(doc.replays()[0].spec, "init_scale"), std::optional<std::string>{"1024"});
    QCOMPARE(parameter_of(doc.replays()[0].spec, "growth_interval"), std::optional<std::string>{});
    // One that was chosen stays.
    doc.change_replay(0, from_scale("256"));
    open(source_dir() / "examples/digits.ulp");
    QCOMPARE(doc.replays()[0].spec, from_scale("256"));
  }

  void runs_are_compared() {
    document doc;
    open_digits(doc);
    const auto first = doc.run();
    QCOMPARE(doc.title_of(doc.replays()[0]), QString("pytorch_gradscaler, float16"));
    const temporary_dir dir;
    const auto copy = dir / "digits.ulp";
    std::filesystem::copy_file(digits_path(), copy);
    doc.compare({copy.string()});
    QTRY_COMPARE(doc.replays().size(), std::size_t{2});
    QTRY_VERIFY(!doc.busy());
    QCOMPARE(doc.runs().size(), std::size_t{2});
    QVERIFY(doc.run_of(doc.replays()[1]) == doc.runs()[1]);
    QVERIFY(doc.run_of(doc.replays()[0]) == first);
    QCOMPARE(scales(*doc.replays()[1].result), scales(*doc.replays()[0].result));
    // Files of one name are told apart by their folders.
    QVERIFY(doc.title_of(doc.replays()[0]) != doc.title_of(doc.replays()[1]));
    QVERIFY(doc.title_of(doc.replays()[0]).startsWith("octaves/digits.ulp: "));

    doc.make_first(1);
    QVERIFY(doc.run() == doc.runs()[1]);
    QVERIFY(doc.replays()[1].result != nullptr);
    doc.reload();
    QTRY_VERIFY(!doc.busy());
    QCOMPARE(doc.runs().size(), std::size_t{2});
    QCOMPARE(doc.run()->text.inputs.front(), copy.string());
    // A run that no replay is of is closed.
    doc.remove_replay(1);
    QCOMPARE(doc.runs().size(), std::size_t{1});
    QCOMPARE(doc.run()->text.inputs.front(), copy.string());
    QTRY_VERIFY(!doc.busy());
    QVERIFY(doc.replays()[0].result != nullptr);
  }

  void what_cannot_be_compared_leaves_what_was_open() {
    document doc;
    open_digits(doc);
    QSignalSpy failed(&doc, &document::failed);
    doc.compare({"/no/such/file.ulp"});
    QTRY_COMPARE(failed.count(), 1);
    QCOMPARE(doc.runs().size(), std::size_t{1});
    for (int i = 1; i < 6; ++i) doc.add_replay(from_scale(std::to_string(1 << i)));
    doc.compare({digits_path()});
    QCOMPARE(failed.count(), 2);
    QCOMPARE(doc.replays().size(), std::size_t{6});
  }

  void a_run_that_lacks_ranks_says_so_however_long() {
    for (const std::int64_t steps : {3, 2100}) {
      const temporary_dir dir;
      const std::string path = (dir / "part.ulp").string();
      {
        ulp::recording_writer to(path, ulp::recording_writer::mode::create,
                                 {.run_id = "r", .rank = 1, .world = 3, .layout = "shard"});
        ulp::step now{.ranks = {1}};
        now.tensors.push_back({.tensor = 0, .type = ulp::dtype::float32});
        const std::vector<float> values{1, 2};  // of which 3 steps do not tell the role, and many do
        now.tensors[0].table = ulp::count_cells(std::span{values});
        for (now.key.step = 0; now.key.step < 2 * steps; now.key.step += 2)
          to.write(now, {{.name = "w", .kind = ulp::tensor_kind::weight_grad}});
      }
      const auto run = load_run({.inputs = {path}}, ulp::nobody());
      const auto told = [](const std::vector<std::string>& notes, const char* text) {
        return std::ranges::any_of(notes, [&](const std::string& n) { return n.find(text) != std::string::npos; });
      };
      QVERIFY(told(run->warnings, "every step lacks ranks, the first is step 0, which has rank 1 of 3"));
      QVERIFY(told(run->notes, "the factor of the recorded values is not known"));
      const auto replayed = replay_run(*run, ulp::gui::usual_scenario(), ulp::nobody());
      QVERIFY(told(replayed->notes, "steps are missing (after 0 comes 2)"));
      QCOMPARE(told(replayed->notes, "roles are unknown"), steps == 3);
      QCOMPARE(told(run->notes, "roles are inferred from the values"), steps != 3);
    }
  }

  void damage_that_is_not_read_is_refused_when_a_run_is_opened() {
    const temporary_dir dir;
    const std::string path = (dir / "damaged.ulp").string();
    QVERIFY(run_ulp("record examples/digits.step00100.safetensors -o '" + path + "'").exit_code == 0);
    const std::string good = read_file(path);
    ulp::listener& quiet = ulp::nobody();
    const auto problem_of = [](const auto& work) {
      try {
        work();
      } catch (const ulp::input_error& problem) {
        return QString::fromUtf8(problem.what());
      }
      return QString();
    };
    int unread = 0;
    for (std::size_t at = 100; at < good.size(); at += 1009) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
      write_file(path, bytes);
      const QString checked = problem_of([&] { ulp::refuse_damaged(path); });
      const QString opened = problem_of([&] { static_cast<void>(load_run({.inputs = {path}}, quiet)); });
      QCOMPARE(opened.isEmpty(), checked.isEmpty());
      const QString again = problem_of([&] { static_cast<void>(load_run({.inputs = {path}}, quiet, first_look::no)); });
      if (checked.isEmpty() || !again.isEmpty()) continue;
      if (unread++ > 0) continue;
      document doc;
      QSignalSpy failed(&doc, &document::failed);
      doc.open({path});
      QTRY_COMPARE(failed.count(), 1);
      QCOMPARE(failed[0][0].toString(), checked);
      QVERIFY(doc.run() == nullptr);
    }
    QVERIFY(unread > 0);
  }

  void what_is_checked_wholly_can_be_cancelled() {
    stopping to;
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(load_run({.inputs = {digits_path()}}, to)),
                             ulp::gui::background::stopped);
  }

  void a_check_of_no_tensor_is_said() {
    scenario_text blind = ulp::gui::usual_scenario();
    blind.check = "no such tensor";
    QVERIFY_EXCEPTION_THROWN(static_cast<void>(replay_run(*digits(), blind, ulp::nobody())), std::invalid_argument);
  }

  void of_a_resumed_run_the_last_attempts_are_shown() {
    const temporary_dir dir;
    const std::string path = (dir / "resumed.ulp").string();
    for (const std::int32_t attempt : {0, 1}) {
      ulp::recording_writer to(path, attempt == 0 ? ulp::recording_writer::mode::create
                                                  : ulp::recording_writer::mode::append);
      ulp::step now;
      now.tensors.push_back({.tensor = 0, .type = ulp::dtype::float32, .factor = 1});
      now.key.attempt = attempt;
      const std::vector<float> values(static_cast<std::size_t>(1 + attempt), std::ldexp(1.0F, attempt));
      now.tensors[0].table = ulp::count_cells(std::span{values});
      for (now.key.step = attempt * 1000; now.key.step < 2000 + attempt * 100; ++now.key.step)
        to.write(now, {{.name = "w", .kind = ulp::tensor_kind::weight_grad}});
    }
    ulp::listener& quiet = ulp::nobody();
    // By blocks, and step by step.
    for (const auto& text : {ulp::run_text{.inputs = {path}}, ulp::run_text{.inputs = {path}, .tensor = "w"}}) {
      const auto run = load_run(text, quiet);
      QCOMPARE(run->picture.steps().size(), std::size_t{2100});
      double once = 0;
      for (const auto& c : run->picture.columns().columns())
        for (const auto& [exponent, count] : c.binades({true}).by_exponent) once += count;
      QCOMPARE(once, 1000.0 + 2 * 1100.0);
      QVERIFY(std::ranges::any_of(run->notes, [](const std::string& n) {
        return n.find("1000 steps were recorded more than once") != n.npos;
      }));
      const std::map<int, double> last{{1, 2.0}};
      QCOMPARE(tables_of_step(*run, 1500, quiet).binades({true}).by_exponent, last);
      QCOMPARE(replay_run(*run, ulp::gui::usual_scenario(), quiet)->steps.size(), std::size_t{2100});
    }
    QCOMPARE(load_run({.inputs = {path}, .attempts = "all"}, quiet)->picture.steps().size(), std::size_t{3100});
  }

  void the_document_may_end_while_it_reads() {
    document doc;
    doc.open({digits_path()});
  }

  void the_document_may_end_while_it_replays() {
    document doc;
    doc.set({digits()}, {replay_entry{}});
    doc.add_replay(from_scale("4"));
  }
};

QTEST_GUILESS_MAIN(document_test)
#include "document_test.moc"
