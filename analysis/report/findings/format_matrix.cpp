#include <ulp/report/findings/format_matrix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/report/tables/usual_formats.hpp>
#include <utility>

#include "findings/findings.hpp"
#include "findings/static_scales.hpp"

namespace ulp {
namespace {

std::string nonzero_percent(const outcome_counts& c, const value_range& of) {
  return c.nonzero().high == 0 ? "-" : percent_text(of);
}

// Tensors that are judged together.
struct part {
  const char* noun;
  tensor_tables tables;
  tensor_mask all;  // of them
};

lost_mass lost_of(const tensor_tables& of, const treatment& how, double scale) {
  lost_mass all;
  for (const tensor_tables::entry& e : of.entries)
    all += lost_to_underflow(e.table, how, {.scale = e.is_scaled ? scale : 1, .factor = e.factor}, e.type);
  return all;
}

value_range magnitudes_of(const tensor_tables& of) {
  value_range all;
  for (const tensor_tables::entry& e : of.entries) {
    const value_range sum = magnitudes_bounds(e.table);
    all += {sum.low / e.factor, sum.high / e.factor};
  }
  return all;
}

double largest_of(const tensor_tables& of) {
  double largest = 0;
  for (const tensor_tables::entry& e : of.entries)
    if (e.is_scaled) largest = std::max(largest, e.table.largest_possible() / e.factor);
  return largest;
}

// The tables of one part, or of several, in a format.
class judge {
 public:
  judge(const format_question& asked, const char* name) : asked_(&asked), how_{*find_format(name)} {
    how_.rounding = rounding_text{}.value(how_.format);
  }

  [[nodiscard]] const treatment& how() const { return how_; }
  [[nodiscard]] outcome_counts outcomes(const part& of, double scale) const {
    return of.tables.outcomes(of.all, how_, scale);
  }
  [[nodiscard]] value_range lost_magnitude(const part& of, double scale) const {
    return share_of_magnitude(lost_of(of.tables, how_, scale), magnitudes_of(of.tables));
  }
  [[nodiscard]] value_range lost(const part& of, double scale) const {
    return asked_->measure == lost_share::of_magnitude ? lost_magnitude(of, scale)
                                                       : underflow_share(outcomes(of, scale));
  }
  [[nodiscard]] std::optional<int> least(const part& of) const {
    return least_scale([&](double scale) { return lost(of, scale).high <= asked_->epsilon; });
  }
  // Where the steps are not known: that of the largest value.
  [[nodiscard]] std::optional<int> most(double largest) const {
    const double safe = largest > 0 ? range_scale_of(largest, how_) : 0;
    return safe > 0 && std::isfinite(safe) ? std::optional(std::ilogb(safe)) : std::nullopt;
  }

