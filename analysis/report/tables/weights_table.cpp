#include <ulp/report/tables/weights_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ulp {
namespace {

struct group_key {
  std::optional<std::size_t> named;
  std::optional<std::string> tensor;
  std::optional<std::int64_t> step;
  friend auto operator<=>(const group_key&, const group_key&) = default;
};

struct group {
  std::vector<weights_counts> of;
  std::set<std::int64_t> steps;
  std::set<update_origin> origins;
  std::set<double> learning_rates;  // those that are known
  bool lacks_rate = false;
};

struct row {
  const group_key& key;
  const group& sums;
  const typed_treatment& asked;
  const weights_counts& given;

  [[nodiscard]] const lost_updates& lost() const { return given.lost; }
};

std::string origin_text(update_origin origin) {
  switch (origin) {
    case update_origin::recorded: return "recorded";
    case update_origin::gradient: return "gradient";
    case update_origin::next_weights: return "next_weights";
  }
  return "";
}

table_value share_text(const value_range& share) {
  if (std::isnan(share.low)) return {};
  return ends_text(percent_number(share.low), percent_number(share.high));
}

table_value share_value(const value_range& share) {
  if (std::isnan(share.low)) return {};
  return share;
}

// Of a group with one learning rate.
std::optional<double> radius_of(const row& r, const std::optional<double>& curvature) {
  if (!curvature || r.sums.learning_rates.size() != 1 || r.sums.lacks_rate) return std::nullopt;
  if (r.lost().largest_spacing == lost_updates::no_spacing) return std::nullopt;
  return stall_radius(r.lost().largest_spacing, *r.sums.learning_rates.begin(), *curvature);
}

table_value share_of(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? table_value{} : table_value{static_cast<double>(part) / static_cast<double>(all)};
}

// Named groups in the order they were given in, tensors in that of the input.
std::vector<std::pair<group_key, group>> groups_of(const counted_weights& all, const weights_layout& layout) {
  std::vector<std::pair<group_key, group>> groups;
  std::map<group_key, std::size_t> places;
  for (const weights_item& item : all.items) {
    group_key key;
    if (layout.is_by("group")) key.named = group_of(layout.named, item.tensor);
    if (layout.is_by("tensor")) key.tensor = item.tensor;
    if (layout.is_by("step")) key.step = item.step;
    const auto [at, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back(key, group{});
    group& sums = groups[at->second].second;
    sums.of.resize(all.cases.size());
    for (std::size_t c = 0; c < all.cases.size(); ++c) sums.of[c] += item.of[c];
    sums.steps.insert(item.step);
    sums.origins.insert(item.origin);
    if (item.learning_rate > 0)
      sums.learning_rates.insert(item.learning_rate);
    else
      sums.lacks_rate = true;
  }
  return groups;
}

}  // namespace

table weights_table(const counted_weights& all, const weights_layout& layout) {
  const auto groups = groups_of(all, layout);
  const auto title_by = [&](const char* what) { return layout.is_by(what) ? what : ""; };
  const bool many = all.cases.size() > 1;
  const bool drawn = std::ranges::any_of(all.cases, &typed_treatment::is_drawn);
  const bool all_drawn = std::ranges::all_of(all.cases, &typed_treatment::is_drawn);
  constexpr auto right = alignment::right;
  const std::vector<column<row>> columns = {
      {"group", title_by("group"),
       [&](const row& r) { return r.key.named ? table_value{layout.named[*r.key.named].name} : table_value{}; }},
      {"tensor", title_by("tensor"),
       [](const row& r) { return r.key.tensor ? table_value{*r.key.tensor} : table_value{}; }},
      {"step", title_by("step"),
       [](const row& r) { return value_if(r.sums.steps.size() == 1, *r.sums.steps.begin()); }},
      {"format", many ? "format" : "", [](const row& r) { return r.asked.format_name; }},
      {"rounding", "", [](const row& r) { return r.asked.rounding_name; }},
      {"origin", "",
       [](const row& r) { return r.sums.origins.size() == 1 ? origin_text(*r.sums.origins.begin()) : "mixed"; }},
      {"numel", "elements", [](const row& r) { return exactly(r.lost().numel); }, range_keys::where_open},
      {"updates", "updates", [](const row& r) { return r.lost().updates; }, range_keys::where_open},
      {"lost", drawn ? "never moved" : "lost", [](const row& r) { return r.lost().lost; }, range_keys::both},
      {"lost_share", "", [](const row& r) { return share_value(r.lost().lost_share()); }, range_keys::both},
      {"", "% of updates", [](const row& r) { return share_text(r.lost().lost_share()); }, {}, right},
      {"expected_lost", "",
       [](const row& r) { return r.asked.is_drawn() ? table_value{r.lost().expected_lost} : table_value{}; },
       range_keys::both},
      {"expected_share", "",
       [](const row& r) { return r.asked.is_drawn() ? share_value(r.lost().expected_share()) : table_value{}; },
       range_keys::both},
      {"",
       drawn ? "lost in a draw %" : "",
       [](const row& r) { return r.asked.is_drawn() ? share_text(r.lost().expected_share()) : table_value{}; },
       {},
       right},
      {"at_one", "", [](const row& r) { return r.lost().at_one; }, range_keys::both},
      {"lost_at_one", all_drawn ? "" : "stuck at 1",
       [](const row& r) {
         return r.lost().at_one.high == 0 && !r.asked.is_drawn() ? table_value{} : table_value{r.lost().lost_at_one};
       },
       range_keys::both},
      {"zero_updates", "no update", [](const row& r) { return exactly(r.lost().zero_updates); },
       range_keys::where_open},
      {"nonfinite", "", [](const row& r) { return integer(r.lost().nonfinite); }},
      {"", "not finite", [](const row& r) { return value_if(r.lost().nonfinite > 0, exactly(r.lost().nonfinite)); }},
      {"overflowing", "", [](const row& r) { return r.lost().overflowing; }, range_keys::both},
      {"", "beyond format", [](const row& r) { return value_if(r.lost().overflowing.high > 0, r.lost().overflowing); }},
      {"changed", "", [](const row& r) { return r.given.changed ? integer(*r.given.changed) : table_value{}; }},
      {"changed_share", "",
       [](const row& r) { return r.given.changed ? share_of(*r.given.changed, r.lost().numel) : table_value{}; }},
      {"",
       "changed by a resume %",
       [](const row& r) {
         if (!r.given.changed || r.lost().numel == 0) return table_value{};
         return table_value{
             percent_number(static_cast<double>(*r.given.changed) / static_cast<double>(r.lost().numel))};
       },
       {},
       right},
      {"spacing", "",
       [](const row& r) {
         return value_if(r.lost().largest_spacing != lost_updates::no_spacing,
                         std::ldexp(1.0, r.lost().largest_spacing));
       }},
      {"learning_rate", "",
       [](const row& r) {
         return value_if(r.sums.learning_rates.size() == 1 && !r.sums.lacks_rate,
                         r.sums.learning_rates.empty() ? not_known : *r.sums.learning_rates.begin());
       }},
      {"stall_radius", layout.curvature ? "stall radius" : "",
       [&](const row& r) {
         const std::optional<double> radius = radius_of(r, layout.curvature);
         return radius ? table_value{*radius} : table_value{};
       }},
  };
  std::vector<row> rows;
  for (const auto& [key, sums] : groups)
    for (std::size_t c = 0; c < all.cases.size(); ++c) rows.push_back({key, sums, all.cases[c], sums.of[c]});
  return table_of(columns, rows);
}

table with_sum(table t, const counted_weights& all, weights_layout layout) {
  layout.by.clear();
  const auto named = std::ranges::find_if(t.columns, [](const table_column& c) { return !c.title.empty(); });
  for (std::vector<table_value>& row : weights_table(all, layout).rows) {
    row[static_cast<std::size_t>(named - t.columns.begin())] = "(all)";
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace ulp
