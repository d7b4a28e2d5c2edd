#include "tensor_scales.hpp"

#include <algorithm>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/fp8_table.hpp>

namespace ulp::gui {
namespace {

static_assert(sizeof(scaled_step) == 72);

scaled_step drawn_of(const fp8_row& r) {
  return {.step = r.key.step,
          .amax = r.amax,
          .multiplied_by = r.multiplied_by,
          .ideal = r.ideal,
          .saturated = r.counts.overflow,
          .underflow = r.counts.underflow,
          .saturates = r.saturates,
          .stale = r.is_stale(),
          .held = r.scales.held};
}

}  // namespace

std::vector<std::string> fp8_recipe_names() {
  std::vector<std::string> all;
  for (const fp8_recipe_entry& e : fp8_recipe_catalog())
    if (e.unfit.empty())
      for (const std::string_view variant : e.variants) all.push_back(std::string{e.name} + ":" + std::string{variant});
  return all;
}

std::shared_ptr<const tensor_scales> scales_under(const loaded_run& run, const std::string& recipe,
                                                  std::optional<std::uint32_t> of, listener& to,
                                                  std::size_t most_rows) {
  const fp8_question asked{.run = run.text, .recipe = recipe, .scaler = {}, .parameters = {}, .format = {}};
  const bool keeps_all = run.picture.steps().size() * run.tensors.size() <= most_rows;
  const auto all = std::make_shared<tensor_scales>();
  kept_lines lines(to);
  const auto hears = [&](const std::vector<fp8_row>& rows, const std::vector<tensor_info>&) {
    for (const fp8_row& r : rows)
      if (keeps_all || r.tensor == of) all->rows[r.tensor].push_back(drawn_of(r));
  };
  const fp8_answer answer = fp8_replay_over(asked, lines, hears, with_noise::no);
  all->recipe = answer.by.recipe().name;
  all->tensors = answer.tensors;
  all->summaries = answer.by.summaries();
  all->choices = answer.by.choices();
  all->worst_first = worst_first(answer);
  for (const auto& [tensor, sum] : all->summaries)
    all->formats[tensor] = to_string(answer.by.recipe().of(all->tensors[tensor]).how.format);
  all->notes = without(lines.notes(), run.notes);
  all->warnings = without(lines.warnings(), run.warnings);
  for (auto& [tensor, rows] : all->rows) rows.shrink_to_fit();
  // Which one is the worst is known only now.
  if (all->rows.empty()) return scales_under(run, recipe, all->worst_first.front(), to, most_rows);
  return all;
}

table table_of(const tensor_scales& all, std::uint32_t tensor) {
  using row = scaled_step;
  const auto found = all.rows.find(tensor);
  const std::vector<row> none;
  // NaN is a number here like others, not nothing.
  const auto real = [](double x) { return std::isnan(x) ? table_value{std::string{"nan"}} : table_value{x}; };
  const std::vector<column<row>> columns = {
      {"step", "step", &row::step},
      {"tensor", "tensor", [&](const row&) { return all.tensors[tensor].name; }},
      {"amax", "amax", [=](const row& r) { return real(r.amax); }},
      {"multiplied_by", "multiplied by", [=](const row& r) { return real(r.multiplied_by); }},
      {"ideal_scale", "ideal scale", [](const row& r) { return value_if(!std::isnan(r.ideal), r.ideal); }},
      {"stale", "stale", &row::stale},
      {"held", "held", &row::held},
      {"saturates", "saturates", &row::saturates},
      {"underflow", "underflow", [](const row& r) { return r.underflow; }, range_keys::both},
      {"saturated", "saturated", [](const row& r) { return r.saturated; }, range_keys::both},
  };
  return ulp::table_of(columns, found == all.rows.end() ? none : found->second);
}

}  // namespace ulp::gui
