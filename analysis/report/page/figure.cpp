#include "figure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <ulp/report/page/figures.hpp>
#include <utility>

#include "html_parts.hpp"
#include "style.hpp"
#include "typeset.hpp"

namespace ulp {
namespace {

figure scale_with_legend(const report_page& page) {
  if (is_single_step(page)) return {};
  figure f = scale_figure(page.replays.front());
  f.legend = scale_legend({page.replays.front()});
  return f;
}

figure first_window(const report_page& page) { return window_figure(page, page.replays.front()); }

struct named_figure {
  std::string_view name;
  std::string_view title;
  figure (*draw)(const report_page& page);
  std::string_view lacking;  // what is said where there is nothing to draw, though there are steps
};

constexpr std::array all_figures{
    named_figure{"window", "What the format sees of the gradients", first_window,
                 "no gradient that is counted has a value other than zero"},
    named_figure{"scale", "The loss scale, replayed", scale_with_legend,
                 "the policy has no loss scale that could be drawn"},
    named_figure{"layers", "Underflow by tensor and step", loss_figure,
                 "no tensor loses anything to underflow in this format and policy"},
    named_figure{"clipping", "The norm of the gradients", norm_figure, "the norm of the gradients is not known"},
    named_figure{"logged", "What the run logged", logged_figure,
                 "loss, learning rate, norm and loss scale were not logged"}};

const named_figure& figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(all_figures, name, &named_figure::name);
  if (found == all_figures.end())
    throw std::invalid_argument(fmt::format("unknown view '{}': one of {}", name, fmt::join(figure_names(), ", ")));
  return *found;
}

// The rules of pictures, for those of this class alone, and without variables, which not every program knows.
constexpr std::string_view class_name = "ulpscope-figure";

std::string own_style() {
  std::string style;
  const std::string_view all = picture_style;
  constexpr std::string_view element = "svg";
  constexpr std::string_view variable = "var(--";
  for (std::size_t at = 0; at < all.size();) {
    const bool begins_rule = at > 0 && (all[at - 1] == '\n' || all[at - 1] == '}');
    if (begins_rule && all.substr(at).starts_with(element)) {
      style += fmt::format(".{}", class_name);
      at += element.size();
    } else if (all.substr(at).starts_with(variable)) {
      const std::size_t end = all.find(')', at);
      style += light_colour(all.substr(at + variable.size(), end - at - variable.size()));
      at = end + 1;
    } else {
      style += all[at++];
    }
  }
  return style;
}

// Entries from left to right, in as many lines as they need.
class legend {
 public:
  explicit legend(double top) : y_(top) {}

  void add(const legend_key& key) {
    constexpr double of_a_letter = 7;
    const double width = text_at + of_a_letter * static_cast<double>(key.text.size()) + gap;
    if (x_ > left && x_ + width > drawing_width) {
      x_ = left;
      y_ += line_height;
    }
    body_ += fmt::format(R"g(<g transform="translate({:.0f},{:.0f})">{}<text x="{:.0f}" y="12">{}</text></g>)g", x_, y_,
                         sample_of(key), text_at, escaped(key.text));
    x_ += width;
  }
  [[nodiscard]] const std::string& body() const noexcept { return body_; }
  [[nodiscard]] double foot() const noexcept { return body_.empty() ? y_ : y_ + line_height; }

 private:
  static constexpr double left = 8;
  static constexpr double gap = 18;
  static constexpr double text_at = 32;
  static constexpr double line_height = 20;

  static std::string sample_of(const legend_key& key) {
    if (!key.swatch.empty()) return key.swatch;
    const char* const dashes = key.line == "dashed" ? "6 4" : key.line == "dotted" ? "2 3" : "none";
    return fmt::format(R"(<path style="stroke:{};stroke-width:2;stroke-dasharray:{}" d="M0,8H26"/>)",
                       light_colour(key.colour), dashes);
  }

  double x_ = left;
  double y_;
  std::string body_;
};

}  // namespace

legend_key line_key(std::string colour, std::string line, std::string text) {
  return {.text = std::move(text), .colour = std::move(colour), .line = std::move(line), .swatch = {}};
}

legend_key swatch_key(std::string swatch, std::string text) {
  return {.text = std::move(text), .colour = {}, .line = {}, .swatch = std::move(swatch)};
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const named_figure& f : all_figures) names.emplace_back(f.name);
  return names;
}

void check_figure_name(std::string_view name) { static_cast<void>(figure_named(name)); }

std::string figure_of(const report_page& page, std::string_view name) {
  const named_figure& wanted = figure_named(name);
  const figure f = wanted.draw(page);
  if (f.empty())
    throw std::invalid_argument(fmt::format(
        "{}: has nothing to draw in '{}': {}", page.input, name,
        is_single_step(page) && name != "window" ? "it holds 1 step, and curves take several" : wanted.lacking));
  constexpr double title_height = 26;
  const std::string of_replay =
      name == "logged" ? "" : fmt::format("{} under {}, ", page.format_name, page.replays.front().name);
  const std::string title = fmt::format("{}: {}{}", wanted.title, of_replay, elided(page.input, 60));
  legend keys(title_height);
  for (const legend_key& key : f.legend) keys.add(key);
  double y = keys.foot();
  std::string drawings;
  for (const figure::part& part : f.parts) {
    drawings += part.drawn.group(part.description, y);
    y += part.drawn.whole_height();
  }
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="{0}" width="{1:.0f}" height="{2:.0f}" viewBox="0 0 {1:.0f} {2:.0f}">)"
      "<title>{3}</title><style>{4}</style>"
      R"(<rect style="fill:#fff" width="{1:.0f}" height="{2:.0f}"/><text x="8" y="17">{3}</text>{5}{6})"
      "</svg>\n",
      class_name, drawing_width, y, escaped(title), own_style(), keys.body(), drawings);
}

}  // namespace ulp
