#include "document.hpp"

#include <algorithm>
#include <utility>

#include "shown_text.hpp"

namespace ulp::gui {

document::document(QObject* parent) : QObject(parent) {
  connect(&loader_, &background::progressed, this, [this](double share) { emit progressed(tr("Reading"), share); });
  connect(&replay_work_, &background::progressed, this,
          [this](double share) { emit progressed(tr("Replaying"), share); });
  connect(&loader_, &background::failed, this, &document::failed);
  for (background* const b : {&loader_, &replay_work_})
    connect(b, &background::finished, this, [this] {
      if (!busy()) emit idle();
    });
}

void document::load(std::vector<inputs_of_run> inputs, const run_text& how,
                    std::function<void(std::vector<std::shared_ptr<const loaded_run>>)> then, first_look look) {
  emit progressed(tr("Reading"), 0);
  loader_.start([inputs = std::move(inputs), how, look, then = std::move(then)](listener& to) -> std::function<void()> {
    std::vector<std::shared_ptr<const loaded_run>> runs;
    work reading(to, "runs", inputs.size());
    for (const inputs_of_run& one : inputs) {
      run_text text = how;
      text.inputs = one;
      runs.push_back(load_run(text, to, look));
      reading.advance();
    }
    return [then, runs = std::move(runs)] { then(runs); };
  });
}

void document::open(const inputs_of_run& inputs) {
  load({inputs}, how_, [this](std::vector<std::shared_ptr<const loaded_run>> runs) {
    // The same scenario on two runs is one on a single run.
    std::vector<replay_entry> kept;
    for (const replay_entry& r : replays_)
      if (const scenario_text spec = chosen_of(r); std::ranges::find(kept, spec, &replay_entry::spec) == kept.end())
        kept.push_back({.spec = spec});
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
    for (const replay_entry& r : replays_) again.push_back({.spec = chosen_of(r), .run = r.run});
    set(std::move(runs), std::move(again));
    replay_next();
  };
  load(std::move(inputs), how, then, first_look::no);
}

void document::cancel() {
  loader_.cancel();
  if (!replay_work_.running()) return;
  replay_work_.cancel();
  for (replay_entry& r : replays_)
    if (!r.result && r.failure.isEmpty()) r.failure = tr("Cancelled: change the scenario, or reload, to replay it");
  emit replays_changed();
}

void document::set(std::vector<std::shared_ptr<const loaded_run>> runs, std::vector<replay_entry> replays) {
  runs_ = std::move(runs);
  replays_ = std::move(replays);
  is_own_ = std::ranges::all_of(replays_, [](const replay_entry& r) { return r.spec.scaler.empty(); });
  for (replay_entry& r : replays_) {
    if (const auto run = run_of(r)) r.spec = with_own_scaler(r.spec, *run);
    if (r.spec.scaler.empty()) r.spec = usual_scenario();
  }
  close_unused();
  emit run_changed();
  emit replays_changed();
}

scenario_text document::chosen_of(const replay_entry& r) const {
  scenario_text spec = r.spec;
  if (!is_own_) return spec;
  spec.scaler.clear();
  spec.parameters.clear();
  return spec;
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
  is_own_ = false;
  emit replays_changed();
  replay_next();
}

void document::change_replay(std::size_t index, const scenario_text& spec) {
  if (replays_.at(index).spec == spec) return;
  replays_[index] = {.spec = spec, .run = replays_[index].run};
  is_own_ = false;
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
  is_own_ = false;
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
  if (open == replays_.end()) return replay_work_.cancel();
  const std::shared_ptr<const loaded_run> run = run_of(*open);
  if (!run) return;
  // What is being computed goes on where it is still the first that is wanted.
  if (replay_work_.running() && replaying_ == std::pair{open->spec, run->id}) return;
  replaying_ = {open->spec, run->id};
  const auto finish = [this, id = run->id](const scenario_text& spec, const std::shared_ptr<const drawn_replay>& result,
                                           const QString& failure) {
    for (replay_entry& r : replays_)
      if (const auto of = run_of(r); r.spec == spec && of && of->id == id && !r.result) {
        r.result = result;
        r.failure = failure;
      }
    emit replays_changed();
    replay_next();
  };
  replay_work_.start([finish, spec = open->spec, run](listener& to) -> std::function<void()> {
    try {
      auto result = replay_run(*run, spec, to);
      return [finish, spec, result = std::move(result)] { finish(spec, result, {}); };
    } catch (const std::exception& problem) {
      return [finish, spec, why = shown_text(problem.what())] { finish(spec, nullptr, why); };
    }
  });
}

}  // namespace ulp::gui
