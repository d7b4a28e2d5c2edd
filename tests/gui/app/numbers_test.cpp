// Pins that the viewer and the command line say the same: what every view exports of three runs (a real float16 run, counts by
// binade that leave ranges, a histogram CSV that is tried at another scale) equals what `ulp` says of the same scenario.
#include <QTest>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

using row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> all(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      all.emplace_back();
    else
      all.back() += c;
  }
  return all;
}

std::vector<row> rows_of(const std::string& csv) {
  std::vector<row> all;
  std::vector<std::string> keys;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find('\n', at);
    const auto fields = fields_of(csv.substr(at, end - at));
    at = end + 1;
    if (keys.empty()) {
      keys = fields;
      continue;
    }
    row& r = all.emplace_back();
    for (std::size_t i = 0; i < std::min(keys.size(), fields.size()); ++i) r[keys[i]] = fields[i];
  }
  return all;
}

double number(const row& r, const std::string& key) {
  const auto found = r.find(key);
  if (found == r.end()) qFatal("no column %s", key.c_str());
  return found->second.empty() ? std::nan("") : std::strtod(found->second.c_str(), nullptr);
}

// The end of what may be a range, which has one column where it is exact throughout.
double end(const row& r, const std::string& key, const char* of) {
  return number(r, r.contains(key + of) ? key + of : key);
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr const char* scenario = " --scaler pytorch_gradscaler --set growth_interval=40 --format float16";

}  // namespace

class numbers_test : public QObject {
  Q_OBJECT

  temporary_dir dir_;

  std::vector<row> shown(const std::string& view, const std::string& arguments) {
    const std::string file = (dir_ / (view + ".csv")).string();
    const auto made = run_shell("unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM\nexec \"$ULPSCOPE_PROGRAM\" " +
                                arguments + " --view " + view + " --export '" + file + "'");
    if (made.exit_code != 0) qFatal("%s", made.err.c_str());
    return rows_of(read_file(file));
  }
  static std::vector<row> told(const std::string& arguments) {
    const auto made = run_ulp(arguments + " --csv -");
    if (made.exit_code != 0) qFatal("%s", made.err.c_str());
    return rows_of(made.out);
  }

