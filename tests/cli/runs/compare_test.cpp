// Pins what `ulp compare` says of inputs of every kind: the same, another scaler, NaN, other names and sizes, and what
// cannot be compared.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string digits = "examples/digits.ulp";

nlohmann::json summary_of(const std::string& arguments) {
  const auto ran = run_ulp("compare " + arguments + " --json");
  CAPTURE(arguments, ran.err);
  REQUIRE(ran.exit_code == 0);
  return nlohmann::json::parse(ran.out).at("summary");
}

std::string error_of(const std::string& arguments) {
  const auto ran = run_ulp("compare " + arguments + " --quiet");
  CAPTURE(arguments);
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  return ran.err;
}

}  // namespace

TEST_CASE("a run is the same as itself, and its text does not say more than was compared") {
  const auto all = summary_of(digits + " " + digits);
  CHECK(all.at("verdict") == "same");
  CHECK(all.at("tensors") == 11);
  CHECK(all.at("judged_until").is_null());
  const auto text = run_ulp("compare " + digits + " " + digits);
  CHECK_THAT(text.out, Contains("what was not recorded was not compared"));
  CHECK_THAT(text.out, Contains("values beside infinities or NaN"));
}

TEST_CASE("logs: another scaler, a loss that is lost, and steps of one alone") {
  const temporary_dir dir;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file((dir.path() / name).string(), text);
    return (dir.path() / name).string();
  };
  const std::string begin = "step,scale,skipped,loss\n0,2048,0,2.5\n1,2048,1,2.4\n";
  const std::string a = write("a.csv", begin + "2,1024,0,2.3\n3,1024,0,2.2\n");
  const std::string b = write("b.csv", begin + "2,512,0,2.3\n");
  const std::string kept = write("kept.csv", "step,loss\n0,1.5\n1,1.4\n2,1.3\n");
  const std::string lost = write("lost.csv", "step,loss\n0,1.5\n1,1.4\n2,nan\n");
  const std::string far = write("far.csv", "step,loss,scale\n10,2.5,1024\n11,2.4,1024\n");

  const auto scaled = summary_of(a + " " + b);
  CHECK(scaled.at("verdict") == "differs");
  CHECK(scaled.at("first_step") == 2);
  CHECK(scaled.at("first_part") == "loss_scale");
  CHECK(scaled.at("values_step").is_null());
  CHECK(scaled.at("steps") == 3);
  CHECK(scaled.at("steps_only_a") == 1);

  for (const std::string& pair : {kept + " " + lost, lost + " " + kept}) {
    const auto without = summary_of(pair);
    CHECK(without.at("first_step") == 2);
    CHECK(without.at("first_part") == "loss");
  }
  CHECK_THAT(error_of(a + " " + far), Contains("no step in common"));
  CHECK_THAT(error_of("- -"), Contains("standard input is one run only"));
  CHECK_THAT(error_of(a + " " + write("empty.csv", "")), Contains("is empty"));

  // A log and a recording have what was logged in common.
  const auto mixed = summary_of(digits + " " + a);
  CHECK(mixed.at("tensors") == 0);
  CHECK(mixed.at("tensors_only_a") == 11);
}

