// Pins the lost updates that Layers shows: part and whole of each tensor and column are what `ulp precision weights` counts of the
// same file, ranges included; where no update was recorded nothing is said, which is not that none is lost; and a run that tells
// nothing says why.
#include "viewmodel/counted_updates.hpp"

#include <QTest>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include <ulp/ask/questions/typed_values.hpp>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using namespace ulp::gui;
using nlohmann::json;
using ulp::layer_metric;
using ulp::value_range;

namespace {

ulp::listener& quiet = ulp::nobody();

// Weights of ./a and ./b and their updates in the steps 0 to 5. The updates of a shrink from step to step; b has none in step 2,
// and only zeros in step 3. Some weights are next to the largest number of float8_e4m3fn.
struct dumps {
  temporary_dir dir;
  std::string files;

  dumps() {
    for (int step = 0; step < 6; ++step) {
      std::vector<float> weights;
      std::vector<float> updates;
      for (int i = 0; i < 200; ++i) {
        weights.push_back(i < 20 ? 440.0F + static_cast<float>(i)
                                 : std::ldexp(1.0F + 0.013F * static_cast<float>(i % 77), i % 9 - 6));
        updates.push_back(std::ldexp(i % 3 == 0 ? -1.0F : 1.25F, i % 11 - 12 - step));
      }
      std::vector<dumped_tensor> all{
          {"weight/model.a", weights}, {"update/model.a", updates}, {"weight/model.b", weights}};
      if (step != 2) all.push_back({"update/model.b", step == 3 ? std::vector<float>(200, 0.0F) : weights});
      const auto path = dir / ("w.step0000" + std::to_string(step) + ".safetensors");
      write_file(path, safetensors_of(all));
      files += " " + path.string();
    }
  }
  [[nodiscard]] std::string recorded() const {
    const std::string path = (dir / "run.ulp").string();
    const program_result made = run_ulp("record " + files + " --joint --factor 1 -o " + path);
    if (made.exit_code != 0) qFatal("%s", made.err.c_str());
    return path;
  }
};

std::shared_ptr<const loaded_run> run_of(const std::string& inputs) {
  ulp::run_text text;
  for (const QString& input : QString::fromStdString(inputs).split(' ', Qt::SkipEmptyParts))
    text.inputs.push_back(input.toStdString());
  return load_run(text, quiet);
}

// As drawn where `width` steps are in a column.
std::shared_ptr<const drawn_columns> columns_of(const std::shared_ptr<const loaded_run>& run, std::int64_t width) {
  const auto drawn = std::make_shared<drawn_columns>();
  drawn->run = run;
  drawn->shown = {0, 5};
  for (std::int64_t step = 0; step < 6; step += width)
    drawn->columns.push_back({.from = static_cast<double>(step),
                              .to = static_cast<double>(step + width),
                              .span = {.first_step = step, .last_step = step + width - 1}});
  return drawn;
}

ulp::layer_question in(const std::string& format) {
  return {.metric = layer_metric::lost_updates, .to = ulp::value_format_named(format), .mode = {}};
}

std::string weight_of(const loaded_run& run, std::size_t tensor) {
  const std::string& name = run.tensors[tensor].name;
  return name.starts_with("weight/") ? name.substr(7) : "";
}

value_range range_in(const json& row, const std::string& key) {
  if (row.contains(key + "_low")) return {row.at(key + "_low").get<double>(), row.at(key + "_high").get<double>()};
  return {row.at(key).get<double>(), row.at(key).get<double>()};
}

}  // namespace

class counted_updates_test : public QObject {
  Q_OBJECT

