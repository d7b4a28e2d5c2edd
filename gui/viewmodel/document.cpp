#include "document.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/machines/policy_probe.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>
#include <ulp/report/pictures/layer_updates.hpp>
#include <ulp/report/tables/run_notes.hpp>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

void tell(const background::report& told, std::uint64_t done, std::uint64_t all) {
  told(all == 0 ? 0 : static_cast<double>(done) / static_cast<double>(all));
}

// Whether nothing is said of what the inputs hold: then parts of a recording can be had without the rest.
bool is_read_as_it_is(const run_text& text) {
  return text ==
         run_text{
             .inputs = text.inputs, .attempts = text.attempts, .allow_empty = text.allow_empty, .limits = text.limits};
}

// From so many steps on columns are made of the blocks that a recording keeps merged.
constexpr std::uint64_t long_run = 2048;
// So many tables of blocks take a good part of a second.
constexpr std::uint64_t slow_tables = 10'000;

void add_blocks(level_reader& levels, std::uint64_t steps, run_picture& to, const background::report& told) {
  level_block block;
  for (std::uint64_t n = 0; levels.next(block); n += block.steps) {
    tell(told, n, steps);
    to.add_block(block.first_step, block.last_step, block.tensors, levels.tensors());
  }
}

// Scalars and extremes of the steps of a long recording, read in a thread of their own: the other half of its picture.
class steps_beside {
 public:
  // Begins at once.
  steps_beside(std::string path, which_attempts attempts, run_picture& to)
      : done_(std::async(std::launch::async, [this, path = std::move(path), attempts, &to] {
          const auto totals = open_totals(path, totals_with::summaries, attempts);
          ranks_.emplace(totals->header());
          to.expect(totals->step_count());
          step now;
          while (!unwanted_ && totals->next(now)) {
            ranks_->see(now.key, now.ranks);
            to.add_step(now, totals->tensors());
          }
        })) {}
  ~steps_beside() { unwanted_ = true; }
  steps_beside(const steps_beside&) = delete;
  steps_beside& operator=(const steps_beside&) = delete;

  // Throws what reading threw.
  const rank_coverage& wait(const background::report& told) {
    while (done_.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) told(0.99);
    done_.get();
    return *ranks_;
  }

 private:
  std::atomic<bool> unwanted_ = false;
  std::optional<rank_coverage> ranks_;
  std::future<void> done_;  // ends first
};

// Whether an input may be a recording that is long enough to be read so; only what it is tells.
bool may_be_long(const run_text& text) {
  constexpr std::uintmax_t large = std::uintmax_t{1} << 22;
  std::error_code unknown;
  return is_read_as_it_is(text) && text.inputs.size() == 1 &&
         std::filesystem::is_regular_file(text.inputs.front(), unknown) &&
         std::filesystem::file_size(text.inputs.front(), unknown) >= large && !unknown;
}

void load_blocks(const std::string& path, which_attempts attempts, std::uint64_t steps, loaded_run& run,
                 const background::report& told) {
  // Wide blocks where narrow ones would take long: what is looked at is read once more, see run_detail.
  level_reader wide(path, level_widths[1], level_parts::totals_and_tensors, attempts);
  run.tensors = wide.tensors();
  if (steps / static_cast<std::uint64_t>(level_widths[0]) * run.tensors.size() > slow_tables)
    return add_blocks(wide, steps, run.picture, told);
  level_reader narrow(path, level_widths[0], level_parts::totals_and_tensors, attempts);
  add_blocks(narrow, steps, run.picture, told);
}

// What is known of it once all was read.
void conclude(loaded_run& run, const rank_coverage& ranks) {
  if (std::string text = ranks.warning(run.text.inputs.front()); !text.empty()) run.warnings.push_back(std::move(text));
  if (std::string text = ranks.note(run.text.inputs.front()); !text.empty()) run.notes.push_back(std::move(text));
  if (run.picture.steps().empty())
    run.notes.push_back(run.text.inputs.front() + ": holds no steps (microbatches alone are not steps)");
  run.as_recorded = run.picture.as_recorded();
  if (run.as_recorded) run.notes.emplace_back(factor_note);
  run.no_updates = why_no_updates(run.text, run.kind);
}

}  // namespace

scenario_text usual_scenario() { return {.scaler = "pytorch_gradscaler", .format = "float16"}; }

std::uint64_t new_run_id() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

