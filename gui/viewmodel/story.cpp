#include "story.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/ask/runs/replay_answer.hpp>
#include <ulp/report/findings/replay_losses.hpp>
#include <ulp/report/tables/regret_text.hpp>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr const char* usual_epsilon = "1e-5";

// What advice depends on.
bool asks_the_same(const scenario_text& a, const scenario_text& b) {
  return a.format == b.format && a.rounding == b.rounding && a.scaler == b.scaler && a.check == b.check;
}

advice_question question_of(const loaded_run& run, const scenario_text& spec) {
  return {.run = run.text,
          .format = spec.format,
          .check = spec.check,
          .epsilon = usual_epsilon,
          .config = {},
          .rounding = spec.rounding,
          .framework = std::string{scaler_named(spec.scaler).name},
          .look = first_look::no};
}

std::string regret_of(const loaded_run& run, const scenario_text& spec, listener& to) {
  const std::vector<swept_policy> one = swept_over(run, {.base = spec, .scalers = {spec.scaler}}, to).policies;
  const std::string text = one.empty() ? std::string{} : regret_text(one.front().result);
  return text.empty() ? "-" : text;
}

}  // namespace

std::shared_ptr<const told_story> tell_story(const loaded_run& run, const scenario_text& spec, listener& to) {
  const auto all = std::make_shared<told_story>();
  all->run = run.id;
  all->spec = spec;
  if (run.picture.steps().empty()) return all;  // there is nothing to advise on yet
  kept_lines lines(to);
  all->given = advice_on(advice_over(question_of(run, spec), lines));
  all->notes = lines.notes();
  return all;
}

void find_loss_now(view_state& state) {
  const auto run = state.shared_run();
  if (run == nullptr || run->tensors.empty() || state.lost_from()) return;
  try {
    state.set_lost_from(run->id, left_out_from(question_of(*run, state.front().spec), nobody()));
  } catch (const std::exception&) {
    return;  // of a file that is gone it stays unknown
  }
}

told_replay tell_replay(const loaded_run& run, const scenario_text& spec, listener& to) {
  told_replay all{.run = run.id, .spec = spec};
  if (!run.tensors.empty()) {
    replay_losses losses;
    std::vector<tensor_info> tensors;  // a recording that grows may have more of them by now
    const auto see = [&](const std::vector<tensor_outcome>& outcomes, const std::vector<tensor_info>& known) {
      if (tensors.size() < known.size()) tensors = known;
      for (const tensor_outcome& of : outcomes) losses.add(of);
    };
    static_cast<void>(replay_over({.run = run.text, .what = spec, .own = {}, .look = first_look::no},
                                  scenario_of(spec, run.text), to, {.of_tensors = see}));
    all.underflow = losses.result(tensors, spec.format);
  }
  all.regret = regret_of(run, spec, to);
  return all;
}

told_recipe tell_recipe(const loaded_run& run, const fp8_spec& spec, listener& to) {
  told_recipe one{.run = run.id, .spec = spec, .told = {}, .why_not = {}, .notes = {}, .warnings = {}};
  try {
    const fp8_question asked = question_of(run.text, spec);
    kept_lines lines(to);
    one.told = tell_recipe_run(fp8_replay_over(asked, lines, {}, with_noise::no), asked);
    one.notes = without(lines.notes(), run.notes);
    one.warnings = without(lines.warnings(), run.warnings);
  } catch (const std::exception& problem) {
    one.why_not = shown_text(problem.what());
  }
  return one;
}

namespace {

// Of a file that is gone, or a policy that needs what the input lacks, the replay says so itself.
told_replay told_or_nothing(const loaded_run& run, const scenario_text& spec, listener& to) {
  try {
    return tell_replay(run, spec, to);
  } catch (const std::exception&) {
    return {.run = run.id, .spec = spec, .regret = "-"};
  }
}

}  // namespace

story::story(view_state& state, QObject* parent)
    : QObject(parent),
      state_(state),
      teller_(nullptr, background::urgency::beside),
      replay_teller_(nullptr, background::urgency::beside),
      recipe_teller_(nullptr, background::urgency::beside) {
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) look();
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::recipe)) look_at_recipe();
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
  if (run->amaxes_only) return take(nullptr, tr("Amaxes alone are known: no loss scale is judged."));
  teller_.start([this, run, spec = asked_](listener& to) -> std::function<void()> {
    return [this, all = tell_story(*run, spec, to)] {
      take(all, {});
      look_at_replays();
    };
  });
}

bool story::is_of_recipe() const {
  const loaded_run* const run = state_.current_run();
  return run != nullptr && !run->picture.steps().empty() && (state_.has_own_fp8() || run->amaxes_only);
}

const told_recipe* story::under_recipe() const {
  return recipe_ && is_of_recipe() && recipe_->run == state_.current_run()->id && recipe_->spec == state_.fp8()
             ? &*recipe_
             : nullptr;
}

void story::look_at_recipe() {
  if (!is_of_recipe()) {
    recipe_teller_.cancel();
    return emit changed();
  }
  const auto run = state_.shared_run();
  if (under_recipe() != nullptr) return recipe_teller_.cancel();
  recipe_teller_.start([this, run, spec = state_.fp8()](listener& to) -> std::function<void()> {
    return [this, one = tell_recipe(*run, spec, to)] {
      recipe_ = one;
      emit changed();
    };
  });
  emit changed();
}

void story::look_at_replays() {
  if (teller_.running() || replay_teller_.running()) return;
  for (const replay_entry& r : state_.doc().replays()) {
    const auto run = state_.doc().run_of(r);
    if (!r.result || !run || told_of(r) != nullptr) continue;
    replay_teller_.start([this, run, spec = r.spec](listener& to) -> std::function<void()> {
      return [this, one = told_or_nothing(*run, spec, to)] {
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
  recipe_teller_.cancel();
  const auto run = state_.shared_run();
  if (run == nullptr || run->picture.steps().empty()) return;
  if (is_of_recipe() && under_recipe() == nullptr) recipe_ = tell_recipe(*run, state_.fp8(), nobody());
  try {
    if (run->amaxes_only) {
      look();
    } else if (!told_ || !is_told()) {
      asked_run_ = run->id;
      asked_text_ = run->text;
      asked_ = state_.front().spec;
      take(tell_story(*run, asked_, nobody()), {});
    }
  } catch (const std::exception& problem) {
    take(nullptr, shown_text(problem.what()));
  }
  for (const replay_entry& r : state_.doc().replays()) {
    const auto of = state_.doc().run_of(r);
    if (of && r.result && told_of(r) == nullptr) keep(told_or_nothing(*of, r.spec, nobody()));
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