 private:
  const format_question* asked_;
  treatment how_;
};

// Of the tensors that are shown; of those that no scale multiplies only where there are no others.
std::vector<part> parts_of(const format_question& asked) {
  const auto is_shown = [&](const tensor_tables::entry& e) {
    return e.tensor < asked.shown.size() && asked.shown[e.tensor];
  };
  const bool any_scaled = std::ranges::any_of(
      asked.tables.entries, [&](const tensor_tables::entry& e) { return is_shown(e) && e.is_scaled; });
  std::vector<part> parts;
  for (const judged_kind& k : judged_kinds) parts.push_back({k.noun, {}, tensor_mask(asked.shown.size())});
  for (const tensor_tables::entry& e : asked.tables.entries) {
    if (!is_shown(e) || (any_scaled && !e.is_scaled)) continue;
    part& of = parts[judged_as(asked.tensors[e.tensor].kind)];
    of.tables.entries.push_back(e);
    of.all[e.tensor] = true;
  }
  std::erase_if(parts, [](const part& p) { return p.tables.entries.empty(); });
  return parts;
}

// Whether too much may have underflowed before it was recorded.
bool is_cut_off(const part& of, const format_question& asked) {
  if (asked.measure == lost_share::of_values) return false;
  double censored = 0;
  for (const tensor_tables::entry& e : of.tables.entries)
    if (is_censored(e.type, asked.tensors[e.tensor]))
      censored += censored_magnitude_of(e.table.zeros, asked.tensors[e.tensor], e.factor);
  return censored > asked.epsilon * magnitudes_of(of.tables).low;
}

std::string text_of(const static_scales& s) {
  if (!s.any()) return "none";
  const bool is_open = *s.least == least_tried;
  if (!s.most) return is_open ? "any" : "from " + power(*s.least);
  if (is_open) return "up to " + power(*s.most);
  return *s.least == *s.most ? power(*s.least) : power(*s.least) + " to " + power(*s.most);
}

// What the row of a format is about.
struct format_row {
  std::string name;
  const part* of;  // that asks for the highest scale
  const judge* by;
  static_scales good;
  std::optional<window> steps;
  bool is_unknown = false;  // the input does not say what was lost
};

count_range overflowing(const window& w, double scale) {
  const std::uint64_t sure = w.overflowing(scale);
  return {sure, sure + w.undecided(scale)};
}

std::string verdict_of(const format_row& r, const format_question& asked) {
  if (asked.as_recorded) return "unknown: the factor of the values is not known";
  if (r.is_unknown) return "unknown: zeros were rounded before they were recorded";
  if (const std::uint64_t lost = r.steps ? r.steps->overflowing(1) : 0; r.good.needs_none() && lost > 0)
    return fmt::format("{} overflow{} without one", count_text(lost, "step"), lost == 1 ? "s" : "");
  if (r.good.needs_none()) return "not needed";
  const bool is_open = r.by->lost(*r.of, 1).low <= asked.epsilon && (!r.good.most || *r.good.most >= 0);
  if (is_open) return "perhaps not needed: the input leaves it open";
  return r.good.any() ? "needed" : "no static scale suffices";
}

// In a cell it stands without its reason.
std::string short_verdict(const std::string& verdict) { return verdict.substr(0, verdict.find(':')); }

// What is lost of it at a scale: for people, and for machines under keys that end with `suffix`.
void add_losses(std::vector<column<format_row>>& to, double scale, const std::string& suffix) {
  using row = format_row;
  constexpr auto right = alignment::right;
  const std::string at = " at " + as_power(scale);
  const auto outcomes = [=](const row& r) { return r.by->outcomes(*r.of, scale); };
  to.push_back({"lost_l1_share" + suffix, "", [=](const row& r) { return r.by->lost_magnitude(*r.of, scale); },
                range_keys::both});
  to.push_back({"",
                "lost magnitude" + at,
                [=](const row& r) { return nonzero_percent(outcomes(r), r.by->lost_magnitude(*r.of, scale)); },
                {},
                right});
  to.push_back(
      {"underflow_share" + suffix, "", [=](const row& r) { return underflow_share(outcomes(r)); }, range_keys::both});
  to.push_back({"",
                "underflow" + at,
                [=](const row& r) { return nonzero_percent(outcomes(r), underflow_share(outcomes(r))); },
                {},
                right});
  to.push_back({"overflow_share" + suffix, "",
                [=](const row& r) {
                  const outcome_counts c = outcomes(r);
                  return share_of_nonzero(c, c.overflow);
                },
                range_keys::both});
  to.push_back({"overflow_steps" + suffix, "",
                [=](const row& r) { return r.steps ? table_value{overflowing(*r.steps, scale)} : table_value{}; },
                range_keys::both});
  to.push_back({"",
                "overflow" + at,
                [=](const row& r) {
                  const outcome_counts c = outcomes(r);
                  if (!r.steps) return nonzero_percent(c, share_of_nonzero(c, c.overflow));
                  const count_range steps = overflowing(*r.steps, scale);
                  return to_cell(steps) + (steps == count_range{1, 1} ? " step" : " steps");
                },
                {},
                right});
}

}  // namespace

table format_matrix(const format_question& asked, listener& to) {
  using row = format_row;
  const std::vector<part> parts = parts_of(asked);
  const bool all_shown = std::ranges::all_of(asked.tables.entries, [&](const tensor_tables::entry& e) {
    const bool is_shown = e.tensor < asked.shown.size() && asked.shown[e.tensor];
    return is_shown || !asked.run.counts(asked.tensors[e.tensor]);
  });
  const auto names = usual_formats(format_room::all);
  std::vector<judge> judges;
  for (const char* const name : names) judges.emplace_back(asked, name);
  std::vector<row> rows;
  work judging(to, "formats", names.size());
  for (std::size_t i = 0; i < names.size() && !parts.empty(); ++i) {
    judging.advance();
    const judge& by = judges[i];
    const demanding_kind judged = most_demanding(parts.size(), [&](std::size_t p) { return by.least(parts[p]); });
    row r{.name = names[i], .of = &parts[judged.index], .by = &by, .good = {.least = judged.least}};
    if (all_shown) {
      window_maker maker(by.how());
      for (std::size_t n = asked.first; n < asked.end; ++n) maker.add(asked.run.survey_of(asked.run.steps()[n]));
      r.steps = maker.result();
    }
    double largest = 0;
    for (const part& p : parts) largest = std::max(largest, largest_of(p.tables));
    r.good.most = r.steps ? r.steps->largest_safe() : by.most(largest);
    r.is_unknown = is_cut_off(*r.of, asked);
    rows.push_back(std::move(r));
  }
  std::vector<column<row>> columns{
      {"format", "format", &row::name},
      {"loss_scaling", "", [&](const row& r) { return verdict_of(r, asked); }},
      {"", "loss scale", [&](const row& r) { return short_verdict(verdict_of(r, asked)); }},
      {"static_scales", "static scales that suffice",
       [](const row& r) { return r.is_unknown && r.good.any() ? "unknown" : text_of(r.good); }},
      {"lowest_log2", "", [](const row& r) { return r.is_unknown ? table_value{} : integer(r.good.least); }},
      {"highest_log2", "", [](const row& r) { return integer(r.good.most); }}};
  add_losses(columns, 1, "_at_1");
  if (asked.scale != 1) add_losses(columns, asked.scale, "_at_scale");
  columns.push_back(
      {"tensors", parts.size() > 1 ? "judged by" : "", [](const row& r) { return std::string{r.of->noun}; }});
  columns.push_back({"scale", "", [&](const row&) { return asked.scale; }});
  columns.push_back({"epsilon", "", [&](const row&) { return asked.epsilon; }});
  columns.push_back({"epsilon_of", "", [&](const row&) {
                       return std::string{asked.measure == lost_share::of_magnitude ? "magnitude" : "values"};
                     }});
  if (asked.first < asked.end) {
    const auto& steps = asked.run.steps();
    columns.push_back({"first_step", "", [&](const row&) { return table_value{steps[asked.first].key.step}; }});
    columns.push_back({"last_step", "", [&](const row&) { return table_value{steps[asked.end - 1].key.step}; }});
  }
  return table_of(columns, rows);
}

table tensor_format_matrix(const format_question& asked, listener& to) {
  const auto names = usual_formats(format_room::all);
  std::vector<judge> judges;
  for (const char* const name : names) judges.emplace_back(asked, name);
  // From the fewest bits on; of equal widths the most precise first.
  std::vector<std::size_t> by_size(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) by_size[i] = i;
  std::ranges::stable_sort(by_size, {}, [&](std::size_t i) {
    return std::tuple{judges[i].how().format.width(), -judges[i].how().format.fraction_bits};
  });
  table t;
  t.columns = {{"tensor", "tensor"}, {"smallest_format", "smallest format without a loss scale"}};
  for (const char* const name : names) t.columns.push_back({name, name});
  struct ranked {
    std::size_t none = 0;  // formats
    std::vector<table_value> cells;
  };
  std::vector<ranked> rows;
  const std::vector<tensor_tables::entry>& all = asked.tables.entries;
  // The entries of a tensor lie side by side.
  work judging(to, "tensors", asked.tensors.size());
  for (auto first = all.begin(); first != all.end();) {
    judging.advance();
    const std::uint32_t tensor = first->tensor;
    const auto last = std::find_if(first, all.end(), [&](const tensor_tables::entry& e) { return e.tensor != tensor; });
    const part own{"", {.entries = {first, last}}, asked.shown};
    first = last;
    if (tensor >= asked.shown.size() || !asked.shown[tensor]) continue;
    const bool is_unknown = is_cut_off(own, asked);
    const double largest = largest_of(own.tables);
    std::vector<static_scales> good;
    for (const judge& by : judges) good.push_back({by.least(own), by.most(largest)});
    const auto smallest = std::ranges::find_if(by_size, [&](std::size_t i) { return good[i].needs_none(); });
    ranked row{.cells = {asked.tensors[tensor].name, std::string{asked.as_recorded || is_unknown ? "unknown"
                                                                 : smallest == by_size.end()     ? "none"
                                                                                                 : names[*smallest]}}};
    for (const static_scales& s : good) {
      row.none += s.any() ? 0 : 1;
      row.cells.emplace_back(is_unknown && s.any() ? "unknown" : text_of(s));
    }
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, [](const ranked& a, const ranked& b) {
    return std::tie(b.none, std::get<std::string>(a.cells.front())) <
           std::tie(a.none, std::get<std::string>(b.cells.front()));
  });
  for (ranked& row : rows) t.rows.push_back(std::move(row.cells));
  return t;
}

table set_format_matrix(const survey& run, const std::vector<tensor_set>& sets, const std::string& title,
                        const rounding_text& mode) {
  table t;
  t.columns = {{"", title}, {"", "gradients", alignment::right}};
  for (const char* const f : usual_formats(format_room::few)) t.columns.push_back({"", f, alignment::right});
  for (const tensor_set& set : sets) {
    std::vector<table_value> row{set.name, {}};
    for (const char* const f : usual_formats(format_room::few)) {
      const format to = *find_format(f);
      const outcome_counts c = run.outcomes(set, {to, mode.value(to)}, 1);
      row[1] = exactly(c.numel);
      row.emplace_back(nonzero_percent(c, underflow_share(c)));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace ulp
