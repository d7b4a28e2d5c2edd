#include <ulp/report/tables/block_trial_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "judged_text.hpp"

namespace ulp {
namespace {

struct trial_row {
  const block_trial* tried;
  std::size_t at;
  const tried_tensor* worst;
  std::optional<block_outcomes> counts;

  [[nodiscard]] const block_format& row() const { return *tried->rows[at]; }
  [[nodiscard]] const judged_treatment& judged() const { return worst->of[at]; }
};

trial_row row_of(const block_trial& tried, std::size_t at) {
  return {.tried = &tried, .at = at, .worst = tried.worst(at), .counts = tried.counts(at)};
}

table_value tensors(const trial_row& r, trial_verdict v) { return integer(r.tried->count(r.at, v)); }

table_value share(const trial_row& r, count_range block_outcomes::*of) {
  if (!r.counts || r.counts->nonzero() == 0) return {};
  const auto all = static_cast<double>(r.counts->nonzero());
  const count_range& n = (*r.counts).*of;
  return value_range{static_cast<double>(n.low) / all, static_cast<double>(n.high) / all};
}

std::string range_percent(const table_value& share) {
  const auto* const of = std::get_if<value_range>(&share);
  return of == nullptr ? "-" : percent_text(*of);
}

// "0.071 %", "<0.18 %" of what is only bounded.
std::string loss_text(const judged_treatment& j) {
  if (!std::isfinite(j.worst.high)) return j.nonfinite > 0 ? "not finite" : "not known";
  return fmt::format("{}{} %", is_one_number(j) ? "" : "<", percent_number(j.worst.high));
}

// "3", "1 to 3" where some only may.
std::string lose_more_text(const trial_row& r) {
  std::size_t all = 0;
  std::size_t certain = 0;
  for (const tried_tensor* t : r.tried->judged()) {
    const judged_treatment& j = t->of[r.at];
    if (verdict_of(j) != trial_verdict::loses_more) continue;
    ++all;
    certain += j.worst.low > usual_lost_share ? 1 : 0;
  }
  return certain == all ? fmt::format("{}", all) : fmt::format("{} to {}", certain, all);
}

std::uint64_t bits_of(const trial_row& r) {
  std::uint64_t bits = 0;
  for (const tried_tensor* t : r.tried->judged()) bits += t->of[r.at].bits;
  return bits;
}

double bits_each(const trial_row& r) {
  std::uint64_t numel = 0;
  for (const tried_tensor* t : r.tried->judged()) numel += t->numel;
  return static_cast<double>(bits_of(r)) / static_cast<double>(std::max<std::uint64_t>(1, numel));
}

}  // namespace

table block_trial_table(const block_trial& tried) {
  std::vector<trial_row> rows;
  for (std::size_t i = 0; i < tried.rows.size(); ++i) rows.push_back(row_of(tried, i));
  std::ranges::stable_sort(rows, [&](const trial_row& a, const trial_row& b) { return tried.is_better(a.at, b.at); });
  using row = trial_row;
  constexpr auto right = alignment::right;
  const auto verdict = [](const char* key, const char* title, trial_verdict v) {
    return column<row>{key, title, [v](const row& r) { return tensors(r, v); }};
  };
  const auto part = [](const char* key, count_range block_outcomes::*of) {
    return column<row>{key, "", [of](const row& r) { return share(r, of); }, range_keys::both};
  };
  const auto percent = [&](const char* title, count_range block_outcomes::*of) {
    return column<row>{"", title, [of](const row& r) { return range_percent(share(r, of)); }, {}, right};
  };
  const std::vector<column<row>> columns = {
      {"row", "format", [](const row& r) { return std::string{r.row().name}; }},
      {"bits_per_element", "", [](const row& r) { return bits_each(r); }},
      {"", "bits each", [](const row& r) { return fmt::format("{:.4g}", bits_each(r)); }, {}, right},
      {"tensors", "tensors", [](const row& r) { return integer(r.tried->judged().size()); }},
      verdict("held", "held", trial_verdict::held),
      verdict("lose_more", "", trial_verdict::loses_more),
      {"", "lose more", lose_more_text, {}, right},
      verdict("drowned", "lose 1/3", trial_verdict::drowned),
      verdict("nonfinite", "not finite", trial_verdict::nonfinite),
      verdict("not_decided", "not decided", trial_verdict::not_decided),
      {"saturating", "saturate", [](const row& r) { return integer(r.tried->saturating(r.at)); }},
      {"left_out_steps", "", [](const row& r) { return integer(r.tried->left_out()); }},
      {"worst_tensor", "worst tensor",
       [](const row& r) { return value_if(r.worst != nullptr, r.worst ? r.tried->info[r.worst->tensor].name : ""); }},
      {"worst_lost_share", "",
       [](const row& r) {
         const bool is_known = r.worst != nullptr && std::isfinite(r.judged().worst.high);
         return is_known ? table_value{r.judged().worst} : table_value{};
       },
       range_keys::both},
      {"", "loses", [](const row& r) { return r.worst == nullptr ? "-" : loss_text(r.judged()); }, {}, right},
      {"worst_step", "in step",
       [](const row& r) {
         return value_if(r.worst != nullptr && std::isfinite(r.judged().worst.high) && r.judged().worst.high > 0,
                         r.worst ? r.judged().step_of_high : 0);
       }},
      part("underflow_share", &block_outcomes::underflow),
      percent("underflow", &block_outcomes::underflow),
      part("saturating_share", &block_outcomes::overflow),
      percent("values cut", &block_outcomes::overflow)};
  return table_of(columns, rows);
}

}  // namespace ulp