 private slots:
  void every_view_says_what_ulp_says_data() {
    QTest::addColumn<QString>("input");
    QTest::newRow("float16 run") << "examples/transformer.ulp";
    QTest::newRow("binades") << "tests/data/octaves/digits.ulp";
    QTest::newRow("small float16 run") << "tests/data/amp/plain.ulp";
  }
  void every_view_says_what_ulp_says() {
    QFETCH(const QString, input);
    const std::string run = input.toStdString();
    const std::string replay = run + scenario + std::string{" --clip-norm 1"};
    const auto steps = told("replay " + replay);
    QVERIFY(steps.size() > 50);

    QCOMPARE(shown("steps", replay), steps);

    const auto scales = shown("scale", replay);
    QCOMPARE(scales.size(), steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (const char* const key :
           {"step", "scale_used", "scale_next", "critical_scale", "scale_used_low", "scale_used_high"})
        QVERIFY2(same(number(scales[i], key), number(steps[i], key)), key);

    const auto norms = shown("clipping", replay);
    QCOMPARE(norms.size(), steps.size());
    for (std::size_t i = 0; i < steps.size(); ++i)
      for (const char* const key : {"step", "norm", "clip_coefficient"})
        QVERIFY2(same(number(norms[i], key), number(steps[i], key)), key);

    // Of the tensor that it shows.
    const auto tensor_scales = shown("tensor-scales", run + " --recipe te_delayed:e4m3");
    QVERIFY(!tensor_scales.empty());
    std::size_t next = 0;
    for (const row& r : told("replay " + run + " --recipe te_delayed:e4m3")) {
      if (r.at("tensor") != tensor_scales[0].at("tensor")) continue;
      QVERIFY(next < tensor_scales.size());
      for (const auto& [key, text] : tensor_scales[next]) QCOMPARE(text, r.at(key));
      ++next;
    }
    QCOMPARE(next, tensor_scales.size());

    // Every finite nonzero value is in some binade of its column's steps.
    const auto outcomes = told("outcomes " + run + " --format float16 --scale 65536 --by step");
    std::map<double, double> nonzero;
    double first = 0;
    for (const row& r : outcomes) {
      if (nonzero.empty()) first = number(r, "step");
      nonzero[number(r, "step")] += number(r, "numel") - number(r, "zero") - number(r, "nonfinite");
    }
    std::map<std::pair<double, double>, double> columns;
    for (const row& r : shown("window", run + scenario))
      columns[{number(r, "first_step"), number(r, "last_step")}] += number(r, "count");
    for (const auto& [span, count] : columns) {
      double expected = 0;
      for (auto at = nonzero.lower_bound(span.first); at != nonzero.end() && at->first <= span.second; ++at)
        expected += at->second;
      QCOMPARE(count, expected);
    }
    double one = 0;
    for (const row& r : shown("exponents", run + scenario + " --step " + std::to_string(static_cast<int>(first))))
      one += number(r, "count");
    QCOMPARE(one, nonzero.begin()->second);

    // The columns of Layers add up to each tensor.
    std::map<std::string, std::pair<double, double>> parts;
    for (const row& r : shown("layers", run + " --scaler static --set loss_scale=65536 --format float16")) {
      parts[r.at("tensor")].first += end(r, "part", "_low");
      parts[r.at("tensor")].second += end(r, "part", "_high");
    }
    std::size_t compared = 0;
    for (const row& r : told("outcomes " + run + " --format float16 --scale 65536 --by tensor")) {
      const auto found = parts.find(r.at("tensor"));
      if (found == parts.end()) continue;  // without a finite nonzero value
      ++compared;
      QCOMPARE(found->second, std::pair(end(r, "underflow", "_low"), end(r, "underflow", "_high")));
    }
    QCOMPARE(compared, parts.size());

    // Likewise of what saturates under an FP8 recipe, with a parameter that its policy has beside one of the scaler's.
    const std::string recipe = " --recipe te_delayed:e4m3 --set amax_history_len=16";
    std::map<std::string, std::pair<double, double>> saturated;
    std::map<std::string, std::pair<double, double>> expected;
    for (const row& r : shown("layers", run + recipe + " --set growth_interval=40 --metric saturated")) {
      saturated[r.at("tensor")].first += end(r, "part", "_low");
      saturated[r.at("tensor")].second += end(r, "part", "_high");
    }
    for (const row& r : told("replay " + run + recipe)) {
      if (!saturated.contains(r.at("tensor"))) continue;  // without a finite nonzero value
      expected[r.at("tensor")].first += number(r, "saturated_low");
      expected[r.at("tensor")].second += number(r, "saturated_high");
    }
    QVERIFY(!saturated.empty());
    QCOMPARE(saturated, expected);

    const auto swept = told("sweep " + run +
                            " --scaler pytorch_gradscaler --format float16 --set init_scale=256,4096,65536,1048576 "
                            "--set growth_interval=50,200,1000,2000");
    const auto policies = shown("policies", run + " --scaler pytorch_gradscaler --format float16");
    QCOMPARE(policies.size(), swept.size());
    const auto by_parameters = [](const std::vector<row>& all) {
      std::map<std::string, row> of;
      for (const row& r : all) of[r.at("parameters")] = r;
      return of;
    };
    QCOMPARE(by_parameters(policies), by_parameters(swept));

    const auto summary = run_ulp("replay " + replay + " --json").out;
    const auto overview = shown("overview", replay);
    QCOMPARE(overview.size(), std::size_t{1});
    const auto value = [&](const std::string& key) {
      const auto at = summary.find("\"" + key + "\":");
      return std::strtod(summary.c_str() + at + key.size() + 3, nullptr);
    };
    const std::string skipped = overview[0].at("skipped");
    QCOMPARE(std::strtod(skipped.c_str() + (skipped.starts_with('~') ? 1 : 0), nullptr), value("skipped"));
    QCOMPARE(number(overview[0], "clipped"), value("clipped_steps"));
  }

  void formats_say_what_advise_says() {
    const auto formats = shown("formats", "examples/digits.ulp --format float16");
    const std::string advised = run_ulp("advise examples/digits.ulp --json").out;
    const auto at = advised.find("\"static_scale\"");
    QVERIFY(at != std::string::npos);
    for (const row& r : formats) {
      if (r.at("format") != "float16") continue;
      const auto key = advised.find("\"highest_log2\":", at);
      QCOMPARE(number(r, "highest_log2"), std::strtod(advised.c_str() + key + 15, nullptr));
      const auto low = advised.find("\"lowest_log2\":", at);
      QCOMPARE(number(r, "lowest_log2"), std::strtod(advised.c_str() + low + 14, nullptr));
      return;
    }
    QFAIL("no row of float16");
  }
};

QTEST_GUILESS_MAIN(numbers_test)
#include "numbers_test.moc"