std::shared_ptr<const loaded_run> load_run(const run_text& text, const background::report& told, first_look look) {
  const selection counted = text.selected();
  const source_options how = text.how_to_read();
  const auto run = std::make_shared<loaded_run>();
  run->text = text;
  run->picture = run_picture(counted);
  std::optional<steps_beside> beside;
  if (may_be_long(text)) beside.emplace(text.inputs.front(), how.attempts, run->picture);
  std::unique_ptr<source> from = open_source(text.inputs, how);
  run->kind = from->kind();
  run->description = from->description();
  run->header = from->header();
  const std::uint64_t steps = from->step_count();
  const bool is_checked = look == first_look::yes && from->kind() == source_kind::recording;
  if (from->kind() == source_kind::recording && steps >= long_run && is_read_as_it_is(text)) {
    run->notes = from->notes();
    from.reset();
    if (!beside) beside.emplace(text.inputs.front(), how.attempts, run->picture);
    load_blocks(text.inputs.front(), how.attempts, steps, *run, told);
    if (is_checked) refuse_damaged(text.inputs.front(), [&] { told(0.99); });
    conclude(*run, beside->wait(told));
    return run;
  }
  if (beside) {
    beside.reset();
    run->picture = run_picture(counted);
  }
  rank_coverage ranks(run->header);
  if (is_checked) refuse_damaged(text.inputs.front(), [&] { told(0); });
  run->picture.expect(steps);
  step now;
  for (std::uint64_t n = 0; from->next(now); ++n) {
    tell(told, n, steps);
    if (!counted.takes(now.key.step)) continue;
    ranks.see(now.key, now.ranks);
    run->picture.add(now, from->tensors());
  }
  run->tensors = from->tensors();
  run->notes = from->notes();
  conclude(*run, ranks);
  return run;
}

bool can_seek(const loaded_run& run) { return run.kind == source_kind::recording && is_read_as_it_is(run.text); }

void read_steps(const loaded_run& run, step_range range, const background::report& told,
                const std::function<bool(const step&, const std::vector<tensor_info>&)>& see) {
  const source_options how = run.text.how_to_read();
  const selection counted = run.text.selected();
  const std::unique_ptr<source> from =
      can_seek(run) ? open_recording(run.text.inputs.front(), range.first, range.last, how.attempts)
                    : open_source(run.text.inputs, how);
  step now;
  for (std::uint64_t n = 0; from->next(now) && now.key.step <= range.last; ++n) {
    tell(told, n, from->step_count());
    if (now.key.step < range.first || !counted.takes(now.key.step) || now.key.microbatch != -1) continue;
    if (!see(now, from->tensors())) return;
  }
}

tensor_tables tables_of_step(const loaded_run& run, std::int64_t number, const background::report& told) {
  tensor_tables all;
  read_steps(run, {number, number}, told, [&](const step& now, const std::vector<tensor_info>& tensors) {
    for (const tensor_row& row : now.tensors) all.add(row, is_scaled(tensors[row.tensor]));
    return true;
  });
  return all;
}

double log2_or_gap(double x) { return x > 0 && std::isfinite(x) ? std::log2(x) : not_known; }

