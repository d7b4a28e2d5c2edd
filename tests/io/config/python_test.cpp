// The literals of Python as a tree: what is read, what is left open, and what ends with an error.
#include <string>

#include <ulp/io/bytes/error.hpp>

#include "config/syntax/tree.hpp"
#include "importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

namespace {

// "{a: 1, b: [x, 'y'], c: <open>}"
std::string shown(const config_node& node) {
  if (node.what == config_node::kind::null) return "null";
  if (node.what == config_node::kind::scalar)
    return node.open ? "<" + node.text + ">" : node.quoted ? "'" + node.text + "'" : node.text;
  const bool is_list = node.what == config_node::kind::sequence;
  std::string text;
  for (const config_entry& e : node.entries)
    text += (text.empty() ? "" : ", ") + (is_list ? "" : e.key + ": ") + shown(e.value);
  return (is_list ? "[" : "{") + text + (is_list ? "]" : "}");
}

std::string tree(const std::string& text) {
  try {
    return shown(parse_python("p", text));
  } catch (const input_error& problem) {
    return problem.what();
  }
}

}  // namespace

TEST_CASE("arguments behind what a logger in brackets writes") {
  const ulp::test::importer read;
  const std::string printed =
      "Training/evaluation parameters TrainingArguments(\n_n_gpu=1,\nbf16=False,\nfp16=True,\nmax_grad_norm=0.5,\n)\n";
  const std::string expected =
      "pytorch_gradscaler init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=2000 in float16, norm 0.5";
  CHECK(read("[INFO|trainer.py:1] 2026-03-01 10:00:00,000 >> " + printed, "c.txt") == expected);
  CHECK(read("[2026-03-01 10:00:00] " + printed, "c.txt") == expected);
}

TEST_CASE("literals") {
  CHECK(tree("a = 1\nb = -2.5e-3\nc = 'x' \"y\"\nd = None\ne = True") ==
        "{a: 1, b: -0.0025, c: 'xy', d: null, e: True}");
  CHECK(tree("a = 2**16\nb = 4 * 1024 - 24\nc = 1_000\nd = 512.\ne = 3 / 2") ==
        "{a: 65536, b: 4072, c: 1000, d: 512, e: 1.5}");
  CHECK(tree("a = [1, 'x', (2, 3), ()]\nb = (4)\nc = {'k': {'l': [5]}, 6: 7,}") ==
        "{a: [1, 'x', [2, 3], []], b: 4, c: {k: {l: [5]}, 6: 7}}");
  CHECK(tree("a = dict(\n  b=1,  # c\n  d=torch.float16)\n") == "{a: {b: 1, d: torch.float16}}");
  CHECK(tree("x.y.z = 1\nx.y.w = f(2, k=3)") == "{x: {y: {z: 1, w: {(): f, 0: 2, k: 3}}}}");
  CHECK(tree("a: int = 3\nf(b=1)\n") == "{a: 3, f: {(): f, b: 1}}");
  CHECK(tree("\"\"\"text\nof it\"\"\"\ntry:\n    a = r'\\d'\n") == "{a: '\\d'}");
  CHECK(tree("a = -2**2\nb = (2**3) * -(1 + 1)\nc = 7 // 2\nd = 0x10\ne = 2**-1") ==
        "{a: -4, b: -16, c: 3, d: 16, e: 0.5}");
  CHECK(tree("n = 5\na = dict(b=n)\nc = f(a)") == "{n: 5, a: {b: 5}, c: {(): f, 0: {b: 5}}}");
}

