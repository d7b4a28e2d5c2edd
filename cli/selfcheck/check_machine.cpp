#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/train/closed_loop.hpp>
#include <vector>

#include "command.hpp"
#include "interrupt.hpp"
#include "self_test.hpp"

namespace ulp::cli {
namespace {

using machine_check = self_test (*)();

constexpr std::array checks{check_conversions, check_arithmetic,      check_counting,
                            check_random_bits, check_processor_state, check_sqlite,
                            check_zlib,        check_locale,          check_closed_loop};

// What goes wrong inside a check is its difference.
self_test result_of(machine_check run) {
  try {
    return run();
  } catch (const interrupted_error&) {
    throw;
  } catch (const std::exception& problem) {
    return {.name = "check", .found = {}, .difference = problem.what()};
  }
}

table table_of_tests(const std::vector<self_test>& tests) {
  const std::vector<column<self_test>> columns = {
      {"check", "check", [](const self_test& t) { return t.name; }},
      {"passed", "", [](const self_test& t) { return t.passed(); }},
      {"", "result", [](const self_test& t) { return std::string(t.passed() ? "passed" : "FAILED"); }},
      {"compared", "compared", [](const self_test& t) { return exactly(t.compared); }},
      {"found", "with", [](const self_test& t) { return t.found; }},
      {"difference", "", [](const self_test& t) { return value_if(!t.passed(), t.difference); }},
  };
  return table_of(columns, tests);
}

}  // namespace

self_test check_closed_loop() {
  scenario_text text;
  text.scaler = "pytorch_gradscaler";
  text.format = "fp16";
  set_parameter(text, "growth_interval", "20");
  closed_loop_options loop(scenario_of(text));
  loop.training = {.network = network_kind::mlp, .width = 8, .seed = 1};
  loop.steps = 100;
  const closed_loop_result result = run_closed_loop(loop);
  self_test done{
      .name = "closed loop",
      .found = fmt::format("a training of {} steps with {} skipped, replayed", loop.steps, result.closed.sum.skipped),
      .compared = static_cast<std::uint64_t>(loop.steps)};
  if (result.first_difference)
    done.difference = fmt::format("the replay differs from the training in step {}", *result.first_difference);
  return done;
}

int check_machine(const output_options& output) {
  refuse_overwriting_inputs(output, {});
  std::vector<self_test> tests;
  {
    progress shown("checks", checks.size());
    for (const machine_check run : checks) {
      tests.push_back(result_of(run));
      shown.advance();
    }
  }
  write_table("selfcheck.machine", table_of_tests(tests), output);
  const auto failed = std::ranges::find_if(tests, [](const self_test& t) { return !t.passed(); });
  if (failed == tests.end()) return done;
  if (!output.machine_stdout())
    for (const self_test& t : tests)
      if (!t.passed()) fmt::print("{}: {}\n", t.name, printable(t.difference));
  return differences;
}

}  // namespace ulp::cli
