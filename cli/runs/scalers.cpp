// ulp scalers: the policies that scale a run, or each of its tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/report/tables/scaler_table.hpp>
#include <vector>

#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct scalers_arguments {
  std::string name;
  output_options output;
};

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string{name};
  return text;
}

// What the cards of both kinds begin with.
template <typename Entry>
void print_head(const Entry& entry) {
  fmt::print("{}: {}\n", entry.name, entry.summary);
  if (!entry.aliases.empty()) fmt::print("also {}\n", joined(entry.aliases));
  fmt::print("\nParameters\n");
  std::size_t widest = 20;
  for (const auto& p : entry.parameters) widest = std::max(widest, p.name.size());
  for (const auto& p : entry.parameters)
    fmt::print("  {:<{}} {:<10} {}\n", p.name, widest, to_string(p.value), p.meaning);
}

void print_card(const fp8_scaler_entry& entry) {
  print_head(entry);
  print_titled_lines("Scale", entry.divides ? "of each tensor: its values are divided by it"
                                            : "of each tensor: its values are multiplied by it");
  print_titled_lines("Infinity and NaN", entry.nonfinite);
  print_titled_lines("Rules", entry.rules);
  print_titled_lines("Quirks", entry.quirks);
  print_titled_lines("Source", entry.source);
}

void print_card(const scaler_entry& entry) {
  print_head(entry);
  fmt::print("  {:<20} {:<10} {}\n", "window", "",
             entry.window.empty() ? "none: there is no growth interval"
                                  : fmt::format("{}, under the name that it has for every scaler", entry.window));
  fmt::print("\nState (--start)\n ");
  for (const auto& [name, value] : make_scaler(entry).state()) fmt::print(" {}={}", name, shortest(value));
  fmt::print("\n");
  print_titled_lines("Looks for overflow in", entry.overflow_test);
  print_titled_lines("Floor", entry.floor);
  print_titled_lines("Ceiling", entry.ceiling);
  print_titled_lines("Rules", entry.rules);
  print_titled_lines("Quirks", entry.quirks);
  print_titled_lines("Source", entry.source);
}

template <typename Entry>
int show(const Entry& entry, const output_options& output) {
  write_table("scaler", parameter_table(entry.name, entry.parameters), output, false);
  if (!output.machine_stdout()) print_card(entry);
  return done;
}

int run(const scalers_arguments& o) {
  if (const fp8_scaler_entry* const of_tensors = find_fp8_scaler(o.name)) return show(*of_tensors, o.output);
  if (!o.name.empty()) return show(scaler_named(o.name), o.output);
  write_table("scalers", scaler_table(), o.output, false);
  if (!o.output.machine_stdout())
    fmt::print(
        "Loss scaling: one scale for the run\n\n{}\n"
        "A scale for each tensor (FP8): ulp replay --scaler NAME --format F\n\n{}\n"
        "Recipes of these: ulp replay --recipe NAME, or NAME:VARIANT\n\n{}\n"
        "ulp scalers NAME shows parameters, rules, quirks and source; --json prints everything.\n",
        to_text(loss_scaler_table()), to_text(fp8_scaler_table()), to_text(fp8_recipe_table()));
  return done;
}

}  // namespace

command scalers_command() {
  auto o = std::make_shared<scalers_arguments>();
  command made{.name = "scalers",
               .help = "describe the policies of loss scaling and of FP8 scales: parameters, rules, quirks, source"};
  made.add("NAME", &o->name, "one policy to describe");
  add_output(made, o->output);
  made.footer = "Example:\n  ulp scalers pytorch_gradscaler\n  ulp scalers te_delayed_bulk";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
