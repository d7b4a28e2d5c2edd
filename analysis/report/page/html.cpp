#include <ulp/report/html.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <ulp/report/estimates.hpp>

#include "html_parts.hpp"

namespace ulp {
namespace {

constexpr std::string_view style = R"css(
:root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--faint:#c9c9c9;--heat:#0b6e8a;--over:#b3261e;--zero:#1d4fa3;--soft:#6a6a6a;--normal:#e08a00}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181b;--faint:#4a4d52;--heat:#55c1dd;--over:#ff8a80;--zero:#8ab4ff;--soft:#a0a0a0;--normal:#ffb74d}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid var(--faint)}h3{font-size:1rem;margin:1rem 0 .2rem}
p{margin:.4rem 0}.soft{color:var(--soft)}code,pre{font:.85rem ui-monospace,monospace}code,pre{overflow-wrap:anywhere}pre{white-space:pre-wrap}
table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}th,td{padding:.15rem .6rem;text-align:left;border-bottom:1px solid var(--faint);white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}ul{margin:.2rem 0;padding-left:1.2rem}.aligned{list-style:none;padding-left:0}.aligned li{font:.8rem/1.6 ui-monospace,monospace;white-space:pre-wrap;padding-left:4ch;text-indent:-4ch}
summary{cursor:pointer;color:var(--soft)}
svg{width:100%;height:auto;display:block}svg rect{fill:var(--heat);shape-rendering:crispEdges}svg .frame{fill:none;stroke:var(--faint)}svg path{fill:none;stroke:var(--ink)}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .right{text-anchor:end}svg .middle{text-anchor:middle}
svg .over{stroke:var(--over);stroke-width:2}svg .normal{stroke:var(--normal);stroke-width:1.5;stroke-dasharray:6 4}svg .zero{stroke:var(--zero);stroke-width:2;stroke-dasharray:2 3}
svg .halo{stroke:var(--paper);stroke-width:5;opacity:.75}
svg .missing{fill:var(--faint);opacity:.3}svg .hatch{stroke:var(--soft);stroke-width:1}svg.swatch{display:inline;width:1.65rem;height:.9rem;vertical-align:-.1rem;margin-right:.3rem}
svg .scale{stroke-width:2}svg .critical{stroke:var(--over);opacity:.75}svg .mark{stroke:var(--over);stroke-width:1.5}svg .bound{stroke:var(--zero);stroke-dasharray:5 4}
.entry{display:inline-block;margin-right:1rem}.key{display:inline-block;width:1.6rem;height:0;border-top:2px solid;vertical-align:middle;margin-right:.3rem}.warn{border-left:3px solid var(--over);padding-left:.6rem}
.first dt{font-weight:600;margin-top:.5rem}.first dd{margin:0}.first pre{margin:.3rem 0;padding:.4rem .6rem;border:1px solid var(--faint)}
@media print{body{max-width:none}section{break-inside:avoid}}
)css";

std::string scale_picture(const report_replay& r) {
  std::vector<double> scale;
  std::vector<double> critical;
  double low = 0;
  double high = 0;
  bool any = false;
  for (const scale_extremes& s : r.scales.columns()) {
    scale.push_back(std::log2(s.greatest));
    critical.push_back(std::log2(s.critical));
    for (const double y : {scale.back(), critical.back()}) {
      if (!std::isfinite(y)) continue;
      low = any ? std::min(low, y) : y;
      high = any ? std::max(high, y) : y;
      any = true;
    }
  }
  drawing d(r.scales.columns().size(), std::floor(low) - 1, std::ceil(high) + 1, 200);
  d.line(critical, "critical");
  d.line(scale, "scale");
  for (std::size_t i = 0; i < r.scales.columns().size(); ++i)
    if (r.scales.columns()[i].skipped > 0) d.mark(i);
  for (const double t : ticks_between(std::floor(low) - 1, std::ceil(high) + 1, 7)) d.y_label(t, log2_label(t));
  label_steps(d, r.scales.spans());
  return d.element("loss scale by step under " + r.name);
}

