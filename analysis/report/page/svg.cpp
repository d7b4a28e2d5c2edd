#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/io/printable.hpp>

namespace ulp {
namespace {

constexpr double width = 960;
constexpr double right = 96;  // room for labels of levels
constexpr double top = 8;
constexpr double bottom = 26;

// Lines instead of a pattern, which would need an address; those of neighbours meet.
std::string hatched(double x, double y, double w, double h) {
  constexpr double distance = 7;
  std::string lines;
  for (double sum = std::ceil((x + y) / distance) * distance; sum < x + w + y + h; sum += distance) {
    const double from = std::max(x, sum - y - h);
    const double to = std::min(x + w, sum - y);
    if (from < to) lines += fmt::format("M{:.1f},{:.1f}L{:.1f},{:.1f}", from, sum - from, to, sum - to);
  }
  return fmt::format(R"(<rect class="missing" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", x, y, w, h) +
         (lines.empty() ? "" : fmt::format(R"(<path class="hatch" d="{}"/>)", lines));
}

// Edges are rounded, not widths, so that neighbours meet.
std::string cell_element(double x_from, double y_from, double x_to, double y_to, double strength) {
  const auto rounded = [](double x) { return std::round(10 * x) / 10; };
  const double x = rounded(x_from);
  const double y = rounded(y_from);
  return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" opacity="{:.2f}"/>)", x, y,
                     rounded(x_to) - x, rounded(y_to) - y, std::clamp(strength, 0.0, 1.0));
}

constexpr double swatch_width = 26;
constexpr double swatch_height = 14;

std::string swatch_of(const std::string& inside) {
  return fmt::format(
      R"(<svg class="swatch" viewBox="0 0 {0} {1}" aria-hidden="true">{2}<rect class="frame" x="0.5" y="0.5" width="{3}" height="{4}"/></svg>)",
      swatch_width, swatch_height, inside, swatch_width - 1, swatch_height - 1);
}

}  // namespace

std::string swatch(double strength) {
  return swatch_of(strength > 0 ? cell_element(0, 0, swatch_width, swatch_height, strength) : "");
}

std::string hatched_swatch() { return swatch_of(hatched(0, 0, swatch_width, swatch_height)); }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

drawing::drawing(std::size_t columns, double low, double high, double height, double left)
    : columns_(std::max<std::size_t>(columns, 1)),
      low_(low),
      high_(high > low ? high : low + 1),
      height_(height),
      left_(left) {
  body_ = fmt::format(R"(<rect class="frame" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", left_, top,
                      width - left_ - right, height_);
}

double drawing::x_of(double column) const noexcept {
  return left_ + (width - left_ - right) * column / static_cast<double>(columns_);
}

double drawing::y_of(double value) const noexcept {
  return top + height_ * (high_ - std::clamp(value, low_, high_)) / (high_ - low_);
}

void drawing::cell(std::size_t first, std::size_t last, double low, double high, double strength) {
  if (!(strength > 0)) return;
  body_ +=
      cell_element(x_of(static_cast<double>(first)), y_of(high), x_of(static_cast<double>(last)), y_of(low), strength);
}

void drawing::missing(std::size_t first, std::size_t last, double low, double high) {
  const double x = x_of(static_cast<double>(first));
  const double y = y_of(high);
  body_ += hatched(x, y, x_of(static_cast<double>(last)) - x, y_of(low) - y);
  has_missing_ = true;
}

void drawing::line(const std::vector<double>& values, std::string_view style) {
  std::string path;
  bool drawing_on = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= low_ && values[i] <= high_)) {
      drawing_on = false;
      continue;
    }
    path += fmt::format("{}{:.1f},{:.1f}H{:.1f}", drawing_on ? "L" : "M", x_of(static_cast<double>(i)), y_of(values[i]),
                        x_of(static_cast<double>(i + 1)));
    drawing_on = true;
  }
  if (!path.empty()) body_ += fmt::format(R"(<path class="{}" d="{}"/>)", style, path);
}

void drawing::mark(std::size_t column) {
  const double x = x_of(static_cast<double>(column) + 0.5);
  body_ += fmt::format(R"(<path class="mark" d="M{:.1f},{:.1f}V{:.1f}"/>)", x, top + height_ - 9, top + height_);
}

void drawing::level(double value, std::string_view style, std::string_view label) {
  const double y = y_of(value);
  body_ += fmt::format(R"(<path class="{}" d="M{:.1f},{:.1f}H{:.1f}"/><text x="{:.1f}" y="{:.1f}">{}</text>)", style,
                       left_, y, width - right, width - right + 4, y + 4, escaped(label));
}

void drawing::y_label(double value, std::string_view text) {
  const double y = y_of(value);
  body_ +=
      fmt::format(R"(<path class="tick" d="M{:.1f},{:.1f}h4"/><text class="right" x="{:.1f}" y="{:.1f}">{}</text>)",
                  left_ - 4, y, left_ - 7, y + 4, escaped(text));
}

void drawing::x_label(double column, std::string_view text) {
  const double x = x_of(column);
  body_ +=
      fmt::format(R"(<path class="tick" d="M{:.1f},{:.1f}v4"/><text class="middle" x="{:.1f}" y="{:.1f}">{}</text>)", x,
                  top + height_, x, top + height_ + 18, escaped(text));
}

std::string drawing::element(std::string_view title) const {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>)", width,
                     top + height_ + bottom, escaped(title), body_);
}

std::vector<double> ticks_between(double low, double high, std::size_t most) {
  std::vector<double> ticks;
  if (!(high > low) || most == 0) return ticks;
  const double rough = (high - low) / static_cast<double>(most);
  const double magnitude = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * magnitude;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * magnitude >= rough) {
      step = factor * magnitude;
      break;
    }
  for (double x = std::ceil(low / step) * step; x <= high; x += step) ticks.push_back(x);
  return ticks;
}

}  // namespace ulp
