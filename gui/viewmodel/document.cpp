#include "document.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include <ulp/io/recording.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/model/trajectory_watch.hpp>

namespace ulp::gui {
namespace {

void tell(const background::report& told, std::uint64_t done, std::uint64_t all) {
  told(all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all));
}

std::string text_of(const tensor_choice& choice) {
  const auto n = std::to_string(choice.checked_count());
  switch (choice.rule()) {
    case check_rule::undecided: return "what the log says";
    case check_rule::expression: return n + " tensors, by expression";
    case check_rule::counted: return n + " selected tensors";
    case check_rule::low_weight_grads: return n + " weight gradients of role low";
    case check_rule::all_weight_grads: return "all " + n + " weight gradients (roles are not known)";
    case check_rule::everything: return "all " + n + " tensors";
  }
  return "";
}

// From so many steps on columns are made of the blocks that a recording keeps merged.
constexpr std::uint64_t long_run = 2048;

// Scalars and extremes of the steps in a thread of their own, blocks in this one: they are separate parts of the picture.
void load_merged(const std::string& path, loaded_run& run, const background::report& told) {
  const auto totals = open_totals(path, totals_with::summaries);
  const std::uint64_t steps = totals->step_count();
  std::atomic<bool> unwanted = false;
  auto all_steps = std::async(std::launch::async, [&] {
    step now;
    while (!unwanted && totals->next(now)) run.picture.add_step(now, totals->tensors());
  });
  try {
    // As many blocks as there is room for columns, a few times over.
    const std::int64_t width = steps > 64 * level_widths[1] ? level_widths[1] : level_widths[0];
    level_reader levels(path, width);
    level_block block;
    for (std::uint64_t n = 0; levels.next(block); n += block.steps) {
      told(static_cast<double>(n) / static_cast<double>(steps));
      run.picture.add_block(block.first_step, block.last_step, block.tensors);
    }
    run.tensors = levels.tensors();
  } catch (...) {
    unwanted = true;
    throw;
  }
  all_steps.get();
}

}  // namespace

std::shared_ptr<const loaded_run> load_run(const std::vector<std::string>& inputs, const background::report& told) {
  std::unique_ptr<source> from = open_source(inputs);
  const auto run = std::make_shared<loaded_run>();
  run->inputs = inputs;
  run->description = from->description();
  run->header = from->header();
  if (from->description() == "recording" && from->step_count() >= long_run) {
    from.reset();
    load_merged(inputs.front(), *run, told);
    return run;
  }
  step now;
  for (std::uint64_t n = 0; from->next(now); ++n) {
    tell(told, n, from->step_count());
    run->picture.add(now, from->tensors());
  }
  run->tensors = from->tensors();
  run->notes = from->notes();
  return run;
}

std::shared_ptr<const replayed_run> replay_run(const loaded_run& run, const scenario_spec& spec,
                                               const background::report& told) {
  const scenario s = scenario_of(spec);
  source_options how;
  how.merged = !s.checked && !s.scaler.per_layer() && !s.rounding.daz;
  if (s.clip_value) how.edges = {s.clip_value->max_value};
  const std::unique_ptr<source> from = open_source(run.inputs, how);
  const auto result = std::make_shared<replayed_run>();
  replayer r(s);
  trajectory_watch watch(s.scaler);
  step now;
  for (std::uint64_t n = 0; from->next(now); ++n) {
    tell(told, n, from->step_count());
    if (now.key.microbatch != -1) continue;
    const trajectory_row row = r.advance(now, from->tensors());
    if (row.lacks_input) throw std::invalid_argument(row.error);
    result->steps.push_back(drawn_of(row));
    result->summary.add(row);
    watch.add(row);
    if (!row.error.empty()) break;
  }
  result->warnings = watch.warnings();
  result->checked = text_of(r.choice());
  return result;
}

document::document(QObject* parent) : QObject(parent) {
  connect(&loader_, &background::progressed, this, [this](double share) { emit progressed(tr("Reading"), share); });
  connect(&replayer_, &background::progressed, this, [this](double share) { emit progressed(tr("Replaying"), share); });
  connect(&loader_, &background::failed, this, &document::failed);
  for (background* const b : {&loader_, &replayer_})
    connect(b, &background::finished, this, [this] {
      if (!busy()) emit idle();
    });
}

void document::open(const std::vector<std::string>& inputs) {
  emit progressed(tr("Reading"), 0);
  loader_.start([this, inputs](const background::report& told) -> std::function<void()> {
    auto run = load_run(inputs, told);
    return [this, run = std::move(run)] {
      run_ = run;
      for (replay_entry& r : replays_) r = {.spec = r.spec, .result = nullptr, .failure = {}};
      emit run_changed();
      emit replays_changed();
      replay_next();
    };
  });
}

void document::reload() {
  if (run_) open(run_->inputs);
}

void document::cancel() {
  loader_.cancel();
  if (!replayer_.running()) return;
  replayer_.cancel();
  for (replay_entry& r : replays_)
    if (!r.result && r.failure.isEmpty()) r.failure = tr("Cancelled: change the scenario, or reload, to replay it");
  emit replays_changed();
}

void document::set(std::shared_ptr<const loaded_run> run, std::vector<replay_entry> replays) {
  run_ = std::move(run);
  replays_ = std::move(replays);
  emit run_changed();
  emit replays_changed();
}

void document::add_replay(const scenario_spec& spec) {
  if (replays_.size() == most_replays)
    return emit failed(tr("There are %1 replays: remove one first").arg(most_replays));
  replays_.push_back({.spec = spec, .result = nullptr, .failure = {}});
  emit replays_changed();
  replay_next();
}

void document::change_replay(std::size_t index, const scenario_spec& spec) {
  if (replays_.at(index).spec == spec) return;
  replays_[index] = {.spec = spec, .result = nullptr, .failure = {}};
  emit replays_changed();
  replay_next();
}

void document::remove_replay(std::size_t index) {
  if (replays_.size() == 1) return;
  replays_.erase(replays_.begin() + static_cast<std::ptrdiff_t>(index));
  emit replays_changed();
  replay_next();
}

void document::set_replays(const std::vector<scenario_spec>& specs) {
  replays_.clear();
  for (const scenario_spec& spec : specs) replays_.push_back({.spec = spec, .result = nullptr, .failure = {}});
  emit replays_changed();
  replay_next();
}

// The first entry that is neither done nor failed; its result is dropped where the entry was changed meanwhile.
void document::replay_next() {
  if (!run_) return;
  const auto open =
      std::ranges::find_if(replays_, [](const replay_entry& r) { return !r.result && r.failure.isEmpty(); });
  if (open == replays_.end()) return;
  const auto finish = [this](const scenario_spec& spec, const std::shared_ptr<const replayed_run>& result,
                             const QString& failure) {
    for (replay_entry& r : replays_)
      if (r.spec == spec && !r.result) {
        r.result = result;
        r.failure = failure;
      }
    emit replays_changed();
    replay_next();
  };
  replayer_.start([finish, spec = open->spec, run = run_](const background::report& told) -> std::function<void()> {
    try {
      auto result = replay_run(*run, spec, told);
      return [finish, spec, result = std::move(result)] { finish(spec, result, {}); };
    } catch (const std::exception& problem) {
      return [finish, spec, why = QString::fromUtf8(problem.what())] { finish(spec, nullptr, why); };
    }
  });
}

}  // namespace ulp::gui
