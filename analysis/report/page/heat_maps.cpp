#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "html_parts.hpp"

namespace ulp {
namespace {

// Exponents that hold nearly all values, and the limits.
struct exponent_range {
  int low = 0;
  int high = 0;
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

// Calls draw(first, last) for each run of columns that `is` tells.
template <typename Is, typename Draw>
void for_each_run(std::size_t columns, Is is, Draw draw) {
  for (std::size_t first = 0; first < columns;) {
    std::size_t last = first;
    while (last < columns && is(last)) ++last;
    if (last > first) draw(first, last);
    first = std::max(last, first + 1);
  }
}

constexpr const char* missing_text = "no data: no finite nonzero gradient was recorded";

// With the legend, which tells what is in the picture.
std::string window_picture(const report_page& page, const report_replay& replay) {
  const format_limits limits = limits_of(page.format, page.rounding);
  exponent_range range = exponents_shown(page, limits);
  std::vector<double> over;
  std::vector<double> normal;
  std::vector<double> zero;
  for (const scale_extremes& s : replay.scales.columns()) {
    const double high = std::log2(s.greatest);
    const double low = std::log2(s.least);
    over.push_back(limits.overflow - high);
    normal.push_back(limits.normal - low);
    zero.push_back(limits.nonzero - low);
    if (std::isfinite(over.back())) range.high = std::max(range.high, static_cast<int>(std::ceil(over.back())) + 1);
    if (std::isfinite(zero.back())) range.low = std::min(range.low, static_cast<int>(std::floor(zero.back())) - 1);
  }
  constexpr int widest = 160;
  range.high = std::min(range.high, range.low + widest);
  const auto& columns = page.binades.columns();
  drawing d(columns.size(), range.low, range.high, std::clamp(6.0 * (range.high - range.low), 240.0, 520.0));

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
  for_each_run(
      columns.size(), [&](std::size_t i) { return columns[i].by_exponent.empty(); },
      [&](std::size_t first, std::size_t last) { d.missing(first, last, range.low, range.high); });
  for (const auto* const limit : {&over, &normal, &zero}) d.line(*limit, "halo");
  d.line(over, "over");
  d.line(normal, "normal");
  d.line(zero, "zero");
  for (const double t : ticks_between(range.low, range.high, 10)) d.y_label(t, log2_label(t));
  label_steps(d, page.binades.spans());
  const std::string keys = key_of("over", "solid", "overflow") + key_of("normal", "dashed", "smallest normal number") +
                           key_of("zero", "dotted", "smallest result above zero") +
                           (d.has_missing() ? key_of(hatched_swatch(), missing_text) : "");
  return fmt::format("<p>{}</p>{}", keys,
                     d.element(fmt::format("gradients by magnitude and step, with the limits of {} under {}",
                                           page.format_name, replay.name)));
}

}  // namespace

std::string window_section(const report_page& page) {
  const auto holds_some = [](const binade_counts& c) { return !c.by_exponent.empty(); };
  if (std::ranges::none_of(page.binades.columns(), holds_some)) return "";
  std::string text = fmt::format("<section><h2>What {} sees of the gradients</h2>\n", escaped(page.format_name));
  text +=
      "<p>The number of gradients in each binade (stronger: more, on a logarithmic scale), and the limits of the "
      "format, which move with the loss scale: values above the upper line overflow, values below the lower one become "
      "zero.";
  if (std::ranges::any_of(page.binades.columns(), [](const binade_counts& c) { return c.maybe_zeros > 0; }))
    text +=
        " The input has buckets: their values are spread evenly over the binades they cover. Buckets that hold zero "
        "are not drawn; their values are counted below as possible zeros.";
  text += "</p>";
  for (const report_replay& r : page.replays)
    text += fmt::format("<h3>{} <span class=\"soft\">{}</span></h3>{}\n", escaped(r.name), escaped(r.parameters),
                        window_picture(page, r));
  table numbers;
  numbers.columns = {{"", "steps"},
                     {"", "gradients", alignment::right},
                     {"", "zeros", alignment::right},
                     {"", "not finite", alignment::right},
                     {"", "middle binade", alignment::right}};
  const std::size_t every = std::max<std::size_t>(1, page.binades.columns().size() / 24);
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
                            total > 0 ? log2_label(middle) : std::string{"-"}});
  }
  return text + folded("the numbers", html_table(numbers)) + "</section>\n";
}

