#include "story_cards.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <ulp/formats/names.hpp>
#include <ulp/report/findings/cards.hpp>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

template <typename Of>
std::vector<extremes> pieces_of(std::size_t n, Of of) {
  constexpr std::size_t most = 240;
  std::vector<extremes> pieces(std::min(n, most));
  for (std::size_t p = 0; p < pieces.size(); ++p)
    for (std::size_t i = n * p / pieces.size(); i < n * (p + 1) / pieces.size(); ++i) pieces[p].add(of(i));
  return pieces;
}

// Of the run itself, as it was logged; empty where it was not.
card_line logged_scale(const loaded_run& run) {
  const auto& steps = run.picture.steps();
  card_line line{.name = QObject::tr("logged scale, log2; ticks: overflow")};
  line.pieces = pieces_of(steps.size(), [&](std::size_t i) { return log2_or_gap(steps[i].scalars.loss_scale); });
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].scalars.found_inf.value_or(false))
      line.marks.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(steps.size()));
  return line;
}

// Whether the replay in front is of the policy that was found best.
bool is_of_best(const finding& f, const scenario_text& spec) {
  const scenario s = scenario_of(spec);
  if (std::string_view(s.recipe.machine().entry().name) != "pytorch_gradscaler") return false;
  const auto best = std::ranges::find(f.numbers, "best", &named_value::name);
  const auto* const values = best == f.numbers.end() ? nullptr : std::get_if<named_values>(&best->value);
  if (values == nullptr) return false;
  return std::ranges::all_of(s.recipe.machine().parameters(), [&](const scaler_parameter& p) {
    const auto of = std::ranges::find(values->all, p.name, &named_value::name);
    const auto* const wanted = of == values->all.end() ? nullptr : std::get_if<double>(&of->value);
    const auto* const set = std::get_if<double>(&p.value);
    return wanted == nullptr || (set != nullptr && *set == *wanted);
  });
}

card_line replayed_scale(const replay_entry& replay) {
  const auto& rows = replay.result->steps;
  card_line line{.name = QObject::tr("the replay's scale, log2; ticks: skips")};
  line.pieces = pieces_of(rows.size(), [&](std::size_t i) { return log2_scale(rows[i]); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].skipped) line.marks.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(rows.size()));
  return line;
}

std::string text_in(const finding& f, std::string_view name) {
  const auto found = std::ranges::find(f.numbers, name, &named_value::name);
  const auto* const text = found == f.numbers.end() ? nullptr : std::get_if<std::string>(&found->value);
  return text == nullptr ? std::string{} : *text;
}

// In which Layers shows the lost updates that the finding tells of. Empty where it shows others: it rounds to nearest even, and
// differences of rounded weights do not have what was lost.
std::string format_of_lost_updates(const finding& f) {
  return text_in(f, "rounding") == to_string(rounding{}) ? text_in(f, "format") : std::string{};
}

bool is_cause(const finding& f) {
  static constexpr std::array answers{"recorded_values", "format",       "static_scale",    "growth",
                                      "worst_tensors",   "worst_groups", "clipping",        "tensor_scales",
                                      "group_scales",    "not_helped",   "replay_underflow"};
  return std::ranges::find(answers, f.topic) == answers.end();
}

bool has_values(const card_line& line) {
  extremes all;
  for (const extremes& e : line.pieces) all.merge(e);
  return all.least <= all.greatest;
}

std::optional<card_line> line_of(card_curve what, const loaded_run& run, const replay_entry& replay) {
  card_line line;
  const auto& steps = run.picture.steps();
  if (what == card_curve::loss) {
    line.name = QObject::tr("loss, log2");
    line.pieces = pieces_of(steps.size(), [&](std::size_t i) { return log2_or_gap(steps[i].scalars.loss); });
  } else if (what == card_curve::norm && replay.result) {
    const auto& rows = replay.result->steps;
    line.name = QObject::tr("gradient norm, log2");
    line.pieces = pieces_of(rows.size(), [&](std::size_t i) { return log2_or_gap(rows[i].norm); });
  } else if (what == card_curve::run_scale) {
    // What happened to the run is told of its own scale; a replay's is another story, and says so.
    line = logged_scale(run);
    if (!has_values(line) && replay.result) line = replayed_scale(replay);
  } else if (what == card_curve::replay_scale && replay.result) {
    line = replayed_scale(replay);
  }
  return has_values(line) ? std::optional(line) : std::nullopt;
}