std::string replay_summary(const report_replay& r) {
  const trajectory_summary& s = r.sum;
  std::string text =
      fmt::format("<p>{}, of which {} skipped{}; the scale goes from {} to {}, between {} and {}.</p>",
                  count_text(s.steps, "step"), skipped_text(s.skipped, s.uncertain, s.bounds),
                  s.first_skip ? fmt::format(", the first at step {}", *s.first_skip) : "", as_power(s.first_scale),
                  as_power(s.last_scale), as_power(s.least_scale), as_power(s.greatest_scale));
  if (!s.error.empty()) text += fmt::format("<p class=\"warn\">It ends the run: {}</p>", escaped(s.error));
  if (s.uncertain > 0) text += fmt::format("<p class=\"soft\">~ {}.</p>", escaped(uncertain_text(s)));
  if (s.first_divergence) text += fmt::format("<p class=\"soft\">open loop: {}.</p>", escaped(open_loop_text(s)));
  for (const std::string& w : r.warnings) text += fmt::format("<p class=\"warn\">{}</p>", escaped(w));
  return text;
}

std::string scale_section(const report_page& page) {
  std::string text = "<section><h2>The loss scale</h2>\n<p>" + key_of("ink", "solid", "scale") +
                     key_of("over", "solid", "the largest scale at which the step does not overflow") +
                     "marks at the bottom: skipped steps</p>\n";
  table numbers;
  numbers.columns = {{"", "policy"},
                     {"", "steps"},
                     {"", "scale", alignment::right},
                     {"", "critical", alignment::right},
                     {"", "skipped", alignment::right}};
  for (const report_replay& r : page.replays) {
    text += fmt::format("<h3>{} <span class=\"soft\">{}</span></h3>{}{}\n", escaped(r.name), escaped(r.parameters),
                        replay_summary(r), scale_picture(r));
    const std::size_t every = std::max<std::size_t>(1, r.scales.columns().size() / 24);
    for (std::size_t i = 0; i < r.scales.columns().size(); i += every) {
      const scale_extremes& s = r.scales.columns()[i];
      numbers.rows.push_back({r.name, steps_of(r.scales.spans()[i]), as_power(s.greatest),
                              std::isnan(s.critical)
                                  ? std::string{"-"}
                                  : fmt::format("{}2^{:.2f}", s.critical_certain ? "" : "~", std::log2(s.critical)),
                              count_range{s.skipped, s.skipped}});
    }
  }
  return text + folded("numbers of some of the columns", html_table(numbers)) + "</section>\n";
}

std::string norm_section(const report_page& page) {
  const auto& columns = page.replays.front().scales.columns();
  std::vector<double> norms;
  double low = 0;
  double high = 0;
  bool any = false;
  for (const scale_extremes& c : columns) {
    norms.push_back(std::log10(c.norm));
    if (!std::isfinite(norms.back())) continue;
    low = any ? std::min(low, norms.back()) : norms.back();
    high = any ? std::max(high, norms.back()) : norms.back();
    any = true;
  }
  if (!any) return "";
  const bool clips = !std::isnan(page.clip_norm);
  if (clips) {
    low = std::min(low, std::log10(page.clip_norm));
    high = std::max(high, std::log10(page.clip_norm));
  }
  drawing d(columns.size(), std::floor(low), std::ceil(high), 180);
  d.line(norms, "scale");
  if (clips) d.level(std::log10(page.clip_norm), "bound", fmt::format("clipped at {:g}", page.clip_norm));
  for (double t = std::floor(low); t <= std::ceil(high); t += 1) d.y_label(t, fmt::format("{:g}", std::pow(10, t)));
  label_steps(d, page.replays.front().scales.spans());
  const trajectory_summary& sum = page.replays.front().sum;
  return fmt::format(
      "<section><h2>The norm of the gradients{}</h2>\n<p>The largest finite L2 norm of the unscaled weight "
      "gradients in each column of the picture{}.</p>\n{}</section>\n",
      clips ? ", and clipping" : "",
      clips ? fmt::format("; clipping to {:g} triggers in {} of {}", page.clip_norm, grouped(sum.clipped),
                          count_text(sum.steps, "step"))
            : "",
      d.element("norm by step"));
}

