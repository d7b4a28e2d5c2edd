// ulp scalers: the loss-scale policies.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <ulp/model/scaler.hpp>
#include <ulp/report/typed_values.hpp>
#include <vector>

#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  std::string name;
  output_options output;
};

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text += (text.empty() ? "" : ", ") + std::string{name};
  return text;
}

std::string defaults_of(const scaler_entry& entry) {
  std::string text;
  for (const auto& p : entry.parameters) text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

// People get the gist in one line each: what stands before the first semicolon, and the first defaults.
std::string gist(std::string_view text) { return std::string{text.substr(0, text.find(';'))}; }
std::string first_defaults(const std::string& all) {
  constexpr std::size_t most = 60;
  return all.size() <= most ? all : all.substr(0, all.rfind(' ', most)) + " ...";
}

table overview() {
  table t;
  t.columns = {{"scaler", "scaler"}, {"aliases", ""},  {"class", "class"},
               {"summary", ""},      {"tests", ""},    {"", "looks for overflow in"},
               {"floor", ""},        {"", "floor"},    {"ceiling", ""},
               {"", "ceiling"},      {"defaults", ""}, {"", "defaults"},
               {"rules", ""},        {"quirks", ""},   {"source", ""}};
  for (const scaler_entry& e : scaler_catalog())
    t.rows.push_back({std::string{e.name}, joined(e.aliases), std::string{e.family}, std::string{e.summary},
                      std::string{e.overflow_test}, gist(e.overflow_test), std::string{e.floor}, gist(e.floor),
                      std::string{e.ceiling}, gist(e.ceiling), defaults_of(e), first_defaults(defaults_of(e)),
                      std::string{e.rules}, std::string{e.quirks}, std::string{e.source}});
  return t;
}

void print_lines(std::string_view title, std::string_view lines) {
  if (lines.empty()) return;
  fmt::print("\n{}\n", title);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    fmt::print("  {}\n", lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

void print_card(const scaler_entry& entry) {
  fmt::print("{}: {}\n", entry.name, entry.summary);
  if (!entry.aliases.empty()) fmt::print("also {}\n", joined(entry.aliases));
  fmt::print("\nParameters\n");
  for (const auto& p : entry.parameters) fmt::print("  {:<20} {:<10} {}\n", p.name, to_string(p.value), p.meaning);
  fmt::print("\nState (--start)\n ");
  for (const auto& [name, value] : make_scaler(entry).state()) fmt::print(" {}={}", name, shortest(value));
  fmt::print("\n");
  print_lines("Looks for overflow in", entry.overflow_test);
  print_lines("Floor", entry.floor);
  print_lines("Ceiling", entry.ceiling);
  print_lines("Rules", entry.rules);
  print_lines("Quirks", entry.quirks);
  print_lines("Source", entry.source);
}

table parameters_of(const scaler_entry& entry) {
  table t;
  t.columns = {{"scaler", ""}, {"parameter", ""}, {"default", ""}, {"meaning", ""}};
  for (const auto& p : entry.parameters)
    t.rows.push_back({std::string{entry.name}, p.name, to_string(p.value), p.meaning});
  return t;
}

int run(const options& o) {
  if (o.name.empty()) {
    write_table(overview(), o.output);
    if (!o.output.machine_stdout())
      fmt::print(
          "\n"
          "ulp scalers NAME shows parameters, rules, quirks and source; --json prints everything.\n");
    return done;
  }
  const scaler_entry& entry = scaler_named(o.name);
  write_table(parameters_of(entry), o.output, false);
  if (!o.output.machine_stdout()) print_card(entry);
  return done;
}

}  // namespace

command scalers_command() {
  auto o = std::make_shared<options>();
  command made{.name = "scalers", .help = "describe the loss-scale policies: parameters, rules, quirks, source"};
  made.add("NAME", &o->name, "one policy to describe");
  add_output(made, o->output);
  made.footer = "Example:\n  ulp scalers pytorch_gradscaler";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
