// The exponents of the gradients at the cursor, with the bands of the format: what is lost at this step, at any scale.
#ifndef ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP
#define ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP

#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <cstdint>

#include "chart_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

class exponents_view final : public chart_view {
  Q_OBJECT
 public:
  exponents_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;
  void refresh(view_state::parts what) override;
  void draw_beside(QPainter& to, const QRectF& room, const theme& colours) override;

 private:
  // Finds what is shown: the cursor's step, or all columns in the range. Where columns hold several steps that of the
  // cursor is shown until the step itself has been read.
  void count();
  // The same place of the run that others are compared with; empty where that is this one.
  [[nodiscard]] binade_counts compared() const;
  [[nodiscard]] bool shows_column() const;

  QSlider* slider_;
  QLabel* scale_;
  QPushButton* whole_;
  QLabel* shares_;
  QWidget* rulers_ = nullptr;
  tensor_tables tables_;
  binade_counts binades_;
  binade_counts compared_;
  QString span_;  // of which steps
  background reader_;
  std::uint64_t exact_run_ = 0;  // the id of that of which exact_ is
  std::int64_t exact_step_ = 0;
  tensor_tables exact_;
};

}  // namespace ulp::gui

#endif
