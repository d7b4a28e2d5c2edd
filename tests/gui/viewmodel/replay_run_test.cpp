// Pins that the `ulp replay` line that is printed, run by the real ulp, gives the trajectory of the viewer, for every scaler
// and every part of a scenario and of a run, and that both refuse the same in the same words.

#include <QTest>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/report/tables/table.hpp>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using ulp::scenario_text;

namespace {

// Columns of a CSV file by their keys.
std::map<std::string, std::vector<std::string>> columns_of(const std::string& csv) {
  std::stringstream in(csv);
  std::string line;
  const auto fields = [&line] {
    std::vector<std::string> all;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) all.push_back(cell);
    return all;
  };
  std::getline(in, line);
  const auto keys = fields();
  std::map<std::string, std::vector<std::string>> columns;
  while (std::getline(in, line)) {
    auto cells = fields();
    cells.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) columns[keys[i]].push_back(cells[i]);
  }
  return columns;
}

// What `ulp` says on stderr after "ulp: PREFIX".
std::multiset<std::string> lines_of(const std::string& err, const std::string& prefix) {
  std::multiset<std::string> all;
  std::stringstream in(err);
  for (std::string line; std::getline(in, line);)
    if (const std::string start = "ulp: " + prefix; line.starts_with(start)) all.insert(line.substr(start.size()));
  return all;
}

std::multiset<std::string> together(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::multiset<std::string> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  return all;
}

// Two attempts, whose steps overlap.
void write_resumed(const std::string& path) {
  for (const std::int32_t attempt : {0, 1}) {
    ulp::recording_writer to(path,
                             attempt == 0 ? ulp::recording_writer::mode::create : ulp::recording_writer::mode::append);
    ulp::step now;
    now.tensors.push_back({.tensor = 0, .type = ulp::dtype::float32, .factor = 1});
    now.key.attempt = attempt;
    const std::vector<float> values{0x1p-20F, 1.0F};
    now.tensors[0].table = ulp::count_cells(std::span{values});
    for (now.key.step = attempt * 3; now.key.step < 6 + attempt * 3; ++now.key.step)
      to.write(now, {{.name = "w", .kind = ulp::tensor_kind::weight_grad}});
  }
}

}  // namespace

class replay_run_test : public QObject {
  Q_OBJECT

  [[nodiscard]] std::string resumed() const { return (dir_ / "resumed.ulp").string(); }
  const temporary_dir dir_;

