// A series over the steps of a replay as a line that is as fine as there is room.
#ifndef ULP_GUI_VIEWS_STEPPED_HPP
#define ULP_GUI_VIEWS_STEPPED_HPP

#include <QPointF>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

// From edges[i] to edges[i + 1] the series lies between the extremes of pieces[i], which are NaN where there is none.
struct stepped_line {
  std::vector<double> edges;
  std::vector<extremes> pieces;
  bool dense = false;  // pieces hold several steps

  void add(double edge, const extremes& e) {
    // A level line is one piece.
    const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (!pieces.empty() && same(e.least, e.greatest) && same(pieces.back().least, e.least) &&
        same(pieces.back().greatest, e.greatest))
      return;
    edges.push_back(edge);
    pieces.push_back(e);
  }
  // Up and down at nearly every pixel.
  [[nodiscard]] bool is_noise() const { return pieces.size() > 256; }
  [[nodiscard]] extremes range() const {
    extremes all;
    for (const extremes& e : pieces) all.merge(e);
    return all;
  }
};

// The series has a value for each of `size` ascending steps: `step_of` and `of` give the step and the value of an index,
// `known` the extremes. Where there are more of them than `width` pixels, a piece for every two pixels.
template <typename StepOf, typename Of>
[[nodiscard]] stepped_line stepped(std::size_t size, StepOf step_of, const series_extremes& known, step_range range,
                                   double width, Of of) {
  const auto after = [&](std::int64_t step) {
    const auto all = std::views::iota(std::size_t{0}, size);
    const auto at = std::ranges::partition_point(all, [&](std::size_t i) { return step_of(i) <= step; });
    return static_cast<std::size_t>(at - all.begin());
  };
  const std::size_t last = after(range.last);
  std::size_t first = after(range.first);
  // A step holds until the next: the one before the range reaches into it.
  if (first > 0 && first < size) --first;
  if (first == size && first > 0 && step_of(size - 1) == range.first) --first;
  stepped_line line;
  const std::size_t n = last - first;
  const auto pixels = static_cast<std::size_t>(std::max(16.0, width));
  const auto edge = [&](std::size_t i) { return static_cast<double>(std::max(step_of(i), range.first)); };
  line.dense = n > pixels;
  const std::size_t pieces = line.dense ? pixels / 2 : n;
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::size_t from = first + n * p / pieces;
    const std::size_t to = first + n * (p + 1) / pieces;
    line.add(edge(from), known.between(from, to, of));
  }
  if (n == 0)
    line.edges.push_back(static_cast<double>(range.first));
  else if (last < size)
    line.edges.push_back(static_cast<double>(std::min(step_of(last), range.last + 1)));
  else
    line.edges.push_back(edge(last - 1) + 1);
  return line;
}

// Of the steps of a replay.
template <typename Of>
[[nodiscard]] stepped_line stepped(const std::vector<replay_step>& steps, const series_extremes& known,
                                   step_range range, double width, Of of) {
  return stepped(
      steps.size(), [&](std::size_t i) { return steps[i].step; }, known, range, width,
      [&](std::size_t i) { return of(steps[i]); });
}

// Its corners, a gap where there is none. All parts are level or upright: what a piece spans is at its left edge, and it ends
// on the side of the next one.
[[nodiscard]] inline std::vector<QPointF> points_of(const stepped_line& line) {
  std::vector<QPointF> points;
  for (std::size_t i = 0; i < line.pieces.size(); ++i) {
    const extremes& e = line.pieces[i];
    double end = e.greatest;
    if (i + 1 < line.pieces.size() && line.pieces[i + 1].least + line.pieces[i + 1].greatest < e.least + e.greatest)
      end = e.least;
    if (e.least != e.greatest) points.emplace_back(line.edges[i], e.least + e.greatest - end);
    points.emplace_back(line.edges[i], end);
    points.emplace_back(line.edges[i + 1], end);
  }
  return points;
}

// Of ascending steps those in the range, one a pixel at most.
[[nodiscard]] inline std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& steps,
                                                       view_state::step_range range, double width) {
  const double pixel = static_cast<double>(range.last + 1 - range.first) / std::max(16.0, width);
  std::vector<std::int64_t> some;
  for (auto at = std::ranges::lower_bound(steps, range.first); at != steps.end() && *at <= range.last;) {
    some.push_back(*at);
    const auto next = *at + std::max<std::int64_t>(1, std::llround(pixel));
    at = std::lower_bound(at, steps.end(), next);
  }
  return some;
}

}  // namespace ulp::gui

#endif