std::shared_ptr<const replayed_run> replay_run(const loaded_run& run, const scenario_text& spec,
                                               const background::report& told) {
  const scenario s = scenario_of(spec, run.text);
  const std::unique_ptr<source> from = open_source(run.text.inputs, reading_for(run.text, std::span{&s, 1}));
  const auto result = std::make_shared<replayed_run>();
  result->steps.reserve(run.picture.steps().size());
  replayer r(s);
  trajectory_watch watch(s.recipe.machine());
  run_notes notes;
  replay_account account;
  std::vector<double> learning_rates;
  step now;
  for (std::uint64_t n = 0; from->next(now); ++n) {
    tell(told, n, from->step_count());
    if (!s.counted.takes(now.key.step) || now.key.microbatch != -1) continue;
    notes.see(now, from->tensors());
    const trajectory_row row = r.advance(now, from->tensors());
    if (row.lacks_input) throw std::invalid_argument(row.error);
    result->steps.push_back(drawn_of(row));
    result->summary.add(row);
    watch.add(row);
    account.add(row);
    learning_rates.push_back(now.scalars.learning_rate);
    if (row.clamped) {
      if (!result->clamped) result->clamped.emplace();
      *result->clamped += *row.clamped;
    }
    if (!row.error.empty()) break;
  }
  result->notes = policy_notes(s, spec.format);
  std::ranges::move(notes.lines(r.choice()), std::back_inserter(result->notes));
  result->warnings = watch.warnings();
  if (r.choice().rule() != check_rule::undecided && r.checked_rows() == 0)
    result->warnings.emplace_back("no overflow can be seen: no tensor is checked for it");
  result->lines = lines_of({spec, s, r.choice(), account, result->summary, learning_rates});
  result->told_nothing = notes.told_nothing();
  result->checked = rule_text(r.choice());
  const auto extremes_of = [&](double of(const replay_step&)) {
    told(1);
    return series_extremes(result->steps.size(), [&](std::size_t i) { return of(result->steps[i]); });
  };
  result->scales_used = extremes_of(used_scale);
  result->scales = extremes_of(log2_scale);
  result->critical = extremes_of(log2_critical);
  result->clip_measures = extremes_of(log2_clip_measure);
  std::vector<double> measures;
  for (const replay_step& of : result->steps) {
    measures.push_back(of.clip_measure);
    if (std::isinf(of.clip_measure)) result->unbounded.push_back(of.step);
  }
  result->rates = clip_rates(s.clip_value ? clip_rates::compares::value : clip_rates::compares::norm, measures);
  result->scale_is_open = std::ranges::any_of(
      result->steps, [](const replay_step& of) { return of.may_have_used.low < of.may_have_used.high; });
  if (result->scale_is_open) {
    result->least_scales = extremes_of(log2_least);
    result->greatest_scales = extremes_of(log2_greatest);
  }
  result->per_layer = s.recipe.machine().scope() == machine_scope::tensor;
  if (!result->per_layer) {
    result->floor = floor_of(s.recipe.machine());
    result->ceiling = ceiling_of(s.recipe.machine());
  }
  for (const replay_step& one : result->steps) {
    if (one.skipped) result->skipped.push_back(one.step);
    if (one.clipped) result->clipped.push_back(one.step);
    if (result->floor > 0 && one.scale_used <= result->floor) ++result->at_floor;
    if (result->ceiling && one.scale_used >= *result->ceiling) ++result->at_ceiling;
  }
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

void document::load(std::vector<inputs_of_run> inputs, const run_text& how,
                    std::function<void(std::vector<std::shared_ptr<const loaded_run>>)> then, first_look look) {
  emit progressed(tr("Reading"), 0);
  loader_.start([inputs = std::move(inputs), how, look,
                 then = std::move(then)](const background::report& told) -> std::function<void()> {
    std::vector<std::shared_ptr<const loaded_run>> runs;
    const auto of_all = [&](double share) {
      told((static_cast<double>(runs.size()) + share) / static_cast<double>(inputs.size()));
    };
    for (const inputs_of_run& one : inputs) {
      run_text text = how;
      text.inputs = one;
      runs.push_back(load_run(text, of_all, look));
    }
    return [then, runs = std::move(runs)] { then(runs); };
  });
}

void document::open(const inputs_of_run& inputs) {
  load({inputs}, how_, [this](std::vector<std::shared_ptr<const loaded_run>> runs) {
    // The same scenario on two runs is one on a single run.
    std::vector<replay_entry> kept;
    for (const replay_entry& r : replays_)
      if (std::ranges::find(kept, r.spec, &replay_entry::spec) == kept.end()) kept.push_back({.spec = r.spec});
    set(std::move(runs), std::move(kept));
    replay_next();
  });
}

void document::open(const std::vector<inputs_of_run>& inputs, std::vector<replay_entry> replays,
                    std::function<void()> then) {
  load(inputs, how_,
       [this, replays = std::move(replays),
        then = std::move(then)](std::vector<std::shared_ptr<const loaded_run>> runs) {
         set(std::move(runs), replays);
         then();
         replay_next();
       });
}

void document::compare(const inputs_of_run& inputs) {
  if (runs_.empty() && !loader_.running()) return open(inputs);
  if (runs_.empty()) return emit failed(tr("Wait for the first run before comparing another with it"));
  if (replays_.size() == most_replays)
    return emit failed(tr("There are %1 replays: remove one first").arg(most_replays));
  load({inputs}, how_, [this](const std::vector<std::shared_ptr<const loaded_run>>& more) {
    if (replays_.size() == most_replays) return;  // they became so many meanwhile
    runs_.push_back(more.front());
    emit run_changed();
    add_replay(replays_.front().spec, runs_.size() - 1);
  });
}

void document::reload() { load_again(how_); }

void document::read_again(run_text how) {
  if (runs_.empty())
    how_ = std::move(how);
  else
    load_again(how);
}

void document::load_again(const run_text& how) {
  if (runs_.empty()) return;
  std::vector<inputs_of_run> inputs;
  for (const auto& run : runs_) inputs.push_back(run->text.inputs);
  const auto then = [this, how](std::vector<std::shared_ptr<const loaded_run>> runs) {
    how_ = how;
    std::vector<replay_entry> again;
    for (const replay_entry& r : replays_) again.push_back({.spec = r.spec, .run = r.run});
    set(std::move(runs), std::move(again));
    replay_next();
  };
  load(std::move(inputs), how, then, first_look::no);
}

void document::cancel() {
  loader_.cancel();
  if (!replayer_.running()) return;
  replayer_.cancel();
  for (replay_entry& r : replays_)
    if (!r.result && r.failure.isEmpty()) r.failure = tr("Cancelled: change the scenario, or reload, to replay it");
  emit replays_changed();
}

void document::set(std::vector<std::shared_ptr<const loaded_run>> runs, std::vector<replay_entry> replays) {
  runs_ = std::move(runs);
  replays_ = std::move(replays);
  close_unused();
  emit run_changed();
  emit replays_changed();
}

std::shared_ptr<const loaded_run> document::run_of(const replay_entry& r) const {
  return r.run < runs_.size() ? runs_[r.run] : nullptr;
}

QString document::title_of(const replay_entry& r) const {
  const QString name = QString::fromStdString(name_of(r.spec));
  if (runs_.size() < 2 || r.run >= runs_.size()) return name;
  // As much of the path's end as tells it from the others.
  const auto end_of = [](const loaded_run& run, qsizetype parts) {
    return shown_text(run.text.inputs.front()).section('/', -parts);
  };
  const loaded_run& own = *runs_[r.run];
  qsizetype parts = 1;
  const auto is_taken = [&](const auto& other) {
    return other.get() != &own && other->text.inputs.front() != own.text.inputs.front() &&
           end_of(*other, parts) == end_of(own, parts);
  };
  while (std::ranges::any_of(runs_, is_taken)) ++parts;
  return end_of(own, parts) + ": " + name;
}

void document::add_replay(const scenario_text& spec, std::size_t run) {
  if (replays_.size() == most_replays)
    return emit failed(tr("There are %1 replays: remove one first").arg(most_replays));
  replays_.push_back({.spec = spec, .run = run});
  emit replays_changed();
  replay_next();
}

void document::change_replay(std::size_t index, const scenario_text& spec) {
  if (replays_.at(index).spec == spec) return;
  replays_[index] = {.spec = spec, .run = replays_[index].run};
  emit replays_changed();
  replay_next();
}

void document::remove_replay(std::size_t index) {
  if (replays_.size() == 1) return;
  replays_.erase(replays_.begin() + static_cast<std::ptrdiff_t>(index));
  const std::size_t before = runs_.size();
  close_unused();
  if (runs_.size() != before) {
    loader_.cancel();  // what is read now counts on the run
    emit run_changed();
  }
  emit replays_changed();
  replay_next();
}

void document::restore_replays(std::vector<replay_entry> replays) {
  for (replay_entry& r : replays)
    for (const replay_entry& known : replays_)
      if (known.spec == r.spec && known.run == r.run && known.result) r = known;
  replays_ = std::move(replays);
  emit replays_changed();
  replay_next();
}

void document::make_first(std::size_t index) {
  if (index == 0 || index >= replays_.size()) return;
  const auto at = replays_.begin() + static_cast<std::ptrdiff_t>(index);
  std::rotate(replays_.begin(), at, at + 1);
  emit replays_changed();
}

void document::close_unused() {
  for (std::size_t run = runs_.size(); run-- > 0;) {
    if (std::ranges::find(replays_, run, &replay_entry::run) != replays_.end()) continue;
    runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(run));
    for (replay_entry& r : replays_)
      if (r.run > run) --r.run;
  }
}

