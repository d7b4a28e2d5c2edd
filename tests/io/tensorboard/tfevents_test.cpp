// Pins the reading of TensorBoard's event files to hand-made ones: what each histogram tells, which scalars are read, how
// the files of one run come together, what is refused; and that a recording keeps all of it.
#include <cmath>
#include <limits>

#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "io/builders.hpp"
#include "io/tf_builders.hpp"
#include "support/catch.hpp"
#include "tensorboard/histogram.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double greatest = std::numeric_limits<double>::max();

// A file of one histogram, at step 1.
cell_table table_of(const made_histogram& h) {
  const playground place;
  return place.open("events", tf_begin() + tf_event(1, {tf_histogram("g", h)})).table("g");
}
std::string error_of(const made_histogram& h) {
  const playground place;
  return place.error("events", tf_begin() + tf_event(1, {tf_histogram("g", h)}));
}
cell_table table_of_rows(const std::vector<double>& rows) {
  const playground place;
  return place.open("events", tf_begin() + tf_event(1, {tf_tensor_histogram("g", rows)})).table("g");
}

using buckets = std::vector<bucket>;
using files = std::vector<std::string>;

}  // namespace

TEST_CASE("old histograms are buckets cut by the smallest and the largest value") {
  // -3 -2 | -0.5 | 0 0 0 0.25 | 2 4
  const cell_table t = table_of({.min = -3,
                                 .max = 4,
                                 .num = 9,
                                 .sum_squares = 9 + 4 + 0.25 + 0.0625 + 4 + 16,
                                 .limits = {-1, 0, 1, 2, 8},
                                 .counts = {2, 1, 4, 0, 2}});
  CHECK(t.numel == 9);
  CHECK(t.zeros == 0);
  CHECK(t.maybe_zeros == 4);
  CHECK(t.nonzero_finite() == 9);
  CHECK(t.max_abs == 4);
  CHECK(std::isnan(t.min_abs));
  // The upper limit 0 belongs to the next bucket.
  const double below_zero = -std::numeric_limits<double>::denorm_min();
  CHECK(t.buckets == buckets{{-3, -1, 2}, {-1, below_zero, 1}, {0, 1, 4}, {2, 4, 2}});
  CHECK(squares_sum(t).value == 33.3125);
  CHECK(squares_sum(t).quality == sum_quality::reported);
  CHECK(magnitudes_sum(t).quality == sum_quality::estimated);

  const made_histogram open{.min = -7, .max = 9, .num = 2, .limits = {0, greatest}, .counts = {1, 1}};
  CHECK(table_of(open).buckets == buckets{{-7, below_zero, 1}, {0, 9, 1}});
  made_histogram unpacked = open;
  unpacked.packed = false;
  CHECK(table_of(unpacked) == table_of(open));
}

TEST_CASE("histograms of nothing, of zeros and of one value") {
  const cell_table none = table_of({.limits = {greatest}, .counts = {0}});
  CHECK(none.numel == 0);
  CHECK(none.max_abs == 0);
  const cell_table zeros = table_of({.num = 5, .limits = {0, 1e-12}, .counts = {0, 5}});
  CHECK(zeros.zeros == 5);
  CHECK(zeros.maybe_zeros == 0);
  CHECK(zeros.buckets.empty());
  CHECK(zeros.min_abs == 0);
  const cell_table one = table_of({.min = 0.5, .max = 0.5, .num = 3, .limits = {0, 1}, .counts = {0, 3}});
  CHECK(one.buckets == buckets{{0.5, 0.5, 3}});
}

TEST_CASE("equal buckets are one, and none begins with -0") {
  const cell_table t = table_of({.min = 0, .max = 1, .num = 9, .limits = {-0.0, 1, 1, 1}, .counts = {0, 2, 3, 4}});
  CHECK(t.buckets == buckets{{0, 1, 2}, {1, 1, 7}});
  CHECK_FALSE(std::signbit(t.buckets.at(0).low));
  CHECK(table_of_rows({7, 7, 2, 7, 7, 3}).buckets == buckets{{7, 7, 5}});
}

TEST_CASE("a sum of squares that the buckets do not allow for is not believed") {
  const cell_table t = table_of({.min = 1, .max = 2, .num = 2, .sum_squares = 9, .limits = {1, 3}, .counts = {0, 2}});
  CHECK(std::isnan(t.reported_square_sum));
  CHECK(squares_sum(t).quality == sum_quality::estimated);
}

