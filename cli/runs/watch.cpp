// ulp watch: a run while it is being recorded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/watched_run.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/report/page/sparkline.hpp>
#include <ulp/report/tables/watch_table.hpp>
#include <utility>

#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "patience.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct watch_arguments {
  run_text run;
  scenario_text what;
  std::string interval = "1";
  bool once = false;
  bool json = false;
};

constexpr std::size_t worst_shown = 5;

const char* text_of(recording_writer_state state) {
  switch (state) {
    case recording_writer_state::awaited: return "waiting for its first step";
    case recording_writer_state::at_work: return "being recorded";
    case recording_writer_state::gone: return "not closed, and its writer is gone";
    case recording_writer_state::done: return "closed";
  }
  return "";
}

const char* key_of(recording_writer_state state) {
  constexpr std::array keys{"awaited", "recording", "stopped", "closed"};
  return keys[static_cast<std::size_t>(state)];
}

// Text in place of what was printed before, on a terminal. Lines are cut where it ends, so that they can be counted. What
// became of them where the terminal got another width nobody knows: then the text follows them.
class screen {
 public:
  void show(const std::string& text) {
    const std::size_t columns = terminal_columns();
    if (std::exchange(columns_, columns) != columns) lines_ = 0;
    std::string shown = lines_ == 0 ? "" : fmt::format("\033[{}A\033[J", lines_);
    lines_ = 0;
    for (std::string_view rest = text; !rest.empty(); ++lines_) {
      const std::size_t end = rest.find('\n');
      shown += fmt::format("{:.{}}\n", rest.substr(0, end), columns);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    fmt::print("{}", shown);
  }

 private:
  std::size_t lines_ = 0;
  std::size_t columns_ = 0;
};

class watcher {
 public:
  watcher(const watch_arguments& o, const scenario& s)
      : o_(o), scenario_(s), run_(begin()), pace_(o.run.inputs.front(), interval()) {}

  int watch() {
    const interruptible guard;
    source_options how = reading_for(o_.run, std::span{&scenario_, 1});
    // Then the tensors of the last step are read by themselves.
    how.merged = how.merged && how.scalars.empty() && std::isnan(how.factor) && !how.factor_is_loss_scale;
    from_ = follow_run(o_.run, how, [&](recording_writer_state state) { return at_end(state); });
    attempts_ = how.attempts;
    const auto see = [&](step& now, const std::vector<tensor_info>& tensors) {
      run_.add(now, tensors);
      if (!how.merged) {
        last_ = std::move(now);
        tensors_ = tensors;
      }
      return true;
    };
    follow_steps(*from_, scenario_.counted,
                 {.see = see, .begin_again = [&] { run_ = begin(); }, .is_stopped = progress::interrupted});
    if (progress::interrupted()) return end_interrupted();
    update(reached_);
    return done;
  }

 private:
  [[nodiscard]] watched_run begin() const { return {scenario_, o_.what.format, !o_.what.scaler.empty()}; }

  [[nodiscard]] std::chrono::nanoseconds interval() const {
    return std::chrono::nanoseconds{static_cast<std::int64_t>(1e9 * positive_number(o_.interval, "--interval"))};
  }

  bool at_end(recording_writer_state state) {
    if (o_.once) {
      if (state == recording_writer_state::awaited) refuse_nothing();
      reached_ = state;  // shown in the end, unless what is there cannot be read
      return false;
    }
    if (state == recording_writer_state::awaited) pace_.tell_of_absence();
    if (!told_ || shown_ != std::pair{run_.steps(), state}) update(state);
    return pace_.wait();
  }

  void refuse_nothing() const {
    const std::string& name = o_.run.inputs.front();
    std::error_code error;
    if (!std::filesystem::exists(name, error))
      throw usage_error(fmt::format("{}: does not exist (without --once it is waited for)", name));
    if (std::filesystem::file_size(name, error) == 0)
      throw usage_error(fmt::format("{}: is empty (without --once its first step is waited for)", name));
  }

  // Of a run that is read by its totals.
  void read_last_step() {
    if (!run_.has_steps() || last_.key == run_.last()) return;
    try {
      const auto one = open_recording(o_.run.inputs.front(), run_.last().step, run_.last().step, attempts_);
      step now;
      while (one->next(now))
        if (now.key == run_.last()) last_ = now;
      tensors_ = one->tensors();
    } catch (const input_error&) {  // it is told when its steps are read
    }
  }

