// The picture of layers: a row of cells for each, its name at the left, its numbers at the right, and over all of it what is
// shown in one line of words.
#ifndef ULP_GUI_VIEWS_LAYERS_PICTURE_HPP
#define ULP_GUI_VIEWS_LAYERS_PICTURE_HPP

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plot/frame.hpp"
#include "plot/theme.hpp"
#include "viewmodel/layer_rows.hpp"

namespace ulp::gui {

struct layers_look {
  const counted_layers& counted;
  const std::vector<layer_row>& rows;
  bool is_tree = false;
  QString heading;
  step_range shown;
  std::size_t top = 0;  // the first row that is drawn
  std::optional<std::size_t> current;
  std::optional<std::uint32_t> selected;  // tensor
};

class layers_picture {
 public:
  layers_picture(const layers_look& look, const QRectF& room, const QFont& font);

  [[nodiscard]] const frame& plot() const noexcept { return plot_; }
  [[nodiscard]] std::size_t rows_that_fit() const noexcept { return fit_; }
  // The row at that height, an index into all rows.
  [[nodiscard]] std::optional<std::size_t> row_at(double y) const;
  // Whether the sign that opens and closes a module is there.
  [[nodiscard]] bool is_fold_sign(double x, std::size_t row) const;

  void draw(QPainter& to, const theme& colours) const;

 private:
  struct numbers {
    QString title;
    std::vector<QString> texts;
    double left = 0;
    double width = 0;
  };
  void choose_numbers(double room);
  // Names that do not fit lose their beginnings, as many parts as it takes, and as far as they stay apart.
  void leave_beginnings_out(double room);
  [[nodiscard]] std::string_view end_of(std::size_t row) const;
  [[nodiscard]] QString shown_label(std::size_t row) const;
  [[nodiscard]] bool has_gaps() const;
  [[nodiscard]] std::vector<legend_entry> legend(const theme& colours) const;
  [[nodiscard]] QString row_range() const;
  [[nodiscard]] QRectF label_of(std::size_t row) const;
  void draw_cells(QPainter& to, const theme& colours) const;
  void draw_label(QPainter& to, const theme& colours, std::size_t row) const;

  const layers_look look_;
  QRectF room_;
  QFont font_;
  QFontMetricsF letters_;
  double heading_height_ = 0;
  double labels_ = 60;
  std::vector<std::size_t> without_;  // parts at the beginning of each row's name; empty where all names fit
  std::size_t fit_ = 1;
  std::size_t rows_ = 0;  // that are drawn
  value_range values_;    // of those that are no shares, for the colours
  std::vector<numbers> numbers_;
  frame plot_{QRectF(), 0, 1, 0, 1};
};

// "step 506", "steps 448 to 511", "step 448 at the earliest, perhaps never", "never".
[[nodiscard]] QString first_text(const first_step& first);
// What crossing the threshold is called: "first underflow".
[[nodiscard]] QString crossing_text(layer_metric m);
// "24 of 320,000 nonzero values", of metrics that count; else empty.
[[nodiscard]] QString count_text(layer_metric m, const layer_cell& cell);

}  // namespace ulp::gui

#endif
