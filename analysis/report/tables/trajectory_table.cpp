#include <ulp/report/tables/trajectory_table.hpp>

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace ulp {
namespace {

// What is not exact is said to be so.
std::string marked(const std::string& text, bool exact) { return exact ? text : "~" + text; }

table_value flag(const std::optional<bool>& b) { return b ? table_value{*b} : table_value{}; }

// Of the scales that may have been used.
table_value end_of(const trajectory_row& r, double scale) { return value_if(r.so_far.known, scale); }

// Step logs have no counts.
template <typename Part>
auto counted(Part part) {
  return [=](const trajectory_row& r) { return value_if(r.has_counts, std::invoke(part, r.counts)); };
}

}  // namespace

table trajectory_table(std::span<const trajectory_row> rows, const scenario& s, const trajectory_summary& sum) {
  using row = trajectory_row;
  constexpr auto right = alignment::right;
  const bool clips = s.clip_norm || s.clip_value;
  std::vector<column<row>> columns = {
      {"step", "step", [](const row& r) { return r.key.step; }},
      {"found_inf", "", &row::found_inf},
      {"scale_used", "", &row::scale_used},
      {"scale_next", "", &row::scale_next},
      {"skipped", "skipped", &row::skipped},
      {"", "scale", [](const row& r) { return as_power(r.scale_used); }, {}, right},
      {"critical_scale", "", &row::critical_scale},
      {"critical_scale_certain", "",
       [](const row& r) { return value_if(!std::isnan(r.critical_scale), r.critical_certain); }},
      {"",
       "critical",
       [](const row& r) {
         return value_if(!std::isnan(r.critical_scale), marked(log2_text(r.critical_scale), r.critical_certain));
       },
       {},
       right},
      {"", "found_inf", [](const row& r) { return marked(r.found_inf ? "yes" : "no", r.found_inf_certain); }},
      {"found_inf_certain", "", &row::found_inf_certain},
      {"scale_used_low", "", [](const row& r) { return end_of(r, r.bounds.scale_used.low); }},
      {"scale_used_high", "", [](const row& r) { return end_of(r, r.bounds.scale_used.high); }},
      {"numel", "", counted([](const outcome_counts& c) { return exactly(c.numel); }), range_keys::where_open},
      {"zero", "", counted(&outcome_counts::zeros), range_keys::where_open},
      {"nonfinite", "", counted([](const outcome_counts& c) { return exactly(c.nonfinite); }), range_keys::where_open},
      {"underflow", "underflow", counted(&outcome_counts::underflow), range_keys::both},
      {"subnormal", "subnormal", counted(&outcome_counts::subnormal), range_keys::both},
      {"overflow", "overflow", counted(&outcome_counts::overflow), range_keys::both},
      {"norm", "", &row::norm},
      {"",
       "norm",
       [](const row& r) { return std::isnan(r.norm) ? "-" : marked(fmt::format("{:.6g}", r.norm), r.norm_exact); },
       {},
       right},
      {"norm_exact", "", [](const row& r) { return value_if(!std::isnan(r.norm), r.norm_exact); }},
      {"clip_coefficient", "", &row::clip_coefficient},
      {"clipped", "", [](const row& r) { return flag(r.clipped); }},
      {"", "clipped", [=](const row& r) { return clips ? flag(r.clipped) : table_value{}; }},
      {"clamped", "clamped", [](const row& r) { return r.clamped ? table_value{*r.clamped} : table_value{}; },
       range_keys::both},
      {"clipped_norm", "", &row::clipped_norm, range_keys::both},
      {"unscaled_by", "", &row::unscaled_by},
      {"diverged", "",
       [&](const row& r) { return sum.first_divergence.has_value() && r.key.step >= *sum.first_divergence; }},
  };
  for (std::size_t i = 0; i < s.groups.size(); ++i)
    columns.push_back(
        {"norm_" + s.groups[i].name, "norm " + s.groups[i].name, [=](const row& r) { return r.group_norms[i]; }});
  return table_of(columns, rows);
}

table per_tensor_table(const std::vector<tensor_outcome>& outcomes, const std::vector<tensor_info>& tensors) {
  using row = tensor_outcome;
  const std::vector<column<row>> columns = {
      {"step", "", [](const row& r) { return r.key.step; }},
      {"tensor", "", [&](const row& r) { return tensors[r.tensor].name; }},
      {"kind", "", [&](const row& r) { return std::string{to_string(tensors[r.tensor].kind)}; }},
      {"checked", "", &row::checked},
      {"scale", "", &row::scale},
      {"numel", "", [](const row& r) { return integer(r.counts.numel); }},
      {"zero", "", [](const row& r) { return integer(r.counts.zero); }},
      {"nonfinite", "", [](const row& r) { return integer(r.counts.nonfinite); }},
      {"underflow", "", [](const row& r) { return r.counts.underflow; }, range_keys::both},
      {"subnormal", "", [](const row& r) { return r.counts.subnormal; }, range_keys::both},
      {"overflow", "", [](const row& r) { return r.counts.overflow; }, range_keys::both},
      {"max_abs", "", &row::max_abs},
      {"critical_scale", "", &row::critical_scale},
      {"maybe_zero", "", [](const row& r) { return integer(r.counts.maybe_zero); }},
  };
  return table_of(columns, outcomes);
}

}  // namespace ulp
