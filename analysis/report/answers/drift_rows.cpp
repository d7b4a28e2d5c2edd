#include "drift_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

table drift_table(const std::vector<drift_row>& rows) {
  const std::vector<column<drift_row>> columns = {
      {"recipe", "recipe", [](const drift_row& r) { return r.recipe; }},
      {"tensor", "", [](const drift_row& r) { return value_if(!r.tensor.empty(), r.tensor); }},
      {"", "tensor", [](const drift_row& r) { return r.tensor.empty() ? "(all)" : r.tensor; }},
      {"numel", "", [](const drift_row& r) { return integer(r.drift.numel); }},
      {"relative_deviation", "", [](const drift_row& r) { return r.drift.relative(); }},
      shown_drift("deviation", [](const drift_row& r) { return drift_digits(r.drift.relative()); }),
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
      {"zeroed", "v = 0", [](const drift_row& r) { return exactly(r.drift.zeroed); }},
      {"first_zeroed_step", "",
       [](const drift_row& r) { return value_if(r.drift.first_zeroed > 0, r.drift.first_zeroed); }},
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

std::string conclusion_of(const drift_row& all, const std::vector<drift_row>& tensors) {
  const weight_drift& d = all.drift;
  if (std::isinf(d.largest_twin_move))
    return fmt::format("{}: weights of float32 are not finite either: gradients are infinite or NaN.", all.recipe);
  if (d.runaway == 0)
    return fmt::format("{}: no weight runs away; they end {} of the movement from those of float32.", all.recipe,
                       drift_digits(d.relative()));
  std::string where;
  for (const drift_row& t : tensors)
    if (t.drift.runaway > 0)
      where += fmt::format("{}{} ({} of {})", where.empty() ? "" : ", ", t.tensor, grouped(t.drift.runaway),
                           grouped(t.drift.numel));
  const std::string why =
      d.zeroed > 0 ? fmt::format(
                         "; second moments were stored as 0 while the first were not ({}, from step {} on): then "
                         "a step is about lr m / eps",
                         count_text(d.zeroed, "element"), d.first_zeroed)
                   : "";
  return fmt::format("{}: weights run away in {}: the largest move is {}, and {} in float32{}.", all.recipe, where,
                     drift_digits(d.largest_move), drift_digits(d.largest_twin_move), why);
}

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
    const std::string ideal =
        beta2 >= 1  ? "never"
        : beta2 > 0 ? "in " + count_text(static_cast<std::uint64_t>(std::ceil(std::log(0.5) / std::log(beta2))), "step")
                    : "in 1 step";
    return fmt::format(
        "second moments in {} at beta2 = {}: without gradients {} of the significands stay as they are, and 1 falls to "
        "one half {}; exact ones {}",
        to_string(*s.codes_of), shortest(beta2), percent_text({decay.stuck, decay.stuck}),
        decay.half_life ? fmt::format("in {} steps", grouped(*decay.half_life)) : "never", ideal);
  }
  return "";
}

}  // namespace ulp
