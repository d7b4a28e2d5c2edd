// What advice says of formats whose blocks share a scale.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/model/recipe/scaling.hpp>
#include <utility>

#include "judged_blocks.hpp"
#include "tables/judged_text.hpp"

namespace ulp {
namespace {

constexpr std::size_t most_tensors_named = 5;

// Of each of two elements the tensors that lose less for certain.
struct preference {
  std::size_t first = 0;
  std::size_t second = 0;
  std::size_t of = 0;
};

template <typename Takes>
preference preferred(const block_trial& tried, std::size_t first, std::size_t second, Takes takes) {
  preference p;
  for (const tried_tensor* t : tried.judged()) {
    if (!takes(tried.info[t->tensor])) continue;
    ++p.of;
    if (t->of[first].worst.high < t->of[second].worst.low) ++p.first;
    if (t->of[second].worst.high < t->of[first].worst.low) ++p.second;
  }
  return p;
}

std::string left_out_text(const block_trial& tried) {
  std::uint64_t unread = 0;
  std::uint64_t empty = 0;
  for (const tried_tensor& t : tried.tensors) {
    unread += t.unfit ? 1 : 0;
    empty += !t.unfit && !t.has_values && t.left_out == 0 ? 1 : 0;
  }
  std::vector<std::string> parts;
  if (unread > 0)
    parts.push_back(count_text(unread, "tensor") + " that no product reads (vectors, what products give)");
  if (tried.left_out() > 0)
    parts.push_back(count_text(tried.left_out(), "step") + " of a tensor with infinities or NaN");
  if (empty > 0) parts.push_back(count_text(empty, "tensor") + " without a value other than zero");
  return parts.empty() ? "" : fmt::format("left out: {}", fmt::join(parts, "; "));
}

std::string held_text(const judged_row& r, const std::string& with) {
  const std::size_t n = r.tensors.size();
  const std::size_t failed = r.nonfinite + r.drowned;
  const std::string fate = r.name() + " " + fate_text(r, r.worst());
  if (failed > 0) return fmt::format("{}{}: {}", failed == n ? "no" : "not in " + of_tensors(failed, n), with, fate);
  if (r.open > 0) return fmt::format("not decided for {}: {}", of_tensors(r.open, n), fate);
  const std::string step = r.tried.left_out() > 0 ? "in any finite step" : "in any step";
  const std::string none = n == 1 ? r.name() + " does not lose" : fmt::format("none of {} tensors loses", n);
  const std::string saturate = r.saturating == 0 ? (n == 1 ? "does not saturate" : "none saturates")
                               : n == 1
                                   ? "it saturates"
                                   : fmt::format("{} {}", r.saturating, r.saturating == 1 ? "saturates" : "saturate");
  if (r.held == n)
    return fmt::format("yes{}: {} more than {} of its energy {}, and {}", with, none, percent(usual_lost_share), step,
                       saturate);
  const std::size_t certain = r.losing(usual_lost_share);
  const std::size_t rest = n - r.held;
  const std::string verb = certain < rest ? "may lose" : rest == 1 ? "loses" : "lose";
  return fmt::format("{}{}: {} a third of its energy {}, and {}; {} {} more than {}: {}",
                     certain == 0     ? "nothing fails"
                     : 2 * r.held < n ? "not without loss"
                                      : "mostly",
                     with, none, step, saturate, n == 1 ? "it" : std::to_string(rest), verb, percent(usual_lost_share),
                     fate);
}

// Where blocks lie.
std::string blocks_text(const block_format& row) {
  if (row.transposed_hadamard) return fmt::format("in blocks of the transformed transpose, as {} has them", row.name);
  if (row.block.rows == 1 && row.block.columns > 0)
    return fmt::format("in blocks along its last axis, as {} has them; training casts along both", row.name);
  return fmt::format("with the scales of {}", row.name);
}

finding would_it_have_held(const block_advice& b) {
  finding f{.topic = "block_format", .question = fmt::format("Would {} have held?", b.of.name)};
  const block_trial& tried = *b.tried;
  const judged_row r = judged_in(tried, chosen_of(b));
  const std::string with = b.of.by_rule.empty() ? "" : fmt::format(", with {} elements", element_text(r.row));
  f.conclusion = r.tensors.empty() ? "not answered: the input has no matrix with a finite value other than zero"
                                   : held_text(r, with);
  for (const tried_tensor* t : std::span(r.tensors).first(std::min(r.tensors.size(), most_tensors_named)))
    f.evidence.push_back(fmt::format("{}: {}", tried.info[t->tensor].name, fate_text(r, t->of[r.at])));
  if (r.held < r.tensors.size() || r.tensors.empty()) f.grade = finding_grade::notable;
  if (r.held < r.tensors.size()) f.tensor = r.name();
  if (const std::string left_out = left_out_text(tried); !left_out.empty()) f.evidence.push_back(left_out);
  if (tried.may_have_vectors())
    f.evidence.emplace_back(
        "the shape of some tensors is not recorded: vectors among them are judged as matrices of one row");
  f.numbers = {{"format", b.of.name},
               {"row", std::string{r.row.name}},
               {"tensors", integer(r.tensors.size())},
               {"held", integer(r.held)},
               {"drowned", integer(r.drowned)},
               {"nonfinite", integer(r.nonfinite)},
               {"saturating", integer(r.saturating)},
               {"not_decided", integer(r.open)},
               {"left_out_steps", integer(tried.left_out())}};
  f.limits = fmt::format(
      "Energy is the sum of squares; {} is what ulp plan lets a tensor lose. Each tensor by itself, {}. What training "
      "makes of it these values do not show: in closed loops NVFP4 and MXFP4, where most tensors lose 1 % and more, "
      "trained worse than float32, and E5M2, where one lost 1.5 %, did not (docs/trust.md).{}",
      percent(usual_lost_share), blocks_text(r.row),
      tried.has_stand_ins()
          ? " Gradients of activations, which products read, were not recorded: those of weights stand in."
          : "");
  return f;
}

finding which_elements(const block_advice& b) {
  const block_trial& tried = *b.tried;
  const std::string names[] = {element_text(*b.of.rows[0]), element_text(*b.of.rows[1])};
  finding f{.topic = "block_elements", .question = fmt::format("{} or {} elements?", names[0], names[1])};
  const std::size_t at[] = {tried.index_of(*b.of.rows[0]), tried.index_of(*b.of.rows[1])};
  std::vector<std::string> verdicts;
  named_values numbers;
  for (const kind_line& k : kind_lines) {
    const auto is_of_kind = [&](const tensor_info& t) { return t.kind == k.kind; };
    const preference p = preferred(tried, at[0], at[1], is_of_kind);
    if (p.of == 0) continue;
    const auto better = [&](std::size_t n, const std::string& name) {
      return n == p.of ? name : fmt::format("{} in {} of {}", name, n, p.of);
    };
    verdicts.push_back(fmt::format("{}: {}", k.noun,
                                   p.first + p.second == 0 ? "not told apart"
                                   : p.second == 0         ? better(p.first, names[0])
                                   : p.first == 0
                                       ? better(p.second, names[1])
                                       : fmt::format("{}, {}", better(p.first, names[0]), better(p.second, names[1]))));
    judged_treatment worst[2];
    for (const tried_tensor* t : tried.judged()) {
      if (!is_of_kind(tried.info[t->tensor])) continue;
      for (std::size_t e = 0; e < 2; ++e)
        if (worst[e].steps == 0 || did_worse(t->of[at[e]], worst[e])) worst[e] = t->of[at[e]];
    }
    f.evidence.push_back(fmt::format("{}: of {} {} for certain {} less in {}, {} in {}; the worst loses {} and {}",
                                     k.noun, count_text(p.of, "tensor"), p.first, p.first == 1 ? "loses" : "lose",
                                     names[0], p.second, names[1], lost_percent(worst[0]), lost_percent(worst[1])));
    numbers.all.push_back({std::string{to_string(k.kind)}, named_values{{{"tensors", integer(p.of)},
                                                                         {"better_in_first", integer(p.first)},
                                                                         {"better_in_second", integer(p.second)}}}});
  }
  f.conclusion = verdicts.empty() ? "not answered" : fmt::format("{}", fmt::join(verdicts, "; "));
  f.numbers = {{"first", names[0]}, {"second", names[1]}, {"kinds", std::move(numbers)}};
  f.limits =
      "By the share of its energy that each tensor loses in its worst step, where the ranges of both lie apart. A block has its "
      "own scale, so the wider exponent seldom pays for the bit of fraction that it costs.";
  return f;
}

// How many times its error a tensor is, in norm.
double ratio_of(double share) { return 1 / std::sqrt(share); }

std::optional<finding> does_noise_drown(const block_advice& b) {
  judged_row r = judged_in(*b.tried, chosen_of(b));
  std::erase_if(r.tensors, [&](const tried_tensor* t) { return !is_scaled(r.tried.info[t->tensor]); });
  if (r.tensors.empty()) return std::nullopt;
  finding f{.topic = "block_noise", .question = "Does rounding drown the gradients?"};
  const std::size_t drowned = r.losing(drowning_share);
  const std::size_t lost = r.count([](const judged_treatment& j) { return j.nonfinite > 0; });
  const std::size_t open =
      r.count([](const judged_treatment& j) { return verdict_of(j) == trial_verdict::not_decided; });
  const auto worst = std::ranges::max_element(r.tensors, {}, [&](const tried_tensor* t) {
    const judged_treatment& j = t->of[r.at];
    return std::pair{j.worst.low > drowning_share ? j.worst.low : 0.0,
                     std::isfinite(j.worst.high) ? j.worst.high : 0.0};
  });
  const judged_treatment& j = (*worst)->of[r.at];
  const std::string& name = r.tried.info[(*worst)->tensor].name;
  const std::string all = count_text(r.tensors.size(), "gradient");
  if (drowned > 0)
    f.conclusion = fmt::format("{} of {}: in step {} {} is at most {:.2g} times as large as its rounding error",
                               drowned, all, j.step_of_low, name, ratio_of(j.worst.low));
  else if (lost > 0)
    f.conclusion = fmt::format("not answered for {} of {}, which become infinite or NaN", lost, all);
  else if (open > 0)
    f.conclusion = fmt::format("not decided for {} of {}", open, all);
  else if (j.worst.high == 0)
    f.conclusion = "no: nothing is lost";
  else
    f.conclusion = fmt::format("no: {} comes nearest to it, {}{:.3g} times as large as its rounding error in step {}",
                               name, is_one_number(j) ? "" : "at least ", ratio_of(j.worst.high), j.step_of_high);
  if (drowned + lost + open > 0) f.grade = finding_grade::notable;
  if (drowned > 0) f.tensor = name;
  const bool has_ratio = std::isfinite(j.worst.high) && j.worst.high > 0;
  f.numbers = {{"gradients", integer(r.tensors.size())},
               {"drowned", integer(drowned)},
               {"not_decided", integer(open + lost)},
               {"tensor", name},
               {"least_ratio", value_if(has_ratio, ratio_of(j.worst.high))}};
  f.limits =
      "In norms. Below about the square root of 3, a third of the energy, training gains little from going on: measured "
      "for whole gradients in 4 bits (Chmiel et al., arXiv 2505.19115), taken here for each tensor. Where every tensor "
      "is above it, the whole gradient is. Rounding that is drawn at random has more noise than rounding to the nearest, "
      "which is counted here.";
  return f;
}

// Rounded up, so that nothing saturates.
bool is_rounded_up(const block_format& row) {
  return row.rule == amax_rule::round_up || row.rule == amax_rule::round_up_of_numbers ||
         row.rule == amax_rule::round_up_of_quotient;
}

// Why the format is not advised as it is; empty where it is.
std::string why_not_as_it_is(const judged_row& r) {
  // What most tensors lost in closed loops that trained worse.
  constexpr double noticed = 0.01;
  constexpr std::string_view plan = "ulp plan names a treatment for each";
  const std::size_t n = r.tensors.size();
  const auto verb = [](std::size_t k, const char* one, const char* several) { return k == 1 ? one : several; };
  const std::string drowned =
      fmt::format("{} {} a third of the energy or more", of_tensors(r.drowned, n), verb(r.drowned, "loses", "lose"));
  const std::string_view become = verb(r.nonfinite, "becomes", "become");
  if (r.drowned > 0 && r.nonfinite > 0)
    return fmt::format("{}, {} {} infinite or NaN: {}", drowned, r.nonfinite, become, plan);
  if (r.drowned > 0) return fmt::format("{}: {}", drowned, plan);
  if (r.nonfinite > 0)
    return fmt::format("{} {} infinite or NaN: scale them down before the cast, or take another rule for the scales",
                       of_tensors(r.nonfinite, n), become);
  if (r.open > 0)
    return fmt::format("{} {} not decided; what would decide it is below", of_tensors(r.open, n),
                       verb(r.open, "is", "are"));
  if (const std::size_t k = r.losing(noticed); 2 * k > n)
    return fmt::format("{} {} more than {}, as in closed loops that trained worse: {}", of_tensors(k, n),
                       verb(k, "loses", "lose"), percent(noticed), plan);
  if (const std::size_t k = r.may_lose(noticed); 2 * k > n)
    return fmt::format("{} may lose more than {}; what would decide it is below", of_tensors(k, n), percent(noticed));
  const std::size_t cut =
      r.count([](const judged_treatment& j) { return j.saturating > 0 && j.worst.high > usual_lost_share; });
  if (cut > 0 && r.row.scale == scale_type::e8m0 && !is_rounded_up(r.row))
    return fmt::format("round scales up (RCEIL), with which nothing saturates; by this rule {} {} and {} more than {}",
                       of_tensors(cut, n), verb(cut, "does", "do"), verb(cut, "loses", "lose"),
                       percent(usual_lost_share));
  return "";
}

}  // namespace

std::vector<finding> which_blocks(const block_advice& b) {
  if (!b.tried)
    return {{.topic = "block_format",
             .question = fmt::format("Would {} have held?", b.of.name),
             .conclusion = b.lost_at_once ? "not answered: the run was lost in its first step"
                                          : "not answered: the input has no values of tensors (a log has none), or "
                                            "cannot be read twice",
             .grade = finding_grade::notable}};
  std::vector<finding> all{would_it_have_held(b)};
  if (b.tried->judged().empty()) return all;
  if (b.of.rows.size() == 2) all.push_back(which_elements(b));
  if (!b.of.by_rule.empty()) all.push_back(which_rule(b));
  if (std::optional<finding> noise = does_noise_drown(b)) all.push_back(std::move(*noise));
  return all;
}

std::optional<fp8_choice_told> tell_block_recipe(const block_advice& b, std::string_view framework) {
  if (!b.tried || b.tried->judged().empty()) return std::nullopt;
  const judged_row r = judged_in(*b.tried, chosen_of(b));
  fp8_choice_told told{.change = why_not_as_it_is(r), .lines = {}};
  if (!told.change.empty()) return told;
  told.change = fmt::format("no loss scale, each block has its own{}",
                            b.of.by_rule.empty() ? "" : fmt::format("; {} elements", element_text(r.row)));
  // TransformerEngine has MXFP8 with E4M3 in all tensors, and rounds scales up.
  if (is_rounded_up(r.row) && r.row.block == block_extent{1, 32} && r.row.element.name == "float8_e4m3fn")
    told.lines = {framework == "Megatron-LM" ? "--fp8-format e4m3 --fp8-recipe mxfp8"
                                             : "MXFP8BlockScaling(fp8_format=Format.E4M3)  # TransformerEngine"};
  return told;
}

}  // namespace ulp
