// Tensor x step: a metric of each tensor as a heat map, the worst tensors first.
#ifndef ULP_GUI_VIEWS_LAYERS_VIEW_HPP
#define ULP_GUI_VIEWS_LAYERS_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <ulp/report/layer_metrics.hpp>

#include "step_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

class layers_view final : public step_view {
  Q_OBJECT
 public:
  layers_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString told_at(QPointF place) const override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // An answer, and the run that it is of.
  struct answered {
    std::shared_ptr<const loaded_run> run;
    layer_answer values;
  };
  // What counts it.
  [[nodiscard]] std::function<answered(const background::report&)> asked() const;
  void take(answered answer);
  [[nodiscard]] std::optional<std::size_t> row_at(double y) const;

  QComboBox* metric_;
  QLineEdit* filter_;
  QString known_filter_;  // the state's, when the field was last set
  background work_;
  std::shared_ptr<const loaded_run> answered_;
  layer_answer answer_;
  std::vector<std::uint32_t> order_;  // tensors that are shown, the worst first
};

}  // namespace ulp::gui

#endif
