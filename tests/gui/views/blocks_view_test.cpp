// Pins formats of blocks in Exponents and Formats: their numbers are those of `ulp outcomes`, without block tables it is said what
// lacks, and the loss scale has no part in it.
#include <QCoreApplication>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSlider>
#include <QTableView>
#include <QTest>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"
#include "views/block_choice.hpp"
#include "views/exponents_view.hpp"
#include "views/formats_view.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

// Rows of 64 numbers over many binades; step i is 2^-i times step 0.
std::vector<float> made_values(int step) {
  std::vector<float> x;
  std::uint32_t state = 12345;
  for (int i = 0; i < 1024; ++i) {
    state = state * 1664525 + 1013904223;
    const int exponent = -static_cast<int>(state >> 28) - i / 64;
    x.push_back(std::ldexp(1 + static_cast<float>(state >> 8 & 0xFFFF) / 65536, exponent - step) *
                (i % 3 == 0 ? -1 : 1));
  }
  x[5] = x[77] = 0;
  return x;
}

std::string recorded(const temporary_dir& dir, const std::string& options) {
  std::string inputs;
  for (int step = 0; step < 4; ++step) {
    const auto path = dir / ("g.step0000" + std::to_string(step) + ".npy");
    write_file(path, npy_of(made_values(step)));
    inputs += " " + path.string();
  }
  const std::string made = (dir / "made.ulp").string();
  const program_result r = run_ulp("record" + inputs + " --factor 1 " + options + " -o " + made);
  if (r.exit_code != 0) throw std::runtime_error(r.err);
  return made;
}

template <typename View>
struct stage {
  document doc;
  view_state state{doc};
  View shown{state, nullptr};

  explicit stage(const std::string& path) {
    shown.resize(1000, 600);
    shown.show();
    const auto run = load_run({.inputs = {path}}, ulp::nobody());
    doc.set({run}, {replayed(*run, usual_scenario())});
    settle();
  }
  void settle() {
    QCoreApplication::processEvents();
    shown.catch_up_now();
    QCoreApplication::processEvents();
  }
  void choose(const std::string& name) {
    state.set_block(ulp::block_formats_named({name}, "").front());
    settle();
  }
  [[nodiscard]] QString words() {
    QStringList all;
    for (const QLabel* const label : shown.template findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    return all.join('\n').replace(QChar(0xA0), ' ');
  }
};

// A column of CSV of one row, of ulp outcomes.
std::string outcome(const std::string& path, const std::string& options, const std::string& key) {
  const program_result r = run_ulp("outcomes " + path + " --by kind --csv - " + options);
  const std::string head = r.out.substr(0, r.out.find('\n')) + ",";
  const std::string row = r.out.substr(head.size()) + ",";
  std::size_t at = 0;
  std::size_t in_row = 0;
  while (at < head.size()) {
    const std::size_t end = head.find(',', at);
    const std::size_t row_end = row.find_first_of(",\n", in_row);
    if (head.substr(at, end - at) == key) return row.substr(in_row, row_end - in_row);
    at = end + 1;
    in_row = row_end + 1;
  }
  return "no column " + key + " in " + r.out + r.err;
}

std::string cell(const ulp::table& t, std::size_t row, const std::string& key) {
  for (std::size_t c = 0; c < t.columns.size(); ++c)
    if (t.columns[c].key == key) return ulp::to_cell(t.rows[row][c]);
  return "no column " + key;
}

std::size_t row_of(const ulp::table& t, const std::string& format) {
  for (std::size_t r = 0; r < t.rows.size(); ++r)
    if (cell(t, r, "format") == format) return r;
  qFatal("no format %s", format.c_str());
}

}  // namespace

class blocks_view_test : public QObject {
  Q_OBJECT

 private slots:
  void exponents_are_those_over_the_scale() {
    const temporary_dir dir;
    stage<exponents_view> s(recorded(dir, "--blocks 32"));
    s.choose("mxfp4");
    const ulp::table first = s.shown.data();
    // By FLOOR the largest value of a block is from 2^2 to 2^3 times its scale.
    QCOMPARE(ulp::to_cell(first.rows.back()[0]), std::string{"2"});
    std::uint64_t all = 0;
    for (const auto& row : first.rows) all += std::get<ulp::count_range>(row[1]).low;
    QCOMPARE(all, std::uint64_t{1022});
    QVERIFY2(s.words().contains("step 0, all 4 tensors in mxfp4 (torchao_mxe2m1_floor): float4_e2m1, a float8_e8m0 "
                                "scale for 1 x 32, FLOOR: lost "),
             qPrintable(s.words()));
    QVERIFY2(s.words().contains("of 1,022 nonzero values; 2 zeros, 0 not finite"), qPrintable(s.words()));
    // A scale moves with its block: another step is the same picture, and no loss scale is offered.
    s.state.set_cursor(3);
    s.settle();
    QCOMPARE(ulp::to_csv(s.shown.data()), ulp::to_csv(first));
    QVERIFY(s.words().contains("step 3,"));
    QVERIFY(!s.shown.findChild<QSlider*>()->isVisible());
    QVERIFY(!s.shown.heeds(restriction::kind::tried_scale));
    s.state.set_block(std::nullopt);
    s.settle();
    QVERIFY(s.shown.findChild<QSlider*>()->isVisible());
    QVERIFY(ulp::to_csv(s.shown.data()) != ulp::to_csv(first));
  }

