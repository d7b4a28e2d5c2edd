#include <ulp/report/findings/drift.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

table_value share_of_drift(std::uint64_t part, std::uint64_t of) {
  return value_if(of > 0, static_cast<double>(part) / static_cast<double>(of));
}

std::string percent_of_drift(const table_value& x) {
  const double* const share = std::get_if<double>(&x);
  return share == nullptr ? "-" : percent_text({*share, *share});
}

std::string drift_digits(double x) { return std::isnan(x) ? "-" : fmt::format("{:.3g}", x); }

column<drift_row> shown_drift(std::string title, std::string (*text)(const drift_row&)) {
  return {"", std::move(title), text, range_keys::none, alignment::right};
}

column<drift_row> count_of_codes(std::string key, std::string title, std::uint64_t code_differences::*count) {
  return {std::move(key), std::move(title),
          [count](const drift_row& r) { return r.codes ? table_value{exactly((*r.codes).*count)} : table_value{}; }};
}

// "fc1 (3 of 40), fc2 (1 of 10)": where a count of the drift is not 0.
std::string where_text(const std::vector<drift_row>& tensors, std::uint64_t (*count)(const weight_drift&)) {
  std::string where;
  for (const drift_row& t : tensors)
    if (const std::uint64_t n = count(t.drift); n > 0)
      where += fmt::format("{}{} ({} of {})", where.empty() ? "" : ", ", t.tensor, grouped(n), grouped(t.drift.numel));
  return where;
}

std::string why_not_finite(const drift_row& all) {
  const weight_drift& d = all.drift;
  if (d.nonfinite_gradients == 0)
    return "all gradients are finite, so the parameters or the first weights make them so";
  return fmt::format("{} infinite or NaN, the first in step {}; steps that the run skipped are left out by {}--steps",
                     d.nonfinite_gradients == 1 ? "1 gradient is" : grouped(d.nonfinite_gradients) + " gradients are",
                     all.nonfinite_step, all.of_one_dump ? "" : "applied in --scalars, or by ");
}

// "the size of 1 tensor is not a multiple of the block, so its states are not quantized"
std::string unquantized_text(const drift_row& all) {
  return all.unquantized == 1 ? "the size of 1 tensor is not a multiple of the block, so its states are not quantized"
                              : fmt::format(
                                    "the sizes of {} tensors are not multiples of the block, so their states "
                                    "are not quantized",
                                    grouped(all.unquantized));
}

std::string distance_text(const weight_drift& d) {
  if (d.largest_twin_move == 0 && d.largest_move == 0) return "no weight moves, nor does it in float32";
  if (d.largest_twin_move == 0)
    return fmt::format("float32 moves no weight, and the largest move here is {}, no more than rounding makes",
                       drift_digits(d.largest_move));
  if (d.updates > 0 && d.lost == d.updates && d.largest_move == 0)
    return "no weight moves: 100 % of the updates are lost";
  if (d.deviation == 0) return "the weights end as in float32";
  if (d.movement == 0)
    return fmt::format("no weight runs away; float32's end where they began, and the largest move here is {}",
                       drift_digits(d.largest_move));
  std::string said =
      fmt::format("no weight runs away; their final distance from float32's is {} of the distance that float32 moved",
                  drift_digits(d.relative()));
  // Where it can be seen in three digits of the distance.
  if (d.first_rounding > 0.01 * d.deviation)
    said += fmt::format(", and rounding the first weights alone makes {}",
                        drift_digits(std::sqrt(d.first_rounding / d.movement)));
  return said;
}

std::string runaway_text(const weight_drift& d, std::int64_t zeroed_step, const std::vector<drift_row>& tensors) {
  std::string said;
  if (d.runaway > d.nonfinite) {
    const auto count = [](const weight_drift& t) { return t.runaway - t.nonfinite; };
    double move = 0;
    double twin_move = 0;
    for (const drift_row& t : tensors)
      if (count(t.drift) > 0) {
        move = std::max(move, t.drift.largest_move);
        twin_move = std::max(twin_move, t.drift.largest_twin_move);
      }
    said = fmt::format("weights run away in {}: the largest move there is {}, and {} in float32",
                       where_text(tensors, count), drift_digits(move), drift_digits(twin_move));
  }
  if (d.nonfinite > 0)
    said += fmt::format("{}weights become infinite or NaN that are finite in float32, in {}", said.empty() ? "" : "; ",
                        where_text(tensors, [](const weight_drift& t) { return t.nonfinite; }));
  if (d.zeroed > 0)
    said += fmt::format(
        "; second moments were stored as 0 while the first were not ({}, from step {} on): then a step is about lr m / "
        "eps",
        count_text(d.zeroed, "element"), zeroed_step);
  return said;
}

