// The literals of Python as a tree: what is read, what is left open, and what ends with an error.
#include <string>

#include <ulp/io/bytes/error.hpp>

#include "config/syntax/tree.hpp"
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
  CHECK(tree("\"\"\"text\nof it\"\"\"\nif x:\n    a = r'\\d'\n") == "{a: 'd'}");
  CHECK(tree("n = 5\na = dict(b=n)\nc = f(a)") == "{n: 5, a: {b: 5}, c: {(): f, 0: {b: 5}}}");
}

TEST_CASE("what only running it would tell is left open") {
  CHECK(tree("a = x + 1\nb = f(1).g\nc = [i for i in y]\nd = lambda q: 1\ne = p if q else r") ==
        "{a: <x + 1>, b: <f(1).g>, c: [<i for i in y>], d: <lambda q: 1>, e: <p if q else r>}");
  CHECK(tree("a = f'{x}'\nb = f(*c, **d)") == "{a: <f'{x}'>, b: {(): f, **: <*c>, **: <**d>}}");
  CHECK(tree("a = 1\na = 2\nb = 1\nb = 1") == "{a: <assigned on lines 1 and 2>, b: 1}");
  CHECK(tree("a = 1\na += 1") == "{a: <assigned on lines 1 and 2>}");
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
  std::string names;
  for (int i = 0; i < 30'000; ++i) names += "a" + std::to_string(i) + " = 1\n";
  CHECK(tree(names).find("holds more than 20000 values") != std::string::npos);
  CHECK_NOTHROW(tree(std::string(100'000, ')')));
  CHECK_NOTHROW(tree("a = " + std::string(100'000, '-') + "1"));
  CHECK_NOTHROW(tree("a = 1" + std::string(50'000, '*') + "1"));
  CHECK_NOTHROW(tree("a.b.c.d.e.f.g.h.i.j.k = 1\na = 2"));
}
