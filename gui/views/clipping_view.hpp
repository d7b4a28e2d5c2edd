// What clipping compares with its bound over the steps, and the bound, which can be dragged.
#ifndef ULP_GUI_VIEWS_CLIPPING_VIEW_HPP
#define ULP_GUI_VIEWS_CLIPPING_VIEW_HPP

#include <QLabel>
#include <cstdint>
#include <memory>
#include <optional>

#include "chart_view.hpp"

namespace ulp::gui {

struct chart_level;

class clipping_view final : public chart_view {
  Q_OBJECT
 public:
  clipping_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override {
    return of == restriction::kind::steps || of == restriction::kind::reading;
  }
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString words() const override;

 private:
  // The scenario in front is replayed with it.
  void set_bound(double bound);
  // The bound, or one that is offered, and those that trigger in few steps.
  [[nodiscard]] std::vector<chart_level> levels(const theme& colours) const;
  // How often bounds trigger in the steps before the run was lost, by which those that are offered are chosen.
  [[nodiscard]] const clip_rates& offered() const { return before_ ? *before_ : state().front().result->rates; }
  void rate_before_loss();
  [[nodiscard]] QString rate_text(double bound) const;
  // Steps shown in which the bound that is dragged triggers.
  [[nodiscard]] std::vector<std::int64_t> steps_at(double bound) const;
  [[nodiscard]] QString told_of(std::int64_t step) const;

  QLabel* rate_;
  std::optional<double> dragged_;
  // Where the run was not lost it is empty, else the rates of this replay before this step.
  std::optional<clip_rates> before_;
  std::shared_ptr<const drawn_replay> rated_;
  std::optional<std::int64_t> rated_before_;
  std::uint64_t drawn_run_ = 0;  // the id of that in the picture; 0: none
  extremes drawn_;               // of the picture's axis
};

}  // namespace ulp::gui

#endif
