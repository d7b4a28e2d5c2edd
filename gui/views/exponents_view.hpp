// The exponents of the gradients at the cursor, with the bands of the format: what is lost at this step, at any scale.
#ifndef ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP
#define ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP

#include <QLabel>
#include <QPushButton>
#include <QSlider>

#include "chart_view.hpp"

namespace ulp::gui {

class exponents_view final : public chart_view {
  Q_OBJECT
 public:
  exponents_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] table data() const override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;
  void refresh(view_state::parts what) override;

 private:
  // The values that are shown: of the cursor's column, or of all columns in the range.
  [[nodiscard]] tensor_tables shown_tables() const;
  void count();

  QSlider* slider_;
  QLabel* scale_;
  QPushButton* whole_;
  QLabel* shares_;
  QWidget* rulers_ = nullptr;
  tensor_tables tables_;
  octave_counts octaves_;
  QString span_;  // of which steps
};

}  // namespace ulp::gui

#endif