std::string loss_section(const report_page& page) {
  constexpr std::size_t most = 30;
  const auto& columns = page.losses.columns();
  std::vector<tensor_losses::loss> total(page.tensors.size());
  for (const tensor_losses& c : columns)
    for (std::size_t i = 0; i < c.by_tensor.size(); ++i) {
      total[i].underflow += c.by_tensor[i].underflow;
      total[i].nonzero += c.by_tensor[i].nonzero;
    }
  const auto share = [](const tensor_losses::loss& l) { return l.nonzero > 0 ? l.underflow / l.nonzero : 0; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < total.size(); ++i)
    if (total[i].nonzero > 0) order.push_back(i);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair{share(total[b]), a} < std::pair{share(total[a]), b};
  });
  if (order.empty()) return "";
  const std::string title = "<section><h2>Underflow by tensor and step</h2>\n";
  const std::string policy = escaped(page.replays.front().name);
  if (share(total[order.front()]) == 0)
    return title + fmt::format("<p>Under {} no gradient becomes zero.</p></section>\n", policy);
  const std::size_t rows = std::min(order.size(), most);
  constexpr double row_height = 17;
  // From 0.01 % on; all lost is strongest. Any loss can be told from none.
  const auto strength = [](double s) { return std::clamp(1 + 0.21 * std::log10(s), 0.16, 1.0); };
  drawing d(columns.size(), 0, static_cast<double>(rows), row_height * static_cast<double>(rows), 230);
  table numbers;
  numbers.columns = {{"", "tensor"}, {"", "underflow", alignment::right}, {"", "of nonzero", alignment::right}};
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t tensor = order[r];
    const auto y = static_cast<double>(rows - r);
    const auto in_column = [&](std::size_t i) {
      return tensor < columns[i].by_tensor.size() ? columns[i].by_tensor[tensor] : tensor_losses::loss{};
    };
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (const double s = share(in_column(i)); s > 0) d.cell(i, i + 1, y - 1, y, strength(s));
    for_each_run(
        columns.size(), [&](std::size_t i) { return in_column(i).nonzero == 0; },
        [&](std::size_t first, std::size_t last) { d.missing(first, last, y - 1, y); });
    std::string name = page.tensors[tensor].name;
    constexpr std::size_t longest = 32;
    if (name.size() > longest) name = "..." + name.substr(name.size() - longest + 3);
    d.y_label(y - 0.5, name);
  }
  for (const std::size_t tensor : order)
    numbers.rows.push_back(
        {page.tensors[tensor].name, fmt::format("{:.0f}", total[tensor].underflow), share_text(share(total[tensor]))});
  label_steps(d, page.losses.spans());
  std::string keys = key_of(swatch(0), "nothing lost");
  for (const auto& [s, text] : {std::pair{1e-4, "up to 0.01 %"}, {1e-2, "1 %"}, {1.0, "all"}})
    keys += key_of(swatch(strength(s)), text);
  if (d.has_missing()) keys += key_of(hatched_swatch(), missing_text);
  return title +
         fmt::format(
             "<p>Under {}, the share of nonzero gradients that become zero{}.</p><p>{}</p>\n{}{}</section>\n", policy,
             rows < order.size() ? fmt::format("; the {} tensors of {} that lose most", rows, order.size()) : "", keys,
             d.element("underflow by tensor and step"), folded("the numbers", html_table(numbers)));
}

}  // namespace ulp
