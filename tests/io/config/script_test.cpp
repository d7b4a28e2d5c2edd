// What a shell script hands to the program that it starts: variables, arrays, quotes, continuations, scripts in scripts and
// here-documents as bash has them, against commands written out by hand.
#include <algorithm>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "config/arguments.hpp"
#include "config/shell/script.hpp"
#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

namespace {

// The commands, words in brackets.
std::string commands(const std::string& text) {
  std::string result;
  for (const shell_command& command : read_script("s", text).commands) {
    if (!result.empty()) result += " ; ";
    for (const traced_text& word : command.words) result += "[" + word.text + "]";
  }
  return result;
}

const std::vector<std::string_view> telling{"fp16", "bf16", "loss_scale", "hysteresis"};

std::string arguments(const std::string& text) {
  std::string result;
  try {
    for (const argument& a : read_arguments("s", text, telling).arguments) {
      result += (result.empty() ? "" : " ") + a.name;
      for (const std::string& value : a.values) result += " " + value;
      if (!a.doubt.empty()) result += " (" + a.doubt + ")";
    }
  } catch (const input_error& problem) {
    return problem.what();
  }
  return result;
}

}  // namespace

TEST_CASE("words are those of a shell") {
  CHECK(commands("a b\\\n  c # d\n# e\nf") == "[a][b][c] ; [f]");
  CHECK(commands("a 'b  $X' \"c \\\" d\" e\\ f g#h") == "[a][b  $X][c \" d][e f][g#h]");
  CHECK(commands("a; b && c | d & e") == "[a] ; [b] ; [c] ; [d] ; [e]");
  CHECK(commands("if [ x ]; then a; else b; fi") == "[[][x][]] ; [a] ; [b] ; [fi]");
  CHECK(commands("a b > out 2>&1 < in &> all") == "[a][b]");
  CHECK(commands("a 2>&1 | tee x") == "[a] ; [tee][x]");
  CHECK(commands("a\r\nb \\\r\n c\r\n") == "[a] ; [b][c]");
  CHECK(commands("a `x y`/b $(c d)e f") == "[a][`x y`/b][$(c d)e][f]");
  CHECK(commands("a \"") == "[a][]");
  CHECK(commands("'") == "[]");
}

TEST_CASE("variables are what the script assigns to them") {
  CHECK(commands("X=1\na $X ${X} \"$X$X\" $Y ${Y} '$X'") == "[a][1][1][11][$Y][${Y}][$X]");
  CHECK(commands("X='b c'\na $X \"$X\"") == "[a][b][c][b c]");
  CHECK(commands("export X=\"b \\\n c\"; a $X") == "[export] ; [a][b][c]");
  CHECK(commands("X=b; X=\"$X c\"; X+=' d'\na $X") == "[a][b][c][d]");
  CHECK(commands("X=(b 'c d' # e\n  f)\nX+=(g)\na ${X[@]}") == "[a][b][c d][f][g]");
  CHECK(commands("X=(b c)\na \"d ${X[*]} e\" \"${X[@]}\"") == "[a][d b c e][b][c]");
  CHECK(commands("X=(b c)\nY=\"${X[*]} d\"\na $Y \"$Y\"") == "[a][b][c][d][b c d]");
  CHECK(commands("a ${X:-b} ${X:=c}; X=1; a ${X:-b}") == "[a][b][c] ; [a][1]");
  CHECK(commands("X=$((1+2)); a $X $1 $@ ${#X}") == "[a][$((1+2))][$1][$@][${#X}]");
  CHECK(commands("X= a b") == "[a][b]");
}

TEST_CASE("scripts within scripts and what is written to files") {
  CHECK(commands("L='p q'; C=\"r $L\"\nsrun -l bash -c '$L x $C'") == "[p][q][x][r][p][q]");
  CHECK(commands("c=\"a b > x\"\necho $c\neval $c") == "[echo][a][b][>][x] ; [a][b]");
  const shell_script script =
      read_script("s", "N=4\nf=./ds.json\ncat <<EOT > $f\n{\"a\": $N, \"b\": $M}\nit's\nEOT\na b\n");
  CHECK(script.commands.size() == 2);
  REQUIRE(script.written.contains("./ds.json"));
  CHECK(script.written.at("./ds.json") == "{\"a\": 4, \"b\": $M}\nit's\n");
  CHECK(json_of_script("{\"a\": $M, \"$b\": ${x}}") == "{\"a\": \"$M\", \"$b\": \"${x\"}}");
}

TEST_CASE("arguments are what stands behind the program") {
  CHECK(arguments("#SBATCH --fp16\nsrun --output=x -l torchrun --nnodes 2 train.py data --fp16 --lr 1 2> log") ==
        "--fp16 --lr 1");
  CHECK(arguments("python tools/preprocess.py --workers 4\npython train.py --bf16\nls --fp16") == "--bf16");
  CHECK(arguments("A=(--fp16)\nB=\"--loss-scale $S\"\nS=2\npython train.py ${A[@]} $B") == "--fp16 --loss-scale $S");
  CHECK(arguments("S=2\nB=\"--loss-scale $S\"\npython -u -m torch.distributed.run --tee 3 train.py $B") ==
        "--loss-scale 2");
  CHECK(arguments("python -m verl.trainer.main_ppo a.b=1 +c.d='x y' e=2") == "a.b 1 c.d x y e=2");
  // No program: all options of the text.
  CHECK(arguments("ARGS=\"--fp16 \\\n --loss-scale 2\"") == "--fp16 --loss-scale 2");
  CHECK(arguments("cmd = ['--fp16', '--loss-scale', '128']") == "--fp16 --loss-scale 128");
}

