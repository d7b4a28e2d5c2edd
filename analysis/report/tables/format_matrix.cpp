#include <ulp/report/format_matrix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/usual_formats.hpp>
#include <utility>

namespace ulp {
namespace {

constexpr int lowest = -60;
constexpr int highest = 127;

std::string percent(const outcome_counts& c, const value_range& of) {
  return c.nonzero().high == 0 ? "-" : percent_text(of);
}

tensor_tables over_all_steps(const run_picture& run, const std::function<void(double)>& told) {
  tensor_tables all;
  for (const tensor_tables& column : run.columns().columns()) {
    told(0);
    all.merge(column);
  }
  return all;
}

// The static scales 2^from to 2^until that do; none where from > until.
struct static_scales {
  int from = lowest;
  int until = highest;

  [[nodiscard]] bool any() const { return from <= until; }
  [[nodiscard]] std::string text() const {
    if (!any()) return "none";
    const auto power = [](int k) { return fmt::format("2^{}", k); };
    if (from == lowest && until == highest) return "any";
    if (from == lowest) return "up to " + power(until);
    if (until == highest) return "from " + power(from);
    return from == until ? power(from) : power(from) + " to " + power(until);
  }
};

// Underflow falls and overflow rises with the scale: both ends are found by halving. counts(scale) gives the outcomes.
template <typename Counts>
static_scales scales_that_do(double epsilon, Counts counts) {
  const auto least = [&](auto&& holds) {
    int low = lowest;
    int high = highest + 1;
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (holds(counts(std::ldexp(1.0, middle))))
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  };
  return {.from = least([&](const outcome_counts& c) {
            return static_cast<double>(c.underflow.high) <= epsilon * static_cast<double>(c.nonzero().high);
          }),
          .until = least([](const outcome_counts& c) { return c.overflow.high > 0; }) - 1};
}

}  // namespace

table format_matrix(const run_picture& run, const tensor_mask& shown, double scale, double epsilon,
                    const std::function<void(double)>& told) {
  const tensor_tables all = over_all_steps(run, told);
  table t;
  t.columns = {{"format", "format"},
               {"underflow_at_1", "underflow at 1", alignment::right},
               {"overflow_at_1", "overflow at 1", alignment::right},
               {"underflow_at_scale", "underflow at 2^" + shortest(std::log2(scale)), alignment::right},
               {"overflow_at_scale", "overflow at 2^" + shortest(std::log2(scale)), alignment::right},
               {"static_scales", "static scales that suffice"},
               {"verdict", "verdict"}};
  const auto names = usual_formats(format_room::all);
  for (std::size_t i = 0; i < names.size(); ++i) {
    told(static_cast<double>(i) / static_cast<double>(names.size()));
    const format to = *find_format(names[i]);
    const rounding mode{.direction = default_direction(to)};
    const auto at = [&](double s) { return all.outcomes(shown, to, mode, s); };
    const outcome_counts one = at(1);
    const outcome_counts scaled = at(scale);
    const bool empty = one.numel == one.zero + one.nonfinite;
    const static_scales good = scales_that_do(epsilon, at);
    const std::string verdict = empty                               ? ""
                                : good.from <= 0 && good.until >= 0 ? "no loss scale needed"
                                : good.any()                        ? "a static scale suffices"
                                                                    : "no static scale suffices";
    t.rows.push_back({std::string{names[i]}, percent(one, underflow_share(one)),
                      percent(one, share_of_nonzero(one, one.overflow)), percent(scaled, underflow_share(scaled)),
                      percent(scaled, share_of_nonzero(scaled, scaled.overflow)), empty ? "" : good.text(), verdict});
  }
  return t;
}

table tensor_format_matrix(const run_picture& run, const std::vector<tensor_info>& tensors, const tensor_mask& shown,
                           double epsilon, const std::function<void(double)>& told) {
  const tensor_tables all = over_all_steps(run, told);
  table t;
  t.columns = {{"tensor", "tensor"}};
  for (const char* const name : usual_formats(format_room::all)) t.columns.push_back({name, name});
  struct ranked {
    std::size_t none = 0;  // formats
    std::vector<table_value> cells;
  };
  std::vector<ranked> rows;
  // The entries of a tensor lie side by side.
  for (auto first = all.entries.begin(); first != all.entries.end();) {
    told(static_cast<double>(first - all.entries.begin()) / static_cast<double>(all.entries.size()));
    const std::uint32_t tensor = first->tensor;
    const auto last =
        std::find_if(first, all.entries.end(), [&](const tensor_tables::entry& e) { return e.tensor != tensor; });
    const tensor_tables own{.entries = {first, last}};
    first = last;
    if (tensor >= shown.size() || !shown[tensor]) continue;
    ranked row{.none = 0, .cells = {tensors[tensor].name}};
    for (const char* const name : usual_formats(format_room::all)) {
      const format to = *find_format(name);
      const static_scales good = scales_that_do(
          epsilon, [&](double s) { return own.outcomes(shown, to, {.direction = default_direction(to)}, s); });
      row.none += good.any() ? 0 : 1;
      row.cells.emplace_back(good.text());
    }
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const ranked& a, const ranked& b) {
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
      const outcome_counts c = run.outcomes(set, to, mode.value(to), 1);
      row[1] = exactly(c.numel);
      row.emplace_back(percent(c, underflow_share(c)));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

}  // namespace ulp
