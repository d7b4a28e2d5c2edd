// The scale of one tensor under an FP8 recipe, beside the one that would take its amax to the largest number.
#ifndef ULP_GUI_VIEWS_TENSOR_SCALES_VIEW_HPP
#define ULP_GUI_VIEWS_TENSOR_SCALES_VIEW_HPP

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chart_view.hpp"
#include "stepped.hpp"
#include "viewmodel/background.hpp"
#include "viewmodel/tensor_scales.hpp"

namespace ulp::gui {

class tensor_scales_view final : public chart_view {
  Q_OBJECT
 public:
  tensor_scales_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override { return of != restriction::kind::tried_scale; }
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] QString shown_under() const override { return QString::fromStdString(state().fp8_recipe()); }
  [[nodiscard]] table data() const override;
  [[nodiscard]] std::vector<std::string> notes() const override;
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString fill(const theme& colours) override;
  [[nodiscard]] QString words() const override { return told_->text(); }

 private:
  // What was replayed, or why it could not be.
  struct replayed {
    std::uint64_t run = 0;
    std::string recipe;
    std::shared_ptr<const tensor_scales> scales;
    QString failure;
  };
  static constexpr std::size_t most_kept = 4;  // the last ones shown

  [[nodiscard]] const replayed* known() const;
  // Of those that are known: the one that all views look at, else the worst that the filter leaves; nullopt where it is not cast,
  // or none is left.
  [[nodiscard]] std::optional<std::uint32_t> shown_tensor(const tensor_scales& all) const;
  [[nodiscard]] QString why_not_cast(const tensor_scales& all) const;
  // Whether there is a run to replay, and the rows that are wanted are not there.
  [[nodiscard]] bool lacks_rows() const;
  void start();
  void take(replayed all);
  void offer_tensors();
  void look_at(const std::shared_ptr<const tensor_scales>& all, std::uint32_t tensor);
  [[nodiscard]] QString told_of(std::int64_t step) const;
  [[nodiscard]] QString summary() const;

  QComboBox* recipe_;
  QComboBox* tensor_;
  QPushButton* amax_;
  QLabel* told_;
  background work_;
  replayed running_;  // without a result
  double share_ = 0;
  std::vector<replayed> kept_;
  // What is drawn.
  struct drawn_tensor {
    std::shared_ptr<const tensor_scales> of;
    std::uint32_t tensor = 0;
    const std::vector<scaled_step>* rows = nullptr;
    series_extremes used;  // log2, as are those that follow
    series_extremes ideal;
    series_extremes amax;
    std::vector<std::int64_t> saturating;  // steps, ascending
    std::vector<std::int64_t> held;
  };
  drawn_tensor drawn_;
};

}  // namespace ulp::gui

#endif