TEST_CASE("statements of one line, joined lines, and other ways to assign") {
  CHECK(tree("a = 1; b = 2; f(c=3)") == "{a: 1, b: 2, f: {(): f, c: 3}}");
  CHECK(tree("try: a = 1\nfinally: b = 2; c = 3\n") == "{a: 1, b: 2, c: 3}");
  CHECK(tree("a = \\\r\n  1\r\nb = 2\r\n") == "{a: 1, b: 2}");
  CHECK(tree("a = b = True\nc, d = 1, 2\n(e, f) = [3, 4]\ng = 5,") ==
        "{a: True, b: True, c: 1, d: 2, e: 3, f: 4, g: [5]}");
  CHECK(tree("c = dict(a=1)\nc['b'] = 2\nc[\"d\"]['e'] = 3\nsetattr(c, 'f', 4)\nc.update(g=5)\nc.update({'h': 6})\n"
             "c |= {'i': 7}") == "{c: {a: 1, b: 2, d: {e: 3}, f: 4, g: 5, h: 6, i: 7}}");
  CHECK(tree("a = dict(b=1, c=2)\nd = dict(**a, e=3)\nf = {**a, 'b': 4}") ==
        "{a: {b: 1, c: 2}, d: {b: 1, c: 2, e: 3}, f: {c: 2, b: 4}}");
  CHECK(tree("import torch\ntorch.backends.x = True\na = torch.float16").ends_with("a: torch.float16}"));
}

TEST_CASE("what a branch assigns, and what a function is given, is open") {
  CHECK(tree("if x: a = 1\nb = 2") == "{a: <assigned in a branch on line 1>, b: 2}");
  CHECK(tree("if x:\n  a = 1\nelse:\n  a = 2\nb = 3") == "{a: <assigned on lines 2 and 4>, b: 3}");
  CHECK(tree("a = 1\nif x:\n  a = 1\n") == "{a: 1}");
  CHECK(tree("if __name__ == '__main__':\n  a = 1\n") == "{a: 1}");
  CHECK(tree("if x:\n  a = f(b=1)\n") == "{a: {(): f, b: 1}}");
  CHECK(tree("p = 1\ndef main(p, q: int = 3):\n  a = f(b=p, c=q.r)\n") == "{p: 1, a: {(): f, b: <p>, c: <q.r>}}");
  CHECK(tree("for i in x:\n  a = i\nwith y as z: b = z") == "{a: <i>, b: <z>}");
  CHECK(tree("c = load()\na = c.fp16\ndel c.b") == "{c: {(): load, b: <deleted on line 3>}, a: <c.fp16>}");
  CHECK(tree("c = dict()\nsetattr(c, k, 1)\nc.update(x)\nd = y[0]\nd.e = 1\nd[0] = 2") ==
        "{c: {**: <assigned on lines 2 and 3>}, d: <changed in part on line 6>}");
}

TEST_CASE("what only running it would tell is left open") {
  CHECK(tree("a = x + 1\nb = f(1).g\nc = [i for i in y]\nd = lambda q: 1\ne = p if q else r") ==
        "{a: <x + 1>, b: <f(1).g>, c: [<i for i in y>], d: <lambda q: 1>, e: <p if q else r>}");
  CHECK(tree("a = f'{x}'\nb = f(*c, **d)") == "{a: <f'{x}'>, b: {(): f, **: <*c>, **: <**d>}}");
  CHECK(tree("a = 1\na = 2\nb = 1\nb = 1") == "{a: <assigned on lines 1 and 2>, b: 1}");
  CHECK(tree("a = 1\na += 1") == "{a: <assigned on lines 1 and 2>}");
  CHECK(tree("a = f(lambda p, q: p, {k: v for k, v in x}, d=1)\nb = lambda c=1: c") ==
        "{a: {(): f, 0: <lambda p, q: p>, 1: {k: <v for k, v in x>}, d: 1}, b: <lambda c=1: c>}");
  CHECK(tree("a = N(b=<E.X: 'x'>, c=1, d=/tmp/e)") == "{a: {(): N, b: <<E.X: 'x'>>, c: 1, d: </tmp/e>}}");
  CHECK(tree("a = dict(b=lambda: 1, c=x[1:2], d=1)") == "{a: {b: <lambda: 1>, c: <x[1:2]>, d: 1}}");
}