TEST_CASE("values in no bucket are NaN, infinite or beyond the edges") {
  const made_histogram bad{.min = not_known, .max = not_known, .num = 5, .limits = {0, 1}, .counts = {1, 2}};
  const cell_table t = table_of(bad);
  CHECK(t.numel == 5);
  CHECK(t.nans == 2);
  CHECK(std::isnan(t.max_abs));
  CHECK(t.largest_possible() == greatest);  // below the first limit
  CHECK(t.buckets.size() == 2);

  CHECK(table_of({.min = 0.5, .max = infinity, .num = 3, .limits = {0, 1}, .counts = {0, 2}}).positive_infinities == 1);
  CHECK(table_of({.min = -infinity, .max = 1, .num = 3, .limits = {0, 1}, .counts = {0, 2}}).negative_infinities == 1);
  CHECK(
      table_of({.min = -infinity, .max = infinity, .num = 3, .limits = {0, 1}, .counts = {0, 1}}).unsigned_infinities ==
      2);
  const cell_table beyond = table_of({.min = 0.5, .max = 1e30, .num = 3, .limits = {0, 1}, .counts = {0, 1}});
  CHECK(beyond.buckets == buckets{{0.5, 1, 1}, {1, 1e30, 2}});
  CHECK(beyond.max_abs == 1e30);
  const cell_table all_nan =
      table_of({.min = not_known, .max = not_known, .num = 2, .limits = {greatest}, .counts = {0}});
  CHECK(all_nan.nans == 2);
  CHECK(all_nan.max_abs == 0);
}

TEST_CASE("histograms that contradict themselves are refused") {
  const made_histogram good{.min = 0, .max = 1, .num = 2, .limits = {0, 1}, .counts = {0, 2}};
  const auto with = [&](auto change) {
    made_histogram h = good;
    change(h);
    return error_of(h);
  };
  using h = made_histogram&;
  CHECK(error_of(good).empty());
  CHECK(with([](h x) { x.num = 3; }) ==
        "events: byte 40: histogram 'g' of step 1 has num is 1 more than its buckets hold");
  CHECK(with([](h x) { x.num = 1; }).find("num is 1, but its buckets hold 2") != std::string::npos);
  CHECK(with([](h x) { x.num = 2.5; }).find("not a whole number") != std::string::npos);
  CHECK(with([](h x) { x.num = 1e300; }).find("not a whole number") != std::string::npos);
  CHECK(with([](h x) { x.counts[0] = -1; }).find("not a whole number") != std::string::npos);
  CHECK(with([](h x) { x.counts[0] = not_known; }).find("not a whole number") != std::string::npos);
  CHECK(with([](h x) { x.limits.push_back(2); }).find("3 bucket limits, but 2 buckets") != std::string::npos);
  CHECK(with([](h x) { x.limits = {1, 0}; }).find("do not ascend") != std::string::npos);
  CHECK(with([](h x) { x.limits[0] = not_known; }).find("do not ascend") != std::string::npos);
  CHECK(with([](h x) { x.min = 2; }).find("smallest value above the largest") != std::string::npos);
  CHECK(with([](h x) { x.min = x.max = 5; }).find("does not lie in its buckets") != std::string::npos);
  CHECK(with([](h x) { x.max = infinity; }).find("no value outside its buckets") != std::string::npos);
  CHECK(with([](h x) { x.max = not_known; }).find("no value outside its buckets") != std::string::npos);
}

TEST_CASE("tensor histograms: equal widths, edges widened by their rounding") {
  const cell_table t = table_of_rows({-1, 0.5, 2, 0.5, 2, 0, 2, 3.5, 4});
  CHECK(t.numel == 6);
  CHECK(t.maybe_zeros == 2);
  CHECK(t.max_abs == 3.5);
  const double by = std::ldexp(3.5, -50);
  CHECK(t.buckets == buckets{{-1, 0.5 + by, 2}, {2 - by, 3.5, 4}});

  // One value as written now, and 0.5 to either side of it as once: then the largest is not known.
  const cell_table now = table_of_rows({7, 7, 0, 7, 7, 3});
  CHECK(now.buckets == buckets{{7, 7, 3}});
  CHECK(now.max_abs == 7);
  const cell_table once = table_of_rows({6.5, 7.5, 3});
  CHECK(std::isnan(once.max_abs));
  CHECK(once.largest_possible() >= 7.5);
  CHECK(table_of_rows({0, 0, 0, 0, 0, 4}).zeros == 4);
}