// The first entry that is neither done nor failed; its result is dropped where the entry was changed meanwhile.
void document::replay_next() {
  const auto open =
      std::ranges::find_if(replays_, [](const replay_entry& r) { return !r.result && r.failure.isEmpty(); });
  if (open == replays_.end()) return replayer_.cancel();
  const std::shared_ptr<const loaded_run> run = run_of(*open);
  if (!run) return;
  // What is being computed goes on where it is still the first that is wanted.
  if (replayer_.running() && replaying_ == std::pair{open->spec, run->id}) return;
  replaying_ = {open->spec, run->id};
  const auto finish = [this, id = run->id](const scenario_text& spec, const std::shared_ptr<const replayed_run>& result,
                                           const QString& failure) {
    for (replay_entry& r : replays_)
      if (const auto of = run_of(r); r.spec == spec && of && of->id == id && !r.result) {
        r.result = result;
        r.failure = failure;
      }
    emit replays_changed();
    replay_next();
  };
  replayer_.start([finish, spec = open->spec, run](const background::report& told) -> std::function<void()> {
    try {
      auto result = replay_run(*run, spec, told);
      return [finish, spec, result = std::move(result)] { finish(spec, result, {}); };
    } catch (const std::exception& problem) {
      return [finish, spec, why = shown_text(problem.what())] { finish(spec, nullptr, why); };
    }
  });
}

}  // namespace ulp::gui