TEST_CASE("hostile text ends soon, with an error") {
  CHECK(tree("a = 'x\n").starts_with("p: line 1: is not Python: a text does not end"));
  CHECK(tree("a = [1, 2").starts_with("p: line 1: is not Python: "));
  CHECK(tree("a = dict(b=1, b=2)") == "p: line 1: the key 'b' is given twice, first on line 1");
  CHECK(tree("a = " + std::string(100'000, '[')) == "p: line 1: is nested deeper than 64 levels");
  CHECK(tree("a = " + std::string(100'000, '{')) == "p: line 1: is nested deeper than 64 levels");
  std::string calls = "a = ";
  for (int i = 0; i < 100'000; ++i) calls += "f(";
  CHECK(tree(calls) == "p: line 1: is nested deeper than 64 levels");
  std::string many = "a = [";
  for (int i = 0; i < 30'000; ++i) many += "1,";
  CHECK(tree(many + "]") == "p: line 1: holds more than 20000 values");
  std::string doubling = "a0 = [1, 2]\n";
  for (int i = 1; i < 60; ++i)
    doubling += "a" + std::to_string(i) + " = [a" + std::to_string(i - 1) + ", a" + std::to_string(i - 1) + "]\n";
  CHECK(tree(doubling).find("holds more than 20000 values") != std::string::npos);
  std::string copies = "a = '" + std::string(1'000'000, 'x') + "'\n";
  for (int i = 0; i < 100; ++i) copies += "b" + std::to_string(i) + " = a\n";
  CHECK(tree(copies).find("holds more than 20000 values") != std::string::npos);
  CHECK_THROWS_AS(parse_python(
                      "p", "a = 1" +
                               [] {
                                 std::string powers;
                                 for (int i = 0; i < 10'000; ++i) powers += "**1";
                                 return powers;
                               }()),
                  input_error);
  std::string names;
  for (int i = 0; i < 30'000; ++i) names += "a" + std::to_string(i) + " = 1\n";
  CHECK(tree(names).find("holds more than 20000 values") != std::string::npos);
  CHECK_NOTHROW(tree(std::string(100'000, ')')));
  CHECK_NOTHROW(tree("a = " + std::string(100'000, '-') + "1"));
  CHECK_NOTHROW(tree("a = 1" + std::string(50'000, '*') + "1"));
  CHECK_NOTHROW(tree("a.b.c.d.e.f.g.h.i.j.k = 1\na = 2"));
}

// deepspeedai/DeepSpeed deepspeed/__init__.py: initialize(..., config=None, config_params=None).
TEST_CASE("DeepSpeed's dictionary in a script") {
  const ulp::test::importer read{ulp::test::framework_name::first};
  const std::string dictionary =
      "ds_config = {'fp16': {'enabled': True, 'initial_scale_power': 10 + 2}, 'gradient_clipping': 0.25,\n"
      "             'zero_optimization': {'stage': 1}}\n";
  const std::string expected =
      "DeepSpeed: deepspeed_dynamic init_scale=4096 scale_window=1000 delayed_shift=2 consecutive_hysteresis=false "
      "min_scale=1 in float16, norm 0.25";
  CHECK(read(dictionary + "engine, *_ = deepspeed.initialize(model=model, config=ds_config)\n", "c.py") == expected);
  CHECK(read(dictionary + "engine, opt, _, _ = deepspeed.initialize(model=model, config_params=ds_config)\n", "c.py") ==
        expected);
  CHECK(read(dictionary + "engine, opt, _, _ = deepspeed.initialize(args, config=args.config)\n", "c.py") != expected);
}

TEST_CASE("arguments that a logger prints") {
  const ulp::test::importer read{ulp::test::framework_name::first};
  CHECK(
      read(
          "2020-10-01 10:00:00 | INFO | fairseq_cli.train | Namespace(arch='transformer', clip_norm=0.1, cpu=False, "
          "distributed_world_size=4, fp16=True, fp16_init_scale=128, fp16_scale_window=None, tpu=False, update_freq=[8])\n"
          "2020-10-01 10:00:01 | INFO | fairseq_cli.train | model: x\n") ==
      "fairseq: fairseq_cli init_scale=128 scale_window=512 in float16, norm 0.1");
}
