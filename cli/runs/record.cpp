// ulp record: dumps, histograms and logs into one recording.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/report/tables/table.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "listening.hpp"
#include "mpi/process_group.hpp"
#include "mpi/rank_options.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct record_arguments {
  run_text run;
  std::string output;
  bool append = false;
  bool overwrite = false;
  bool no_sums = false;
  bool with_errors = false;
  bool joint = false;
  std::vector<std::string> blocks;
  std::string axis = "last";
  std::string learning_rate;
  std::vector<std::string> edges;
  rank_options ranks;
};

// "32" along an axis, "128x128" both. Blocks that are squares are the same along either.
std::vector<block_extent> blocks_of(const record_arguments& o) {
  std::vector<block_extent> all;
  const auto add = [&](block_extent block) {
    if (std::ranges::find(all, block) == all.end()) all.push_back(block);
  };
  for (const std::string& text : o.blocks) {
    block_extent block;
    const char* const end = text.data() + text.size();
    auto [rest, problem] = std::from_chars(text.data(), end, block.columns);
    if (problem == std::errc{} && rest != end && *rest == 'x') {
      block.rows = block.columns;
      const auto second = std::from_chars(rest + 1, end, block.columns);
      rest = second.ptr;
      problem = second.ec;
    }
    constexpr std::size_t most = 65536;
    if (problem != std::errc{} || rest != end || block.rows == 0 || block.columns == 0 || block.rows > most ||
        block.columns > most)
      throw usage_error(fmt::format(
          "--blocks: '{}' is not a number of elements, as 32, or two, as 128x128, from 1 to 65536", printable(text)));
    if (o.axis != "other") add(block);
    if (o.axis != "last") add({block.columns, block.rows});
  }
  return all;
}

source_options how_to_read(const record_arguments& o) {
  source_options how = o.run.how_to_read();
  how.infer = false;
  how.with_sums = !o.no_sums;
  how.with_errors = o.with_errors;
  how.blocks = blocks_of(o);
  how.with_blocks = true;
  for (const std::string& edge : o.edges) how.edges.push_back(positive_number(edge, "--edge"));
  std::ranges::sort(how.edges);
  how.edges.erase(std::unique(how.edges.begin(), how.edges.end()), how.edges.end());
  return how;
}

// Names without a prefix that are paired as weights are weights, unless --kind says otherwise.
void name_weights(source_options& how, const update_pairs& pairs) {
  std::set<std::string> names;
  for (const update_pair& pair : pairs.all())
    if (pair.weight == pair.tensor) names.insert(pair.weight);
  for (const std::string& name : names) {
    std::string literal;
    constexpr std::string_view special = R"(\.+*?()|[]{}^$)";
    for (const char c : name) literal += (special.find(c) == special.npos ? "" : "\\") + std::string(1, c);
    how.kinds.emplace_back(regex("^" + literal + "$"), tensor_kind::weight);
  }
}

std::unique_ptr<source> open_inputs(const record_arguments& o, const update_pairs* pairs, process_group* together) {
  source_options how = how_to_read(o);
  if (pairs != nullptr) name_weights(how, *pairs);
  if (together == nullptr) return open_run(o.run, how, on_stderr());
  for (const std::string& file : o.run.files())
    if (file == "-") throw usage_error("standard input: several processes cannot read it; name a file");
  return together->open([&] { return open_run(o.run, how, on_stderr()); });
}

// What is left where recording broke off, as the file says when it is read: what was acknowledged may have been lost since.
// `when`: "before", or of what.
std::string what_stays(const std::string& path, std::uint64_t steps, const std::string& when) {
  try {
    const std::uint64_t held = open_recording(path)->step_count();
    if (held < steps)
      return fmt::format("of the {} recorded {} it holds {}", count_text(steps, "step"), when, grouped(held));
    return fmt::format("the {} recorded {} {}", count_text(held, "step"), when, held == 1 ? "stays" : "stay");
  } catch (const input_error& problem) {
    return fmt::format("the {} recorded {} cannot be read back: {}", count_text(steps, "step"), when, problem.what());
  }
}

