// ulp export: what is in an input, as histogram CSV or JSON lines.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/export/export.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct export_arguments {
  run_text run;
  std::string output = "-";
  bool json_lines = false;
};

// Standard output, or a file that is whole or absent.
class text_output {
 public:
  explicit text_output(const std::string& path) {
    if (path != "-") file_.emplace(path);
  }
  void write(const std::string& text) {
    if (file_)
      file_->write(text);
    else
      fmt::print("{}", text);
  }
  void finish() {
    if (file_) file_->finish();
  }

 private:
  std::optional<atomic_file> file_;
};

class exporter {
 public:
  exporter(source& from, const export_arguments& o)
      : from_(from), selected_(o.run.selected()), as_json_(o.json_lines) {}

  void run(text_output& to) {
    progress shown("steps", from_.step_count());
    step now;
    while (from_.next(now)) {
      shown.advance();
      if (!selected_.takes(now.key.step)) continue;
      // The CSV has one line for each step and tensor.
      if (!as_json_ && (now.key.microbatch != -1 || now.key.step == written_)) {
        ++left_out_;
        continue;
      }
      const bool had_tensors = !now.tensors.empty();
      std::erase_if(now.tensors, [&](const tensor_row& t) { return !selected_.takes(from_.tensors()[t.tensor]); });
      if (had_tensors && now.tensors.empty()) continue;
      const std::string text = as_json_ ? json_lines(now, from_.tensors()) : histogram_csv_lines(now, from_.tensors());
      if (!as_json_ && rows_ == 0 && !text.empty()) to.write(histogram_csv_header());
      to.write(text);
      written_ = now.key.step;
      rows_ += now.tensors.size();
      for (const tensor_row& t : now.tensors)
        if (!std::isnan(t.factor) && factors_.size() < 2) factors_.insert(t.factor);
      ++steps_;
    }
  }

  void judge() const {
    if (steps_ == 0) throw usage_error("nothing is selected: nothing was exported");
    if (!as_json_ && rows_ == 0)
      throw usage_error("the selection has no tensors and so no histograms: use --json-lines");
    if (left_out_ > 0)
      note(fmt::format("{} rows of microbatches and repeated attempts are left out: --json-lines has them",
                       grouped(left_out_)));
    if (!as_json_ && factors_.size() == 1 && *factors_.begin() != 1)
      note(fmt::format(
          "CSV has no factors: its values are {0} times the true gradients; give --factor {0} when reading it",
          shortest(*factors_.begin())));
    if (!as_json_ && factors_.size() > 1)
      note("CSV has no factors: its values are true gradients times different factors; --json-lines has them");
  }

 private:
  source& from_;
  selection selected_;
  bool as_json_;
  std::optional<std::int64_t> written_;  // the last step
  std::uint64_t steps_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t left_out_ = 0;
  std::set<double> factors_;  // no more than two
};

int run(const export_arguments& o) {
  refuse_overwriting_inputs({.csv = o.output}, o.run.files());
  source_options how = o.run.how_to_read();
  how.infer = false;  // as it was recorded
  const std::unique_ptr<source> from = open_run(o.run, how, on_stderr());
  exporter all(*from, o);
  text_output to(o.output);
  all.run(to);
  all.judge();
  to.finish();
  return done;
}

}  // namespace

command export_command() {
  auto o = std::make_shared<export_arguments>();
  command made{.name = "export", .help = "write a recording or another input as histogram CSV or JSON lines"};
  o->run.attempts = "all";
  add_run(made, o->run);
  made.add("-o,--output", &o->output, "the file to write; - for standard output",
           {.type = "FILE", .show_default = true, .check = a_name});
  made.add("--json-lines", &o->json_lines,
           "write one JSON object per line for each step and tensor, with all data, instead of CSV with binades");
  made.footer =
      "Example:\n"
      "  ulp export examples/digits.ulp --steps 0:100 -o /tmp/digits.csv\n"
      "docs/inputs.md describes the columns and keys. Every command reads the CSV.";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
