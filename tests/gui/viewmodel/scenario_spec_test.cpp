// Pins scenarios as they are typed: what is refused and in which words, how they are named, and that the `ulp replay`
// line that is printed, run by the real ulp, gives the trajectory of the viewer, for every scaler and every part of a
// scenario.
#include "viewmodel/scenario_spec.hpp"

#include <QTest>
#include <map>
#include <sstream>
#include <stdexcept>

#include <ulp/model/scaler.hpp>
#include <ulp/report/table.hpp>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using ulp::gui::scenario_spec;

namespace {

std::string refusal(const scenario_spec& spec) {
  try {
    static_cast<void>(scenario_of(spec));
    return "";
  } catch (const std::invalid_argument& mistake) {
    return mistake.what();
  }
}

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

class scenario_spec_test : public QObject {
  Q_OBJECT

 private slots:
  void mistakes_are_refused_in_words_data() {
    QTest::addColumn<scenario_spec>("spec");
    QTest::addColumn<std::string>("word");  // that the refusal names
    QTest::newRow("scaler") << scenario_spec{.scaler = "nosuch"} << std::string{"'nosuch'"};
    QTest::newRow("parameter") << scenario_spec{.parameters = {{"nosuch", "1"}}} << std::string{"nosuch"};
    QTest::newRow("parameter twice") << scenario_spec{.parameters = {{"init_scale", "1"}, {"init_scale", "2"}}}
                                     << std::string{"init_scale"};
    QTest::newRow("value") << scenario_spec{.parameters = {{"init_scale", "many"}}} << std::string{"init_scale"};
    QTest::newRow("format") << scenario_spec{.format = "float17"} << std::string{"float17"};
    QTest::newRow("no format") << scenario_spec{.format = ""} << std::string{"format"};
    QTest::newRow("rounding") << scenario_spec{.rounding = "sideways"} << std::string{"sideways"};
    QTest::newRow("norm") << scenario_spec{.clip_norm = "wide"} << std::string{"'wide'"};
    QTest::newRow("norm 0") << scenario_spec{.clip_norm = "0"} << std::string{"clip norm"};
    QTest::newRow("norm inf") << scenario_spec{.clip_norm = "inf"} << std::string{"clip norm"};
    QTest::newRow("norm 1x") << scenario_spec{.clip_norm = "1x"} << std::string{"'1x'"};
    QTest::newRow("value below 0") << scenario_spec{.clip_value = "-1"} << std::string{"clip value"};
    QTest::newRow("both") << scenario_spec{.clip_norm = "1", .clip_value = "1"} << std::string{"not by both"};
    QTest::newRow("check") << scenario_spec{.check = "conv("} << std::string{"'conv('"};
    QTest::newRow("check: nested") << scenario_spec{.check = std::string(20000, '(') + std::string(20000, ')')}
                                   << std::string{"checked tensors: '(((("};
    QTest::newRow("check: look-around") << scenario_spec{.check = "(?!conv)"} << std::string{"RE2 has no look-around"};
  }
  void mistakes_are_refused_in_words() {
    QFETCH(const scenario_spec, spec);
    QFETCH(const std::string, word);
    const std::string why = refusal(spec);
    QVERIFY2(why.find(word) != std::string::npos, why.c_str());
    QVERIFY(why.find('\n') == std::string::npos);
  }

  void what_is_typed_is_what_is_meant() {
    QCOMPARE(refusal({}), std::string{});
    const ulp::scenario s = ulp::gui::scenario_of({.scaler = "pytorch_gradscaler",
                                                   .parameters = {{"init_scale", "8"}},
                                                   .format = "bfloat16",
                                                   .rounding = "toward-zero",
                                                   .clip_norm = "0.5",
                                                   .clip_value = {},
                                                   .check = "conv"});
    QCOMPARE(s.scaler.scale(), 8.0);
    QVERIFY(s.rounding.direction == ulp::direction::toward_zero);
    QCOMPARE(s.clip_norm->max_norm, 0.5);
    QVERIFY(s.checked("conv1") && !s.checked("fc1"));
    QVERIFY(s.format == ulp::gui::scenario_of({.format = "bfloat16"}).format);
    QVERIFY(!(s.format == ulp::gui::scenario_of(scenario_spec{}).format));
  }

  void no_expression_takes_long() {
    const ulp::scenario s = ulp::gui::scenario_of({.check = "(a|aa)+$"});
    QVERIFY(s.checked(std::string(1000, 'a')));
    QVERIFY(!s.checked(std::string(1000, 'a') + "!"));
  }

  void names_tell_what_was_set() {
    QCOMPARE(ulp::gui::name_of(scenario_spec{}), std::string{"pytorch_gradscaler, float16"});
    QCOMPARE(ulp::gui::name_of({.parameters = {{"init_scale", "8"}, {"growth_interval", "20"}}, .format = "e5m7"}),
             std::string{"pytorch_gradscaler init_scale=8 growth_interval=20, e5m7"});
  }

  void the_printed_command_gives_the_same_trajectory_data() {
    QTest::addColumn<scenario_spec>("spec");
    for (const ulp::scaler_entry& entry : ulp::scaler_catalog())
      QTest::newRow(std::string{entry.name}.c_str()) << scenario_spec{.scaler = std::string{entry.name}};
    scenario_spec skips = skipping_spec();
    QTest::newRow("skipping") << skips;
    skips.check = "^bn2\\.bias$";  // which overflows less often than the largest
    QTest::newRow("checked") << skips;
    skips.check.clear();
    QTest::newRow("bfloat16") << scenario_spec{.format = "bfloat16"};
    QTest::newRow("e5m7") << scenario_spec{.format = "e5m7"};
    skips.rounding = "toward-zero";
    QTest::newRow("rounding") << skips;
    skips.clip_norm = "0.125";
    QTest::newRow("clip norm") << skips;
    skips.clip_norm.clear();
    skips.clip_value = "0.01";
    QTest::newRow("clip value") << skips;
  }
  void files_that_look_like_options_are_none() {
    QCOMPARE(ulp::gui::command_of({.check = "-fc"}, {"--help", "-x y"}),
             std::string{"ulp replay ./--help './-x y' --scaler pytorch_gradscaler --format float16 --check=-fc"});
  }
  void what_was_said_of_the_inputs_is_in_the_command() {
    ulp::source_options how{.allow_empty = true};
    how.limits.tensors = 7;
    how.limits.text = ulp::read_limits::none;
    QCOMPARE(
        ulp::gui::command_of({}, {"a"}, how),
        std::string{"ulp replay a --scaler pytorch_gradscaler --format float16 --limit tensors=7 --limit text=none "
                    "--allow-empty"});
  }

  void the_printed_command_gives_the_same_trajectory() {
    QFETCH(const scenario_spec, spec);
    const std::vector<std::string> inputs{digits_path()};
    const auto printed = run_shell(ulp::gui::command_of(spec, inputs) + " --csv -");
    std::shared_ptr<const ulp::gui::replayed_run> ours;
    std::string failure;
    try {
      ours = replayed(*digits(), spec).result;
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
    const auto printed = run_shell(ulp::gui::command_of(scenario_spec{}, {odd.string()}) + " --csv -");
    QVERIFY2(printed.exit_code == 0, printed.err.c_str());
    QCOMPARE(columns_of(printed.out)["step"].size(), std::size_t{800});
  }
};

QTEST_GUILESS_MAIN(scenario_spec_test)
#include "scenario_spec_test.moc"
