// Pins the program ulpscope as it is typed, without a display: help and version, pictures and numbers of every view,
// and that each mistake and each bad input is one line on standard error with the exit code 2, and leaves no file.
#include <QImage>
#include <QTest>
#include <QXmlStreamReader>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/recording/recording.hpp>

#include "gui/support/fixture.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

// No display, and nothing that says so.
program_result run_ulpscope(const std::string& arguments) {
  return run_shell("unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM\nexec timeout 20 \"$ULPSCOPE_PROGRAM\" " + arguments);
}

}  // namespace

class command_test : public QObject {
  Q_OBJECT

  temporary_dir dir_;

  std::string out(const std::string& name) const { return "'" + (dir_ / name).string() + "'"; }

 private slots:
  void help_and_version_need_no_display() {
    for (const char* const option : {"--help", "-h"}) {
      const auto help = run_ulpscope(option);
      QCOMPARE(help.exit_code, 0);
      QCOMPARE(help.err, std::string{});
      for (const char* const word : {"--export", "--view", "window", "--scaler", "Example: ulpscope "})
        QVERIFY2(help.out.find(word) != std::string::npos, word);
    }
    for (const char* const option : {"--version", "-v"}) {
      const auto version = run_ulpscope(option);
      QCOMPARE(version.exit_code, 0);
      QVERIFY(version.out.starts_with("ulpscope ") && version.out.ends_with('\n'));
    }
  }

  void an_unwritable_stderr_and_closed_descriptors_change_nothing() {
    for (const char* const where : {"2>/dev/full", "2>&-", "<&- >&- 2>&-"}) {
      QCOMPARE(run_ulpscope(std::string{"--nosuch "} + where).exit_code, 2);
      QCOMPARE(run_ulpscope("nosuch.ulp --export " + out("n.csv") + " " + where).exit_code, 2);
    }
  }

  void help_that_cannot_be_written_is_an_error() {
    for (const char* const what : {"--help", "--version"})
      QCOMPARE(run_ulpscope(std::string{what} + " >/dev/full").exit_code, 2);
  }