TEST_CASE("edges in float32 are widened by what float32 rounds, the outermost too") {
  const io::tf_tensor made{.is_double = false, .shape = {2, 3}, .values = {-1, 0.5, 2, 0.5, 3.5, 4}};
  const auto t = io::table_of(made);
  REQUIRE(t);
  const double by = std::ldexp(3.5, -24);  // half a unit in the last place of the largest, at least
  REQUIRE(t->buckets.size() == 2);
  CHECK(t->buckets[0].low <= -1 - by);
  CHECK(t->buckets[0].high >= 0.5 + by);
  CHECK(t->buckets[1].low <= 0.5 - by);
  CHECK(t->buckets[1].high >= 3.5 + by);
  CHECK(std::isnan(t->max_abs));
}

TEST_CASE("only the first value of a tag names its plugin") {
  const playground place;
  const std::vector<double> rows{1, 2, 3, 2, 4, 1};
  const contents all = place.open("e", tf_begin() + tf_event(1, {tf_tensor_histogram("g", rows)}) +
                                           tf_event(2, {tf_tensor_histogram("g", rows, false, false)}) +
                                           tf_event(2, {tf_tensor_histogram("unknown", rows, false)}));
  REQUIRE(all.steps.size() == 2);
  CHECK(all.steps[0].tensors.at(0).table == all.steps[1].tensors.at(0).table);
  CHECK(all.tensors.size() == 1);
  CHECK(place.error("e", tf_begin() + tf_event(1, {tf_tensor_histogram("g", {1, 2, -1})})).find("not a whole number") !=
        std::string::npos);
  CHECK(place.error("e", tf_begin() + tf_event(1, {tf_tensor_histogram("g", {2, 1, 1})})).find("do not ascend") !=
        std::string::npos);
}

TEST_CASE("tensor histograms with a NaN tell nothing") {
  const playground place;
  const contents all = place.open("e", tf_begin() + tf_event(1, {tf_tensor_histogram("g", {1, 2, 3, 2, 4, 1})}) +
                                           tf_event(2, {tf_tensor_histogram("g", {not_known, not_known, 3}, false)}));
  CHECK(all.steps.size() == 1);
  REQUIRE(all.notes.size() == 2);
  CHECK(all.notes[1].find("are left out: 1") != std::string::npos);
}

TEST_CASE("scalars by the last part of their tags") {
  const playground place;
  const std::string h = tf_histogram("wgrad/w", {.min = 1, .max = 1, .num = 1, .limits = {2}, .counts = {1}});
  const contents all = place.open(
      "e", tf_begin() + tf_event(5, {h, tf_scalar("Train/Loss", 0.5F), tf_scalar("optim/learning-rate", 0.25F)}) +
               tf_event(5, {tf_scalar("amp/Loss Scale", 1024), tf_tensor_scalar("grad_norm", 3)}) +
               tf_event(5, {tf_scalar("eval/loss", 9), tf_scalar("accuracy", 1)}) + tf_event(6, {tf_scalar("lr", 1)}) +
               tf_event(7, {tf_scalar("Train/Loss", 0.75F)}));
  REQUIRE(all.steps.size() == 1);
  const step& s = all.steps[0];
  CHECK(s.key.step == 5);
  CHECK(s.scalars.loss == 0.5);
  CHECK(s.scalars.learning_rate == 0.25);
  CHECK(s.scalars.loss_scale == 1024);
  CHECK(s.scalars.grad_norm == 3);
  CHECK(all.tensor("wgrad/w").kind == tensor_kind::weight_grad);
  REQUIRE(all.notes.size() == 3);
  CHECK(all.notes[1] == "scalars that are not read: eval/loss, accuracy, lr");
  CHECK(all.notes[2] == "steps with scalars but without a histogram are left out: 1");
}