 private slots:
  void counts_are_those_of_ulp_precision_weights_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<bool>("recorded");
    for (const char* const format : {"bfloat16", "float16", "cbfloat16", "float8_e4m3fn"})
      for (const bool recorded : {true, false})
        QTest::addRow("%s of %s", format, recorded ? "a recording" : "dumps") << format << recorded;
  }
  void counts_are_those_of_ulp_precision_weights() {
    QFETCH(const QString, format);
    QFETCH(const bool, recorded);
    const dumps all;
    const std::string input = recorded ? all.recorded() : all.files;
    const program_result told =
        run_ulp("precision weights " + input + " --by tensor,step --json --format " + format.toStdString());
    QVERIFY2(told.exit_code == 0, told.err.c_str());
    const json rows = json::parse(told.out);
    const auto run = run_of(input);
    QVERIFY2(run->no_updates.empty(), run->no_updates.c_str());
    const ulp::layer_question question = in(format.toStdString());
    int open = 0;
    for (const std::int64_t width : {1, 3}) {
      const counted_layers counted = counted_updates(columns_of(run, width), question, nullptr, quiet);
      std::map<std::pair<std::string, std::int64_t>, std::pair<value_range, value_range>> expected;  // by first step
      for (const json& row : rows) {
        const auto step = row.at("step").get<std::int64_t>();
        auto& [part, whole] =
            expected.try_emplace({row.at("tensor"), step - step % width}, value_range{}, value_range{}).first->second;
        part += range_in(row, "lost");
        whole += range_in(row, "updates");
      }
      std::size_t known = 0;
      for (std::size_t c = 0; c < counted.drawn->columns.size(); ++c)
        for (std::size_t t = 0; t < run->tensors.size(); ++t) {
          const ulp::layer_cell& cell = counted.answer.at(c, t);
          const auto found = expected.find({weight_of(*run, t), counted.drawn->columns[c].span.first_step});
          QCOMPARE(cell.known, found != expected.end() && found->second.second.high > 0);
          if (!cell.known) continue;
          ++known;
          QVERIFY(cell.part == found->second.first && cell.whole == found->second.second);
          QVERIFY(!cell.modelled);
          open += cell.part.exact() ? 0 : 1;
        }
      QCOMPARE(known, width == 1 ? std::size_t{10} : std::size_t{4});  // b has no update in two steps
    }
    QCOMPARE(open > 0, recorded && format == "float8_e4m3fn");
  }

  void shares_are_those_of_ulp_precision_weights() {
    const dumps all;
    const std::string input = all.recorded();
    const auto run = run_of(input);
    for (const char* const format : {"bfloat16", "float8_e4m3fn"}) {
      const json rows = json::parse(run_ulp("precision weights " + input + " --json --format " + format).out);
      const ulp::layer_question question = in(format);
      const counted_layers counted = counted_updates(columns_of(run, 6), question, nullptr, quiet);
      std::size_t compared = 0;
      for (const json& row : rows)
        for (std::size_t t = 0; t < run->tensors.size(); ++t) {
          if (weight_of(*run, t) != row.at("tensor").get<std::string>()) continue;
          ++compared;
          const value_range share = value_of(question, counted.answer.at(0, t));
          const value_range told = range_in(row, "lost_share");
          QVERIFY(std::abs(share.low - told.low) < 1e-12 && std::abs(share.high - told.high) < 1e-12);
        }
      QCOMPARE(compared, std::size_t{2});
    }
  }

  void the_first_step_that_loses_is_named() {
    const dumps all;
    const std::string input = all.recorded();
    const auto run = run_of(input);
    const json rows = json::parse(run_ulp("precision weights " + input + " --by tensor,step --json --format e5m4").out);
    std::map<std::string, std::int64_t> expected;
    for (const json& row : rows)
      if (row.at("lost_low") > 0) expected.try_emplace(row.at("tensor"), row.at("step").get<std::int64_t>());
    const counted_layers counted = counted_updates(columns_of(run, 6), in("e5m4"), nullptr, quiet);
    for (std::size_t t = 0; t < run->tensors.size(); ++t) {
      const auto found = expected.find(weight_of(*run, t));
      QVERIFY(counted.firsts[t].exact());
      QCOMPARE(counted.firsts[t].earliest.value_or(-1), found == expected.end() ? -1 : found->second);
    }
    QVERIFY(!expected.empty());
    // Of the steps that are shown.
    const auto late = std::make_shared<drawn_columns>(*columns_of(run, 1));
    late->shown = {4, 5};
    const counted_layers of_late = counted_updates(late, in("e5m4"), counted.updates, quiet);
    QVERIFY(of_late.updates == counted.updates);  // not counted again
    for (std::size_t t = 0; t < run->tensors.size(); ++t) QVERIFY(of_late.firsts[t].earliest.value_or(4) >= 4);
  }

  // bfloat16 weights that moved in one step of two, and no gradients: the other update may have been lost.
  void differences_of_16_bit_weights_leave_open_what_was_lost() {
    const temporary_dir dir;
    std::string files;
    for (int step = 0; step < 3; ++step) {
      const auto path = dir / ("w.step0000" + std::to_string(step) + ".safetensors");
      write_file(path, safetensors_of({{"weight/a", {step < 2 ? 1.0F : 1.5F, 2.0F}, true}}));
      files += " " + path.string();
    }
    const auto run = run_of(files);
    const counted_layers counted = counted_updates(columns_of(run, 1), in("bfloat16"), nullptr, quiet);
    QVERIFY(counted.answer.at(0, 0).part == (value_range{0, 2}));
    QVERIFY(counted.answer.at(1, 0).part == (value_range{0, 1}));
    QVERIFY(value_of(in("bfloat16"), counted.answer.at(1, 0)) == (value_range{0, 0.5}));
    const json rows = json::parse(run_ulp("precision weights " + files + " --by tensor,step --json --format bf16").out);
    for (const json& row : rows) {
      const ulp::layer_cell& cell = counted.answer.at(row.at("step").get<std::size_t>(), 0);
      QVERIFY(cell.part == range_in(row, "lost") && cell.whole == range_in(row, "updates"));
      QVERIFY(value_of(in("bfloat16"), cell) == range_in(row, "lost_share"));
    }
    QCOMPARE(rows.size(), std::size_t{2});
    QVERIFY(!counted.answer.at(2, 0).known);  // there is no next step
    QVERIFY(counted.updates->notes.back().find("16-bit") != std::string::npos);
  }

  void a_run_without_updates_says_why() {
    const dumps all;
    const std::string plain = (all.dir / "plain.ulp").string();
    QVERIFY(run_ulp("record " + all.files + " --factor 1 -o " + plain).exit_code == 0);
    QVERIFY(run_of(plain)->no_updates.find("ulp record --joint") != std::string::npos);
    QVERIFY(digits()->no_updates.find("holds no joint tables") != std::string::npos);
    const auto dump = run_of((source_dir() / "examples/weights.step00100.safetensors").string());
    QVERIFY2(dump->no_updates.find("learning rate") != std::string::npos, dump->no_updates.c_str());
    const auto log = run_of((source_dir() / "tests/data/octaves/digits.ulp").string());
    QVERIFY(!log->no_updates.empty());
    QVERIFY(ulp::why_no_updates(ulp::source_kind::recording, ulp::value_format_named("float16"), "float16").empty());
  }
};

QTEST_GUILESS_MAIN(counted_updates_test)
#include "counted_updates_test.moc"