std::string summary_section(const report_page& page) {
  const advice_summary& first = page.first;
  const auto line = [](std::string_view title, std::string_view text) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>", title, escaped(text));
  };
  std::string text = "<section><dl class=\"first\">" + line("What happened", first.happened) +
                     line("What to change", first.change);
  if (!first.lines.empty()) {
    text.insert(text.size() - 5, "<pre>");
    for (const std::string& of : first.lines) text.insert(text.size() - 5, escaped(of) + "\n");
    text.insert(text.size() - 5, "</pre>");
  }
  text += line("How sure", first.sure) + "</dl>\n";
  if (first.left_out_from)
    text += fmt::format("<p class=\"soft\">Findings other than what happened leave out the steps from {} on.</p>",
                        *first.left_out_from);
  return text + "</section>\n";
}

std::string findings_section(const report_page& page) {
  std::string text = "<section><h2>Findings</h2>\n";
  for (const finding& f : page.findings) {
    const bool aligned =
        std::ranges::any_of(f.evidence, [](const std::string& line) { return line.find("  ") != std::string::npos; });
    text += fmt::format("<h3>{}</h3><p>{}</p><ul{}>", escaped(f.question), escaped(f.conclusion),
                        aligned ? R"( class="aligned")" : "");
    for (const std::string& line : f.evidence) text += fmt::format("<li>{}</li>", escaped(line));
    text += fmt::format("</ul>{}\n",
                        f.limits.empty() ? "" : fmt::format("<p class=\"soft\">Limits: {}</p>", escaped(f.limits)));
  }
  return text + "</section>\n";
}

std::string notes_section(const report_page& page) {
  if (page.notes.empty()) return "";
  std::string text = "<section><h2>Notes</h2><ul>\n";
  for (const std::string& n : page.notes) text += fmt::format("<li>{}</li>\n", escaped(n));
  return text + "</ul></section>\n";
}

std::string commands_section(const report_page& page) {
  std::string text = "<section><h2>The same numbers again</h2>\n";
  for (const report_command& c : page.commands) {
    const std::string whole = fmt::format("<pre>{}</pre>", escaped(c.text));
    text += c.shortened.empty() ? whole + "\n" : folded(fmt::format("<code>{}</code>", escaped(c.shortened)), whole);
  }
  return text + "</section>\n";
}

}  // namespace

std::string html_of(const report_page& page) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">";
  text += fmt::format("<title>{}: gradients in {}</title><style>{}</style></head><body>\n", escaped(page.input),
                      escaped(page.format_name), style);
  text += fmt::format("<h1>Gradients in {}</h1><p class=\"soft\">{}: {}, {}</p>\n", escaped(page.format_name),
                      escaped(page.input), count_text(page.steps, "step"), count_text(page.tensors.size(), "tensor"));
  if (!page.first.happened.empty()) text += summary_section(page);
  text += notes_section(page);
  text += window_section(page);
  text += scale_section(page);
  text += loss_section(page);
  text += norm_section(page);
  if (!page.findings.empty()) text += findings_section(page);
  if (!page.matrix.rows.empty())
    text += fmt::format(
        "<section><h2>Formats by group of tensors</h2>\n<p>Share of nonzero gradients that underflow without a "
        "loss scale.</p>{}</section>\n",
        html_table(page.matrix));
  return text + commands_section(page) + "</body></html>\n";
}

}  // namespace ulp
