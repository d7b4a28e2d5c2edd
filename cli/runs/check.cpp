// ulp check: whether recordings are whole and true to themselves.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/replay/recording_doubts.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct check_arguments {
  std::vector<std::string> files;
  std::uint64_t most = 100;
  output_options output;
};

recording_report checked(const std::string& file, std::size_t most) {
  progress shown("steps and blocks", 0);
  return check_recording(file, {.most = most, .progress = [&] { shown.advance(); }});
}

// Whole, but not what it says it is. Of totals: their extremes are those of their tensors.
std::vector<std::string> doubts_in(const std::string& file) {
  const std::unique_ptr<source> from = open_totals(file, totals_with::summaries);
  recording_doubts doubts;
  progress shown("steps", from->step_count());
  for (step now; from->next(now); shown.advance()) doubts.see(now, from->tensors());
  return doubts.lines();
}

struct found_problem {
  std::string file;
  recording_problem what;
};

table problem_table(const std::vector<found_problem>& found) {
  using row = found_problem;
  const std::vector<column<row>> columns = {
      {"file", "file", &row::file},
      {"table", "table", [](const row& r) { return r.what.table.empty() ? "(file)" : r.what.table; }},
      {"place", "place", [](const row& r) { return r.what.place; }},
      {"problem", "problem", [](const row& r) { return r.what.reason; }},
  };
  return table_of(columns, found);
}

int run(const check_arguments& o) {
  refuse_overwriting_inputs(o.output, o.files);
  std::vector<found_problem> found;
  std::string fine;
  int code = done;
  for (const std::string& file : o.files) {
    try {
      const recording_report report = checked(file, o.most);
      for (const recording_problem& p : report.problems) found.push_back({file, p});
      if (report.gave_up) note(fmt::format("{}: stopped here; --most N lists more problems", file));
      if (!report.missing.empty()) note(file + ": " + report.missing);
      if (report.problems.empty())
        for (const std::string& line : doubts_in(file)) note(file + ": " + line);
      if (!report.has_checksums) note(without_checksums(file));
      if (report.problems.empty())
        fine += fmt::format("{}: no problem in {}, {}, {} and {}\n", printable(file), count_text(report.steps, "step"),
                            count_text(report.tensors, "tensor"), count_text(report.tables, "table"),
                            count_text(report.blocks, "block"));
      else
        code = std::max(code, differences);
    } catch (const input_error& problem) {
      if (progress::interrupted()) throw;
      tell(problem.what());
      code = bad_input;
    }
  }
  if (!o.output.machine_stdout()) fmt::print("{}", fine);
  write_table("check", problem_table(found), o.output, !found.empty());
  return code;
}

}  // namespace

command check_command() {
  auto o = std::make_shared<check_arguments>();
  command made{.name = "check", .help = "verify the integrity of recordings"};
  made.add("FILE", &o->files, "recordings", {.required = true});
  made.add("--most", &o->most, "problems to list per file",
           {.type = "N:POSITIVE", .show_default = true, .check = positive});
  add_output(made, o->output);
  made.footer =
      "Example:\n"
      "  ulp check examples/digits.ulp\n"
      "Exit codes: 0 no problem, 1 problems, which are listed, 2 a file is not a recording or cannot be read.";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
