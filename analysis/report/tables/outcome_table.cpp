#include <ulp/report/tables/outcome_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace ulp {
namespace {

struct outcome_row {
  const outcome_key& key;
  const outcome_group& sums;
  const outcome_case& asked;
  const outcome_totals& given;
};

// "1.2", "[1.1, 1.3]".
table_value percent_of(const value_range& share) {
  return ends_text(fmt::format("{:.4g}", 100 * share.low), fmt::format("{:.4g}", 100 * share.high));
}

std::optional<value_range> lost_l1_share(const outcome_row& r) {
  if (!(r.sums.magnitudes.high > 0) || !std::isfinite(r.given.lost.magnitudes.high)) return {};
  return share_of_magnitude(r.given.lost, r.sums.magnitudes);
}

// Of those that are not known to be zero, see underflow_share.
std::optional<value_range> share_of_nonzero(const outcome_row& r) {
  const auto nonzero = static_cast<double>(r.given.counts.nonzero().high);
  if (!(nonzero > 0)) return {};
  if (!r.asked.is_drawn()) return underflow_share(r.given.counts);
  const value_range& mean = r.given.expected.underflow.mean;
  return value_range{mean.low / nonzero, mean.high / nonzero};
}

// Two columns: percent where people read, and a share by a key.
using row_share = std::optional<value_range>(const outcome_row&);
column<outcome_row> percent_column(const char* title, row_share* of) {
  return {"",
          title,
          [=](const outcome_row& r) { return of(r) ? percent_of(*of(r)) : table_value{}; },
          {},
          alignment::right};
}
column<outcome_row> share_column(const char* key, row_share* of) {
  return {key, "", [=](const outcome_row& r) { return of(r) ? table_value{*of(r)} : table_value{}; }, range_keys::both};
}

// What is modelled is marked.
table_value decibels_of(const rounding_noise& n) {
  if (!std::isfinite(n.sqnr())) return {};
  return n.squares_exact ? fmt::format("{:.2f}", n.sqnr()) : fmt::format("~{:.1f}", n.sqnr());
}

// Counts that are drawn under stochastic rounding, and their deviations.
column<outcome_row> count_column(const char* name, count_range outcome_counts::*fixed,
                                 expected_count expected_outcomes::*drawn) {
  return {name, name,
          [=](const outcome_row& r) {
            return r.asked.is_drawn() ? table_value{r.given.expected.*drawn} : table_value{r.given.counts.*fixed};
          },
          range_keys::both};
}

column<outcome_row> deviation_column(const char* key, expected_count expected_outcomes::*drawn) {
  return {key, "",
          [=](const outcome_row& r) { return value_if(r.asked.is_drawn(), (r.given.expected.*drawn).deviation()); },
          range_keys::both};
}

}  // namespace

table outcome_table(const counted_outcomes& all, const std::vector<tensor_info>& tensors) {
  using row = outcome_row;
  const auto title_by = [&](const char* what) { return all.is_by(what) ? what : ""; };
  const scale_units& u = all.unit;
  const std::string unit = u.recorded + u.true_gradient + u.unscaled > 1 ? "mixed"
                           : u.recorded                                  ? "recorded"
                           : u.unscaled                                  ? "unscaled"
                                                                         : "true_gradient";
  constexpr auto right = alignment::right;

  const std::vector<column<row>> columns = {
      {"group", title_by("group"),
       [&](const row& r) { return r.key.named ? table_value{all.named[*r.key.named].name} : table_value{}; }},
      {"tensor", title_by("tensor"),
       [&](const row& r) { return r.key.tensor ? table_value{tensors[*r.key.tensor].name} : table_value{}; }},
      {"kind", title_by("kind"),
       [](const row& r) { return value_if(!r.sums.mixed_kinds, std::string{to_string(r.sums.kind)}); }},
      {"step", title_by("step"),
       [](const row& r) { return value_if(r.sums.steps.size() == 1, *r.sums.steps.begin()); }},
      {"format", all.many_formats ? "format" : "", [](const row& r) { return r.asked.format_name; }},
      {"rounding", all.one_rounding() ? "" : "rounding", [](const row& r) { return r.asked.rounding_name; }},
      {"scale", "", [](const row& r) { return r.asked.scale; }},
      {"", all.many_scales ? "scale" : "", [](const row& r) { return as_power(r.asked.scale); }, {}, right},
      {"scale_of", "", [&](const row&) { return unit; }},
      {"numel", "elements", [](const row& r) { return exactly(r.given.counts.numel); }, range_keys::where_open},
      {"zero", "zero", [](const row& r) { return r.given.counts.zeros(); }, range_keys::where_open},
      {"nonfinite", "non-finite", [](const row& r) { return exactly(r.given.counts.nonfinite); },
       range_keys::where_open},
      count_column("underflow", &outcome_counts::underflow, &expected_outcomes::underflow),
      percent_column("% of nonzero", share_of_nonzero),
      percent_column("lost L1 %", lost_l1_share),
      count_column("subnormal", &outcome_counts::subnormal, &expected_outcomes::subnormal),
      count_column("overflow", &outcome_counts::overflow, &expected_outcomes::overflow),
      deviation_column("underflow_sd", &expected_outcomes::underflow),
      deviation_column("subnormal_sd", &expected_outcomes::subnormal),
      deviation_column("overflow_sd", &expected_outcomes::overflow),
      {"lost_l1", "", [](const row& r) { return r.given.lost.magnitudes; }, range_keys::both},
      {"lost_l2", "",
       [](const row& r) {
         return value_range{std::sqrt(r.given.lost.squares.low), std::sqrt(r.given.lost.squares.high)};
       },
       range_keys::both},
      share_column("underflow_share", share_of_nonzero),
      share_column("lost_l1_share", lost_l1_share),
      {"", "SQNR dB", [](const row& r) { return decibels_of(r.given.noise); }, {}, right},
      {"mse", "", [](const row& r) { return r.given.noise.mean_square(); }},
      {"sqnr_db", "", [](const row& r) { return r.given.noise.sqnr(); }},
      {"sqnr_db_low", "", [](const row& r) { return r.given.noise.least_sqnr(); }},
      {"cosine", "", [](const row& r) { return r.given.noise.cosine(); }},
      {"noise_exact", "", [](const row& r) { return r.given.noise.exact; }},
      {"censored", "", [](const row& r) { return integer(r.sums.censored); }},
      {"l1", "", [](const row& r) { return r.sums.magnitudes; }, range_keys::where_open},
      {"l2", "", [](const row& r) { return std::sqrt(r.sums.squares); }},
  };
  std::vector<row> rows;
  for (const auto& [key, sums] : all.groups)
    for (std::size_t q = 0; q < all.questions.size(); ++q) rows.push_back({key, sums, all.questions[q], sums.of[q]});
  return table_of(columns, rows);
}

}  // namespace ulp