  void without_block_tables_it_is_said_what_lacks() {
    const temporary_dir dir;
    stage<exponents_view> s(recorded(dir, ""));
    s.choose("mxfp4");
    QVERIFY2(s.words().contains("the input has no tables of such blocks (ulp record --blocks 32)"),
             qPrintable(s.words()));
    QVERIFY2(s.words().contains("Certain all the same: no scale is above"), qPrintable(s.words()));
    QVERIFY(!s.shown.data().rows.empty());
    s.choose("nvfp4");
    QVERIFY2(s.shown.data().rows.empty(), "nothing is known of nvfp4");
    s.choose("fp8_tensor");
    QVERIFY2(s.words().contains("fp8_tensor (torchao_fp8e4m3_tensorwise)"), qPrintable(s.words()));
    QVERIFY2(s.words().contains(": lost "), qPrintable(s.words()));
  }

  void a_name_is_chosen_or_typed() {
    const temporary_dir dir;
    stage<exponents_view> s(recorded(dir, "--blocks 32"));
    auto& choice = *s.shown.findChild<block_choice*>();
    const auto type = [&](const char* name) {
      choice.setEditText(name);
      QTest::keyClick(choice.lineEdit(), Qt::Key_Return);
      s.settle();
    };
    type("te_mxfp8_e4m3_cppref");
    QVERIFY(s.state.block());
    QCOMPARE(s.state.block()->name, std::string{"te_mxfp8_e4m3_cppref"});
    QVERIFY2(s.words().contains("RCEIL"), qPrintable(s.words()));
    type("mxfp5");
    QCOMPARE(s.state.block()->name, std::string{"te_mxfp8_e4m3_cppref"});
    QVERIFY2(choice.lineEdit()->toolTip().contains("did you mean"), qPrintable(choice.lineEdit()->toolTip()));
    type("of the replay");
    QVERIFY(!s.state.block());
  }

  void formats_of_blocks_stand_beside_the_others() {
    const temporary_dir dir;
    const std::string path = recorded(dir, "--blocks 32");
    stage<formats_view> s(path);
    s.shown.findChild<QPushButton*>("beside_blocks")->click();
    s.settle();
    const ulp::table t = s.shown.data();
    QCOMPARE(t.rows.size(), std::size_t{8 + 11});
    for (const char* const name : {"mxfp8", "mxfp6_e3m2", "mxfp4", "mxint8"})
      for (const char* const key : {"underflow", "subnormal", "overflow"})
        QCOMPARE(cell(t, row_of(t, name), key),
                 ulp::grouped(std::stoull(outcome(path, std::string("--format ") + name, std::string(key) + "_low"))));
    QCOMPARE(cell(t, row_of(t, "mxfp4"), "bits"), std::string{"4.25"});
    QCOMPARE(cell(t, row_of(t, "float16"), "block"), std::string{"all values"});
    QVERIFY2(s.words().contains("Not counted (?), nvfp4: "), qPrintable(s.words()));
    QVERIFY2(s.words().contains("ulp record --blocks 128x128"), qPrintable(s.words()));
    // Those that are typed, and no others.
    auto& typed = *s.shown.findChild<QLineEdit*>("block_rows");
    typed.setText("mxfp4, torchao_mxe2m1_rceil");
    emit typed.editingFinished();
    s.settle();
    QCOMPARE(s.shown.data().rows.size(), std::size_t{8 + 2});
    // Whoever leaves it has the formats as they were.
    s.shown.findChild<QPushButton*>("beside_blocks")->click();
    s.settle();
    QCOMPARE(s.shown.data().columns.front().key, std::string{"format"});
    QCOMPARE(s.shown.data().rows.size(), std::size_t{8});
  }
};

QTEST_MAIN(blocks_view_test)
#include "blocks_view_test.moc"