  void an_export_keeps_permissions() {
    write_file(dir_ / "kept.csv", "old");
    std::filesystem::permissions(dir_ / "kept.csv",
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const auto made = run_ulpscope("tests/data/octaves/digits.ulp --export " + out("kept.csv"));
    QCOMPARE(made.exit_code, 0);
    QVERIFY(read_file(dir_ / "kept.csv") != "old");
    QVERIFY(std::filesystem::status(dir_ / "kept.csv").permissions() ==
            (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  }

  void a_picture_of_a_file_with_an_odd_name_is_xml() {
    const std::string input = (dir_ / "odd\x1B[31m&<b>\u202E.ulp").string();
    std::filesystem::copy_file(source_dir() / "tests/data/octaves/digits.ulp", input);
    const auto made = run_ulpscope("'" + input + "' --export " + out("odd.svg"));
    QCOMPARE(made.exit_code, 0);
    const std::string svg = read_file(dir_ / "odd.svg");
    QXmlStreamReader xml(QByteArray::fromStdString(svg));
    while (!xml.atEnd()) xml.readNext();
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QVERIFY(svg.find('\x1B') == std::string::npos);
    QVERIFY(svg.find("\u202E") == std::string::npos);
  }

  void the_example_of_the_help_works_as_typed() {
    const auto help = run_ulpscope("--help").out;
    const auto at = help.find("Example: ulpscope ");
    std::string line = help.substr(at + 18, help.find('\n', at) - at - 18);
    const auto file = line.rfind(' ') + 1;
    line = line.substr(0, file) + out(line.substr(file));
    const auto made = run_ulpscope(line);
    QCOMPARE(made.exit_code, 0);
    QCOMPARE(made.err, std::string{});
    QCOMPARE(QImage(QString::fromStdString((dir_ / "window.png").string())).size(), QSize(2200, 1400));
  }

  void what_is_asked_for_is_shown() {
    const auto numbers = [&](const std::string& options) {
      const auto made = run_ulpscope("tests/data/octaves/digits.ulp --export " + out("n.csv") + " " + options);
      return made.exit_code == 0 ? read_file(dir_ / "n.csv") : made.err;
    };
    QVERIFY(numbers("--view window").starts_with("first_step,last_step,exponent,count\n"));
    QVERIFY(numbers("--view window") != numbers("--view window --tensor '^fc2$'"));
    QVERIFY(numbers("--view exponents --step 3") != numbers("--view exponents --step 700"));
    QVERIFY(numbers("--view scale --set init_scale=8").find("init_scale=8") != std::string::npos);
    QVERIFY(numbers("--view scale --scaler pytorch_gradscaler,tf_keras_dynamic").find("tf_keras_dynamic") !=
            std::string::npos);
    QVERIFY(numbers("--view clipping --clip-norm 0.25").find(",1\n") != std::string::npos);
    QVERIFY(numbers("--view formats").find("cbfloat16") != std::string::npos);
    const auto sized =
        run_ulpscope("tests/data/octaves/digits.ulp --size 300x200 --theme dark --export " + out("s.png"));
    QCOMPARE(sized.exit_code, 0);
    const QImage picture(QString::fromStdString((dir_ / "s.png").string()));
    QCOMPARE(picture.size(), QSize(600, 400));
    QVERIFY(picture.pixelColor(1, 1).lightness() < 64);
  }

  void what_ulp_says_of_an_input_is_said_here_too() {
    write_file(dir_ / "i.npy", npy_of({}).replace(21, 3, "<i8"));
    const std::string empty = "'" + (dir_ / "i.npy").string() + "'";
    const std::string part = "'" + (dir_ / "part.ulp").string() + "'";
    QCOMPARE(
        run_ulp("record examples/digits.step00100.safetensors --run-id r --rank 1 --world 3 --layout shard -o " + part)
            .exit_code,
        0);
    const std::string unclosed = (dir_ / "unclosed.ulp").string();
    {
      const std::string written = (dir_ / "written.ulp").string();
      ulp::recording_writer writer(written, ulp::recording_writer::mode::create);
      writer.write({}, {});
      std::filesystem::copy_file(written, unclosed);
    }
    write_file(unclosed + "-wal", "");
    for (const std::string& input : {empty + " --allow-empty", part, "'" + unclosed + "'"}) {
      std::string told = run_ulp("info " + input).err;
      QVERIFY2(told.starts_with("ulp: "), input.c_str());
      const auto made = run_ulpscope(input + " --export " + out("told.json"));
      QVERIFY2(made.exit_code == 0, made.err.c_str());
      std::istringstream lines(told);
      for (std::string line; std::getline(lines, line);) {
        QVERIFY2(made.err.find("ulpscope" + line.substr(3) + "\n") != std::string::npos, made.err.c_str());
        const std::string text = line.substr(line.find(": ", 5) + 2);
        QVERIFY2(read_file(dir_ / "told.json").find(text) != std::string::npos, text.c_str());
      }
    }
  }

  void a_flipped_bit_is_refused_with_the_line_of_ulp() {
    const std::string path = (dir_ / "flipped.ulp").string();
    QCOMPARE(run_ulp("record examples/digits.step00100.safetensors -o '" + path + "'").exit_code, 0);
    const std::string good = read_file(path);
    int refused = 0;
    for (std::size_t at = 101; at < good.size(); at += good.size() / 25) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ 4);
      write_file(path, bytes);
      const auto ulp = run_ulp("info '" + path + "'");
      const auto made = run_ulpscope("'" + path + "' --export " + out("f.csv"));
      QCOMPARE(made.exit_code, ulp.exit_code);
      if (ulp.exit_code == 0) continue;
      ++refused;
      QCOMPARE(made.err, "ulpscope" + ulp.err.substr(3));
    }
    QVERIFY(refused > 0);
  }

  void what_makes_a_replay_is_typed_as_for_ulp() {
    write_file(dir_ / "ds.json", R"({"fp16":{"enabled":true,"initial_scale_power":24},"gradient_clipping":0.5})");
    const std::string config = "--config " + out("ds.json");
    const auto column_of = [](const std::string& csv, const std::string& key) {
      std::istringstream lines(csv);
      std::string line;
      std::getline(lines, line);
      std::size_t at = 0;
      std::istringstream keys(line);
      for (std::string k; std::getline(keys, k, ',') && k != key;) ++at;
      std::vector<std::string> all;
      while (std::getline(lines, line)) {
        if (line.starts_with('"')) line.erase(0, line.find('"', 1));  // a name, with commas
        std::istringstream cells(line);
        std::string cell;
        for (std::size_t i = 0; i <= at; ++i) std::getline(cells, cell, ',');
        all.push_back(cell);
      }
      return all;
    };
    const std::string policy = "--scaler pytorch --format fp16 ";
    for (const std::string& options :
         {policy + "--clip-norm 2^3", policy + "--start scale=1e9", policy + "--saturate --start scale=1e9",
          policy + "--kind weight_grad --start scale=1e9", policy + "--every 3",
          policy + "--role conv=low --start scale=1e9", policy + "--factor 1024", config,
          config + " --set scale_window=20"}) {
      const auto ulp = run_ulp("replay tests/data/octaves/digits.ulp --csv - " + options);
      const auto made =
          run_ulpscope("tests/data/octaves/digits.ulp --view scale --export " + out("same.csv") + " " + options);
      QVERIFY2(made.exit_code == ulp.exit_code, (options + ": " + made.err + ulp.err).c_str());
      if (ulp.exit_code != 0) {
        QCOMPARE(made.err, "ulpscope" + ulp.err.substr(3));
        continue;
      }
      const std::string shown = read_file(dir_ / "same.csv");
      QVERIFY2(!column_of(ulp.out, "scale_used").empty(), options.c_str());
      for (const char* const key : {"scale_used", "skipped"})
        QVERIFY2(column_of(shown, key) == column_of(ulp.out, key), (options + ": " + key).c_str());
    }
    for (const char* const options :
         {"--format e8m0", "--clip-norm wide", "--ftz never", "--start nosuch=1 --format fp16"}) {
      const auto made = run_ulpscope("tests/data/octaves/digits.ulp --export " + out("same.csv") + " " + options);
      QCOMPARE(made.exit_code, 2);
      QVERIFY2(std::count(made.err.begin(), made.err.end(), '\n') == 1, made.err.c_str());
    }
    QCOMPARE(run_ulpscope("tests/data/octaves/digits.ulp --export " + out("same.csv") + " --format e8m0").err,
             run_ulp("replay tests/data/octaves/digits.ulp --scaler pytorch --format e8m0").err.insert(3, "scope"));
  }

  void limits_are_those_of_ulp() {
    const auto with = [&](const std::string& options) {
      return run_ulpscope("examples/digits.step00100.safetensors --export " + out("limit.csv") + " " + options);
    };
    const auto refused = with("--limit tensors=1");
    QCOMPARE(refused.exit_code, 2);
    QVERIFY2(refused.err.find("--limit tensors=N raises it") != std::string::npos, refused.err.c_str());
    QCOMPARE(with("--limit tensors=none --limit header=1000000").exit_code, 0);
    QCOMPARE(with("--limit tensor=1").err,
             run_ulp("info examples/digits.step00100.safetensors --limit tensor=1").err.insert(3, "scope"));
  }

  void messages_are_printable_whatever_is_given_data() {
    QTest::addColumn<QString>("option");
    for (const char* const option :
         {"view", "block", "theme", "language", "size", "scaler", "set", "format", "rounding", "clip-norm",
          "clip-value", "order", "tensor", "steps", "step", "limit", "compare", "export"})
      QTest::newRow(option) << "--export x.csv examples/digits.step00100.safetensors --" + QString(option);
    QTest::newRow("session") << "--session";
    QTest::newRow("input") << "--export x.csv --";
    QTest::newRow("no option") << "--nosuch";
  }
  void messages_are_printable_whatever_is_given() {
    QFETCH(const QString, option);
    for (const std::string text : {"\x1B[31mX", "a\nb",
                                   "a\xC2\x9B"
                                   "b",
                                   "a\u202E\u2066"
                                   "b",
                                   "\xFF"}) {
      const auto made = run_ulpscope(option.toStdString() + (option == "--nosuch" ? "" : " ") + "'" + text + "'");
      QCOMPARE(made.exit_code, 2);
      QVERIFY2(made.err.ends_with('\n'), made.err.c_str());
      std::istringstream lines(made.err);
      for (std::string line; std::getline(lines, line);) {
        QVERIFY2(line.starts_with("ulpscope: "), line.c_str());
        QCOMPARE(line, ulp::printable(line));
      }
    }
  }

  void runs_are_compared_and_sessions_are_drawn() {
    const auto compared =
        run_ulpscope("tests/data/octaves/digits.ulp --compare examples/digits.step00100.safetensors --export " +
                     out("two.csv") + " --view scale");
    QCOMPARE(compared.exit_code, 0);
    const std::string rows = read_file(dir_ / "two.csv");
    QVERIFY(rows.find("digits.ulp: pytorch_gradscaler") != std::string::npos);
    QVERIFY(rows.find("digits.step00100.safetensors: pytorch_gradscaler") != std::string::npos);
    const auto drawn = run_ulpscope("--session tests/data/compared.ulpscope.json --export " + out("session.csv"));
    QCOMPARE(drawn.exit_code, 0);
    QCOMPARE(read_file(dir_ / "session.csv"), rows);
    const auto as_input = run_ulpscope("tests/data/compared.ulpscope.json --export " + out("input.csv"));
    QCOMPARE(as_input.exit_code, 0);
    QCOMPARE(read_file(dir_ / "input.csv"), rows);
    QCOMPARE(run_ulpscope("tests/data/compared.ulpscope.json --scaler none --export " + out("input.csv")).exit_code, 2);
  }

  void mistakes_are_one_line_and_exit_code_2_data() {
    QTest::addColumn<QString>("options");
    QTest::addColumn<QString>("named");
    const auto mistake = [](const char* options, const char* named) {
      QTest::newRow(options) << QString(options) << QString(named);
    };
    mistake("--view nope", "nope");
    mistake("--theme blue", "blue");
    mistake("--size 10", "10");
    mistake("--size 100000x100", "100000x100");
    mistake("--scaler nope", "nope");
    mistake("--set init_scale", "init_scale");
    mistake("--set nosuch=1", "nosuch");
    mistake("--set nosuch=1 --scaler pytorch_gradscaler,tf_keras_dynamic", "nosuch");
    mistake("--format float17", "float17");
    mistake("--clip-norm wide", "wide");
    mistake("--tensor 'conv('", "conv(");
    mistake("--steps 0:-9223372036854775808", "has a step below 0");
    mistake("--steps a:b", "a:b");
    mistake("--steps 10:10", "10:10");
    mistake("--step x", "'x'");
    mistake("--clip-value 0", "'0'");
    mistake("--clip-norm 1 --clip-value 1", "not by both");
    mistake("--order clip,unscale,check", "--order");
    mistake("--clip-norm 1 --order clip", "'clip'");
    mistake("--rounding up", "up");
    mistake("--view plan --lose nan", "--lose: 'nan'");
    mistake("--view plan --lose 2", "--lose: a share below 1");
    mistake("--lose ''", "--lose");
    mistake("--check 'conv('", "conv(");
    mistake("--tensor '(?!conv)'", "look-around");
    mistake("--check '(?!conv)'", "look-around");
    mistake("--scaler none,none,none,none --compare tests/data/octaves/digits.ulp", "8 replays");
    mistake("--session nosuch.json", "INPUT");
    mistake("--tensor zzz", "zzz");
    mistake("--steps 900:1000", "0 to 799");
    mistake("--step 9999", "0 to 799");
    mistake("--nosuch", "nosuch");
  }
  void mistakes_are_one_line_and_exit_code_2() {
    QFETCH(const QString, options);
    QFETCH(const QString, named);
    std::filesystem::remove(dir_ / "m.png");
    const auto made =
        run_ulpscope("tests/data/octaves/digits.ulp " + options.toStdString() + " --export " + out("m.png"));
    QCOMPARE(made.exit_code, 2);
    QVERIFY2(made.err.starts_with("ulpscope: ") && made.err.find('\n') == made.err.size() - 1, made.err.c_str());
    QVERIFY2(made.err.find(named.toStdString()) != std::string::npos, made.err.c_str());
    QVERIFY(!std::filesystem::exists(dir_ / "m.png"));
  }

  void what_cannot_be_written_is_refused() {
    for (const char* const name : {"picture.bmp", "picture", "no/such/folder/picture.svg"}) {
      const auto made = run_ulpscope("tests/data/octaves/digits.ulp --export " + out(name));
      QCOMPARE(made.exit_code, 2);
      QVERIFY2(made.err.starts_with("ulpscope: ") && made.err.find('\n') == made.err.size() - 1, made.err.c_str());
      QVERIFY(!std::filesystem::exists(dir_ / name));
    }
    QCOMPARE(run_ulpscope("tests/data/octaves/digits.ulp --export ''").exit_code, 2);
    const auto nothing = run_ulpscope("--export " + out("nothing.png"));
    QCOMPARE(nothing.exit_code, 2);
    QVERIFY(nothing.err.find("INPUT") != std::string::npos);
  }

  void a_folder_is_the_run_that_it_holds() {
    const std::filesystem::path folder = dir_ / "dumps";
    std::filesystem::create_directory(folder);
    for (const char* const name : {"step1.npy", "step2.npy"}) write_file(folder / name, npy_of({1, 2}));
    const auto made = run_ulpscope("'" + folder.string() + "' --factor 1 --view steps --export " + out("folder.csv"));
    QVERIFY2(made.exit_code == 0, made.err.c_str());
    const std::string csv = read_file(dir_ / "folder.csv");
    QCOMPARE(std::ranges::count(csv, '\n'), std::ptrdiff_t{3});
    std::filesystem::copy(digits_path(), folder / "digits.ulp");
    const auto two = run_ulpscope("'" + folder.string() + "' --export " + out("folder.png"));
    QCOMPARE(two.exit_code, 2);
    QVERIFY2(two.err.find("several runs") != std::string::npos && two.err.find("digits.ulp") != std::string::npos,
             two.err.c_str());
  }

  void bad_inputs_are_one_line_and_exit_code_2() {
    for (const std::filesystem::path& bad : bad_inputs(dir_.path())) {
      const auto made = run_ulpscope("'" + bad.string() + "' --export " + out("bad.png"));
      QVERIFY2(made.exit_code == 2, bad.c_str());
      QVERIFY2(made.err.starts_with("ulpscope: ") && made.err.find('\n') == made.err.size() - 1, made.err.c_str());
      QVERIFY2(made.err.find(bad.filename().string()) != std::string::npos, made.err.c_str());
      QVERIFY(!std::filesystem::exists(dir_ / "bad.png"));
    }
  }

  void what_is_read_is_not_overwritten() {
    const auto copy = (dir_ / "run.csv").string();
    std::filesystem::copy_file(source_dir() / "tests/data/octaves/digits.ulp", copy);
    std::filesystem::create_symlink(copy, dir_ / "link.csv");
    const std::string before = ulp::test::read_file(copy);
    for (const char* const output : {"run.csv", "link.csv"}) {
      const auto made = run_ulpscope(copy + " --view overview --export " + out(output));
      QCOMPARE(made.exit_code, 2);
      QVERIFY2(made.err.find("is an input and would be overwritten\n") != std::string::npos, made.err.c_str());
    }
    QCOMPARE(ulp::test::read_file(copy), before);
    const auto session = (dir_ / "s.json").string();
    ulp::test::write_file(session,
                          R"({"ulpscope_session": 1, "runs": [["tests/data/octaves/digits.ulp"]], "replays": [)"
                          R"({"run": 0, "scaler": "pytorch_gradscaler", "format": "float16"}]})");
    const auto made = run_ulpscope("--session " + session + " --export " + session);
    QCOMPARE(made.exit_code, 2);
    QVERIFY2(made.err.find("is an input and would be overwritten\n") != std::string::npos, made.err.c_str());
    QVERIFY(ulp::test::read_file(session).starts_with("{\"ulpscope_session"));
    const auto scalars = (dir_ / "scalars.csv").string();
    ulp::test::write_file(scalars, "step,loss\n0,1\n");
    const auto config = (dir_ / "config.json").string();
    ulp::test::write_file(config, R"({"fp16": {"enabled": true}})");
    const std::string run = (source_dir() / "tests/data/octaves/digits.ulp").string();
    for (const std::string& options :
         {"--scalars " + scalars + " --export " + scalars, "--config " + config + " --export " + config}) {
      const auto refused = run_ulpscope(run + " " + options);
      QCOMPARE(refused.exit_code, 2);
      QVERIFY2(refused.err.find("is an input and would be overwritten\n") != std::string::npos, refused.err.c_str());
    }
  }

  void a_session_is_a_regular_file() {
    const auto made = run_ulpscope("--session /dev/zero --export " + out("bad.png"));
    QCOMPARE(made.exit_code, 2);
    QVERIFY2(made.err.find("/dev/zero: is not a regular file\n") != std::string::npos, made.err.c_str());
  }

  void a_name_that_is_no_utf8_is_refused() {
    const std::string name = (dir_ / "run").string();
    const auto made = run_ulpscope("--export " + out("bad.png") + " \"" + name + "$(printf '\\377').ulp\"");
    QCOMPARE(made.exit_code, 2);
    QVERIFY2(made.err.find("is not UTF-8: rename the file\n") != std::string::npos, made.err.c_str());
  }

  void a_mistake_is_told_where_there_is_no_display() {
    for (const char* const options : {"--nosuch", "--view nope", "tests/data/octaves/digits.ulp"}) {
      const auto made = run_ulpscope(options);
      QVERIFY2(made.exit_code == 2, made.err.c_str());
    }
  }
};

QTEST_GUILESS_MAIN(command_test)
#include "command_test.moc"
