// Pins sessions: what is saved is what is opened again, equal sessions are equal bytes, and what is none is refused with
// the file's name and the reason.
#include "app/session.hpp"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTest>
#include <stdexcept>

#include "gui/support/fixture.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

session full() {
  session s;
  s.runs = {{"/runs/a.ulp"}, {"/runs/b 1.safetensors", "/runs/b 2.safetensors"}};
  s.replays = {{.spec = {.scaler = "pytorch_gradscaler",
                         .parameters = {"growth_interval=100", "init_scale=65536"},
                         .start = {"scale=8", "_growth_tracker=3"},
                         .format = "float16",
                         .rounding = {.saturate = true, .daz = true, .flush = "after", .tininess = "before", .seed = 9},
                         .clip_value = "2^-3"},
                .run = 0},
               {.spec = {.scaler = "cerebras_dls",
                         .parameters = {"init_scale=8"},
                         .format = "cbfloat16",
                         .rounding = {.direction = "stochastic"},
                         .check = "conv",
                         .clip_norm = "0.5",
                         .order = "clip,unscale,check"},
                .run = 1}};
  s.view = "layers";
  s.filter = "^conv[0-9]";
  s.metric = ulp::layer_metric::lost_updates;
  s.weights_format = "bfloat16";
  s.fp8 = {.recipe = "te_delayed:e4m3", .parameters = {"amax_history_len=16", "margin=1"}, .kept_out = {"output"}};
  s.block = "mxfp4";
  s.block_rows = {"mxfp4", "te_nvfp4_16x16"};
  s.first_step = -5;
  s.last_step = std::int64_t{1} << 40;
  s.cursor = 7;
  return s;
}

}  // namespace

class session_test : public QObject {
  Q_OBJECT

 private slots:
  void what_is_saved_is_what_is_opened() {
    for (const session& s : {full(), [] {
                               session bare = full();
                               bare.metric = session{}.metric;
                               bare.weights_format.clear();
                               bare.fp8.reset();
                               bare.block.clear();
                               bare.block_rows.clear();
                               bare.first_step = bare.last_step = bare.cursor = std::nullopt;
                               return bare;
                             }()}) {
      const QByteArray json = to_json(s);
      const session again = session_from(json, "s.json");
      QCOMPARE(to_json(again), json);
      QVERIFY(again == s);
    }
  }

  void what_is_open_is_looked_at_again_as_it_was() {
    document doc;
    view_state state(doc);
    doc.set({digits()}, {replayed(*digits(), skipping_spec())});
    state.set_filter("conv");
    state.set_shown({100, 300});
    state.set_cursor(222);
    state.set_metric_of_layers(ulp::layer_metric::zeros);
    state.set_block(ulp::block_formats_named({"mxfp8"}, "").front());
    state.set_block_rows(ulp::block_formats_named({"mxfp8", "nvfp4"}, ""));
    const session s = session_of(state, "window");
    QVERIFY(s.runs.front().front().starts_with('/'));

    document other;
    view_state again(other);
    other.set({digits()}, entries_of(s));
    look_as(s, again);
    QCOMPARE(again.filter(), QString("conv"));
    QVERIFY(again.shown() == state.shown());
    QVERIFY(again.metric_of_layers() == ulp::layer_metric::zeros);
    QCOMPARE(QString::fromStdString(again.weights_format()), QString("float16"));
    QCOMPARE(again.cursor_step(), std::int64_t{222});
    QVERIFY(other.replays()[0].spec == skipping_spec());
    // All steps are all steps, however many there will be.
    state.set_shown(state.whole());
    QVERIFY(!session_of(state, "window").first_step);
  }

  void what_is_no_session_is_refused_data() {
    QTest::addColumn<QByteArray>("json");
    QTest::addColumn<QString>("named");
    const auto changed = [](const char* key, const QJsonValue& value) {
      QJsonObject o = QJsonDocument::fromJson(to_json(full())).object();
      o[QString(key)] = value;
      return QJsonDocument(o).toJson();
    };
    QTest::newRow("nothing") << QByteArray() << "byte 0";
    QTest::newRow("cut") << to_json(full()).left(100) << "byte";
    QTest::newRow("foreign") << QByteArray("{}") << "not a ulpscope session";
    QTest::newRow("a list") << QByteArray("[1]") << "not a ulpscope session";
    QTest::newRow("later") << changed("ulpscope_session", 99) << "later version";
    QTest::newRow("no runs") << changed("runs", QJsonValue()) << "names no run";
    QTest::newRow("a run of nothing") << changed("runs", QJsonArray{QJsonArray{}}) << "without inputs";
    QTest::newRow("a device") << changed("runs", QJsonArray{QJsonArray{"/dev/null"}})
                              << "something that is not a file: /dev/null";
    QJsonArray many;
    while (many.size() <= qsizetype{document::most_replays}) many.append(QJsonArray{"a.ulp"});
    QTest::newRow("many runs") << changed("runs", many) << "more than";
    QTest::newRow("no replays") << changed("replays", QJsonArray{}) << "no replays";
    QTest::newRow("no such scaler") << changed("replays", QJsonArray{QJsonObject{{"scaler", "x"}}}) << "'x'";
    QTest::newRow("no such run") << changed("replays", QJsonArray{QJsonObject{
                                                           {"scaler", "none"}, {"format", "float16"}, {"run", 2}}})
                                 << "does not list";
    const auto replay_with = [&](const char* key, const QJsonValue& value) {
      return changed("replays",
                     QJsonArray{QJsonObject{{"scaler", "none"}, {"format", "float16"}, {"run", 0}, {key, value}}});
    };
    QTest::newRow("a number for a text") << replay_with("clip_norm", 1) << "'clip_norm' must be a string";
    QTest::newRow("null for a text") << replay_with("rounding", QJsonValue()) << "'rounding' must be a string";
    QTest::newRow("a list of parameters")
        << replay_with("parameters", QJsonArray{}) << "'parameters' must be an object";
    QTest::newRow("a run of a half") << replay_with("run", 0.5) << "'run' must be an integer";
    QTest::newRow("a flag that says no") << replay_with("saturate", "no") << "'no' is not yes";
    QTest::newRow("what no replay has") << replay_with("clipnorm", "1") << "no 'clipnorm'";
    QTest::newRow("a text for a step") << changed("first_step", "1") << "'first_step' must be an integer";
    QTest::newRow("metric") << changed("metric", "loss") << "the metric 'loss'";
    QTest::newRow("format of weights") << changed("weights_format", "float99") << "float99";
    QTest::newRow("filter") << changed("filter", "conv(") << "conv(";
    QTest::newRow("nested filter") << changed("filter", QString(20000, '(') + QString(20000, ')')) << "40000 bytes";
  }
  void what_is_no_session_is_refused() {
    QFETCH(const QByteArray, json);
    QFETCH(const QString, named);
    try {
      static_cast<void>(session_from(json, "some.json"));
      QFAIL("it was taken");
    } catch (const std::runtime_error& problem) {
      const QString why = problem.what();
      QVERIFY2(why.startsWith("some.json: ") && why.contains(named) && !why.contains('\n'), problem.what());
    }
  }
};

QTEST_GUILESS_MAIN(session_test)
#include "session_test.moc"
