// Fault 5: what a file or a path says never acts on a terminal, a page or the text around it.
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "io/builders.hpp"
#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

// No byte that acts, whatever comes between.
bool is_tame(const std::string& text) {
  for (const std::string_view bad : {"\x1B", "\n", "\x7F", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\xA8", "\xFF"})
    if (text.find(bad) != std::string::npos) return false;
  return true;
}

const std::string hostile = "a\x1B[31m\n\x7F\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xFF";
const std::string shown = R"(a\x1B[31m\x0A\x7F\x9B\u{202E}\u{2028}\xFF)";

}  // namespace

TEST_CASE("printable: characters that act or are not seen are escaped, all others stay") {
  CHECK(printable("") == "");
  CHECK(printable("wgrad/fc.weight 'x' \\n <b> ± 梯度 \xF0\x9F\x98\x80") ==
        "wgrad/fc.weight 'x' \\n <b> ± 梯度 \xF0\x9F\x98\x80");
  CHECK(printable(hostile) == shown);
  CHECK(printable(shown) == shown);
  const std::vector<std::pair<std::string, std::string>> escaped{
      {std::string(1, '\0'), R"(\x00)"},
      {"\t", R"(\x09)"},
      {"\xC2\x80", R"(\x80)"},
      {"\xC2\xAD", R"(\u{00AD})"},           // soft hyphen
      {"\xD8\x9C", R"(\u{061C})"},           // Arabic letter mark
      {"\xE2\x80\x8B", R"(\u{200B})"},       // zero-width space
      {"\xE2\x80\x8D", R"(\u{200D})"},       // zero-width joiner
      {"\xE2\x80\x8F", R"(\u{200F})"},       // right-to-left mark
      {"\xE2\x81\xA0", R"(\u{2060})"},       // word joiner
      {"\xE2\x81\xA6", R"(\u{2066})"},       // isolate
      {"\xEF\xBB\xBF", R"(\u{FEFF})"},       // byte order mark
      {"\xEF\xB8\x8F", R"(\u{FE0F})"},       // variation selector
      {"\xE3\x85\xA4", R"(\u{3164})"},       // filler
      {"\xEF\xBF\xBF", R"(\u{FFFF})"},       // noncharacters
      {"\xF0\x9F\xBF\xBE", R"(\u{1FFFE})"},  //
      {"\xF3\xA0\x81\x81", R"(\u{E0041})"},  // tag
      {"\xC0\x80", R"(\xC0\x80)"},           // overlong
      {"\xED\xA0\x80", R"(\xED\xA0\x80)"},   // surrogate
      {"\xF4\x90\x80\x80", R"(\xF4\x90\x80\x80)"},
      {"\xE2\x82", R"(\xE2\x82)"},  // cut
  };
  for (const auto& [text, expected] : escaped) CHECK(printable(text) == expected);
}

TEST_CASE("printable: JSON keeps its values") {
  CHECK(printable_json("{\"a\xC2\x9B\x7F\xE2\x80\xA8\xF3\xA0\x81\x81\": \"±\"}\n") ==
        "{\"a\\u009B\\u007F\\u2028\\uDB40\\uDC41\": \"±\"}\n");
}

TEST_CASE("printable: an error is one printable line whatever it is made of") {
  const std::string line = input_error(hostile, hostile, hostile).what();
  CHECK(line == shown + ": " + shown + ": " + shown);
  const playground place;
  CHECK(place.error(hostile.substr(0, 5) + ".npz", "PK\x05\x06").starts_with("a\\x1B[31"));
}

TEST_CASE("printable: names that act on other text are refused, invisible letters are not") {
  const playground place;
  const std::string values = npy(npy_dict("<f4", "(1,)"), raw(std::vector<float>{1}));
  for (const std::string bad : {"\x1B", "\x7F", "\xC2\x9B", "\xE2\x80\xAE", "\xE2\x80\xA8", "\xD8\x9C"}) {
    const std::string error = place.error("a.npz", zip({{.name = "x" + bad + ".npy", .contents = values}}));
    CHECK(error == "a.npz: the tensor name 'x" + printable(bad) + "' has control characters");
  }
  const std::string joined = "\xE0\xA4\x95\xE2\x80\x8D.weight";
  CHECK(place.open("a.npz", zip({{.name = joined + ".npy", .contents = values}})).tensors[0].name == joined);
}

TEST_CASE("printable: notes name tags and types tamely") {
  const playground place;
  const std::string error = place.error("a.npy", npy(npy_dict("<U\x1B[31m", "(1,)"), ""), empty_allowed());
  CHECK(is_tame(error));
  CHECK(error.find("\\x1B") != std::string::npos);
  const made_histogram h{.min = 1, .max = 1, .num = 1, .sum_squares = 1, .limits = {2}, .counts = {1}};
  place.write("a.tfevents", tf_begin() + tf_event(1, {tf_histogram("a", h), tf_scalar(hostile, 1)}));
  for (const std::string& note : place.open(std::vector<std::string>{"a.tfevents"}).notes) CHECK(is_tame(note));
}