// What comes then is not judged, and not drawn.
void end_before(card_line& line, std::int64_t step, const loaded_run& run) {
  const auto& steps = run.picture.steps();
  const auto end = std::ranges::lower_bound(steps, step, {}, [](const pictured_step& s) { return s.key.step; });
  const double share =
      static_cast<double>(end - steps.begin()) / static_cast<double>(std::max<std::size_t>(1, steps.size()));
  line.pieces.resize(
      std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(line.pieces.size()))));
  std::erase_if(line.marks, [&](double mark) { return mark >= share; });
  for (double& mark : line.marks) mark /= share;
  line.name = QObject::tr("%1; before step %2").arg(line.name).arg(step);
}

// `left_out_from`: where it is of the steps before this one alone.
story_card card_of(const finding& f, const loaded_run& run, const replay_entry& replay,
                   std::optional<std::int64_t> left_out_from = {}) {
  story_card card{.question = shown_text(f.question),
                  .conclusion = shown_text(f.conclusion),
                  .grade = f.grade,
                  .bars = f.bars,
                  .step = f.step,
                  .tensor = f.tensor};
  // Of what the shares are, the words above tell.
  constexpr std::string_view of_magnitude = " of the magnitude";
  for (finding_bar& bar : card.bars)
    if (bar.text.ends_with(of_magnitude)) bar.text.resize(bar.text.size() - of_magnitude.size());
  QStringList evidence;
  for (const std::string& line : f.evidence) evidence << shown_text(line);
  if (!f.limits.empty()) evidence << QObject::tr("Limits: %1").arg(shown_text(f.limits));
  card.evidence = evidence.join('\n');
  for (const named_value& n : f.numbers)
    if (const auto* const log2 = std::get_if<std::int64_t>(&n.value); log2 != nullptr && n.name == "scale_log2")
      card.scale_log2 = static_cast<int>(*log2);
  if (f.topic == "format") card.scale_log2 = 0;
  const card_row* const place = find_card(f.topic);
  if (place == nullptr) return card;
  if (f.topic == "lost_updates") {
    card.weights_format = format_of_lost_updates(f);
    if (card.weights_format.empty()) return card;
  }
  card.view = QString::fromUtf8(place->view.data(), static_cast<qsizetype>(place->view.size()));
  // A picture of another policy would belie the words.
  if (card.bars.empty() && (f.topic != "growth" || is_of_best(f, replay.spec)))
    card.line = line_of(place->curve, run, replay);
  if (card.line && left_out_from) end_before(*card.line, *left_out_from, run);
  return card;
}

}  // namespace

std::vector<story_card> cards_of(const told_story& story, const told_replay* of_replay, const loaded_run& run,
                                 const replay_entry& replay) {
  std::vector<story_card> cards;
  if (of_replay == nullptr && !run.tensors.empty() && replay.failure.isEmpty()) {
    // Its place is kept: the cards that one reads do not move when it is known.
    cards.push_back(
        {.question = QObject::tr("What underflows in %1 under this replay?").arg(shown_text(replay.spec.format)),
         .conclusion = QObject::tr("Counting ...")});
  } else if (of_replay != nullptr && !of_replay->underflow.topic.empty()) {
    cards.push_back(card_of(of_replay->underflow, run, replay));
  }
  // What happened is told of all steps, the other answers of those that are judged.
  for (const finding& f : story.given.findings)
    cards.push_back(card_of(f, run, replay, is_cause(f) ? std::nullopt : story.given.first.left_out_from));
  // Of what was recorded wrongly nothing else holds.
  if (story.given.first.cause == "recorded_wrongly")
    std::erase_if(cards, [](const story_card& c) { return c.grade != finding_grade::trouble; });
  std::ranges::stable_sort(cards, {}, &story_card::grade);
  return cards;
}

std::vector<story_card> with_recipe(std::vector<story_card> cards, const told_recipe& recipe, const loaded_run& run,
                                    const replay_entry& replay) {
  std::vector<story_card> all;
  for (const finding& f : recipe.told.findings) all.push_back(card_of(f, run, replay));
  std::ranges::move(cards, std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &story_card::grade);
  return all;
}

void look_at(const story_card& card, view_state& state) {
  if (card.step) state.set_cursor(*card.step);
  if (card.scale_log2) state.set_tried_scale(card.scale_log2);
  if (!card.weights_format.empty()) {
    state.set_metric_of_layers(layer_metric::lost_updates);
    state.set_weights_format(card.weights_format);
  } else if (card.view == "layers" &&
             (state.metric_of_layers() == layer_metric::lost_updates || is_of_recipe(state.metric_of_layers()))) {
    state.set_metric_of_layers(layer_metric::underflow);  // the other cards are of values
  }
  if (card.tensor.empty() || state.current_run() == nullptr) return;
  const auto& tensors = state.current_run()->tensors;
  const auto found = std::ranges::find(tensors, card.tensor, &tensor_info::name);
  if (found != tensors.end()) state.set_tensor(static_cast<std::uint32_t>(found - tensors.begin()));
}

}  // namespace ulp::gui
