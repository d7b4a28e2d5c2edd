// Findings on weights, each with what the summary says of it.
#include <fmt/format.h>

#include <algorithm>

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

// Of the summary; `lost` names what is lost.
void tell_loss(weights_told& of, const std::string& lost, const std::string& format_name, const std::string& framework,
               bool would) {
  const std::string remedy = "round updates stochastically, or add them with Kahan summation";
  if (framework.empty()) {
    of.happened =
        fmt::format("{} are lost if the optimizer keeps no float32 copy of the {} weights", lost, format_name);
    of.change =
        fmt::format("see that the optimizer keeps a float32 copy of the weights; where it keeps none, {}", remedy);
    of.sure = "certain of these updates if there is no such copy: the recorded type does not show it, --config says it";
  } else if (would) {
    of.happened = fmt::format(
        "{} would be lost with weights in {} without a master copy, as the {} configuration keeps them; the recorded "
        "weights were not kept so",
        lost, format_name, framework);
    of.change = fmt::format("keep a float32 copy of the weights, or {}", remedy);
    of.sure = "certain of these updates; the recorded run is not of that configuration";
  } else {
    of.happened = fmt::format("{} are lost: the {} configuration keeps weights in {} without a master copy", lost,
                              framework, format_name);
    of.change = fmt::format("keep a float32 copy of the weights, or {}", remedy);
    of.sure = "certain of these updates, if the run was configured so";
  }
}

}  // namespace

weights_told which_updates_are_lost(const counted_weights& all, const std::string& framework) {
  const weights_case& asked = all.cases.front();
  const lost_updates sum = sum_of(all, 0);
  if (sum.updates.high == 0) return without_updates(sum, asked.format_name);
  const lost_layers lost = layers_that_lose(all, 0);
  const std::string share = lost_text(lost, all);
  const bool would = is_beyond(all, 0);
  finding f{.topic = "lost_updates", .question = is_it_lost};
  f.conclusion = framework.empty()
                     ? fmt::format("if the optimizer keeps no float32 copy of the {} weights, {} are lost",
                                   asked.format_name, share)
                     : fmt::format("weights kept in {} without a master copy {} {}", asked.format_name,
                                   would ? "would lose" : "lose", share);
  f.evidence.push_back(what_keeps(framework, asked.format_name));
  if (would)
    f.evidence.push_back(
        fmt::format("but some of these weights are no numbers of {}, so they were not kept in it", asked.format_name));
  // What the recorded type leaves open is no certain trouble.
  const finding_grade grade = framework.empty() || would ? finding_grade::notable : finding_grade::trouble;
  constexpr std::size_t most_named = 4;
  for (std::size_t i = 0; i < std::min(most_named, lost.layers.size()); ++i) {
    const std::string of_layer = range_text(share_in(lost.of[i], asked.is_drawn()));
    f.evidence.push_back(
        fmt::format("{}: {} of {}", lost.layers[i], of_layer, count_text(lost.of[i].updates.high, "update")));
    f.bars.push_back({lost.layers[i], share_in(lost.of[i], asked.is_drawn()), of_layer, grade});
  }
  f.limits = fmt::format(
      "An update is lost where weight plus update, rounded once ({}), is the weight again. Open loop: a weight that "
      "had stood still would have had other gradients.",
      asked.rounding_name);
  f.grade = lost.layers.empty() ? finding_grade::fine : grade;
  f.numbers = {{"format", asked.format_name},
               {"rounding", asked.rounding_name},
               {"lost_share", lost.share},
               {"layers", static_cast<std::int64_t>(lost.layers.size())},
               {"first_step", lost.from}};
  if (!lost.layers.empty()) f.tensor = lost.worst;
  if (!lost.layers.empty()) f.step = lost.from;
  weights_told told{.about = std::move(f), .happened = "", .change = "", .sure = ""};
  if (!lost.layers.empty()) tell_loss(told, share, asked.format_name, framework, would);
  return told;
}

weights_told what_did_not_move(const counted_weights& all, const std::string& framework) {
  const std::string& name = all.cases.front().format_name;
  const lost_updates sum = sum_of(all, 0);
  const std::uint64_t finite = sum.numel - sum.nonfinite;
  if (finite == 0) return without_updates(sum, name);
  const double share = static_cast<double>(sum.zero_updates) / static_cast<double>(finite);
  const std::string unmoved = fmt::format("{} of the {} weights did not move in a step", percent(share), name);
  const bool is_open = framework.empty();
  finding f{.topic = "lost_updates",
            .question = is_it_lost,
            .conclusion = fmt::format("{}; updates that were lost are among these{}", unmoved,
                                      is_open ? ", if the optimizer keeps no float32 copy" : "")};
  f.evidence.push_back(what_keeps(framework, name));
  f.limits =
      "Updates are differences of rounded weights: they do not tell a lost update from none. Record gradients too.";
  f.grade = share > 0.5 ? finding_grade::notable : finding_grade::fine;
  f.numbers = {{"format", name}, {"unmoved_share", share}};
  weights_told told{.about = std::move(f), .happened = "", .change = "", .sure = ""};
  if (told.about.grade == finding_grade::fine) return told;
  told.happened = fmt::format("{}: their updates were zero, or lost{}", unmoved,
                              is_open ? " if the optimizer keeps no float32 copy" : "");
  told.change =
      is_open ? "see that the optimizer keeps a float32 copy of the weights" : "keep a float32 copy of the weights";
  told.sure = "open: weights of 16 bits alone do not tell a lost update from one that was zero";
  return told;
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
          ? "start from finite weights: these were not when recording began"
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