table table_of_drifts(const std::vector<drift_row>& rows) {
  const std::vector<column<drift_row>> columns = {
      {"recipe", "recipe", [](const drift_row& r) { return r.recipe; }},
      {"tensor", "", [](const drift_row& r) { return value_if(!r.tensor.empty(), r.tensor); }},
      {"", "tensor", [](const drift_row& r) { return r.tensor.empty() ? "(all)" : r.tensor; }},
      {"numel", "", [](const drift_row& r) { return integer(r.drift.numel); }},
      {"relative_deviation", "", [](const drift_row& r) { return r.drift.relative(); }},
      shown_drift("deviation", [](const drift_row& r) { return drift_digits(r.drift.relative()); }),
      {"first_rounding", "",
       [](const drift_row& r) {
         return value_if(r.drift.movement > 0, std::sqrt(r.drift.first_rounding / r.drift.movement));
       }},
      {"loss_change", "", [](const drift_row& r) { return r.drift.loss_change; }},
      shown_drift("loss change",
                  [](const drift_row& r) {
                    return std::isnan(r.drift.loss_change) ? "-" : fmt::format("{:+.2g}", r.drift.loss_change);
                  }),
      {"largest_move", "", [](const drift_row& r) { return r.drift.largest_move; }},
      shown_drift("largest move", [](const drift_row& r) { return drift_digits(r.drift.largest_move); }),
      {"largest_float32_move", "", [](const drift_row& r) { return r.drift.largest_twin_move; }},
      shown_drift("float32's", [](const drift_row& r) { return drift_digits(r.drift.largest_twin_move); }),
      {"runaway", "run away", [](const drift_row& r) { return exactly(r.drift.runaway); }},
      {"nonfinite", "", [](const drift_row& r) { return integer(r.drift.nonfinite); }},
      {"float32_nonfinite", "", [](const drift_row& r) { return integer(r.drift.twin_nonfinite); }},
      {"nonfinite_gradients", "", [](const drift_row& r) { return integer(r.drift.nonfinite_gradients); }},
      {"zeroed", "v = 0", [](const drift_row& r) { return exactly(r.drift.zeroed); }},
      {"first_zeroed_step", "", [](const drift_row& r) { return value_if(r.drift.first_zeroed > 0, r.zeroed_step); }},
      {"lost_update_share", "", [](const drift_row& r) { return share_of_drift(r.drift.lost, r.drift.updates); }},
      shown_drift("updates lost",
                  [](const drift_row& r) { return percent_of_drift(share_of_drift(r.drift.lost, r.drift.updates)); }),
      {"stuck_share", "", [](const drift_row& r) { return share_of_drift(r.drift.stuck, r.drift.falling); }},
      shown_drift("v stuck",
                  [](const drift_row& r) { return percent_of_drift(share_of_drift(r.drift.stuck, r.drift.falling)); }),
      {"fell", "", [](const drift_row& r) { return integer(r.drift.fell); }},
      {"float32_fell", "", [](const drift_row& r) { return integer(r.drift.twin_fell); }},
      shown_drift("v fell",
                  [](const drift_row& r) { return percent_of_drift(share_of_drift(r.drift.fell, r.drift.numel)); }),
      shown_drift(
          "float32's ",
          [](const drift_row& r) { return percent_of_drift(share_of_drift(r.drift.twin_fell, r.drift.numel)); }),
      {"median_second_moment_ratio", "", [](const drift_row& r) { return r.drift.median_ratio; }},
      shown_drift("v ratio", [](const drift_row& r) { return drift_digits(r.drift.median_ratio); }),
      count_of_codes("m_codes_differ", "m codes", &code_differences::m),
      count_of_codes("v_codes_differ", "v codes", &code_differences::v),
      count_of_codes("weights_differ", "weights", &code_differences::weights),
      {"worst_tensor", "worst", [](const drift_row& r) { return value_if(!r.worst.empty(), r.worst); }},
  };
  return table_of(columns, rows);
}