 private slots:
  void the_printed_command_gives_the_same_trajectory_data() {
    QTest::addColumn<scenario_text>("spec");
    QTest::addColumn<ulp::run_text>("run");
    const ulp::run_text whole{.inputs = {digits_path()}};
    const auto row = [&](const char* name, const scenario_text& spec) { QTest::newRow(name) << spec << whole; };
    for (const ulp::scaler_entry& entry : ulp::scaler_catalog())
      row(std::string{entry.name}.c_str(), {.scaler = std::string{entry.name}, .format = "float16"});
    const auto skips = [&](const char* name, auto change) {
      scenario_text spec = skipping_spec();
      change(spec);
      row(name, spec);
    };
    skips("skipping", [](auto&) {});
    skips("checked", [](auto& s) { s.check = "^bn2\\.bias$"; });  // which overflows less often than the largest
    skips("start", [](auto& s) { s.start = {"scale=1e9", "_growth_tracker=42"}; });
    row("bfloat16", in_format("bfloat16"));
    row("e5m7", in_format("e5m7"));
    row("e8m0", in_format("e8m0"));
    skips("rounding", [](auto& s) { s.rounding.direction = "toward-zero"; });
    skips("seed", [](auto& s) { s.rounding = {.direction = "sr,bits=4", .seed = 17}; });
    skips("saturate", [](auto& s) { s.rounding.saturate = true; });
    skips("ftz, daz", [](auto& s) { s.rounding = {.daz = true, .flush = "after"}; });
    skips("clip norm", [](auto& s) { s.clip_norm = "2^-3"; });
    skips("clip norm 2^3", [](auto& s) { s.clip_norm = "2^3"; });
    skips("clip value", [](auto& s) { s.clip_value = "0.01"; });
    skips("order", [](auto& s) { s.clip_value = "0.01", s.order = "clip,check,unscale"; });
    const auto run = [&](const char* name, auto change) {
      ulp::run_text text = whole;
      change(text);
      QTest::newRow(name) << skipping_spec() << text;
    };
    run("tensor", [](auto& r) { r.tensor = "fc"; });
    run("kind", [](auto& r) { r.kinds = {"weight_grad"}; });
    run("kind rule", [](auto& r) { r.kinds = {"fc=weight_grad", "conv=weight", "weight_grad"}; });
    run("role rule", [](auto& r) { r.roles = {"fc=low"}; });
    run("steps", [](auto& r) { r.steps = "20:90"; });
    run("every", [](auto& r) { r.every = 7; });
    run("limit", [](auto& r) { r.limits = {"tensors=1000000"}; });
  }
  void the_printed_command_gives_the_same_trajectory() {
    QFETCH(const scenario_text, spec);
    QFETCH(const ulp::run_text, run);
    const auto printed = run_shell(command_of(spec, run) + " --csv -");
    std::shared_ptr<const ulp::gui::drawn_replay> ours;
    std::string failure;
    try {
      const bool whole = run == ulp::run_text{.inputs = {digits_path()}};
      ours = whole ? replayed(*digits(), spec).result : replayed(*ulp::gui::load_run(run, ulp::nobody()), spec).result;
    } catch (const std::exception& problem) {
      failure = problem.what();
    }
    if (!failure.empty()) {
      QCOMPARE(printed.exit_code, 2);  // and both say why
      QVERIFY2(lines_of(printed.err, "").contains(failure), (failure + " / " + printed.err).c_str());
      return;
    }
    QVERIFY2(printed.exit_code == 0, printed.err.c_str());
    auto theirs = columns_of(printed.out);
    QCOMPARE(theirs["step"].size(), ours->steps.size());
    for (std::size_t i = 0; i < ours->steps.size(); ++i) {
      const ulp::replay_step& s = ours->steps[i];
      QCOMPARE(std::to_string(s.step), theirs["step"][i]);
      QCOMPARE(ulp::shortest(s.scale_used), theirs["scale_used"][i]);
      QCOMPARE(ulp::shortest(s.scale_next), theirs["scale_next"][i]);
      QCOMPARE(std::string{s.skipped ? "1" : "0"}, theirs["skipped"][i]);
      QCOMPARE(std::to_string(s.underflow.low), theirs["underflow_low"][i]);
      QCOMPARE(std::to_string(s.underflow.high), theirs["underflow_high"][i]);
      QCOMPARE(std::to_string(s.overflow.low), theirs["overflow_low"][i]);
      if (!spec.clip_norm.empty()) QCOMPARE(ulp::shortest(s.clip_coefficient), theirs["clip_coefficient"][i]);
      if (!spec.clip_norm.empty() || !spec.clip_value.empty())
        QCOMPARE(std::string{s.clipped ? "1" : "0"}, theirs["clipped"][i]);
    }
  }

  void notes_and_warnings_are_those_of_ulp_data() {
    QTest::addColumn<scenario_text>("spec");
    QTest::addColumn<ulp::run_text>("run");
    const ulp::run_text whole{.inputs = {digits_path()}};
    const auto row = [&](const char* name, const scenario_text& spec, auto change) {
      ulp::run_text run = whole;
      change(run);
      QTest::newRow(name) << spec << run;
    };
    const auto same = [](auto&) {};
    row("usual", ulp::gui::usual_scenario(), same);
    row("skipping", skipping_spec(), same);
    row("policy", {.scaler = "tf_keras_dynamic", .format = "float16", .clip_norm = "1", .order = "clip,unscale,check"},
        same);
    row("group of no tensor", skipping_spec(), [](auto& r) { r.groups = {"none=no such tensor"}; });
    row("gaps", skipping_spec(), [](auto& r) { r.every = 7; });
    write_resumed(resumed());
    row("resumed", skipping_spec(), [&](auto& r) { r.inputs = {resumed()}, r.attempts = "all"; });
  }
  void notes_and_warnings_are_those_of_ulp() {
    QFETCH(const scenario_text, spec);
    QFETCH(const ulp::run_text, run);
    const auto printed = run_shell(command_of(spec, run));
    QVERIFY2(printed.exit_code == 0, printed.err.c_str());
    const auto loaded = ulp::gui::load_run(run, ulp::nobody());
    const auto drawn = ulp::gui::replay_run(*loaded, spec, ulp::nobody());
    QCOMPARE(together(loaded->notes, drawn->notes), lines_of(printed.err, "note: "));
    QCOMPARE(together(loaded->warnings, drawn->warnings), lines_of(printed.err, "warning: "));
  }

  void odd_names_of_files_survive_the_shell() {
    const temporary_dir dir;
    const auto odd = dir / "it's a \"run\" of $HOME.ulp";
    std::filesystem::copy_file(digits_path(), odd);
    const auto printed = run_shell(command_of(ulp::gui::usual_scenario(), {.inputs = {odd.string()}}) + " --csv -");
    QVERIFY2(printed.exit_code == 0, printed.err.c_str());
    QCOMPARE(columns_of(printed.out)["step"].size(), std::size_t{800});
  }
};

QTEST_GUILESS_MAIN(replay_run_test)
#include "replay_run_test.moc"
