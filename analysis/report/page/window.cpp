// What the format sees of the gradients: a heat map over the steps, of a single step a histogram.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "html_parts.hpp"
#include "typeset.hpp"

namespace ulp {
namespace {

// Exponents that hold nearly all values, and the limits.
struct exponent_range {
  int low = 0;
  int high = 0;
  void take_in(double exponent) {
    if (!std::isfinite(exponent)) return;
    low = std::min(low, static_cast<int>(std::floor(exponent)) - 1);
    high = std::max(high, static_cast<int>(std::ceil(exponent)) + 1);
  }
};

exponent_range exponents_shown(const report_page& page, const format_limits& limits) {
  std::map<int, double> all;
  for (const binade_counts& c : page.binades.columns())
    for (const auto& [k, n] : c.by_exponent) all[k] += n;
  double total = 0;
  for (const auto& [k, n] : all) total += n;
  constexpr double left_out = 1e-6;
  constexpr int widest = 140;
  exponent_range shown{static_cast<int>(std::floor(limits.nonzero)), static_cast<int>(std::ceil(limits.nonzero))};
  double below = 0;
  for (const auto& [k, n] : all) {
    if (below + n > left_out * total) {
      shown.low = k;
      break;
    }
    below += n;
  }
  if (!all.empty()) shown.high = all.rbegin()->first + 1;
  shown.low = std::max(shown.low, shown.high - widest);
  return shown;
}

// The limits of the format on true gradients, as log2, at the scales of a column.
struct scaled_limits {
  double over;
  double normal;
  double zero;
};

scaled_limits limits_at(const format_limits& limits, const scale_extremes& s) {
  const double high = std::log2(s.greatest);
  const double low = std::log2(s.least);
  return {limits.overflow - high, limits.normal - low, limits.nonzero - low};
}

std::vector<legend_key> limit_keys() {
  return {line_key("over", "solid", "overflow"), line_key("normal", "dashed", "smallest normal number"),
          line_key("zero", "dotted", "smallest result above zero")};
}

// The cells of a heat map: equal neighbours are one rectangle.
void draw_cells(drawing& d, const std::vector<binade_counts>& columns, const exponent_range& range) {
  double greatest = 1;
  for (const binade_counts& c : columns)
    for (const auto& [k, n] : c.by_exponent) greatest = std::max(greatest, n);
  // Logarithmic, in a few steps, so that neighbours of one strength are one rectangle.
  constexpr double levels = 12;
  const auto strength = [&](double n) {
    return n <= 0 ? 0 : std::ceil(levels * (std::log10(n) + 1) / (std::log10(greatest) + 1)) / levels;
  };
  for (int k = range.low; k < range.high; ++k) {
    std::size_t first = 0;
    double now = 0;
    for (std::size_t i = 0; i <= columns.size(); ++i) {
      double next = 0;
      if (i < columns.size()) {
        const auto found = columns[i].by_exponent.find(k);
        next = found == columns[i].by_exponent.end() ? 0 : strength(found->second);
      }
      if (next == now && i < columns.size()) continue;
      d.cell(first, i, k, k + 1, now);
      first = i;
      now = next;
    }
  }
}

figure heat_map(const report_page& page, const report_replay& replay) {
  const format_limits limits = limits_of(page.how);
  exponent_range range = exponents_shown(page, limits);
  std::vector<double> over;
  std::vector<double> normal;
  std::vector<double> zero;
  for (const scale_extremes& s : replay.scales.columns()) {
    const scaled_limits at = limits_at(limits, s);
    over.push_back(at.over);
    normal.push_back(at.normal);
    zero.push_back(at.zero);
    range.take_in(at.over);
    range.take_in(at.zero);
  }
  // A scale that collapses takes the limits along; the picture is of the gradients.
  constexpr int farthest = 30;
  const exponent_range of_values = exponents_shown(page, limits);
  range.high = std::min(range.high, of_values.high + farthest);
  range.low = std::max(range.low, of_values.low - farthest);
  const auto& columns = page.binades.columns();
  drawing d(columns.size(), range.low, range.high, std::clamp(6.0 * (range.high - range.low), 240.0, 520.0));
  d.title("gradients");
  draw_cells(d, columns, range);
  for_each_run(
      columns.size(), [&](std::size_t i) { return columns[i].by_exponent.empty(); },
      [&](std::size_t first, std::size_t last) { d.missing(first, last, range.low, range.high); });
  for (const auto* const limit : {&over, &normal, &zero}) d.line(*limit, "halo");
  d.line(over, "over");
  d.line(normal, "normal");
  d.line(zero, "zero");
  const std::vector<bool> skipped = skipped_in(replay);
  d.marks(skipped);
  constexpr std::size_t labels = 10;
  d.y_ticks(power_ticks(range.low, range.high, labels));
  label_steps(d, page.binades.spans());
  figure f{.legend = limit_keys(), .parts = {}};
  if (std::ranges::find(skipped, true) != skipped.end()) f.legend.push_back(swatch_key(mark_swatch(), "skipped steps"));
  if (d.has_missing()) f.legend.push_back(swatch_key(hatched_swatch(), std::string{missing_text}));
  f.parts.push_back({d, fmt::format("gradients by magnitude and step, with the limits of {} under {}", page.format_name,
                                    replay.name)});
  return f;
}

// Of a single step: bars over the binades, the limits as vertical lines.
figure histogram(const report_page& page, const report_replay& replay) {
  const format_limits limits = limits_of(page.how);
  const scaled_limits at = limits_at(limits, replay.scales.columns().front());
  exponent_range range = exponents_shown(page, limits);
  for (const double limit : {at.over, at.normal, at.zero}) range.take_in(limit);
  const std::map<int, double>& counts = page.binades.columns().front().by_exponent;
  double greatest = 1;
  for (const auto& [k, n] : counts) greatest = std::max(greatest, n);
  const value_axis axis = count_axis(greatest);
  drawing d(static_cast<std::size_t>(range.high - range.low), axis.low, axis.high, 240);
  d.title("values");
  for (const auto& [k, n] : counts) {
    if (k < range.low || k >= range.high || !(n > 0)) continue;
    const auto column = static_cast<std::size_t>(k - range.low);
    constexpr double solid = 0.75;
    d.cell(column, column + 1, axis.low, axis.place(std::max(n, least_count)), solid);
  }
  for (const char* const style : {"halo", "over"}) d.limit(at.over - range.low, style);
  for (const char* const style : {"halo", "normal"}) d.limit(at.normal - range.low, style);
  for (const char* const style : {"halo", "zero"}) d.limit(at.zero - range.low, style);
  d.y_ticks(axis.ticks);
  constexpr std::size_t labels = 12;
  std::vector<tick> exponents = power_ticks(range.low, range.high, labels);
  for (tick& t : exponents) t.at -= range.low;
  d.x_ticks(exponents, "magnitude");
  return {limit_keys(),
          {{d, fmt::format("values by magnitude, with the limits of {} under {}", page.format_name, replay.name)}}};
}

// What becomes of the values of a single step.
std::string outcome_text(const report_page& page, const report_replay& replay) {
  if (!replay.sum.has_counts) return "";
  const outcome_counts& c = replay.sum.counts;
  const auto share = [&](const count_range& n) {
    const auto all = static_cast<double>(c.nonzero().high);
    return all > 0 ? fmt::format("{} ({})", to_cell(n), share_text(static_cast<double>(n.high) / all)) : to_cell(n);
  };
  return fmt::format(
      "<p>At the loss scale {}, of {} nonzero values {} become zero in {}, {} become subnormal, {} overflow.</p>",
      prose(as_power(replay.sum.first_scale)), to_cell(c.nonzero()), share(c.underflow), escaped(page.format_name),
      share(c.subnormal), share(c.overflow));
}

table numbers_of(const report_page& page) {
  table numbers;
  numbers.columns = {{"", "steps"},
                     {"", "gradients", alignment::right},
                     {"", "zeros", alignment::right},
                     {"", "not finite", alignment::right},
                     {"", "middle binade", alignment::right}};
  constexpr std::size_t most = 24;
  const std::size_t every = std::max<std::size_t>(1, page.binades.columns().size() / most);
  for (std::size_t i = 0; i < page.binades.columns().size(); i += every) {
    const binade_counts& c = page.binades.columns()[i];
    double total = 0;
    for (const auto& [k, n] : c.by_exponent) total += n;
    double seen = 0;
    int middle = 0;
    for (const auto& [k, n] : c.by_exponent) {
      seen += n;
      middle = k;
      if (seen >= total / 2) break;
    }
    const count_range zeros{static_cast<std::uint64_t>(c.zeros), static_cast<std::uint64_t>(c.zeros + c.maybe_zeros)};
    const double all = total + c.zeros + c.maybe_zeros + c.nonfinite;
    numbers.rows.push_back({steps_of(page.binades.spans()[i]), exactly(static_cast<std::uint64_t>(all)), zeros,
                            exactly(static_cast<std::uint64_t>(c.nonfinite)),
                            total > 0 ? power_of_two(middle) : std::string{"-"}});
  }
  return numbers;
}

bool has_values(const report_page& page) {
  return std::ranges::any_of(page.binades.columns(), [](const binade_counts& c) { return !c.by_exponent.empty(); });
}

}  // namespace

figure window_figure(const report_page& page, const report_replay& replay) {
  if (!has_values(page)) return {};
  return is_single_step(page) ? histogram(page, replay) : heat_map(page, replay);
}

std::string window_section(const report_page& page) {
  if (!has_values(page)) return "";
  const auto& columns = page.binades.columns();
  const bool single = is_single_step(page);
  std::string text = fmt::format("<section><h2>What {} sees of the gradients</h2>\n<p>", escaped(page.format_name));
  text +=
      single ? "The number of values in each binade, on a logarithmic scale, and the limits of the format at the loss "
               "scale: values to the right of the red line overflow, values to the left of the dotted one become zero."
             : "The number of gradients in each binade (stronger: more, on a logarithmic scale), and the limits of the "
               "format, which move with the loss scale: values above the upper line overflow, values below the lower "
               "one become zero.";
  if (std::ranges::any_of(columns, [](const binade_counts& c) { return c.maybe_zeros > 0; }))
    text +=
        " The input has buckets: their values are spread evenly over the binades they cover. Buckets that hold zero "
        "are not drawn; their values are counted below as possible zeros.";
  text += "</p>";
  for (const report_replay& r : page.replays)
    text += heading_of(r) + (single ? outcome_text(page, r) : "") + html_of(window_figure(page, r)) + "\n";
  const std::string numbers = html_table(numbers_of(page));
  return text + (single ? numbers : folded("the numbers", numbers)) + "</section>\n";
}

}  // namespace ulp