TEST_CASE("what a run would decide is told, where it is about the loss scale") {
  const std::string twice =
      "depends on $S, which is assigned on lines 1 and 2 with different values; keep the "
      "assignment that counts";
  CHECK(arguments("S=1\nif x; then S=2; fi\npython t.py --loss-scale $S --lr $S") ==
        "--loss-scale 2 (" + twice + ") --lr 2");
  CHECK(arguments("S=1\nS=1\npython t.py --loss-scale $S") == "--loss-scale 1");
  CHECK(arguments("S=1\nT=2\nT=1\npython t.py --loss-scale $S --lr $T") == "--loss-scale 1 --lr 1");
  // The same option in both branches is no question; one that only the other has is.
  CHECK(arguments("S='--fp16 --lr 1'\nS='--fp16 --lr 2'\npython t.py $S") == "--fp16 --lr 2");
  CHECK(arguments("S='--fp16'\nS='--bf16'\npython t.py $S") == "--bf16 (" + twice + ")");
  const argument_list list = read_arguments("s", "S='--fp16'\nS='--lr 1'\npython t.py $S", telling);
  REQUIRE(list.perhaps.size() == 1);
  CHECK(list.perhaps.front().name == "--fp16");
  CHECK(arguments("python a.py --fp16\npython b.py --fp16 --loss-scale 2") ==
        "s: line 2: starts 'b.py' with 'loss_scale', which the command on line 1 does not have; keep one of them");
  CHECK(arguments("python a.py --fp16 --loss-scale 2\npython b.py --fp16") ==
        "s: line 2: starts 'b.py' without 'loss_scale', which the command on line 1 has; keep one of them");
  CHECK(arguments("python a.py --loss-scale 4\npython b.py --loss-scale 2") ==
        "s: line 2: starts 'b.py' with another 'loss_scale' than the command on line 1; keep one of them");
  // In any order.
  CHECK(arguments("python a.py --fp16 --loss-scale 2\npython b.py --loss-scale 2 --fp16") == "--fp16 --loss-scale 2");
  CHECK(read_arguments("s", "python t.py $GPT_ARGS --fp16", telling).unset == std::vector<std::string>{"$GPT_ARGS"});
}

TEST_CASE("hostile scripts end soon") {
  std::string doubling = "A0=" + std::string(1000, 'x') + "\n";
  for (int i = 1; i < 60; ++i)
    doubling += "A" + std::to_string(i) + "=\"$A" + std::to_string(i - 1) + "$A" + std::to_string(i - 1) + "\"\n";
  CHECK_THROWS_AS(read_script("s", doubling), input_error);
  std::string appended;
  for (int i = 0; i < 100'000; ++i) appended += "X+=abcdefgh\n";
  CHECK_THROWS_AS(read_script("s", appended), input_error);
  std::string many = "python t.py";
  for (int i = 0; i < 100'000; ++i) many += " --fp16";
  CHECK(read_arguments("s", many, telling).arguments.size() == 100'000);
  std::string nested = "x";
  for (int i = 0; i < 40; ++i) nested = "bash -c \"" + nested + "\"";
  CHECK_NOTHROW(read_script("s", nested));
  CHECK_NOTHROW(read_script("s", std::string(100'000, '(')));
  CHECK_NOTHROW(read_script("s", "$" + std::string(100'000, '(')));
  CHECK_NOTHROW(read_script("s", "cat <<EOT > x"));
  CHECK_NOTHROW(read_script("s", "X=(" + std::string(1000, '(')));
}

// The values are what bash 5 prints by echo.
TEST_CASE("an option of one letter is no value of the one before it") {
  const test::importer read{test::framework_name::first};
  CHECK(read("python train.py --model m --sched cosine --amp -j 4 --clip-grad 2.0 -b 64") ==
        "timm: pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16, "
        "norm 2");
}

TEST_CASE("arithmetic of constants in a script") {
  const ulp::test::importer read;
  const auto scale = [&](const std::string& value) {
    return read("python pretrain_gpt.py --fp16 --loss-scale " + value);
  };
  const auto is = [&](const std::string& number) { return scale(number); };
  CHECK(scale("$((2**12))") == is("4096"));
  CHECK(scale("$((1<<12))") == is("4096"));
  CHECK(scale("$((2**2**3))") == is("256"));
  CHECK(scale("$((2+3*4))") == is("14"));
  CHECK(scale("$(((2+3)*4))") == is("20"));
  CHECK(scale("$((17%5))") == is("2"));
  CHECK(scale("$((7/2))") == is("3"));
  for (const std::string open : {"$((N*2))", "$((2**63))", "$((1/0))", "$((2**-1))", "$((010))", "$((2+))"}) {
    CAPTURE(open);
    CHECK(scale(open).find("whose value this file does not say") != std::string::npos);
  }
}