TEST_CASE("dumps: names that wrap modules are paired, other sizes and names are told") {
  const temporary_dir dir;
  const auto dump = [&](const std::string& name, const std::string& header, const std::string& bytes) {
    const std::string path = (dir.path() / name).string();
    std::string length(8, '\0');
    length[0] = static_cast<char>(header.size());
    write_file(path, length + header + bytes);
    return path;
  };
  const std::string values("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40", 16);  // 1, 2, 3, 4
  const std::string four = R"(":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
  const std::string a = dump("a.safetensors", R"({"fc.weight)" + four, values);
  const std::string wrapped = dump("b.safetensors", R"({"module._orig_mod.fc.weight)" + four, values);
  const auto same = summary_of(a + " " + wrapped);
  CHECK(same.at("verdict") == "same");
  CHECK(same.at("tensors_renamed") == 1);

  const std::string smaller =
      dump("c.safetensors", R"({"fc.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", values.substr(0, 8));
  CHECK_THAT(error_of(a + " " + smaller), Contains("no tensor of the same name and size"));
  const std::string other = dump("d.safetensors", R"({"conv)" + four, values);
  CHECK_THAT(error_of(a + " " + other), Contains("tensors such as fc.weight"));
  CHECK_THAT(error_of(a + " " + a + " --tensor nothing"), Contains("select none of its tensors"));

  std::string twice = values;
  for (const std::size_t at : {3, 7, 11, 15}) twice[at] = '\x41';
  const auto changed = summary_of(a + " " + dump("e.safetensors", R"({"fc.weight)" + four, twice));
  CHECK(changed.at("verdict") == "differs");
  CHECK(changed.at("first_tensor") == "fc.weight");
}

TEST_CASE("runs of different speed are compared where their loss is the same, or refused with one error") {
  const temporary_dir dir;
  const auto write = [&](const std::string& name, const std::string& text) {
    write_file((dir.path() / name).string(), text);
    return (dir.path() / name).string();
  };
  // 4 * 0.99^i, and the same twice as fast; two runs that never meet; one without losses.
  std::string slow = "step,loss,scale\n";
  std::string fast = slow;
  std::string above = slow;
  for (int i = 0; i < 200; ++i) {
    slow += std::to_string(i) + "," + std::to_string(4 * std::pow(0.99, i)) + ",1024\n";
    above += std::to_string(i) + "," + std::to_string(9 - 0.01 * i) + ",1024\n";
    if (i < 100) fast += std::to_string(i) + "," + std::to_string(4 * std::pow(0.99, 2 * i)) + ",1024\n";
  }
  const std::string a = write("slow.csv", slow);
  const std::string b = write("fast.csv", fast);
  const auto all = summary_of(a + " " + b + " --align loss");
  CHECK(all.at("align") == "loss");
  CHECK(all.at("pairs") == 100);
  CHECK(all.at("b_from") == 0);
  CHECK(all.at("b_to") == 99);
  CHECK(all.at("steps_of_b_per_step") == 0.5);
  CHECK(all.at("verdict") == "not_judged");  // neither has norms
  CHECK_THAT(run_ulp("compare " + a + " " + b + " --align loss").out, Contains("neither tensors nor gradient norms"));
  CHECK(summary_of(a + " " + b).at("align") == "step");

  // A norm that is lost in one run alone, and norms in too few pairs.
  const auto with_norm = [&](const std::string& name, const auto& norm) {
    std::string rows = "step,loss,grad_norm\n";
    for (int i = 0; i < 100; ++i)
      rows += std::to_string(i) + "," + std::to_string(4 * std::pow(0.99, i)) + "," + norm(i) + "\n";
    return write(name, rows);
  };
  const std::string steady = with_norm("steady.csv", [](int) { return "1.5"; });
  const auto gone =
      summary_of(steady + " " + with_norm("gone.csv", [](int i) { return i < 60 ? "1.5" : "inf"; }) + " --align loss");
  CHECK(gone.at("verdict") == "differs");
  CHECK(gone.at("first_step") == 60);
  CHECK(gone.at("first_part") == "grad_norm");
  const std::string seldom = with_norm("seldom.csv", [](int i) { return i % 50 == 0 ? "1.5" : ""; });
  CHECK(summary_of(seldom + " " + seldom + " --align loss").at("verdict") == "not_judged");
  CHECK(summary_of(steady + " " + steady + " --align loss").at("verdict") != "not_judged");

  // Zero in one run alone, from the first pair on or later, and in both.
  const std::string none = with_norm("zero.csv", [](int) { return "0"; });
  const auto frozen = summary_of(steady + " " + none + " --align loss");
  CHECK(frozen.at("verdict") == "differs");
  CHECK(frozen.at("first_step") == 7);
  CHECK_THAT(run_ulp("compare " + steady + " " + none + " --align loss").out,
             Contains("zero in one run alone, so far in 8 pairs (1.5 in A, 0 in B)"));
  const std::string late = with_norm("late.csv", [](int i) { return i < 50 ? "0" : "1.5"; });
  CHECK(summary_of(late + " " + none + " --align loss").at("first_step") == 57);
  const std::string ends = with_norm("ends.csv", [](int i) { return i < 60 ? "1.5" : "0"; });
  const std::string ended = run_ulp("compare " + steady + " " + ends + " --align loss").out;
  CHECK_THAT(ended, Contains("zero in one run alone (1.5 in A, 0 in B), where B's usually is 1 times A's"));
  CHECK_THAT(ended, Contains("a gradient that does not arrive, or that is frozen, in one run alone"));
  CHECK(summary_of(none + " " + none + " --align loss").at("verdict") == "not_judged");
  CHECK_THAT(run_ulp("compare " + none + " " + none + " --align loss").out,
             Contains("too few pairs with norms that are finite and not zero"));
  CHECK_THAT(
      run_ulp("compare " + write("one.csv", "step,loss,grad_norm\n0,4,1\n") + " " + steady + " --align loss").out,
      Contains("1 pair does not tell"));

  // Losses that end in one run alone.
  const auto with_loss = [&](const std::string& name, const auto& loss) {
    std::string rows = "step,loss,grad_norm\n";
    for (int i = 0; i < 100; ++i) rows += std::to_string(i) + "," + loss(i) + ",1.5\n";
    return write(name, rows);
  };
  const auto falling = [](int i) { return std::to_string(4 * std::pow(0.99, i)); };
  const std::string nan = with_loss("nan.csv", [&](int i) { return i < 60 ? falling(i) : "nan"; });
  CHECK_THAT(run_ulp("compare " + steady + " " + nan + " --align loss").out,
             Contains("in B alone the loss is not finite from step 60 on"));
  CHECK(summary_of(steady + " " + nan + " --align loss").at("loss_lost_b") == 60);
  const std::string twice =
      with_loss("twice.csv", [&](int i) { return i < 90 && (i < 20 || i > 27) ? falling(i) : "nan"; });
  CHECK_THAT(run_ulp("compare " + steady + " " + twice + " --align loss").out,
             Contains("is not finite from step 90 on and is not finite in 8 steps before, the first 20"));
  const std::string risen = with_loss("risen.csv", [&](int i) { return i < 60 ? falling(i) : std::string{"5"}; });
  CHECK_THAT(run_ulp("compare " + risen + " " + steady + " --align loss").out,
             Contains("in A alone the loss rises for good from step 60 on, to 5 from"));
  CHECK_THAT(run_ulp("compare " + risen + " " + nan + " --align loss").out, Contains("; in B it is not finite from"));
  const auto well = summary_of(steady + " " + steady + " --align loss");
  CHECK(well.at("loss_lost_b").is_null());
  CHECK(well.at("loss_rises_b").is_null());
  const std::string text = run_ulp("compare " + steady + " " + nan + " --align loss").err;
  CHECK(text.find("columns: ") != std::string::npos);
  for (const std::string& input : {steady, nan}) {
    const std::string note = "ulp: note: " + input + ": columns: ";
    CHECK(text.find(note) != std::string::npos);
    CHECK(text.find(note) == text.rfind(note));
  }

  const std::string low = (dir.path() / "low.ulp").string();
  const std::string twin = (dir.path() / "twin.ulp").string();
  REQUIRE(run_ulp("selfcheck closed-loop --model mlp --steps 200 --seeds 1 -o " + low + " --twin " + twin).exit_code ==
          0);
  CHECK_THAT(run_ulp("compare " + low + " " + twin + " --align loss").out,
             Contains("A keeps most tensors in a narrower format than B"));

  CHECK_THAT(error_of(a + " " + write("above.csv", above) + " --align loss"), Contains("never at the loss of"));
  CHECK_THAT(error_of(a + " " + write("none.csv", "step,scale\n0,1024\n") + " --align loss"),
             Contains("no finite loss in its steps"));
  CHECK_THAT(error_of(a + " - --align loss"), Contains("read once"));
  const std::string pipe = (dir.path() / "pipe").string();
  REQUIRE(run_shell("mkfifo '" + pipe + "'").exit_code == 0);
  CHECK_THAT(error_of(a + " " + pipe + " --align loss"),
             Contains(pipe + ": is a pipe, and --align loss reads its inputs twice: give a file"));
  CHECK_THAT(error_of(a + " " + b + " --loss-window 9"),
             Contains("--loss-window: is of steps that are compared by loss"));
  CHECK_THAT(error_of(a + " " + b + " --align loss --loss-window 4"), Contains("is even"));
  CHECK_THAT(error_of(a + " " + b + " --align loss --repeat " + a), Contains("--repeat"));
  const auto page = run_ulp("report " + a + " --align loss -o '" + (dir.path() / "a.html").string() + "'");
  CHECK(page.exit_code == 2);
  CHECK_THAT(page.err, Contains("--align: is of a comparison; add --compare FILE"));
}
