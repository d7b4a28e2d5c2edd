// The limits of the format over the steps shown, as the loss scale of each replay moves them: lines over the gradients,
// named where they are drawn, and marked at the edge of the picture where they leave it.
#ifndef ULP_GUI_VIEWS_WINDOW_LIMITS_HPP
#define ULP_GUI_VIEWS_WINDOW_LIMITS_HPP

#include <QPainter>
#include <cstddef>
#include <vector>

#include <ulp/report/pictures/exponent_fit.hpp>

#include "plot/frame.hpp"
#include "plot/plot_labels.hpp"
#include "stepped.hpp"

namespace ulp::gui {

class window_limits {
 public:
  // `width` in pixels. Of replays whose result is there.
  window_limits(const view_state& state, double width);

  // What a picture is fitted to.
  [[nodiscard]] std::vector<std::vector<limit_stretch>> stretches() const;
  // What is drawn beside the gradients.
  [[nodiscard]] std::vector<legend_entry> legend(const theme& colours) const;
  // The rows of ticks at the top that are skipped steps, in pixels.
  [[nodiscard]] double ticks_height() const;
  // Lines and skipped steps, then the names of the lines of the replay in front.
  void draw(QPainter& to, const frame& f, const theme& colours, plot_labels& labels) const;

 private:
  enum class limit : std::uint8_t { zero, normal, overflow };
  struct line {
    limit what;
    std::size_t replay;
    stepped_line at;  // log2 of the gradient; infinite where the scale is 0 or infinite
  };
  void draw_skips(QPainter& to, const frame& f, const theme& colours, plot_labels& labels) const;
  void draw_tried(QPainter& to, const frame& f, const theme& colours) const;
  void draw_outside(QPainter& to, const frame& f, const theme& colours, plot_labels& labels, bool above) const;
  void draw_name(const line& of, const frame& f, const QColor& colour, plot_labels& labels) const;
  static QString name_of(limit what);
  static QString text_of(limit what, const extremes& at);

  const view_state& state_;
  std::vector<line> lines_;                         // the front replay's are last
  std::vector<std::vector<std::int64_t>> skipped_;  // by replay, one a pixel at most
};

// "2^-25", "2^16.00" where it is rounded, "[2^-25, 2^-20]" over a range.
[[nodiscard]] QString exponent_text(const extremes& log2);

}  // namespace ulp::gui

#endif
