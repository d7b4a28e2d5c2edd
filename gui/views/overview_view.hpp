// The start page: one row a replay, and what is wrong with each in words.
#ifndef ULP_GUI_VIEWS_OVERVIEW_VIEW_HPP
#define ULP_GUI_VIEWS_OVERVIEW_VIEW_HPP

#include <QTextBrowser>

#include "rows_view.hpp"

namespace ulp::gui {

class overview_view final : public rows_view {
  Q_OBJECT
 public:
  overview_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override { return table_; }

 signals:
  void asked_for(const QString& view_key);  // a number was clicked that another view explains

 protected:
  void refresh(view_state::parts what) override;

 private:
  table table_;
  QTextBrowser* words_;
};

}  // namespace ulp::gui

#endif