std::uint64_t steps_in(const std::string& recording) {
  try {
    return open_recording(recording)->step_count();
  } catch (const input_error&) {  // told by who opens it next
    return 0;
  }
}

// The weights and updates of the same inputs, for --joint.
std::unique_ptr<update_pairs> open_pairs(const record_arguments& o, bool together) {
  if (!o.joint) {
    if (!o.learning_rate.empty()) throw usage_error("--lr: is used with --joint");
    return nullptr;
  }
  if (together || o.ranks.rank || o.ranks.world)
    throw usage_error("--joint: needs whole tensors in one process; remove it, or record without ranks");
  const source_options how = how_to_read(o);
  if (!are_dumps(o.run.inputs, how))
    throw usage_error(fmt::format("--joint: {} holds no raw values; remove this option", o.run.inputs.front()));
  auto pairs = open_update_pairs(o.run.inputs, how,
                                 o.learning_rate.empty() ? not_known : positive_number(o.learning_rate, "--lr"));
  for (const std::string& line : pairs->notes()) note("--joint: " + line);
  return pairs;
}

// Of the tensors that are recorded.
std::vector<joint_row> joints_of(const update_pairs* pairs, const step& now, const std::vector<tensor_info>& tensors) {
  if (pairs == nullptr) return {};
  std::set<std::string> names;
  for (const tensor_row& row : now.tensors) names.insert(tensors[row.tensor].name);
  return joint_rows_of(*pairs, now.key.step, [&](const std::string& weight) { return names.contains(weight); });
}

int record(const record_arguments& o, process_group* together) {
  const selection selected = o.run.selected();
  const std::unique_ptr<update_pairs> pairs = open_pairs(o, together != nullptr);
  std::unique_ptr<source> from = open_inputs(o, pairs.get(), together);  // before anything is written
  for (const auto& [option, given] : {std::pair{"--with-errors", o.with_errors}, std::pair{"--edge", !o.edges.empty()},
                                      std::pair{"--blocks", !o.blocks.empty()}})
    if (given && from->kind() != source_kind::dump)
      throw usage_error(fmt::format("{}: {} holds no raw values; remove this option", option, o.run.inputs.front()));
  from = with_ranks(std::move(from), o.ranks, o.append ? o.output : "");

  refuse_planted(o.output);
  std::error_code none;
  if (!o.append && !o.overwrite && std::filesystem::file_size(o.output, none) > 0 && !none)
    throw input_error(o.output, "",
                      "already exists: give another name, replace it with --overwrite, or add to it with --append");
  std::optional<whole_database> whole;  // takes the place of the old recording at the end
  if (o.overwrite) whole.emplace(o.output, whole_database::takes_place_of::a_recording);
  const std::uint64_t before = o.append ? steps_in(o.output) : 0;
  std::optional<progress> shown;  // first: from here on nothing ends the program between two steps of writing
  shown.emplace("steps", from->step_count());
  auto writer = std::make_unique<recording_writer>(
      whole ? whole->path() : o.output, o.append ? recording_writer::mode::append : recording_writer::mode::create,
      from->header());
  std::uint64_t steps = 0;
  std::uint64_t rows = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool writing = false;
  try {
    step now;
    while (from->next(now)) {
      shown->advance();
      if (!selected.takes(now.key.step)) continue;
      if (!now.layers.empty())
        throw usage_error(
            fmt::format("{}: a recording has no layers of a step log; give the log itself to ulp replay and ulp sweep",
                        o.run.inputs.front()));
      std::erase_if(now.tensors, [&](const tensor_row& t) { return !selected.takes(from->tensors()[t.tensor]); });
      writing = true;
      writer->write(now, from->tensors(), joints_of(pairs.get(), now, from->tensors()));
      writing = false;
      if (steps == 0) first = now.key.step;
      last = now.key.step;
      ++steps;
      rows += now.tensors.size();
    }
    if (steps == 0) throw usage_error("no step is selected: nothing was recorded");
    if (rows == 0 && !from->tensors().empty())
      throw usage_error("no tensor is selected: nothing was recorded" + near_tensors(o.run.tensor, *from));
    writing = true;
    if (!writer->close())
      note(fmt::format(
          "{}: another process is reading it; its write-ahead log {}-wal remains beside it and belongs to it", o.output,
          o.output));
    writer.reset();
    if (whole) whole->finish();
  } catch (const std::exception& problem) {
    const bool interrupted = progress::interrupted();
    if (whole) {  // what was there stays
      if (writer) writer->discard();
      if (interrupted) tell(fmt::format("{}: interrupted: it stays as it was", o.output));
      throw;
    }
    // Bad input leaves no file; a full disk, and Ctrl-C, leave the steps that were written, and those of before.
    if (steps == 0 || !(writing || interrupted || o.append)) {
      writer->discard();
      if (interrupted) tell(fmt::format("{}: interrupted before the first step: nothing was recorded", o.output));
      throw;
    }
    writer.reset();  // closed, as far as that goes
    if (!interrupted)
      throw usage_error(fmt::format("{}; {}", problem.what(), what_stays(o.output, before + steps, "before")));
    tell(fmt::format("{}: {}", o.output, what_stays(o.output, before + steps, "before the interruption")));
    throw;
  }
  shown.reset();
  fmt::print("{}: {} ({}), {}, from {}\n", printable(o.output), count_text(steps, "step"),
             first == last ? fmt::format("step {}", first) : fmt::format("{} to {}", first, last),
             count_text(rows, "tensor row"), from->description());
  return done;
}

