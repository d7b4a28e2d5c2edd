// ulp verify: somebody's results against the exact ones, line by line.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ulp/formats/check.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/vectors.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "classified_lines.hpp"
#include "command.hpp"
#include "coverage.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "vector_line.hpp"
#include "verify_blocks.hpp"

namespace ulp::cli {
namespace {

struct verify_arguments {
  vector_options vectors;
  std::string file = "-";
  std::uint64_t keep = 10;
  bool ignore_flags = false;
  bool json = false;
  bool coverage = false;
  std::string block;
  std::string results;
  std::string axis;
};

struct kept_line {
  std::uint64_t number = 0;
  std::string text;
  disagreement what;
};

// Examples of lines that differ: one of each class comes before a second of any.
class examples {
 public:
  explicit examples(std::uint64_t most) : most_(most) {}

  [[nodiscard]] bool wants(class_set classes) const { return is_new(classes) ? of_new_.size() < most_ : has_room(); }
  void add(class_set classes, kept_line line) {
    (is_new(classes) ? of_new_ : others_).push_back(std::move(line));
    seen_ |= classes;
    if (of_new_.size() + others_.size() > most_) others_.pop_back();
  }
  // In the order of the lines.
  [[nodiscard]] std::vector<kept_line> lines() const {
    std::vector<kept_line> all = of_new_;
    all.insert(all.end(), others_.begin(), others_.end());
    std::sort(all.begin(), all.end(), [](const kept_line& a, const kept_line& b) { return a.number < b.number; });
    return all;
  }

 private:
  [[nodiscard]] bool is_new(class_set classes) const { return (classes & ~seen_) != 0; }
  [[nodiscard]] bool has_room() const { return of_new_.size() + others_.size() < most_; }

  std::uint64_t most_;
  class_set seen_ = 0;
  std::vector<kept_line> of_new_;  // each of a class that no line before has
  std::vector<kept_line> others_;
};

struct outcome {
  outcome(const vector_kind& kind, const verify_arguments& o) : classified(kind, o.file, o.coverage), shown(o.keep) {}

  std::uint64_t lines = 0;
  std::uint64_t differing = 0;
  std::uint64_t in_flags_only = 0;
  bool has_flags = false;        // raised by some line
  std::uint64_t first_line = 0;  // of the differing
  std::string malformed;         // what is wrong with the line after those
  classified_lines classified;
  examples shown;
};

outcome compare(const vector_kind& kind, line_reader& lines, const verify_arguments& o) {
  constexpr std::uint64_t between_looks = 1 << 16;
  progress shown("lines", 0);
  outcome all(kind, o);
  vector_line line;
  const line_content content = o.ignore_flags ? line_content::result : line_content::everything;
  for (std::string_view text; lines.next(text);) {
    bool has_random = false;
    all.malformed = parse_line(kind, text, content, line, has_random);
    if (!all.malformed.empty()) return all;
    const encoded full = full_result_of(kind, line);
    const encoded expected = as_written(kind, full);
    all.has_flags = all.has_flags || line.result.flags != status::none;
    if (++all.lines % between_looks == 0) shown.advance(between_looks);
    const bool same_code = same_result(kind.operation, kind.to, expected, line.result.code, kind.canonical_nan);
    if (same_code && (o.ignore_flags || expected.flags == line.result.flags)) [[likely]] {
      all.classified.agrees(line, full);
      continue;
    }
    if (++all.differing == 1) all.first_line = lines.number();
    if (same_code) ++all.in_flags_only;
    const class_set classes = all.classified.differs(line, full);
    if (!all.shown.wants(classes)) continue;
    if (text.ends_with('\r')) text.remove_suffix(1);
    all.shown.add(classes, {lines.number(),
                            std::string{text},
                            {lines.number() - 1, line.operands, line.random(kind).value(), expected, line.result}});
  }
  if (all.lines == 0) throw input_error(lines.name(), "", "is empty: nothing was checked");
  return all;
}

// The classes with lines that differ, those first of which most do.
std::vector<std::size_t> differing_classes(const classified_lines& lines) {
  std::vector<std::size_t> classes;
  for (std::size_t i = 0; i < coverage_classes.size(); ++i)
    if (lines.differing().lines[i] > 0) classes.push_back(i);
  const auto share = [&](std::size_t i) {
    return static_cast<double>(lines.differing().lines[i]) / static_cast<double>(lines.all().lines[i]);
  };
  std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) { return share(a) > share(b); });
  return classes;
}

