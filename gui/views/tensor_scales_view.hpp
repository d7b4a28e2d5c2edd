// The scale of one tensor under an FP8 recipe, beside the one that would take its amax to the largest number.
#ifndef ULP_GUI_VIEWS_TENSOR_SCALES_VIEW_HPP
#define ULP_GUI_VIEWS_TENSOR_SCALES_VIEW_HPP

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
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
  [[nodiscard]] QString shown_under() const override { return QString::fromStdString(name_of(state().fp8())); }
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
    fp8_spec spec;
    std::shared_ptr<const tensor_scales> scales;
    QString failure;
  };
  static constexpr std::size_t most_kept = 4;  // the last ones shown

  [[nodiscard]] const replayed* known() const;
  [[nodiscard]] QString why_not() const;  // there is nothing to replay; empty where there is
  void set_parameters();                  // as the field has them
  // Of a tensor of the run, by name: a recording's own scales are of others.
  [[nodiscard]] std::optional<std::uint32_t> index_in_run(const std::string& name) const;
  [[nodiscard]] std::string wanted_name() const;   // of the tensor that is chosen; empty for the worst
  [[nodiscard]] std::string name_to_keep() const;  // of the tensor whose rows are needed
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
  QLineEdit* parameters_;
  QComboBox* tensor_;
  QPushButton* amax_;
  QLabel* told_;
  std::string chosen_;  // a tensor that the run does not have
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
    series_extremes live;
    std::vector<std::int64_t> saturating;  // steps, ascending
    std::vector<std::int64_t> held;
  };
  drawn_tensor drawn_;
};

}  // namespace ulp::gui

#endif
