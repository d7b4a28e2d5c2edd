// The sections that are lines over the steps: loss and learning rate, loss scale, norm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ulp/report/tables/estimates.hpp>
#include <utility>

#include "html_parts.hpp"

namespace ulp {
namespace {

using range_of_column = logged_values::range logged_values::*;

constexpr double wide_span = 100;  // from here on an axis is logarithmic

// Whether some values are above zero and span so much that a linear axis would hide the small ones. `all_positive`: zeros
// have no place on a logarithmic axis; where they are told apart all the same, false.
bool is_wide(const report_page& page, range_of_column what, bool all_positive) {
  extent values;
  for (const logged_values& c : page.logged.columns()) {
    const logged_values::range& r = c.*what;
    if (r.least <= 0 && all_positive) return false;
    if (r.greatest > 0) values.see(r.greatest);
    if (r.least > 0) values.see(r.least);
  }
  return values.any() && values.high >= wide_span * values.low;
}

using drawn_part = std::optional<figure::part>;

// Of one thing that was logged; nothing where it was not.
drawn_part logged_picture(const report_page& page, range_of_column what, std::string_view name, double height,
                          bool all_positive, bool is_last) {
  const auto& columns = page.logged.columns();
  const bool is_log = is_wide(page, what, all_positive);
  extent all;
  std::vector<double> low;
  std::vector<double> high;
  std::vector<double> mean;
  std::vector<bool> lost;
  const auto shown = [&](double value) { return is_log && !(value > 0) ? not_known : value; };
  for (const logged_values& c : columns) {
    const logged_values::range& r = c.*what;
    for (const double value : {shown(r.least), shown(r.greatest)}) all.see(value);
    low.push_back(shown(r.least));
    high.push_back(shown(r.greatest));
    // It stays until it is set again.
    const bool is_held = what == &logged_values::learning_rate && r.steps == 0 && !mean.empty();
    mean.push_back(is_held ? mean.back() : shown(r.mean()));
    lost.push_back(what == &logged_values::loss && c.losses_lost > 0);
  }
  if (!all.any()) return std::nullopt;
  constexpr double label_height = 24;
  const value_axis axis = axis_of(all.low, all.high, is_log, static_cast<std::size_t>(height / label_height));
  for (auto* const values : {&low, &high, &mean})
    for (double& value : *values) value = axis.place(value);
  drawing d(columns.size(), axis.low, axis.high, height);
  d.title(name);
  d.band(low, high);
  if (what != &logged_values::learning_rate)
    d.curve(mean, lost, "loss");
  else
    d.line(mean, "rate");
  d.marks(lost);
  d.y_ticks(axis.ticks);
  if (is_last) label_steps(d, page.logged.spans());
  return figure::part{d, fmt::format("{} by step", name)};
}

// The scale that the run itself was trained with, and where it overflowed; nothing where that was not logged.
drawn_part own_scale_picture(const report_page& page) {
  std::vector<double> low;
  std::vector<double> high;
  std::vector<bool> overflowed;
  extent all;
  for (const logged_values& c : page.logged.columns()) {
    low.push_back(c.log2_scale.least);
    high.push_back(c.log2_scale.greatest);
    overflowed.push_back(c.overflowed > 0);
    all.see(c.log2_scale.least);
    all.see(c.log2_scale.greatest);
  }
  const bool is_unscaled = all.low == 0 && all.high == 0;
  if (!all.any() || is_unscaled) return std::nullopt;
  const double bottom = std::floor(all.low) - 1;
  const double top = std::ceil(all.high) + 1;
  drawing d(page.logged.columns().size(), bottom, top, 120);
  d.title("loss scale of the run");
  d.band(low, high);
  d.line(high, "scale");
  d.marks(overflowed);
  constexpr std::size_t labels = 4;
  d.y_ticks(power_ticks(bottom, top, labels));
  label_steps(d, page.logged.spans());
  return figure::part{d, "loss scale of the run by step"};
}

// Of a column: a gap where none is known, or where nothing is there to overflow.
double log2_critical(const scale_extremes& s) {
  constexpr double none = 0x1p1000;
  return s.critical_certain && s.critical < none ? std::log2(s.critical) : not_known;
}

std::string replay_summary(const report_replay& r) {
  const trajectory_summary& s = r.sum;
  const auto [low, high] = std::minmax(s.first_scale, s.last_scale);
  const std::string between = s.least_scale < low || s.greatest_scale > high
                                  ? fmt::format(", between {} and {}", as_power(std::min(low, s.least_scale)),
                                                as_power(std::max(high, s.greatest_scale)))
                                  : "";
  const std::string scales =
      s.least_scale == s.greatest_scale && s.first_scale == s.last_scale
          ? "the scale is " + as_power(s.first_scale)
          : fmt::format("the scale goes from {} to {}{}", as_power(s.first_scale), as_power(s.last_scale), between);
  std::string text =
      fmt::format("<p>{}, of which {} skipped{}; {}.</p>", count_text(s.steps, "step"),
                  skipped_text(s.skipped, s.uncertain, s.bounds),
                  s.first_skip ? fmt::format(", the first at step {}", *s.first_skip) : "", prose(scales));
  if (!s.error.empty()) text += fmt::format("<p class=\"warn\">It ends the run: {}</p>", prose(s.error));
  if (s.uncertain > 0) text += fmt::format("<p class=\"soft\">~ {}.</p>", prose(uncertain_text(s)));
  if (s.first_divergence) text += fmt::format("<p class=\"soft\">open loop: {}.</p>", prose(open_loop_text(s)));
  for (const std::string& w : r.warnings) text += fmt::format("<p class=\"warn\">{}</p>", prose(w));
  return text;
}

extent norms_of(const report_page& page) {
  extent all;
  for (const scale_extremes& c : page.replays.front().scales.columns())
    if (c.norm > 0) all.see(c.norm);
  return all;
}

}  // namespace

figure logged_figure(const report_page& page) {
  if (is_single_step(page)) return {};
  drawn_part scale = own_scale_picture(page);
  // Where gradients were recorded, their norm has a picture of its own.
  const bool has_norms =
      std::ranges::any_of(page.replays.front().scales.columns(), [](const scale_extremes& c) { return c.norm > 0; });
  drawn_part norm = has_norms ? std::nullopt : logged_picture(page, &logged_values::norm, "norm", 110, true, !scale);
  drawn_part rate = logged_picture(page, &logged_values::learning_rate, "learning rate", 80, false, !norm && !scale);
  drawn_part loss = logged_picture(page, &logged_values::loss, "loss", 150, true, !rate && !norm && !scale);
  if (!loss && !rate && !norm && !scale) return {};
  const auto& columns = page.logged.columns();
  const bool some_lost = std::ranges::any_of(columns, [](const logged_values& c) { return c.losses_lost > 0; });
  const std::uint64_t joined = page.logged.spans().front().steps;
  const bool some_overflowed = std::ranges::any_of(columns, [](const logged_values& c) { return c.overflowed > 0; });
  const auto is_wide_range = [](const logged_values::range& r) { return r.least < r.greatest; };
  const bool has_band = std::ranges::any_of(columns, [&](const logged_values& c) {
    return is_wide_range(c.loss) || is_wide_range(c.learning_rate) || is_wide_range(c.log2_scale);
  });
  const bool marks_losses = some_lost && loss;
  const bool marks_scale = some_overflowed && scale;
  figure f;
  if (marks_losses || marks_scale)
    f.legend.push_back(swatch_key(mark_swatch(), marks_losses && marks_scale
                                                     ? "steps whose loss is NaN or infinite, or that overflowed"
                                                 : marks_losses ? "steps whose loss is NaN or infinite"
                                                                : "steps that overflowed"));
  if (joined > 1 && has_band)
    f.legend.push_back(swatch_key(swatch(0.35), fmt::format("from the least to the greatest of {} steps", joined)));
  for (drawn_part* const part : {&loss, &rate, &norm, &scale})
    if (*part) f.parts.push_back(std::move(**part));
  return f;
}

std::string logged_section(const report_page& page) {
  const figure f = logged_figure(page);
  return f.empty() ? "" : fmt::format("<section><h2>What the run logged</h2>\n{}</section>\n", html_of(f));
}

figure scale_figure(const report_replay& r) {
  std::vector<double> scale;
  std::vector<double> critical;
  extent all;
  for (const scale_extremes& s : r.scales.columns()) {
    scale.push_back(std::log2(s.greatest));
    critical.push_back(log2_critical(s));
    all.see(scale.back());
    all.see(critical.back());
  }
  if (!all.any()) all.see(0);
  const double low = std::floor(all.low) - 1;
  const double high = std::ceil(all.high) + 1;
  drawing d(r.scales.columns().size(), low, high, 200);
  d.title("loss scale");
  d.line(critical, "critical");
  d.line(scale, "scale");
  d.marks(skipped_in(r));
  constexpr std::size_t labels = 7;
  d.y_ticks(power_ticks(low, high, labels));
  label_steps(d, r.scales.spans());
  return {{}, {{d, "loss scale by step under " + r.name}}};
}

std::vector<legend_key> scale_legend(const std::vector<report_replay>& replays) {
  const auto some = [&](auto&& of) {
    return std::ranges::any_of(replays,
                               [&](const report_replay& r) { return std::ranges::any_of(r.scales.columns(), of); });
  };
  std::vector<legend_key> legend{line_key("ink", "solid", "scale")};
  if (some([](const scale_extremes& s) { return !std::isnan(log2_critical(s)); }))
    legend.push_back(
        line_key("over", "solid", "the largest scale at which the step does not overflow, where that is known"));
  if (some([](const scale_extremes& s) { return s.skipped > 0; }))
    legend.push_back(swatch_key(mark_swatch(), "skipped steps"));
  return legend;
}

std::string scale_section(const report_page& page) {
  const bool single = is_single_step(page);
  std::string text = "<section><h2>The loss scale, replayed</h2>\n";
  if (!single) {
    text += "<p>";
    for (const legend_key& key : scale_legend(page.replays)) text += html_of(key);
    text += "</p>\n";
  }
  table numbers;
  numbers.columns = {{"", "policy"},
                     {"", "steps"},
                     {"", "scale", alignment::right},
                     {"", "largest without overflow", alignment::right},
                     {"", "skipped", alignment::right}};
  constexpr std::size_t most = 24;
  for (const report_replay& r : page.replays) {
    text += heading_of(r) + replay_summary(r) + (single ? "" : html_of(scale_figure(r))) + "\n";
    const std::size_t every = std::max<std::size_t>(1, r.scales.columns().size() / most);
    for (std::size_t i = 0; i < r.scales.columns().size(); i += every) {
      const scale_extremes& s = r.scales.columns()[i];
      numbers.rows.push_back({r.name, steps_of(r.scales.spans()[i]), as_power(s.greatest),
                              std::isnan(s.critical)
                                  ? std::string{"-"}
                                  : fmt::format("{}2^{:.2f}", s.critical_certain ? "" : "~", std::log2(s.critical)),
                              count_range{s.skipped, s.skipped}});
    }
  }
  return text + (single ? html_table(numbers) : folded("numbers of some of the columns", html_table(numbers))) +
         "</section>\n";
}

figure norm_figure(const report_page& page) {
  extent all = norms_of(page);
  if (!all.any() || is_single_step(page)) return {};
  const bool clips = !std::isnan(page.clip_norm);
  if (clips) all.see(page.clip_norm);
  const auto& columns = page.replays.front().scales.columns();
  const value_axis axis = axis_of(all.low, all.high, true);
  std::vector<double> norms;
  for (const scale_extremes& c : columns) norms.push_back(axis.place(c.norm));
  drawing d(columns.size(), axis.low, axis.high, 180);
  d.title("norm");
  d.line(norms, "scale");
  if (clips) d.level(axis.place(page.clip_norm), "bound", fmt::format("clipped at {:g}", page.clip_norm));
  d.y_ticks(axis.ticks);
  label_steps(d, page.replays.front().scales.spans());
  return {{}, {{d, "norm by step"}}};
}

std::string norm_section(const report_page& page) {
  const extent all = norms_of(page);
  if (!all.any()) return "";
  const bool clips = !std::isnan(page.clip_norm);
  const trajectory_summary& sum = page.replays.front().sum;
  const std::string clipped = clips ? fmt::format("; clipping to {:g} triggers in {} of {}", page.clip_norm,
                                                  grouped(sum.clipped), count_text(sum.steps, "step"))
                                    : "";
  const std::string title =
      fmt::format("<section><h2>The norm of the gradients{}</h2>\n", clips ? ", and clipping" : "");
  if (is_single_step(page))
    return title + fmt::format("<p>The L2 norm of the unscaled weight gradients is {:.4g}{}.</p></section>\n", all.high,
                               prose(clipped));
  return title + fmt::format(
                     "<p>The largest finite L2 norm of the unscaled weight gradients in each column of the "
                     "picture{}.</p>\n{}</section>\n",
                     prose(clipped), html_of(norm_figure(page)));
}

}  // namespace ulp