  // Steps a second since some updates ago; what was there when this began was not recorded meanwhile.
  double rate() {
    constexpr std::size_t remembered = 10;
    const auto now = std::chrono::steady_clock::now();
    times_.emplace_back(now, run_.steps());
    if (times_.size() > remembered) times_.pop_front();
    const double seconds = std::chrono::duration<double>(now - times_.front().first).count();
    if (times_.size() < 2 || run_.steps() < times_.front().second || seconds <= 0) return not_known;
    return static_cast<double>(run_.steps() - times_.front().second) / seconds;
  }

  void update(recording_writer_state state) {
    told_ = true;
    shown_ = {run_.steps(), state};
    read_last_step();
    std::vector<standing> tensors = run_.standings(last_, tensors_);
    summary lines = lines_of(run_, tensors, rate());
    const std::string& name = o_.run.inputs.front();
    lines.insert(lines.begin(), {"recording",
                                 fmt::format("{}: {}", name, text_of(state)),
                                 {{"input", name}, {"state", std::string{key_of(state)}}}});
    tensors.resize(std::min(tensors.size(), worst_shown));
    if (o_.json)
      print_json_line(lines, tensors);
    else if (terminal_columns() > 0)
      screen_.show(page(lines, tensors));
    else if (o_.once)
      fmt::print("{}", page(lines, tensors));
    else
      print_line(lines);
    std::fflush(stdout);
  }

  [[nodiscard]] std::string page(const summary& lines, const std::vector<standing>& worst) const {
    constexpr std::size_t usual_width = 80;
    std::string text;
    for (const summary_line& line : lines)
      if (!line.text.empty()) text += fmt::format("{:<12} {}\n", line.title, printable(line.text));
    const std::size_t columns = terminal_columns() > 0 ? terminal_columns() : usual_width;
    if (run_.has_scale_changes()) text += "\n" + sparkline_of(run_.scales(), columns);
    if (!worst.empty()) text += "\n" + to_text(standings_table(worst));
    for (const std::string& warning : run_.warnings()) text += fmt::format("\nwarning: {}\n", printable(warning));
    return text;
  }

  void print_line(const summary& lines) const {
    std::string text;
    for (const summary_line& line : lines)
      if (!line.text.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : "; ", line.title, line.text);
    fmt::print("{}\n", printable(text));
    for (const std::string& warning : run_.warnings()) warn(warning);
  }

  // An object a line: no text in it has an end of line of its own.
  void print_json_line(const summary& lines, const std::vector<standing>& worst) const {
    named_values all;
    for (const summary_line& line : lines) all.all.insert(all.all.end(), line.values.begin(), line.values.end());
    std::string object = to_json(all, "tensors", standings_table(worst), schema_of("watch"), run_.warnings());
    std::erase(object, '\n');
    fmt::print("{}\n", object);
  }

  const watch_arguments& o_;
  const scenario& scenario_;
  watched_run run_;
  patience pace_;
  std::unique_ptr<source> from_;
  which_attempts attempts_ = which_attempts::last;
  step last_;  // with its tensors
  std::vector<tensor_info> tensors_;
  std::deque<std::pair<std::chrono::steady_clock::time_point, std::uint64_t>> times_;
  std::pair<std::uint64_t, recording_writer_state> shown_;
  bool told_ = false;
  recording_writer_state reached_ = recording_writer_state::done;
  screen screen_;
};

int run(watch_arguments o) {
  if (o.what.format.empty()) o.what.format = "float16";
  // Without --scaler only the format of the scenario counts.
  scenario_text what = o.what;
  if (what.scaler.empty()) what.scaler = "pytorch";
  const scenario s = scenario_of(what, o.run);
  return watcher(o, s).watch();
}

}  // namespace

command watch_command() {
  auto o = std::make_shared<watch_arguments>();
  command made{.name = "watch", .help = "show a run while it is being recorded"};
  add_run(made, o->run);
  add_options(made, options_of(o->what));
  made.add("--interval", &o->interval, "seconds between two looks at the recording",
           {.type = "SECONDS", .show_default = true});
  made.add("--once", &o->once, "print the present state and end");
  made.add("--json", &o->json, "print JSON, an object on a line for each update");
  made.footer =
      "What is shown: the last step, its loss and loss scale, overflows so far, the largest gradient and how far it "
      "is from what overflows in the format (float16 if --format is not given), the share of nonzero gradients that "
      "underflow, the tensors that lose most, and the loss scale over the run. With --scaler, scale and skipped "
      "steps are those of this policy. On a terminal the screen is updated in place, elsewhere each update is a "
      "line. It ends when the recording is closed, or by Ctrl-C; the recorder is not disturbed.\n"
      "Example:\n"
      "  ulp watch examples/digits.ulp --once";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