TEST_CASE("scalars alone are a table of the run") {
  const playground place;
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::string file = tf_begin();
  // The scale stands before the update of its step: the step whose norm is infinite has the higher one.
  for (std::int64_t i = 0; i < 4; ++i)
    file += tf_event(i, {tf_scalar("loss/train", 2), tf_scalar("amp/grad_scale", i < 2 ? 1024 : 512),
                         tf_tensor_scalar("grad-norm/grad-norm", i == 1 ? inf : 1)});
  file += tf_event(3, {tf_scalar("val/loss", 3)});
  const contents read = place.open("e", file);
  CHECK(read.description == "table of a run (TensorBoard event files)");
  REQUIRE(read.steps.size() == 4);
  const std::vector<bool> skipped{false, true, false, false};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(read.steps[i].scalars.found_inf == skipped[i]);
    CHECK(read.steps[i].scalars.loss_scale == (i < 2 ? 1024 : 512));
  }
  CHECK(read.notes.front() ==
        "columns: step from 'step', loss from 'loss/train', grad_norm from 'grad-norm/grad-norm', loss_scale from "
        "'amp/grad_scale'; not used: 'val/loss' (validation)");
  const contents again = place.open("e", file + tf_restart(2) + tf_event(2, {tf_scalar("loss/train", 1)}));
  CHECK(again.steps.size() == 3);
}

TEST_CASE("tags tell kinds behind their path") {
  const playground place;
  const made_histogram h{.min = 1, .max = 1, .num = 1, .limits = {2}, .counts = {1}};
  const std::vector<std::pair<std::string, tensor_kind>> tags{{"wgrad/w", tensor_kind::weight_grad},
                                                              {"agrad/a", tensor_kind::activation_grad},
                                                              {"grad/wgrad/conv1.weight", tensor_kind::weight_grad},
                                                              {"train/grad/agrad/fc", tensor_kind::activation_grad},
                                                              {"grad/conv1.weight", tensor_kind::unknown},
                                                              {"grad/mywgrad/w", tensor_kind::unknown},
                                                              {"grad/wgrad", tensor_kind::unknown},
                                                              {"grad//", tensor_kind::unknown}};
  for (const auto& [tag, kind] : tags) {
    CAPTURE(tag);
    CHECK(place.open("e", tf_begin() + tf_event(1, {tf_histogram(tag, h)})).tensor(tag).kind == kind);
  }
}

TEST_CASE("steps in order, whatever the order of events, the last of a tag and step counts") {
  const playground place;
  const auto one = [](const std::string& tag, double x) {
    return tf_histogram(tag, {.min = x, .max = x, .num = 1, .limits = {x}, .counts = {1}});
  };
  const contents all = place.open("e", tf_begin() + tf_event(9, {one("b", 1)}) + tf_event(2, {one("a", 2)}) +
                                           tf_event(9, {one("a", 3)}) + tf_event(2, {one("a", 4), one("b", 5)}));
  REQUIRE(all.steps.size() == 2);
  CHECK(all.steps[0].key.step == 2);
  REQUIRE(all.steps[0].tensors.size() == 2);
  CHECK(all.tensors[1].name == "a");
  CHECK(all.steps[0].tensors[1].table.max_abs == 4);
  CHECK(all.steps[0].tensors[0].table.max_abs == 5);
  CHECK(all.steps[1].tensors[1].table.max_abs == 3);
  CHECK(all.notes.back().find("histograms of steps that their tag had already reached: 2") != std::string::npos);
}

TEST_CASE("the files of a run, by the time they were begun") {
  const playground place;
  const auto at = [](std::int64_t step, double x) {
    return tf_event(step, {tf_histogram("g", {.min = x, .max = x, .num = 1, .limits = {x}, .counts = {1}})});
  };
  place.write("z", tf_begin(100) + at(0, 1) + at(1, 2) + at(2, 3) + at(3, 4));
  place.write("a", tf_begin(200) + at(2, 5));
  place.write("b", tf_begin(200) + tf_restart(2) + at(2, 5));
  for (const files& names : {files{"z", "a"}, files{"a", "z"}}) {
    const contents all = place.open(names);
    REQUIRE(all.steps.size() == 4);
    CHECK(all.steps[2].tensors.at(0).table.max_abs == 5);
    CHECK(all.steps[3].tensors.at(0).table.max_abs == 4);
  }
  // A restart says that what came later is void.
  CHECK(place.open(files{"z", "b"}).steps.size() == 3);
  place.write("other.npy", npy(npy_dict("<f4", "(1,)"), raw(std::vector<float>{1})));
  CHECK(place.error(files{"a", "other.npy"}) ==
        "a: is a TensorBoard event file; only dumps and event files can be given several at once; ulp merge combines "
        "recordings");
}

