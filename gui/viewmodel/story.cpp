#include "story.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <ulp/ask/sweep/policy_grid.hpp>
#include <ulp/model/causes/diagnosis.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/report/findings/replay_losses.hpp>
#include <ulp/report/findings/weights_finding.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/run_notes.hpp>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr const char* usual_epsilon = "1e-5";

// What advice depends on.
bool asks_the_same(const scenario_text& a, const scenario_text& b) {
  return a.format == b.format && a.rounding == b.rounding && a.scaler == b.scaler && a.check == b.check;
}

std::string regret_told(const loaded_run& run, const scenario_text& spec, const background::report& told) {
  const std::vector<swept_policy> one = swept_over(run.text, {.base = spec, .scalers = {spec.scaler}}, told).policies;
  const std::string text = one.empty() ? std::string{} : regret_text(one.front().result);
  return text.empty() ? "-" : text;
}

}  // namespace

std::shared_ptr<const told_story> tell_story(const loaded_run& run, const scenario_text& spec,
                                             const background::report& told) {
  const auto all = std::make_shared<told_story>();
  all->run = run.id;
  all->spec = spec;
  const scenario s = scenario_of(spec, run.text);
  advice_options options = advice_options_of(spec.format, spec.rounding, usual_epsilon, run.text);
  options.configured.framework = s.recipe.machine().entry().name;
  adviser adviser(options, s.counted, s.checked);
  adviser.expect(run.picture.steps().size());
  run_notes notes;
  const auto each = [&](const selection& counted, const auto& take) {
    const std::unique_ptr<source> from = open_source(run.text.inputs, run.text.how_to_read());
    step now;
    for (std::uint64_t n = 0; from->next(now); ++n) {
      told(from->step_count() == 0 ? 0 : static_cast<double>(n) / static_cast<double>(from->step_count()));
      if (counted.takes(now.key.step)) take(now, from->tensors());
    }
    return std::vector<tensor_info>(from->tensors());
  };
  const auto tensors = each(s.counted, [&](const step& now, const std::vector<tensor_info>& known) {
    notes.see(now, known);
    adviser.add(now, known);
  });
  if (const std::optional<selection> less = adviser.again(tensors))
    each(*less, [&](const step& now, const std::vector<tensor_info>& known) { adviser.add_again(now, known); });
  all->given = adviser.result(tensors, weights_finding(run.text, options.configured));
  all->notes = notes.lines(adviser.whole().choice());
  return all;
}

void find_loss_now(view_state& state) {
  const auto run = state.shared_run();
  if (run == nullptr || run->tensors.empty() || state.lost_from()) return;
  try {
    const scenario s = scenario_of(state.front().spec, run->text);
    survey all(s.counted, s.checked);
    const std::unique_ptr<source> from = open_source(run->text.inputs, run->text.how_to_read());
    step now;
    while (from->next(now))
      if (s.counted.takes(now.key.step)) all.add(now, from->tensors());
    const std::optional<std::int64_t> died = diagnosis_of(all, from->tensors()).died_at;
    const bool is_part = died && *died != all.steps().front().key.step;
    state.set_lost_from(run->id, is_part ? died : std::nullopt);
  } catch (const std::exception&) {
    return;  // of a file that is gone it stays unknown
  }
}

told_replay tell_replay(const loaded_run& run, const scenario_text& spec, const background::report& told) {
  told_replay all{.run = run.id, .spec = spec};
  if (!run.tensors.empty()) {
    const scenario s = scenario_of(spec, run.text);
    replayer again(s);
    replay_losses losses;
    std::vector<tensor_outcome> outcomes;
    const std::unique_ptr<source> from = open_source(run.text.inputs, run.text.how_to_read());
    step now;
    for (std::uint64_t n = 0; from->next(now); ++n) {
      told(from->step_count() == 0 ? 0 : static_cast<double>(n) / static_cast<double>(from->step_count()));
      if (!s.counted.takes(now.key.step) || now.key.microbatch != -1) continue;
      outcomes.clear();
      const bool is_over = !again.advance(now, from->tensors(), &outcomes).error.empty();
      for (const tensor_outcome& of : outcomes) losses.add(of);
      if (is_over) break;
    }
    all.underflow = losses.result(from->tensors(), spec.format);
  }
  all.regret = regret_told(run, spec, told);
  return all;
}