int run(const record_arguments& o) {
  // Ranks that are recorded on their own work alone, whoever starts them.
  const std::unique_ptr<process_group> together = o.ranks.rank || o.ranks.world ? nullptr : join_process_group();
  if (!together) return record(o, nullptr);
  return together->run([&] { return record(o, together.get()); });
}

}  // namespace

command record_command() {
  auto o = std::make_shared<record_arguments>();
  command made{.name = "record", .help = "record gradient dumps, histograms or logs in one file"};
  o->run.attempts = "all";  // nothing that was recorded is lost
  add_run(made, o->run, {"attempts"});
  made.add("-o,--output", &o->output, "the recording to write", {.type = "RUN.ulp", .required = true, .check = a_name});
  made.add("--append", &o->append, "add steps to an existing recording");
  made.add("--overwrite", &o->overwrite, "replace an existing recording, which stays until the new one is whole",
           {.excludes = "--append"});
  made.add("--no-sums", &o->no_sums, "omit the exact sums: smaller, but norms become estimates");
  made.add("--with-errors", &o->with_errors,
           "add the error ladder: SQNR, MSE and cosine become exact for rounding to nearest; about three times larger",
           {.excludes = "--no-sums"});
  made.add("--edge", &o->edges,
           "count values above this magnitude of the true gradient separately, so that clipping by that value is exact",
           {.type = "X,...", .split_at_commas = true, .excludes = "--no-sums"});
  made.add(
      "--joint", &o->joint,
      "add joint tables of weights and their updates, for ulp precision weights: weight/NAME with update/NAME, with "
      "wgrad/NAME and a learning rate, or with the weights of the next step");
  made.add(
      "--blocks", &o->blocks,
      "add block tables, for ulp outcomes --format mxfp8: elements counted with the largest number of the block that "
      "they share a scale with, blocks of so many along an axis, or of rows x columns",
      {.type = "N,RxC,...", .split_at_commas = true});
  made.add("--axis", &o->axis, "with --blocks: along the last axis, along the other one of its matrix, or both",
           {.show_default = true, .one_of = {"last", "other", "both"}});
  made.add("--lr", &o->learning_rate, "with --joint: the learning rate (default: lr of --scalars)", {.type = "X"});
  add_ranks(made, o->ranks);
  made.footer =
      "Example:\n"
      "  ulp record examples/digits.step00100.safetensors --factor 1 -o /tmp/step100.ulp\n"
      "The step of a dump is taken from its path; the last line printed says which steps were found. A folder is read if "
      "it has TensorBoard event files, tensor_dumps of TransformerEngine, or wgrads, dgrads or activations of Megatron-LM.";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