TEST_CASE("files cut short are read as far as they go, damaged ones are refused where the damage is") {
  const playground place;
  const std::string h = tf_histogram("g", {.min = 1, .max = 1, .num = 1, .limits = {2}, .counts = {1}});
  const std::string good = tf_begin() + tf_event(1, {h});
  const contents cut = place.open("e", good + tf_event(2, {h}).substr(0, 30));
  CHECK(cut.steps.size() == 1);
  CHECK(cut.notes.back().find("cut short at byte " + std::to_string(good.size())) != std::string::npos);
  CHECK(place.error("e", tf_begin()) == "e: holds neither a histogram nor a scalar that can be read");
  CHECK(place.error("e", tf_record("text")).find("event: ") != std::string::npos);
  CHECK(place.error("e", tf_record(pb_double(1, 1))).find("not a TensorBoard event file") != std::string::npos);

  std::string length = good;
  length[tf_begin().size()] ^= 1;
  CHECK(place.error("e", length).starts_with("e: byte 40: the checksum of a record's length is wrong"));
  std::string data = good;
  data.back() ^= 1;
  CHECK(place.error("e", data).starts_with("e: byte 52: the checksum of a record is wrong"));
  // A length of 2^62 with its checksum is the end of a running job's file.
  const std::string huge = little(std::uint64_t{1} << 62, 8);
  const std::uint32_t crc = slow_crc32c(huge);
  const std::string head = huge + little(((crc >> 15) | (crc << 17)) + 0xA282EAD8U, 4);
  CHECK(place.open("e", good + head + "abc").steps.size() == 1);
  CHECK(place.error("e", tf_begin() + tf_event(-1, {h})).find("is of step -1: steps begin at 0") != std::string::npos);
  CHECK(place.error("e", tf_begin() + tf_event(1, {tf_histogram("a\nb", {.limits = {1}, .counts = {0}})}))
            .find("control") != std::string::npos);
}

TEST_CASE("the first note says how much the buckets leave open") {
  const playground place;
  const contents all = place.open(
      "e",
      tf_begin() +
          tf_event(
              1,
              {tf_histogram(
                  "g", {.min = 0, .max = 2, .num = 10, .limits = {0, 1e-12, 1, 1.25, 2}, .counts = {0, 5, 0, 3, 2}})}));
  // Widths 1, (1.25 - 1) / 1.25 = 0.2, (2 - 1.25) / 2 = 0.375; the last may hold 2, of the next binade.
  CHECK(all.notes.at(0) ==
        "TensorBoard histograms: counts are ranges; buckets are 63.5 % wide on average, 70 % of the values have an "
        "uncertain binade, 50 % may be zero or as large as 1e-12");
}

TEST_CASE("a recording keeps buckets, totals and digest") {
  const playground place;
  const made_histogram bad{.min = not_known, .max = not_known, .num = 5, .limits = {0, 1}, .counts = {1, 2}};
  const made_histogram good{
      .min = -3, .max = 4, .num = 9, .sum_squares = 33.3125, .limits = {-1, 0, 1, 2, 8}, .counts = {2, 1, 4, 0, 2}};
  std::string bytes = tf_begin();
  for (int i = 0; i < 100; ++i)
    bytes += tf_event(i, {tf_histogram("a", good), tf_histogram("b", i % 10 == 3 ? bad : good), tf_scalar("loss", 2)});
  const contents from = place.open("e", bytes);
  const auto digest = [&](const std::string& name) { return digest_of(*open_source({place.path(name)})); };
  {
    recording_writer writer(place.path("run.ulp"), recording_writer::mode::create);
    for (const step& s : from.steps) writer.write(s, from.tensors);
  }
  const contents kept = place.open(files{"run.ulp"});
  REQUIRE(kept.steps.size() == from.steps.size());
  for (std::size_t i = 0; i < kept.steps.size(); ++i) {
    REQUIRE(kept.steps[i].tensors.size() == 2);
    CHECK(kept.steps[i].scalars.loss == 2);
    for (std::size_t t = 0; t < 2; ++t) CHECK(kept.steps[i].tensors[t].table == from.steps[i].tensors[t].table);
  }
  CHECK(digest("run.ulp") == digest("e"));
  for (const step_total& total : read_totals(place.path("run.ulp"))) {
    CHECK(total.table.maybe_zeros == (total.key.step % 10 == 3 ? 6 : 8));
    CHECK(total.table.numel == (total.key.step % 10 == 3 ? 14 : 18));
  }
  CHECK_FALSE(totals_are_as_good(place.path("run.ulp")));
}
