#include "style.hpp"

namespace ulp {

const std::string_view page_style = R"css(
:root{color-scheme:light dark;--ink:#1c1c1c;--paper:#fff;--card:#f6f7f8;--faint:#d3d5d8;--heat:#0b6e8a;--over:#b3261e;--zero:#1d4fa3;--soft:#5f6368;--normal:#c77700}
@media (prefers-color-scheme:dark){:root{--ink:#e6e6e6;--paper:#16181b;--card:#1e2125;--faint:#44484e;--heat:#55c1dd;--over:#ff8a80;--zero:#8ab4ff;--soft:#a3a8ae;--normal:#ffb74d}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:2rem auto;padding:0 1rem;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.2rem;margin:2.4rem 0 .6rem;padding-bottom:.15rem;border-bottom:1px solid var(--faint)}h3{font-size:1rem;margin:1.4rem 0 .2rem}
h3 .soft{font-weight:400}p{margin:.4rem 0;max-width:52rem}.soft{color:var(--soft)}code,pre{font:.85rem ui-monospace,monospace}pre{white-space:pre-wrap;margin:.4rem 0}
ul{margin:.3rem 0;padding-left:1.2rem;max-width:52rem}li{margin:.15rem 0}
.first{display:grid;grid-template-columns:9rem 1fr;gap:.7rem 1rem;margin:1.2rem 0 .6rem;padding:1rem 1.2rem;background:var(--card);border-left:4px solid var(--heat)}
.first.ill{border-color:var(--over)}.first dt{font-weight:600}.first dd{margin:0}.first pre{margin:.5rem 0 0;padding:.5rem .7rem;border:1px solid var(--faint);background:var(--paper)}
@media (max-width:40rem){.first{grid-template-columns:1fr;gap:.1rem}.first dd{margin-bottom:.7rem}}
.wide{overflow-x:auto;max-width:100%;margin:.4rem 0}table{border-collapse:collapse;font-size:.85rem;overflow-wrap:normal}
th,td{padding:.2rem 1rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint);white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}tr>:last-child{padding-right:.2rem}
.evidence td{white-space:normal}.evidence td:first-child,.evidence td:last-child{white-space:nowrap}.evidence th{padding-top:.6rem;font-weight:600}
.option{white-space:nowrap}details{margin:.4rem 0}summary{cursor:pointer;color:var(--soft)}details>p{margin-left:0}
.plot{overflow-x:auto;margin:.2rem 0}.plot svg{width:100%;min-width:40rem;height:auto;display:block}
.entry{display:inline-block;margin-right:1.1rem}.key{display:inline-block;width:1.6rem;height:0;border-top:2px solid;vertical-align:middle;margin-right:.35rem}
.warn{border-left:3px solid var(--over);padding-left:.6rem}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--card:#fff;--faint:#ccc;--heat:#0b6e8a;--over:#b3261e;--zero:#1d4fa3;--soft:#444;--normal:#c77700}
body{max-width:none;margin:0;font-size:11pt}.plot,h2,h3,tr,.first,.warn{break-inside:avoid}h2,h3{break-after:avoid}.plot svg{min-width:0}.wide{overflow:visible}th,td{white-space:normal}
svg rect,.key,.first{print-color-adjust:exact;-webkit-print-color-adjust:exact}.evidence::details-content,.notes::details-content{content-visibility:visible;display:block}}
)css";

const std::string_view picture_style = R"css(
svg rect{fill:var(--heat);shape-rendering:crispEdges}svg .frame{fill:none;stroke:var(--faint)}svg path{fill:none;stroke:var(--ink)}
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}svg .name{font:12px ui-monospace,monospace}svg .right{text-anchor:end}svg .middle{text-anchor:middle}svg .axis{fill:var(--soft)}
svg .over-lines{paint-order:stroke;stroke:var(--paper);stroke-width:4px}
svg .over{stroke:var(--over);stroke-width:2}svg .normal{stroke:var(--normal);stroke-width:1.5;stroke-dasharray:6 4}svg .zero{stroke:var(--zero);stroke-width:2;stroke-dasharray:2 3}
svg .halo{stroke:var(--paper);stroke-width:5;opacity:.75}
svg .missing{fill:var(--faint);opacity:.3}svg .hatch{stroke:var(--soft);stroke-width:1}svg.swatch{display:inline;width:1.65rem;height:.9rem;vertical-align:-.1rem;margin-right:.3rem}
svg .curve{stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}svg .band{fill:var(--heat);opacity:.35;stroke:none}svg .dots{stroke-width:4;stroke-linecap:round}svg .rate{stroke:var(--heat)}
svg .scale{stroke-width:2}svg .critical{stroke:var(--over);stroke-width:1.5}svg .mark{stroke:var(--over);stroke-width:2}svg .bound{stroke:var(--zero);stroke-dasharray:5 4}
)css";

std::string light_colour(std::string_view name) {
  const std::string key = "--" + std::string{name} + ":";
  const std::size_t at = page_style.find(key) + key.size();
  return std::string{page_style.substr(at, page_style.find_first_of(";}", at) - at)};
}

}  // namespace ulp
