// Expressions of users: what is found, in which words others are refused, and that none takes long or much memory.
#include <ulp/io/bytes/regex.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using ulp::regex;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string refusal(const std::string& expression) {
  try {
    static_cast<void>(regex(expression));
    return "";
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
}

bool refused_for(const std::string& expression, const std::string& reason) {
  const std::string why = refusal(expression);
  CAPTURE(expression, why);
  return why.find(" is not a valid regular expression: ") != std::string::npos &&
         why.find(reason) != std::string::npos && why.find('\n') == std::string::npos && why.size() < 300;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// By std::regex: every group of the last match in which one took part, as the option --steps-from had it.
std::optional<std::string> last_group_of_std(const std::string& expression, const std::string& text) {
  const std::regex pattern(expression);
  std::optional<std::string> found;
  for (auto match = std::sregex_iterator(text.begin(), text.end(), pattern); match != std::sregex_iterator(); ++match) {
    const auto part = std::find_if(match->begin() + (match->size() > 1 ? 1 : 0), match->end(),
                                   [](const std::ssub_match& p) { return p.matched; });
    if (part != match->end()) found = part->str();
  }
  return found;
}

}  // namespace

TEST_CASE("regex: searched anywhere, as users write them") {
  for (const auto& [expression, text] : std::vector<std::pair<std::string, std::string>>{
           {"", "fc.weight"},
           {"weight", "fc.weight"},
           {"^fc", "fc.weight"},
           {"weight$", "fc.weight"},
           {R"(\.weight$)", "fc.weight"},
           {R"(\d+)", "layers.12"},
           {R"(^\w+\W\w+$)", "fc.weight"},
           {R"(\bln\b)", "h.ln.bias"},
           {R"(\s\S)", "a b"},
           {"(?:q|k|v)_proj", "k_proj"},
           {"[[:digit:]]{2}", "h.12"},
           {R"([^/]+\/x)", "a/x"},
           {R"(a\-b\_c)", "a-b_c"},
           {"a.*?c", "abc"},
           {"^.$", "\xC3\xA9"},
           {"[\xC3\xA9]", "caf\xC3\xA9"},
           {"(?i)FC", "fc"},
           {"{", "a{0}"},
       }) {
    CAPTURE(expression, text);
    CHECK(regex(expression).matches(text));
  }
  CHECK_FALSE(regex("Weight").matches("weight"));
  CHECK_FALSE(regex("^eight").matches("weight"));
  CHECK_FALSE(regex(R"(\bln\b)").matches("lnf"));
  CHECK_FALSE(regex("a").matches(""));
  CHECK(regex("^$").matches(std::string_view{}));
  CHECK(regex(std::string_view{"a\0b", 3}).matches(std::string_view{"xa\0b", 4}));
}

TEST_CASE("regex: a path need not be UTF-8") {
  const std::string path = "/runs/\xFF\xC3/caf\xC3\xA9/step12.npz";
  CHECK(regex("^/runs/../caf./step").matches(path));
  CHECK(regex("caf\xC3\xA9").matches(path));
  CHECK(regex("^[^a]*/caf").matches("\xFE/caf"));
  CHECK(regex(R"(^.*step(\d+))").last_group(path) == "12");
  CHECK(regex("(.)/caf").last_group(path) == "\xEF\xBF\xBD");
}

TEST_CASE("regex: the group of the last match") {
  const std::vector<std::string> texts = {
      "",     "g12.npz", "step5/rank0/step9", "iter_0000100.npz", "a1b22c333", "aaa",
      "aXbX", "12",      "step=5-step=",      "epoch=1-step=500", "zg7.npz"};
  for (const char* const expression :
       {R"((?:step|iter)[_=-]?(\d+))", R"(\d+)", "(z)|g(.*).npz", "g(.*)", R"((\d)(\d)?)", R"((x)|\d)", "(a)|(b)", "a",
        R"(\d*)", R"((\d*))", R"((?:a(\d)|b(\d)|c))", "^", "$", R"(\b)", "(X)?", "(a*?)", "()", "(a|aa)",
        R"(step(=(\d+))?)"})
    for (const std::string& text : texts) {
      CAPTURE(expression, text);
      CHECK(regex(expression).last_group(text) == last_group_of_std(expression, text));
    }
}

TEST_CASE("regex: what is none is refused in words, on one line") {
  CHECK(refusal("conv(") ==
        R"('conv(' is not a valid regular expression: a ( is not closed by ); the character itself is \()");
  CHECK(refused_for("conv)", R"(a ) closes nothing)"));
  CHECK(refused_for("[ab", "a [ is not closed"));
  CHECK(refused_for("*weight", "nothing stands before '*'"));
  CHECK(refused_for("a**", "'**' repeats something already repeated"));
  CHECK(refused_for("a{2000}", "'{2000}' is not a number of repetitions"));
  CHECK(refused_for("a{2,1}", "'{2,1}' is not a number of repetitions"));
  CHECK(refused_for("[z-a]", "'z-a' is not a range"));
  CHECK(refused_for("[[:letter:]]", "'[:letter:]' is not a range or class"));
  CHECK(refused_for("a\\", "ends in a single backslash"));
  CHECK(refused_for(R"(\u00e9)", R"(RE2 has no escape '\u')"));
  CHECK(refused_for(R"((a|b)\1)", R"(RE2 has no back-references such as '\1')"));
  for (const char* const around : {"(?=a)", "(?!a)", "(?<=a)", "(?<!a)"})
    CHECK(refused_for(around, "RE2 has no look-around such as '" + std::string{around}.substr(0, 3)));
  CHECK(refused_for("(?>a)", "RE2 has no '(?>'"));
  CHECK(refused_for("(?P<a b>a)", "is not a named group"));
  CHECK(refused_for("\xFF", "it is not UTF-8"));
  // What is quoted of it does no harm to a terminal, and is short.
  CHECK(refused_for("(\n\x1B[31m\xFF", R"('(\x0A\x1B[31m\xFF')"));
  CHECK(refused_for(repeated("x", 300) + "[" + repeated("\n", 300), "xxx...'"));
}

TEST_CASE("regex: none takes long or much memory") {
  CHECK(refused_for(repeated("(", 20000) + repeated(")", 20000), "it has 40000 bytes, more than 16384"));
  CHECK(refused_for(repeated("(", 8000) + repeated(")", 8000), "it has 8000 groups, more than 100"));
  CHECK(refused_for(repeated("(", 8000), "a ( is not closed"));
  CHECK(refused_for(R"((?:\pL{1000}|\pN{1000}){1})", "it needs too much memory"));
  CHECK(refused_for("((a{100}){100}){100}", "is no"));
  CHECK(regex(repeated("(?:", 3000) + "a" + repeated(")", 3000)).matches("a"));
  CHECK(refusal(repeated("x", regex::longest)).empty());
  CHECK(refusal(repeated("(a)", regex::most_groups)).empty());

  const std::string name(1000, 'a');
  for (const char* const expression : {"(a|aa)+$", "(a*)*$", "^(a|b)*c$", "(?:a?){500}a{500}b", "(x+x+)+y|(a+a+)+y"}) {
    CAPTURE(expression);
    CHECK(seconds_of([&] { static_cast<void>(regex(expression).matches(name + "!")); }) < 1);
    CHECK(seconds_of([&] { static_cast<void>(regex(expression).last_group(name + "!")); }) < 1);
  }
  CHECK(regex("(a|aa)+$").matches(name));
  CHECK_FALSE(regex("(a|aa)+$").matches(name + "!"));
}