namespace {

// Of a file that is gone, or a policy that needs what the input lacks, the replay says so itself.
told_replay told_or_nothing(const loaded_run& run, const scenario_text& spec, const background::report& told) {
  try {
    return tell_replay(run, spec, told);
  } catch (const std::exception&) {
    return {.run = run.id, .spec = spec, .regret = "-"};
  }
}

}  // namespace

story::story(view_state& state, QObject* parent)
    : QObject(parent),
      state_(state),
      teller_(nullptr, background::urgency::beside),
      replay_teller_(nullptr, background::urgency::beside) {
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) look();
  });
  connect(&state_.doc(), &document::idle, this, [this] { look(); });
  connect(&teller_, &background::failed, this, [this](const QString& why) {
    take(nullptr, why);
    look_at_replays();
  });
}

bool story::is_told() const {
  const loaded_run* const run = state_.current_run();
  return run != nullptr && run->id == asked_run_ && asks_the_same(asked_, state_.front().spec);
}

void story::look() {
  const auto run = state_.shared_run();
  if (run == nullptr) {
    asked_run_ = 0;
    teller_.cancel();
    return take(nullptr, {});
  }
  // The replay first: it is what somebody waits for.
  if (state_.doc().busy()) return;
  if (is_told()) return look_at_replays();
  // Of a file that grows the last story stays until it is told anew.
  const bool is_another = !(asked_text_ == run->text) || !asks_the_same(asked_, state_.front().spec);
  asked_run_ = run->id;
  asked_text_ = run->text;
  asked_ = state_.front().spec;
  if (is_another) take(nullptr, {});
  if (run->picture.steps().empty()) return take(nullptr, tr("The run has no steps."));
  teller_.start([this, run, spec = asked_](const background::report& told) -> std::function<void()> {
    return [this, all = tell_story(*run, spec, told)] {
      take(all, {});
      look_at_replays();
    };
  });
}

void story::look_at_replays() {
  if (teller_.running() || replay_teller_.running()) return;
  for (const replay_entry& r : state_.doc().replays()) {
    const auto run = state_.doc().run_of(r);
    if (!r.result || !run || told_of(r) != nullptr) continue;
    replay_teller_.start([this, run, spec = r.spec](const background::report& told) -> std::function<void()> {
      return [this, one = told_or_nothing(*run, spec, told)] {
        keep(one);
        emit changed();
        look_at_replays();
      };
    });
    return;
  }
}

void story::keep(told_replay one) {
  constexpr std::size_t most = 32;
  if (replays_.size() == most) replays_.pop_front();
  replays_.push_back(std::move(one));
}

const told_replay* story::told_of(const replay_entry& r) const {
  const auto run = state_.doc().run_of(r);
  const auto found =
      std::ranges::find_if(replays_, [&](const told_replay& t) { return run && t.run == run->id && t.spec == r.spec; });
  return found == replays_.end() ? nullptr : &*found;
}

void story::tell_now() {
  teller_.cancel();
  replay_teller_.cancel();
  const auto run = state_.shared_run();
  if (run == nullptr || run->picture.steps().empty()) return;
  try {
    if (!told_ || !is_told()) {
      asked_run_ = run->id;
      asked_text_ = run->text;
      asked_ = state_.front().spec;
      take(tell_story(*run, asked_, [](double) {}), {});
    }
  } catch (const std::exception& problem) {
    take(nullptr, shown_text(problem.what()));
  }
  for (const replay_entry& r : state_.doc().replays()) {
    const auto of = state_.doc().run_of(r);
    if (of && r.result && told_of(r) == nullptr) keep(told_or_nothing(*of, r.spec, [](double) {}));
  }
}

void story::take(std::shared_ptr<const told_story> told, const QString& why_not) {
  if (told == told_ && why_not == why_not_) return;
  told_ = std::move(told);
  why_not_ = why_not;
  if (told_) state_.set_lost_from(told_->run, told_->given.first.left_out_from);
  emit changed();
}

}  // namespace ulp::gui
