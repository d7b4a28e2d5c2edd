// Pins that what is printed as a command line is read by a shell as what was meant.
#include <ulp/ask/questions/command_text.hpp>

#include "support/catch.hpp"

using ulp::file_argument;
using ulp::option_text;
using ulp::shell_quoted;

TEST_CASE("words are quoted where a shell would read something else") {
  CHECK(shell_quoted("run.ulp") == "run.ulp");
  CHECK(shell_quoted("") == "''");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("$HOME `x` \"y\" \\") == "'$HOME `x` \"y\" \\'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("gr\u00F6\u00DFe") == "'gr\u00F6\u00DFe'");
}

TEST_CASE("what would not be seen, or be seen as something else, is written as numbers") {
  CHECK(shell_quoted("a\nb'c\\") == "$'a\\012b\\'c\\\\'");
  CHECK(shell_quoted("\x1b[2J\x7f") == "$'\\033[2J\\177'");
  CHECK(shell_quoted("a\xff\xc3") == "$'a\\377\\303'");
  CHECK(shell_quoted("\u202Egpj.ulp") == "$'\\342\\200\\256gpj.ulp'");
  CHECK(shell_quoted("\u009Bx") == "$'\\302\\233x'");
  CHECK(shell_quoted("\xc0\xaf \xed\xa0\x80") == "$'\\300\\257 \\355\\240\\200'");
}

TEST_CASE("files and values that begin with a hyphen are no options") {
  CHECK(file_argument("--help") == "./--help");
  CHECK(file_argument("-x y") == "'./-x y'");
  CHECK(file_argument("-") == "-");
  CHECK(file_argument("a/-x") == "a/-x");
  CHECK(option_text("--tensor", "fc") == " --tensor fc");
  CHECK(option_text("--tensor", "-fc") == " --tensor=-fc");
  CHECK(option_text("--tensor", "--a b") == " --tensor='--a b'");
}
