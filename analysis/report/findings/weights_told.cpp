// Findings on weights, each with what the summary says of it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

#include "findings.hpp"
#include "weights.hpp"

namespace ulp {
namespace {

constexpr const char* is_it_lost = "Are updates lost because weights have no float32 copy?";

// Where no update counts: why.
weights_told without_updates(const lost_updates& sum, const std::string& format_name) {
  finding f{.topic = "lost_updates",
            .question = is_it_lost,
            .conclusion = sum.zero_updates == sum.numel ? "no: every update is zero as recorded"
                                                        : "not answered: no weight has an update that counts"};
  if (sum.zero_updates < sum.numel) f.evidence = not_counted(sum, format_name);
  f.grade = sum.zero_updates == sum.numel ? finding_grade::fine : finding_grade::notable;
  f.numbers = {{"format", format_name}, {"lost_share", table_value{}}, {"layers", std::int64_t{0}}};
  return {.about = std::move(f), .happened = "", .change = "", .sure = ""};
}

std::string what_keeps(const std::string& framework, const std::string& format_name) {
  return framework.empty()
             ? fmt::format(
                   "the weights are recorded as {}; the recording does not show whether the "
                   "optimizer keeps a float32 copy of them",
                   format_name)
             : fmt::format("the {} configuration keeps weights in {} without a master copy", framework, format_name);
}

constexpr const char* remedy = "round updates stochastically, or add them with Kahan summation";

// What the summary says to do.
std::string what_to_change(const std::string& framework) {
  return framework.empty()
             ? fmt::format("see that the optimizer keeps a float32 copy of the weights; where it keeps none, {}",
                           remedy)
             : fmt::format("keep a float32 copy of the weights, or {}", remedy);
}

// Some updates are -lr times the gradient.
bool is_modelled(const counted_weights& all) {
  return std::ranges::any_of(all.items, [](const weights_item& i) { return i.origin == update_origin::gradient; });
}

// Of the summary; `lost` names what is lost.
void tell_loss(weights_told& of, const std::string& lost, const std::string& format_name, const std::string& framework,
               bool would, bool modelled) {
  const std::string certain = modelled ? "not certain: updates were modelled as plain SGD, -lr times the gradient, and "
                                         "those of another optimizer differ"
                                       : "certain of these updates";
  of.change = what_to_change(framework);
  if (framework.empty()) {
    of.happened =
        fmt::format("{} are lost if the optimizer keeps no float32 copy of the {} weights", lost, format_name);
    of.sure = certain + (modelled ? "; whether such a copy exists" : " if no such copy exists:") +
              " the recorded type does not show" + (modelled ? ", --config says it" : " it, --config says it");
  } else if (would) {
    of.happened = fmt::format(
        "{} would be lost with weights in {} without a master copy, as the {} configuration keeps them; the recorded "
        "weights were not kept so",
        lost, format_name, framework);
    of.sure = certain + "; the recorded run is not of that configuration";
  } else {
    of.happened = fmt::format("{} are lost: the {} configuration keeps weights in {} without a master copy", lost,
                              framework, format_name);
    of.sure = certain + (modelled ? "" : ", if the run was configured so");
  }
}

// Of the layers that are named.
void add_layers(finding& f, const lost_layers& named, const typed_treatment& asked) {
  for (std::size_t i = 0; i < std::min(most_named, named.layers.size()); ++i) {
    const value_range share = share_in(named.of[i], asked.is_drawn());
    f.evidence.push_back(fmt::format("{}: {} of {}", named.layers[i], range_text(share),
                                     count_text(named.of[i].updates.high, "update")));
    f.bars.push_back({named.layers[i], share, range_text(share), f.grade});
  }
  if (named.layers.empty()) return;
  f.tensor = named.worst;
  f.step = named.from;
}

constexpr const char* limits_of_differences =
    "Updates are differences of rounded weights: they do not tell a lost update from none.";

// Stochastic rounding moves every update in some draws.
weights_told told_of_draws(const counted_weights& all, const std::string& framework, bool would) {
  const typed_treatment& asked = all.cases.front();
  const lost_updates sum = sum_of(all, 0);
  const std::string what =
      sum.open_zeros > 0 && !would
          ? fmt::format("{} of the {} weights did not move in a step, as draws have it",
                        percent(static_cast<double>(sum.open_zeros) / static_cast<double>(sum.updates.high)),
                        asked.format_name)
          : fmt::format("on average {} of the updates leave their weights as they are",
                        range_text(share_in(sum, true)));
  finding f{.topic = "lost_updates",
            .question = is_it_lost,
            .conclusion = fmt::format(
                "no: updates are rounded stochastically, so that the small ones move weights in some draws; {}", what)};
  f.evidence.push_back(what_keeps(framework, asked.format_name) + ", and rounds them stochastically");
  f.numbers = {{"format", asked.format_name}, {"rounding", asked.rounding_name}};
  return {.about = std::move(f), .happened = "", .change = "", .sure = ""};
}

// `share`: of the layers named. Weights of 16 bits and their differences, which were rounded already: what was lost is zero.
weights_told told_unmoved(const counted_weights& all, const lost_layers& open, const std::string& framework) {
  const typed_treatment& asked = all.cases.front();
  lost_updates sum;
  for (const lost_updates& of : open.of) sum += of;
  const double share = static_cast<double>(sum.open_zeros) / static_cast<double>(sum.updates.high);
  weights_told told =
      unmoved_weights(asked.format_name, share, layers_text(open, all), framework, limits_of_differences);
  add_layers(told.about, open, asked);
  return told;
}

// Upper ends alone say that much is lost.
weights_told told_open(const counted_weights& all, const lost_layers& open, const std::string& framework, bool would) {
  const typed_treatment& asked = all.cases.front();
  const std::string what =
      fmt::format("up to {} of the updates of {} may be lost", percent(open.share.high), layers_text(open, all));
  weights_told told;
  told.happened = fmt::format("{} with weights in {} without a master copy{}{}", what, asked.format_name,
                              framework.empty() ? "" : fmt::format(", as the {} configuration keeps them", framework),
                              would ? "; the recorded weights were not kept so" : "");
  told.change = what_to_change(framework);
  told.sure = "open: what was recorded does not tell a lost update from one that was not";
  told.about = {.topic = "lost_updates", .question = is_it_lost, .conclusion = told.happened};
  told.about.evidence.push_back(what_keeps(framework, asked.format_name));
  told.about.grade = finding_grade::notable;
  told.about.numbers = {{"format", asked.format_name}, {"rounding", asked.rounding_name}, {"lost_share", open.share}};
  add_layers(told.about, open, asked);
  return told;
}

}  // namespace

weights_told unmoved_weights(const std::string& format_name, double share, const std::string& layers,
                             const std::string& framework, const std::string& limits) {
  const std::string unmoved =
      fmt::format("{} of the {} weights of {} did not move in a step", percent(share), format_name, layers);
  const bool is_open = framework.empty();
  const std::string unless =
      is_open ? ", unless the optimizer keeps a float32 copy, rounds stochastically or sums with Kahan's compensation"
              : "";
  finding f{.topic = "lost_updates",
            .question = is_it_lost,
            .conclusion = fmt::format("{}; updates that were lost are among these{}", unmoved, unless)};
  f.evidence.push_back(what_keeps(framework, format_name));
  f.limits = limits;
  f.grade = finding_grade::notable;
  f.numbers = {{"format", format_name}, {"unmoved_share", share}};
  return {.about = std::move(f),
          .happened = fmt::format("{}: their updates were zero, or lost{}", unmoved, unless),
          .change = what_to_change(framework),
          .sure = "open: weights of 16 bits alone do not tell a lost update from one that was zero"};
}

weights_told which_updates_are_lost(const counted_weights& all, const std::string& framework) {
  const typed_treatment& asked = all.cases.front();
  const lost_updates sum = sum_of(all, 0);
  if (sum.updates.high == 0) return without_updates(sum, asked.format_name);
  const bool would = is_beyond(all, 0) || has_other_type(all, 0);
  if (asked.is_drawn()) return told_of_draws(all, framework, would);
  const lost_layers lost = layers_that_lose(all, 0);
  const bool modelled = is_modelled(all);
  if (lost.layers.empty())
    if (const lost_layers open = layers_that_may_lose(all, 0); !open.layers.empty())
      return sum.open_zeros > 0 && !would ? told_unmoved(all, open, framework) : told_open(all, open, framework, would);
  const std::string share = lost_text(lost, all);
  finding f{.topic = "lost_updates", .question = is_it_lost};
  f.conclusion = framework.empty()
                     ? fmt::format("if the optimizer keeps no float32 copy of the {} weights, {} are lost",
                                   asked.format_name, share)
                     : fmt::format("weights kept in {} without a master copy {} {}", asked.format_name,
                                   would ? "would lose" : "lose", share);
  f.evidence.push_back(what_keeps(framework, asked.format_name));
  if (would)
    f.evidence.push_back(
        is_beyond(all, 0) ? fmt::format("but some of these weights are no numbers of {}, so they were not kept in it",
                                        asked.format_name)
                          : fmt::format("but these weights are recorded in another type than {}", asked.format_name));
  if (modelled)
    f.evidence.push_back(
        "updates are modelled as plain SGD, -lr times the gradient; the run may have had another optimizer");
  // What the recorded type or a model leaves open is no certain trouble.
  const bool is_certain = !framework.empty() && !would && !modelled;
  f.grade = lost.layers.empty() ? finding_grade::fine : is_certain ? finding_grade::trouble : finding_grade::notable;
  f.limits = fmt::format(
      "An update is lost where weight plus update, rounded once ({}), is the weight again. Open loop: a weight that "
      "had stood still would have had other gradients.",
      asked.rounding_name);
  f.numbers = {{"format", asked.format_name},
               {"rounding", asked.rounding_name},
               {"lost_share", lost.share},
               {"layers", static_cast<std::int64_t>(lost.layers.size())},
               {"first_step", lost.from}};
  add_layers(f, lost, asked);
  weights_told told{.about = std::move(f), .happened = "", .change = "", .sure = ""};
  if (!lost.layers.empty())
    tell_loss(told, share, asked.format_name, framework, would, modelled);
  else if (!lost.share.exact())
    told.sure = fmt::format("open: up to {} of the updates may be lost", percent(lost.share.high));
  else if (modelled)
    told.sure = "not certain: updates were modelled as plain SGD, -lr times the gradient";
  return told;
}

std::optional<weights_told> unmoved_by_updates(const survey& run, const std::vector<tensor_info>& tensors,
                                               const own_configuration& said) {
  const std::optional<std::string>& kept = said.weights_kept_in;
  if (said.weights_stochastic || kept == "float32" || kept == "float64") return std::nullopt;
  constexpr std::string_view prefix = "update";
  std::map<std::string_view, dtype> types;
  for (const auto& [tensor, type] : run.weight_types()) types.emplace(tensors[tensor].name, type);
  std::vector<std::pair<double, std::string>> open;
  zeros_of_updates sum;
  std::size_t layers = 0;
  std::optional<dtype> type;
  for (const auto& [tensor, zeros] : run.zero_updates()) {
    const std::string& name = tensors[tensor].name;
    if (!name.starts_with(prefix) || zeros.numel == 0) continue;
    const auto weight = types.find("weight" + name.substr(prefix.size()));
    if (weight == types.end()) continue;
    if (weight->second != dtype::bfloat16 && weight->second != dtype::float16) continue;
    if (type && weight->second != *type) continue;
    type = weight->second;
    ++layers;
    const double share = static_cast<double>(zeros.zeros) / static_cast<double>(zeros.numel);
    if (!(share > much_of_a_tensor)) continue;
    const std::size_t separator = name.starts_with("update__") ? 2 : 1;
    open.emplace_back(-share, name.substr(prefix.size() + separator));
    sum.numel += zeros.numel;
    sum.zeros += zeros.zeros;
  }
  if (open.empty()) return std::nullopt;
  std::ranges::sort(open);
  lost_layers named;
  for (auto& [share, name] : open) named.layers.push_back(std::move(name));
  const bool is_own = kept && format_named(*kept) == (*type == dtype::bfloat16 ? bfloat16 : float16);
  return unmoved_weights(
      std::string{to_string(*type)}, static_cast<double>(sum.zeros) / static_cast<double>(sum.numel),
      layers_text(named, layers), is_own ? said.framework : "",
      "Zeros of updates that were taken from rounded weights do not tell a lost update from none; joint tables "
      "(joint= of the Recorder) tell which of recorded updates are lost.");
}

std::optional<weights_told> weights_not_finite(const survey& run, const std::vector<tensor_info>& tensors) {
  if (!run.lost_weights()) return std::nullopt;
  const lost_weights& lost = *run.lost_weights();
  const std::string& first = tensors[lost.tensors.front()].name;
  const std::size_t more = lost.tensors.size() - 1;
  const std::string some = lost.elements == lost.numel
                               ? fmt::format("all {}", count_text(lost.numel, "element"))
                               : fmt::format("{} of {}", grouped(lost.elements), count_text(lost.numel, "element"));
  weights_told told;
  told.happened = fmt::format("weights are infinite or NaN: {} of {}{} in step {}{}", some, first,
                              more == 0 ? "" : fmt::format(" and {}", count_text(more, "more tensor")), lost.step,
                              lost.more_steps == 0 ? "" : ", and some in " + count_text(lost.more_steps, "later step"));
  told.change =
      lost.is_first
          ? "start from finite weights: they were infinite or NaN already when recording began"
          : fmt::format(
                "go on from a checkpoint before step {}, and look for the update that made them so: one that was "
                "applied though a gradient was not finite, or a division in the optimizer",
                lost.step);
  told.sure = "certain: the weights were recorded so";
  told.about = {.topic = "weights_not_finite",
                .question = "Are the weights finite?",
                .conclusion = told.happened,
                .numbers = {{"first_step", lost.step},
                            {"tensors", static_cast<std::int64_t>(lost.tensors.size())},
                            {"nonfinite_share", static_cast<double>(lost.elements) / static_cast<double>(lost.numel)}},
                .grade = finding_grade::trouble,
                .step = lost.step,
                .tensor = first};
  return told;
}

}  // namespace ulp
