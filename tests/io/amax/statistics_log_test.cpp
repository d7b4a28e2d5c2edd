// Statistics logs of nvdlfw_inspect, with the lines that its FileLogger writes.
#include <cmath>

#include <ulp/io/amax/amax_rows.hpp>
#include <ulp/io/bytes/error.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string line(const std::string& name, int iteration, const std::string& value) {
  const std::string digits = std::to_string(iteration);
  const std::string gap = " \t\t\t\t ";
  return "2026-08-22 10:00:00,123 - INFO - " + name + gap + "iteration=" + std::string(6 - digits.size(), '0') +
         digits + gap + "value=" + value + "\n";
}

amax_rows read(const playground& place, const std::string& text) {
  return read_statistics_log(place.write("a.log", text));
}

std::string error_of(const playground& place, const std::string& text) {
  try {
    static_cast<void>(read(place, text));
    return "";
  } catch (const input_error& problem) {
    const std::string message = problem.what();
    return message.substr(message.find("a.log"));
  }
}

using rows = std::vector<amax_row>;

}  // namespace

TEST_CASE("statistics log: cur_amax by step and tensor, other statistics are passed over") {
  const playground place;
  const std::string text = line("decoder.1.attn.qkv_gradient_cur_amax", 10, "0.0313") +
                           line("decoder.1.attn.qkv_activation_cur_amax", 10, "12.5000") +
                           line("decoder.1.attn.qkv_activation_underflows%", 10, "0.1000") +
                           line("decoder.1.attn.qkv_activation_fp8_current_scaling_scale_inv_max", 10, "0.0279") +
                           line("decoder.1.attn.qkv_activation_cur_amax", 9, "inf");
  const amax_rows all = read(place, text);
  CHECK(all.rows == rows{{9, "decoder.1.attn.qkv_activation", HUGE_VALF},
                         {10, "decoder.1.attn.qkv_gradient", 0.0313F},
                         {10, "decoder.1.attn.qkv_activation", 12.5F}});
  CHECK(all.unknown == 0);
  CHECK(all.notes.empty());
  CHECK(is_statistics_log(place.path("a.log")));
  place.write("b.log", "iteration=5 value=3\n");
  CHECK_FALSE(is_statistics_log(place.path("b.log")));
}

TEST_CASE("statistics log: the larger magnitude of min and max, where there is no cur_amax") {
  const playground place;
  const amax_rows all = read(place, line("fc_weight_min", 1, "-3.0000") + line("fc_weight_max", 1, "2.0000") +
                                        line("fc_weight_min", 2, "-1.0000") + line("fc_weight_max", 3, "nan") +
                                        line("fc_weight_min", 3, "0.0000") + line("fc_weight_cur_amax", 4, "1.0000") +
                                        line("fc_weight_max", 4, "9.0000") + line("fc_weight_min", 4, "9.0000"));
  REQUIRE(all.rows.size() == 3);  // of step 2 only one side is known
  CHECK(all.rows[0] == amax_row{1, "fc_weight", 3});
  CHECK(all.rows[1].step == 3);
  CHECK(std::isnan(all.rows[1].amax));
  CHECK(all.rows[2] == amax_row{4, "fc_weight", 1});
}

TEST_CASE("statistics log: four decimals print small amaxes as 0, which is not known to be 0") {
  const playground place;
  const amax_rows all =
      read(place, line("fc_gradient_cur_amax", 1, "0.0000") + line("fc_gradient_cur_amax", 2, "0.0001") +
                      line("fc_gradient_cur_amax", 3, "0.0050"));
  CHECK(all.rows == rows{{2, "fc_gradient", 0.0001F}, {3, "fc_gradient", 0.005F}});
  CHECK(all.unknown == 1);
  REQUIRE(all.notes.size() == 2);
  CHECK(all.notes[0].ends_with(
      ": 1 amax is printed as 0.0000, which any below 0.00005 is: it is not known, and left out"));
  CHECK(all.notes[1].ends_with(": 1 amax is below 0.005: its four decimals leave an error of more than 1 %"));
  CHECK(read(place, line("fc_gradient_cur_amax", 1, "0.0000")).unknown == 1);
}

TEST_CASE("statistics log: steps that are logged again, and a line that was cut") {
  const playground place;
  const std::string once = line("fc_wgrad_cur_amax", 1, "1.0000");
  CHECK(read(place, once + once).notes.empty());
  const amax_rows all =
      read(place, once + line("fc_wgrad_cur_amax", 1, "2.0000") +
                      "2026-08-22 10:00:00,123 - INFO - fc_wgrad_cur_amax \t iteration=000002 \t value=");
  CHECK(all.rows == rows{{1, "fc_wgrad", 2}});
  REQUIRE(all.notes.size() == 2);
  CHECK(all.notes[0].ends_with(": 1 value is logged again, and another: the last counts"));
  CHECK(all.notes[1].ends_with(": its last line was cut short, and is left out"));
}

TEST_CASE("statistics log: what is none is refused") {
  const playground place;
  CHECK(error_of(place, "hello\n") ==
        "a.log: has no line of a statistic, as 'NAME iteration=000010 value=0.1250': give a log of the folder "
        "nvdlfw_inspect_statistics_logs");
  CHECK(error_of(place, line("fc_weight_mean", 1, "1.0000") + line("fc_weight_max", 1, "1.0000")) ==
        "a.log: has 2 statistics and no amax: name cur_amax, or both min and max, in the stats of LogTensorStats");
  CHECK(error_of(place, line("fc_weight_cur_amax", 1, "1,5")) == "a.log: line 1: the value '1,5' is no number");
  CHECK(error_of(place, "fc_cur_amax \t iteration=1x \t value=1.0\n") ==
        "a.log: line 1: the iteration '1x' is no number");
  CHECK(error_of(place, line("fc\x01_cur_amax", 1, "1.0000")) ==
        "a.log: line 1: the tensor name 'fc\\x01' has control characters");
}
