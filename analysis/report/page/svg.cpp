#include "svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/io/bytes/printable.hpp>

#include "typeset.hpp"

namespace ulp {
namespace {

constexpr double width = drawing_width;
constexpr double left = 178;  // room for names of tensors
constexpr double right = 34;  // for half of a label
constexpr double top = 8;
constexpr double bottom = 26;  // with labels
constexpr double small_bottom = 8;
constexpr double mark_height = 7;
constexpr double mark_room = 10;
constexpr std::size_t longest_name = 23;  // of fixed width

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

std::string framed(const std::string& inside) {
  return fmt::format(R"({}<rect class="frame" x="0.5" y="0.5" width="{}" height="{}"/>)", inside, swatch_width - 1,
                     swatch_height - 1);
}

}  // namespace

std::string swatch(double strength) {
  return framed(strength > 0 ? cell_element(0, 0, swatch_width, swatch_height, strength) : "");
}

std::string hatched_swatch() { return framed(hatched(0, 0, swatch_width, swatch_height)); }

// Marks within the frame, which they would cut.
std::string mark_swatch() {
  return framed(fmt::format(R"(<path class="mark" d="M{0},{2}V{3}M{1},{2}V{3}"/>)", std::round(swatch_width / 3),
                            std::round(2 * swatch_width / 3), 3, swatch_height - 3));
}

std::string swatch_element(const std::string& sample) {
  return fmt::format(R"(<svg class="swatch" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>)", swatch_width,
                     swatch_height, sample);
}

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

drawing::drawing(std::size_t columns, double low, double high, double height)
    : columns_(std::max<std::size_t>(columns, 1)), low_(low), high_(high > low ? high : low + 1), height_(height) {
  body_ = fmt::format(R"(<rect class="frame" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", left, top,
                      width - left - right, height_);
}

double drawing::x_of(double column) const noexcept {
  return left + (width - left - right) * column / static_cast<double>(columns_);
}

double drawing::y_of(double value) const noexcept {
  return top + height_ * (high_ - std::clamp(value, low_, high_)) / (high_ - low_);
}

double drawing::foot() const noexcept { return top + height_ + (has_marks_ ? mark_room : 0); }

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

void drawing::curve(const std::vector<double>& values, const std::vector<bool>& breaks, std::string_view style) {
  std::string path;
  std::string dots;
  std::string point;  // that no line leads to yet
  // As a line of no length, with round ends.
  const auto leave_point = [&] {
    if (!point.empty()) dots += point + "h0";
    point.clear();
  };
  bool drawing_on = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < breaks.size() && breaks[i]) {
      leave_point();
      drawing_on = false;
    }
    if (!std::isfinite(values[i])) continue;
    const std::string at = fmt::format("{:.1f},{:.1f}", x_of(static_cast<double>(i) + 0.5), y_of(values[i]));
    if (drawing_on) path += point + "L" + at;
    point = drawing_on ? "" : "M" + at;
    drawing_on = true;
  }
  leave_point();
  if (!path.empty()) body_ += fmt::format(R"(<path class="curve {}" d="{}"/>)", style, path);
  if (!dots.empty()) body_ += fmt::format(R"(<path class="dots {}" d="{}"/>)", style, dots);
}

void drawing::band(const std::vector<double>& low, const std::vector<double>& high) {
  std::string path;
  for (std::size_t i = 0; i < low.size(); ++i)
    if (high[i] > low[i])
      path += fmt::format("M{:.1f},{:.1f}V{:.1f}H{:.1f}V{:.1f}Z", x_of(static_cast<double>(i)), y_of(low[i]),
                          y_of(high[i]), x_of(static_cast<double>(i + 1)), y_of(low[i]));
  if (!path.empty()) body_ += fmt::format(R"(<path class="band" d="{}"/>)", path);
}

void drawing::marks(const std::vector<bool>& at) {
  std::string path;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (at[i])
      path += fmt::format("M{:.1f},{:.1f}v{:.1f}", x_of(static_cast<double>(i) + 0.5), top + height_ + 2, mark_height);
  if (path.empty()) return;
  has_marks_ = true;
  body_ += fmt::format(R"(<path class="mark" d="{}"/>)", path);
}

void drawing::limit(double column, std::string_view style) {
  if (!(column >= 0 && column <= static_cast<double>(columns_))) return;
  body_ += fmt::format(R"(<path class="{}" d="M{:.1f},{:.1f}V{:.1f}"/>)", style, x_of(column), top, top + height_);
}

void drawing::level(double value, std::string_view style, std::string_view label) {
  const double y = y_of(value);
  body_ += fmt::format(
      R"(<path class="{}" d="M{:.1f},{:.1f}H{:.1f}"/><text class="right over-lines" x="{:.1f}" y="{:.1f}">{}</text>)",
      style, left, y, width - right, width - right - 4, y - 4, escaped(label));
}

void drawing::y_ticks(const std::vector<tick>& ticks) {
  for (const tick& t : ticks) {
    const double y = y_of(t.at);
    body_ +=
        fmt::format(R"(<path class="tick" d="M{:.1f},{:.1f}h4"/><text class="right" x="{:.1f}" y="{:.1f}">{}</text>)",
                    left - 4, y, left - 7, y + 4, escaped(t.label));
  }
}

void drawing::row_names(const std::vector<std::string>& names) {
  const std::vector<std::string> shown = elided(names, longest_name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_cut = shown[i] != printable(names[i]);
    body_ += fmt::format(R"(<text class="right name" x="{:.1f}" y="{:.1f}">{}{}</text>)", left - 7,
                         y_of(high_ - static_cast<double>(i) - 0.5) + 4,
                         is_cut ? fmt::format("<title>{}</title>", escaped(names[i])) : "", escaped(shown[i]));
  }
}

void drawing::x_ticks(const std::vector<tick>& ticks, std::string_view unit) {
  has_x_ticks_ = true;
  for (const tick& t : ticks)
    body_ += fmt::format(
        R"(<path class="tick" d="M{0:.1f},{1:.1f}v4"/><text class="middle" x="{0:.1f}" y="{2:.1f}">{3}</text>)",
        x_of(t.at), foot(), foot() + 18, escaped(t.label));
  body_ +=
      fmt::format(R"(<text class="right axis" x="{:.1f}" y="{:.1f}">{}</text>)", left - 40, foot() + 18, escaped(unit));
}

void drawing::title(std::string_view text) {
  body_ += fmt::format(R"(<text class="axis" x="0" y="{:.1f}">{}</text>)", top + 12, escaped(text));
}

double drawing::whole_height() const noexcept { return foot() + (has_x_ticks_ ? bottom : small_bottom); }

std::string drawing::element(std::string_view description) const {
  return fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}</svg>)", width, whole_height(),
                     escaped(description), body_);
}

std::string drawing::group(std::string_view description, double y) const {
  return fmt::format(R"x(<g transform="translate(0,{:.0f})" role="img" aria-label="{}">{}</g>)x", y,
                     escaped(description), body_);
}

}  // namespace ulp