// Of one recipe: its row of all tensors, and those of the tensors.
std::string conclusion_of(const drift_row& all, const std::vector<drift_row>& tensors) {
  const weight_drift& d = all.drift;
  if (d.numel > 0 && d.twin_nonfinite == d.numel)
    return fmt::format("{}: no weight stays finite, in float32 either: {}.", all.recipe, why_not_finite(all));
  if (all.unquantized > 0 && all.unquantized == all.tensors)
    return fmt::format("{}: not judged: {} (they are kept as the weights are); see --elements and --block-size.",
                       all.recipe, unquantized_text(all));
  std::string said = d.runaway > 0 ? runaway_text(d, all.zeroed_step, tensors) : distance_text(d);
  if (d.twin_nonfinite > 0)
    said += fmt::format("; {} left out, not finite in float32 either: {}",
                        d.twin_nonfinite == 1 ? "1 weight is" : grouped(d.twin_nonfinite) + " weights are",
                        why_not_finite(all));
  if (all.unquantized > 0) said += "; " + unquantized_text(all);
  return fmt::format("{}: {}.", all.recipe, said);
}

// That these tensors are quantized here; empty where there are none.
std::string small_tensors_text(const std::vector<std::string>& small, const std::vector<std::string>& libraries) {
  constexpr std::size_t named = 3;
  if (small.empty()) return "";
  const std::size_t shown = small.size() > named + 1 ? named : small.size();
  std::string names =
      fmt::format("{}", fmt::join(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < small.size()) names += fmt::format(" and {} more", grouped(small.size() - shown));
  return fmt::format("{} {} no states of tensors below {} elements; here they are quantized, in {}.",
                     fmt::join(libraries, " and "), libraries.size() == 1 ? "quantizes" : "quantize",
                     grouped(least_quantized), names);
}

// How the second moments of a format fall at this beta2; empty where they are codes of blocks, or float32.
std::string decay_text(const optimizer_recipe& recipe) {
  const optimizer made = make_optimizer(recipe, 1, "", 0);
  double beta2 = not_known;
  for (const optimizer_parameter& p : made.parameters())
    if (const double* const value = std::get_if<double>(&p.value); value != nullptr && p.name == "beta2")
      beta2 = *value;
  if (std::isnan(beta2)) return "";
  for (const optimizer_state& s : made.state()) {
    if (s.name != "v" || !s.codes_of || s.codes_of->fraction_bits > 12) continue;
    const second_moment_decay decay = decay_of(*s.codes_of, beta2);
    const auto steps_text = [](std::uint64_t steps) { return count_text(steps, "step"); };
    const std::string stay =
        fmt::format("second moments in {} at beta2 = {}: without gradients {} of the significands stay as they are",
                    to_string(*s.codes_of), shortest(beta2), percent_text({decay.stuck, decay.stuck}));
    const auto ideal =
        beta2 > 0 ? static_cast<std::uint64_t>(std::ceil(std::log(0.5) / std::log(beta2))) : std::uint64_t{1};
    if (!decay.half_life)
      return fmt::format("{}, and 1 never falls to one half; in exact arithmetic it takes {}", stay, steps_text(ideal));
    return fmt::format("{}, and 1 falls to one half in {}; in exact arithmetic in {}", stay,
                       steps_text(*decay.half_life), steps_text(ideal));
  }
  return "";
}

}  // namespace

table drift_table(const optimizer8_answer& answer, bool by_tensor) {
  std::vector<drift_row> rows;
  for (const recipe_drift& r : answer.recipes) {
    if (by_tensor) rows.insert(rows.end(), r.tensors.begin(), r.tensors.end());
    if (!by_tensor || r.tensors.size() != 1) rows.push_back(r.all);
  }
  return table_of_drifts(rows);
}

table quantizer_table(const std::vector<quantizer_row>& rows) {
  using row = quantizer_row;
  const std::vector<column<row>> columns = {
      {"quantizer", "quantizer", [](const row& r) { return std::string{r.quantizer->name}; }},
      {"elements", "elements", [](const row& r) { return exactly(r.elements); }},
      {"m_codes_differ", "m codes differ", [](const row& r) { return exactly(r.m_differ); }},
      {"v_codes_differ", "v codes differ", [](const row& r) { return exactly(r.v_differ); }},
      {"zeroed", "v = 0 where m is not", [](const row& r) { return exactly(r.zeroed); }},
      {"summary", "of", [](const row& r) { return std::string{r.quantizer->summary}; }},
  };
  return table_of(columns, rows);
}

std::vector<std::string> conclusions_of(const optimizer8_answer& answer) {
  std::vector<std::string> all;
  std::set<std::string> decays;
  for (const recipe_drift& r : answer.recipes) {
    all.push_back(conclusion_of(r.all, r.tensors));
    if (std::string decay = decay_text(r.recipe); !decay.empty()) decays.insert(std::move(decay));
  }
  if (std::string text = small_tensors_text(answer.small.names, answer.small.libraries); !text.empty())
    all.push_back(std::move(text));
  all.insert(all.end(), decays.begin(), decays.end());
  return all;
}

}  // namespace ulp
