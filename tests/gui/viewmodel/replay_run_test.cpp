// Pins that the `ulp replay` line that is printed, run by the real ulp, gives the trajectory of the viewer, for every scaler
// and every part of a scenario and of a run, and that both refuse the same in the same words.

#include <QTest>
#include <exception>
#include <map>
#include <sstream>

#include <ulp/ask/questions/scenario_text.hpp>
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

}  // namespace

class replay_run_test : public QObject {
  Q_OBJECT

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
    std::shared_ptr<const ulp::gui::replayed_run> ours;
    std::string failure;
    try {
      const bool whole = run == ulp::run_text{.inputs = {digits_path()}};
      ours = whole ? replayed(*digits(), spec).result : replayed(*ulp::gui::load_run(run, [](double) {}), spec).result;
    } catch (const std::exception& problem) {
      failure = problem.what();
    }
    if (!failure.empty()) {
      QCOMPARE(printed.exit_code, 2);  // and both say why
      QVERIFY2(printed.err.find(failure) != std::string::npos, (failure + " / " + printed.err).c_str());
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
