// Every option that takes a regular expression takes the same ones, and none hangs or crashes the program.
#include <algorithm>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string digits = "tests/data/octaves/digits.ulp";

// With %s for the expression.
const char* const options[] = {"--tensor '%s'",   "--check '%s'",   "--kind '%s=weight_grad'",
                               "--role '%s=low'", "--group 'g=%s'", "--steps-from '%s'"};

program_result advised(std::string option, const std::string& expression) {
  option.replace(option.find("%s"), 2, expression);
  return run_ulp("advise " + digits + " " + option);
}

void is_refused(const std::string& option, const std::string& expression, const std::string& reason) {
  const program_result run = advised(option, expression);
  CAPTURE(option, run.err);
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("ulp: " + option.substr(0, option.find(' ')) + ": '"));
  CHECK(run.err.find(reason) != std::string::npos);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("expressions that no option takes are one line and exit code 2") {
  for (const std::string option : options) {
    is_refused(option, std::string(20000, '(') + std::string(20000, ')'), "it has 40000 bytes, more than 16384");
    is_refused(option, std::string(8000, '(') + std::string(8000, ')'), "it has 8000 groups, more than 100");
    is_refused(option, "(?!conv)", "RE2 has no look-around");
    is_refused(option, "conv(", "a ( is not closed");
  }
}

TEST_CASE("expressions of ECMAScript that every option takes") {
  for (const std::string option : options) {
    CAPTURE(option);
    const program_result run = advised(option, R"((?:conv|fc)\d\b|[[:digit:]]\.weight)");
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
  }
}

TEST_CASE("a name of an output that is empty, as unset variables are, is refused") {
  for (const std::string option : {"--csv", "--per-tensor"}) {
    const program_result run =
        run_ulp("replay tests/data/octaves/digits.ulp --scaler none --format fp16 " + option + " ''");
    CHECK(run.exit_code == 2);
    CHECK(run.err == "ulp: " + option + ": the file name is empty (see ulp replay --help)\n");
  }
}

TEST_CASE("outputs that must have a name") {
  for (const std::string command : {"report tests/data/octaves/digits.ulp", "export tests/data/octaves/digits.ulp",
                                    "record tests/data/octaves/digits.ulp", "merge tests/data/octaves/digits.ulp"})
    CHECK(run_ulp(command + " -o ''").err.find("the file name is empty") != std::string::npos);
}

TEST_CASE("a count that is none") {
  CHECK(run_ulp("check tests/data/octaves/digits.ulp --most 0").err.starts_with("ulp: --most: '0' is not a positive"));
  CHECK(run_ulp("check tests/data/octaves/digits.ulp --most 1.5").err.starts_with("ulp: --most: '1.5' is not an"));
}

TEST_CASE("no expression takes long on a long name") {
  const temporary_dir dir;
  const std::string csv = (dir / "run.csv").string();
  write_file(csv, "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n0," + std::string(1000, 'a') + "!,1,0,0,0,1,0,1\n");
  const auto is_instant = [](const std::string& input, const std::string& option) {
    CAPTURE(option);
    const program_result run = run_shell("timeout 60 ulp replay " + input + " --scaler none --format fp16 " + option);
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
  };
  is_instant(csv, "--tensor '!|(a|aa)+$'");
  is_instant(csv, "--check '!|(a|aa)+$'");
  is_instant(csv, "--kind '(a|aa)+$=weight'");
  is_instant(csv, "--role '(a|aa)+$=low'");
  is_instant(csv, "--group 'g=(a|aa)+$'");
  const std::string dump = (dir / (std::string(200, 'a') + "!")).string();
  write_file(dump, read_file(source_dir() / "examples/digits.step00100.safetensors"));
  is_instant(dump, "--steps-from '(a|aa)+$'");
}
