// Pins that a command line that is printed is read, by a shell and by ulp's own options, as the texts it was printed from.
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <ulp/ask/questions/scenario_text.hpp>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/options.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;

namespace {

struct texts {
  run_text run;
  scenario_text what;
};

// By bash: not every sh has $'...' yet.
std::vector<std::string> words_of(const std::string& command) {
  const test::temporary_dir dir;
  test::write_file(dir / "script", "printf '%s\\0' " + command);
  const auto printed = test::run_shell("bash '" + (dir / "script").string() + "'");
  REQUIRE(printed.exit_code == 0);
  std::vector<std::string> words;
  std::istringstream in(printed.out);
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

// As `ulp replay` registers them.
texts read_by_ulp(const std::string& command) {
  texts read;
  cli::command replay{.name = "replay", .help = ""};
  cli::add_run(replay, read.run);
  cli::add_groups(replay, read.run);
  cli::add_options(replay, options_of(read.what));
  replay.run = [] { return 0; };
  std::vector<std::string> words = words_of(command);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const cli::program all{.name = "ulp", .help = "", .version = "", .footer = "", .commands = {replay}};
  REQUIRE(cli::run(all, static_cast<int>(words.size()), argv.data()) == 0);
  return read;
}

class texts_by_chance {
 public:
  explicit texts_by_chance(std::uint32_t seed) : random_(seed) {}

  texts next() {
    texts t;
    // A name that begins with a hyphen is written "./-x", so that no program takes it for an option.
    for (std::string& word : words(1, 3)) t.run.inputs.push_back(word.starts_with('-') ? "./" + word : word);
    t.run.tensor = maybe();
    t.run.kinds = words(0, 2);
    t.run.roles = words(0, 2);
    t.run.steps = maybe();
    t.run.every = number(1, 5);
    t.run.steps_from = maybe();
    t.run.scalars = maybe();
    if (t.run.scalars.starts_with('-')) t.run.scalars.insert(0, "./");
    t.run.factor = maybe();
    t.run.groups = words(0, 2);
    t.run.allow_empty = number(0, 1) == 1;
    t.run.limits = words(0, 2);
    t.what.scaler = word();
    t.what.parameters = words(0, 3);
    t.what.start = words(0, 2);
    t.what.format = word();
    t.what.rounding = {.direction = maybe(),
                       .saturate = number(0, 1) == 1,
                       .daz = number(0, 1) == 1,
                       .flush = number(0, 1) == 1 ? "result" : "",
                       .tininess = number(0, 1) == 1 ? "before" : "after",
                       .seed = static_cast<std::uint64_t>(number(0, 1) * number(1, 1 << 30))};
    t.what.rounding.saturate_finite = !t.what.rounding.saturate && number(0, 1) == 1;
    t.what.check = maybe();
    (number(0, 1) == 1 ? t.what.clip_norm : t.what.clip_value) = maybe();
    t.what.order = maybe();
    return t;
  }

 private:
  std::int64_t number(std::int64_t from, std::int64_t to) { return std::uniform_int_distribution(from, to)(random_); }
  std::string word() {
    static const std::vector<std::string> parts{
        "a", "-", "--", "'", "\"",           "\\",     "$HOME",  "`x`", " ",      "=", ",", ";", "*",  "\n",  "\t",
        "~", "#", "(",  "|", "conv1.weight", "\u00E9", "\u202E", "2^3", "[a-z]+", "!", "&", "<", "%s", "\x01"};
    std::string text;
    for (std::int64_t n = number(1, 5); n > 0; --n)
      text += parts[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(parts.size()) - 1))];
    return text;
  }
  std::string maybe() { return number(0, 1) == 1 ? word() : ""; }
  std::vector<std::string> words(std::int64_t least, std::int64_t most) {
    std::vector<std::string> all;
    for (std::int64_t n = number(least, most); n > 0; --n) all.push_back(word());
    return all;
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("what is printed as a command is read as what it was printed from") {
  texts_by_chance by_chance(20);
  for (int i = 0; i < 300; ++i) {
    const texts given = by_chance.next();
    const std::string command = command_of(given.what, given.run);
    INFO(command);
    const texts read = read_by_ulp(command);
    CHECK(read.run == given.run);
    CHECK(read.what == given.what);
  }
}

TEST_CASE("what was not said is not printed") {
  CHECK(command_of({.scaler = "none", .format = "e5m7"}, {.inputs = {"-"}}) ==
        "ulp replay - --scaler none --format e5m7");
}
