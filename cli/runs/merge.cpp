// ulp merge: the recordings of all ranks, or of runs that follow one another, into one.
#include <fmt/format.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/merge/merge.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/recording/recording.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct merge_arguments {
  std::vector<std::string> inputs;
  std::string output;
  bool later_wins = false;
};

// A run has more ranks than a program may commonly open files.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const merge_arguments& o) {
  allow_many_files();
  refuse_overwriting_inputs({.csv = o.output}, o.inputs);
  const std::unique_ptr<source> from = open_merged(o.inputs, {.later_wins = o.later_wins});
  if (o.output == "-") throw usage_error("-o: a recording cannot be written to standard output: name a file");
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::set<std::uint32_t> ranks;
  {
    progress shown("steps", from->step_count());
    whole_database file(o.output);
    recording_writer to(file.path(), recording_writer::mode::create, from->header());
    step now;
    while (from->next(now)) {
      shown.advance();
      to.write(now, from->tensors());
      if (steps++ == 0) first = now.key.step;
      last = now.key.step;
      rows += now.tensors.size();
      ranks.insert(now.ranks.begin(), now.ranks.end());
    }
    to.close();
    file.finish();
  }
  for (const std::string& line : from->notes()) note(line);
  const std::uint32_t world = from->header().world;
  const std::string whose =
      world > 1 ? fmt::format("{} of {}, ", name_of_ranks({ranks.begin(), ranks.end()}), world) : "";
  fmt::print("{}: {} ({}), {}, {}from {}\n", printable(o.output), count_text(steps, "step"),
             first == last ? fmt::format("step {}", first) : fmt::format("{} to {}", first, last),
             count_text(rows, "tensor row"), whose, from->description());
  return done;
}

}  // namespace

command merge_command() {
  auto o = std::make_shared<merge_arguments>();
  command made{.name = "merge", .help = "merge the recordings of all ranks, or of several runs"};
  made.add("INPUT", &o->inputs, "recordings", {.type = "RUN.ulp ...", .required = true});
  made.add("-o,--output", &o->output, "the recording to write", {.type = "RUN.ulp", .required = true, .check = a_name});
  made.add("--later-wins", &o->later_wins,
           "where steps overlap, a recording given later replaces earlier ones from its first step on: for a run that "
           "was restarted");
  made.footer =
      "Within one run (one --run-id), shards and local gradients of its ranks are added; reduced replicas must be "
      "equal. Recordings of different runs, or of different steps, are concatenated.\n"
      "Example:\n"
      "  ulp record examples/digits.ulp --steps :100 -o /tmp/first.ulp\n"
      "  ulp record examples/digits.ulp --steps 100: -o /tmp/second.ulp\n"
      "  ulp merge /tmp/first.ulp /tmp/second.ulp -o /tmp/both.ulp";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