void print_counts(const vector_kind& kind, const line_reader& lines, const outcome& all, const verify_arguments& o) {
  named_values classes;
  for (const std::size_t i : differing_classes(all.classified))
    classes.all.push_back({std::string{coverage_classes[i].name},
                           named_values{{{"lines", integer(all.classified.all().lines[i])},
                                         {"differ", integer(all.classified.differing().lines[i])}}}});
  print_json("verify", table_of_one({{"file", lines.name()},
                                     {"op", std::string{to_string(kind.operation)}},
                                     {"format", kind.to_name},
                                     {"from", kind.from_name},
                                     {"rounding", o.vectors.rounding.text(kind.to)},
                                     {"lines", integer(all.lines)},
                                     {"differ", integer(all.differing)},
                                     {"differ_in_flags", integer(all.in_flags_only)},
                                     {"first_line", value_if(all.differing > 0, integer(all.first_line))},
                                     {"classes", classes}}));
}

void print(const vector_kind& kind, const line_reader& lines, const outcome& all, const verify_arguments& o) {
  fmt::print("{}: {} {}, ", printable(lines.name()), grouped(all.lines), all.lines == 1 ? "line" : "lines");
  if (all.differing == 0) {
    fmt::print("all agree\n");
    return;
  }
  std::string flags_only;
  if (all.in_flags_only == all.differing)
    flags_only = ", in the flags only";
  else if (all.in_flags_only > 0)
    flags_only = fmt::format(", {} of them in the flags only", grouped(all.in_flags_only));
  const std::vector<kept_line> examples = all.shown.lines();
  const std::string shown =
      !examples.empty() && examples.size() < all.differing ? fmt::format(", {} shown", grouped(examples.size())) : "";
  // Of a single line its explanation says as much.
  const std::vector<std::size_t> classes =
      all.lines > 1 ? differing_classes(all.classified) : std::vector<std::size_t>{};
  fmt::print("{} {}{}{}{}\n", grouped(all.differing), all.differing == 1 ? "differs" : "differ", flags_only, shown,
             classes.empty() && examples.empty() ? "" : ":");
  for (const std::size_t i : classes) {
    const std::uint64_t of = all.classified.all().lines[i];
    fmt::print("  {} of {} {}\n", grouped(all.classified.differing().lines[i]), grouped(of),
               of == 1 ? coverage_classes[i].noun : coverage_classes[i].plural);
  }
  for (const kept_line& l : examples)
    fmt::print("line {}: {}\n{}", l.number, printable(l.text),
               to_string(kind.operation, kind.to, kind.from, kind.rounding, l.what, !o.ignore_flags));
  if (all.in_flags_only > 0 && !all.has_flags)
    fmt::print("no line raises a flag: --ignore-flags compares the results alone\n");
}

// Classes to which the vectors of ulp vectors do not come either are left out: most cannot be reached.
void print_coverage(const vector_kind& kind, const coverage& covered) {
  coverage reachable;
  vector_line line;
  std::uint64_t index = 0;
  for_each_vector(kind.operation, kind.to, kind.from, 1, kind.seed, [&](std::span<const operand_codes> some) {
    for (const operand_codes& operands : some) {
      line.operands = operands;
      if (kind.stochastic()) draw_random(kind, index++, line);
      reachable.add(
          classes_of(kind.operation, kind.to, kind.from, operands, kind.rounding, full_result_of(kind, line)));
    }
  });
  fmt::print("lines by class:\n");
  std::string missed;
  for (std::size_t i = 0; i < coverage_classes.size(); ++i) {
    if (covered.lines[i] > 0)
      fmt::print("  {:<18}{}\n", coverage_classes[i].name, grouped(covered.lines[i]));
    else if (reachable.lines[i] > 0)
      missed += fmt::format("{}{}", missed.empty() ? "" : ", ", coverage_classes[i].name);
  }
  fmt::print("  not exercised:    {}\n", missed.empty() ? "none of those that ulp vectors has" : missed);
}

