#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

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
  for (const octave_counts& c : page.octaves.columns())
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
  const auto& columns = page.octaves.columns();
  drawing d(columns.size(), range.low, range.high, std::clamp(6.0 * (range.high - range.low), 240.0, 520.0));

  double greatest = 1;
  for (const octave_counts& c : columns)
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
  d.line(over, "over");
  d.line(normal, "normal");
  d.line(zero, "zero");
  for (const double t : ticks_between(range.low, range.high, 10)) d.y_label(t, log2_label(t));
  label_steps(d, page.octaves.spans());
  return d.element(
      fmt::format("gradients by magnitude and step, with the limits of {} under {}", page.format_name, replay.name));
}

}  // namespace

std::string window_section(const report_page& page) {
  std::string text = fmt::format("<section><h2>What {} sees of the gradients</h2>\n", escaped(page.format_name));
  text +=
      "<p>How many gradients there are in each octave (darker: more, on a logarithmic scale), and the limits of the "
      "format, "
      "which move with the loss scale: what lies above the upper line overflows, what lies below the lower one becomes "
      "zero.</p>";
  text += "<p>" + key_of("over", "solid", "overflow") + key_of("normal", "dashed", "smallest normal number") +
          key_of("zero", "solid", "smallest result above zero") + "</p>";
  for (const report_replay& r : page.replays)
    text += fmt::format("<h3>{} <span class=\"soft\">{}</span></h3>{}\n", escaped(r.name), escaped(r.parameters),
                        window_picture(page, r));
  table numbers;
  numbers.columns = {
      {"", "steps"}, {"", "gradients", false, true}, {"", "zeros", false, true}, {"", "middle octave", false, true}};
  const std::size_t every = std::max<std::size_t>(1, page.octaves.columns().size() / 24);
  for (std::size_t i = 0; i < page.octaves.columns().size(); i += every) {
    const octave_counts& c = page.octaves.columns()[i];
    double total = 0;
    for (const auto& [k, n] : c.by_exponent) total += n;
    double seen = 0;
    int middle = 0;
    for (const auto& [k, n] : c.by_exponent) {
      seen += n;
      middle = k;
      if (seen >= total / 2) break;
    }
    const auto whole = [](double n) {
      return count_range{static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(n)};
    };
    numbers.rows.push_back({steps_of(page.octaves.spans()[i]), whole(total + c.zeros), whole(c.zeros),
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
  const std::size_t rows = std::min(order.size(), most);
  constexpr double row_height = 17;
  drawing d(columns.size(), 0, static_cast<double>(rows), row_height * static_cast<double>(rows), 230);
  table numbers;
  numbers.columns = {{"", "tensor"}, {"", "underflow", false, true}, {"", "of nonzero", false, true}};
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t tensor = order[r];
    const auto y = static_cast<double>(rows - r);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (tensor >= columns[i].by_tensor.size()) continue;
      const double s = share(columns[i].by_tensor[tensor]);
      // From 0.01 % on; all lost is darkest.
      if (s > 0) d.cell(i, i + 1, y - 1, y, std::clamp((std::log10(s) + 4) / 4, 0.04, 1.0));
    }
    std::string name = page.tensors[tensor].name;
    constexpr std::size_t longest = 32;
    if (name.size() > longest) name = "..." + name.substr(name.size() - longest + 3);
    d.y_label(y - 0.5, name);
  }
  for (const std::size_t tensor : order)
    numbers.rows.push_back(
        {page.tensors[tensor].name, fmt::format("{:.0f}", total[tensor].underflow), share_text(share(total[tensor]))});
  label_steps(d, page.losses.spans());
  return fmt::format(
      "<section><h2>Underflow by tensor and step</h2>\n<p>Under {}, the share of nonzero gradients that become "
      "zero, from 0.01 % (lightest) to all{}.</p>\n{}{}</section>\n",
      escaped(page.replays.front().name),
      rows < order.size() ? fmt::format("; the {} tensors of {} that lose most", rows, order.size()) : "",
      d.element("underflow by tensor and step"), folded("the numbers", html_table(numbers)));
}

}  // namespace ulp
