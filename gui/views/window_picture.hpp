// Step x exponent: the gradients as a heat map, over it the format's limits as each replay's loss scale moves them, and below
// it what was logged. Drawn in any rectangle, also one that is not a view's.
#ifndef ULP_GUI_VIEWS_WINDOW_PICTURE_HPP
#define ULP_GUI_VIEWS_WINDOW_PICTURE_HPP

#include <QPainter>
#include <QRectF>
#include <QString>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <ulp/report/pictures/exponent_fit.hpp>

#include "logged_strip.hpp"
#include "plot/frame.hpp"
#include "viewmodel/view_state.hpp"
#include "window_limits.hpp"

namespace ulp::gui {

// Binades from `low` up to `high`.
struct binade_range {
  int low = 0;
  int high = 1;
  friend bool operator==(const binade_range&, const binade_range&) = default;
};

class window_picture {
 public:
  struct parts {
    bool legend = true;
    bool strip = true;
  };

  explicit window_picture(const view_state& state) : state_(state) {}

  // Something of what it shows is another.
  void refresh(view_state::parts what);
  // There are steps.
  void draw(QPainter& to, const QRectF& room, const theme& colours) { draw(to, room, colours, {true, true}); }
  void draw(QPainter& to, const QRectF& room, const theme& colours, parts shown);

  // The binades that are shown in place of those that fit the steps shown.
  void set_binades(std::optional<binade_range> to) { chosen_ = to; }
  // Those of the last picture; nullopt where it shows no gradients.
  [[nodiscard]] std::optional<binade_range> binades() const { return drawn_; }

  // All plot areas of the last picture, from top to bottom; that of the gradients is the first where there is one.
  [[nodiscard]] const std::vector<frame>& frames() const noexcept { return frames_; }
  // What is told at a place of the last picture; empty for nothing.
  [[nodiscard]] QString told_at(QPointF place) const;

  // The columns, and the gradients of the selected tensors in each.
  [[nodiscard]] const drawn_columns& columns() const noexcept { return *columns_; }
  [[nodiscard]] const std::vector<std::shared_ptr<const binade_counts>>& counts() const noexcept { return counts_; }

 private:
  void count(bool anew);
  void draw_gradients(QPainter& to, const QRectF& area, const theme& colours, const window_limits& limits);
  void draw_heat(QPainter& to, const frame& f, const theme& colours, const binade_range& shown) const;
  void draw_outliers(QPainter& to, const frame& f, const theme& colours, const binade_range& shown, double ticks,
                     plot_labels& labels) const;
  [[nodiscard]] std::size_t rows_in(double height) const;
  [[nodiscard]] std::vector<legend_entry> legend(const theme& colours, const window_limits& limits) const;
  [[nodiscard]] QString gradients_at(std::int64_t step, int exponent) const;
  [[nodiscard]] QString limits_in(const column_span& span) const;

  const view_state& state_;
  std::shared_ptr<const drawn_columns> columns_ = std::make_shared<drawn_columns>();
  std::vector<std::shared_ptr<const binade_counts>> counts_;  // by column
  std::map<int, double> all_;                                 // of all columns
  double most_ = 0;                                           // of one cell
  logged_strip strip_;
  std::optional<binade_range> chosen_;
  std::optional<binade_range> drawn_;
  std::vector<frame> frames_;
};

}  // namespace ulp::gui

#endif