// A check of lines only, or "".
std::string_view option_of_lines(const verify_arguments& o) {
  if (o.ignore_flags) return "--ignore-flags";
  if (o.coverage) return "--coverage";
  return option_of_vectors(o.vectors);
}

int run(const verify_arguments& o) {
  if (const std::string_view name = option_of_lines(o); !o.block.empty() && !name.empty())
    throw usage_error(fmt::format("{}: is not for --block, whose row says what is done", name));
  if (!o.block.empty()) return verify_blocks_of({o.block, o.file, o.results, o.axis, o.keep, o.json});
  if (!o.results.empty() || !o.axis.empty())
    throw usage_error(fmt::format("{}: is for --block", o.axis.empty() ? "--results" : "--axis"));
  const vector_kind kind(o.vectors);
  line_reader lines(o.file);
  const outcome all = compare(kind, lines, o);
  // What was found before a line that cannot be read is not lost.
  if (!all.malformed.empty()) {
    if (all.differing > 0 && !o.json) print(kind, lines, all, o);
    std::fflush(stdout);
    lines.reject(all.malformed);
  }
  if (o.json)
    print_counts(kind, lines, all, o);
  else
    print(kind, lines, all, o);
  if (o.coverage) print_coverage(kind, all.classified.all());
  return all.differing == 0 ? done : differences;
}

}  // namespace

command verify_command() {
  auto o = std::make_shared<verify_arguments>();
  command made{.name = "verify", .help = "check computed results, in TestFloat's line format"};
  made.add("FILE", &o->file, "lines of operands, result, flags in hexadecimal; - for standard input",
           {.show_default = true});
  add_vectors_of(made, o->vectors);
  made.add("--show", &o->keep, "number of differing lines to explain, one of each class before a second of any",
           {.type = "N", .show_default = true, .check = whole_number});
  made.add("--ignore-flags", &o->ignore_flags, "compare results only; lines may lack the flags");
  made.add("--json", &o->json, "print the counts as JSON");
  made.add(
      "--coverage", &o->coverage,
      "also count the lines by class: ties, edges of the range, cancellation, NaNs; and name the classes that they "
      "lack and ulp vectors has",
      {.excludes = "--json"});
  made.add(
      "--block", &o->block,
      "in place of --op and --format: FILE is a .npz with x, scale and codes, which are to be those of this format of "
      "blocks; tells whose rule they follow where they are not",
      {.type = "ROW"});
  made.add("--results", &o->results, "with --block: the .npz that scale and codes are in, in place of FILE",
           {.type = "KERNEL.npz", .check = a_name});
  made.add("--axis", &o->axis, "with --block: along which blocks run, 0 the first, -1 the last (the default)",
           {.type = "N"});
  made.footer =
      "Where lines differ, prints for each class how many of its lines do, as in \"560 of 574 subnormal results\", "
      "before the examples. A NaN agrees with every NaN unless --nan canonical is given; where an integer does not "
      "exist, both ends of its range and 0 agree. Flags are 1 inexact, 2 underflow, 4 overflow, 8 divide by zero, 16 "
      "invalid. Under stochastic rounding the random bits come before the result. Exit code 1: a line differs.\n"
      "Examples:\n"
      "  echo 857F 74FB 74FA 01 | ulp verify --op add --format float16 --rounding toward-zero\n"
      "  echo 3C00 3C01 4000 01 | ulp verify --op add --format float16 --coverage";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
