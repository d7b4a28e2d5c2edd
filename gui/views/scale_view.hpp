// The loss scale of every replay over the steps.
#ifndef ULP_GUI_VIEWS_SCALE_VIEW_HPP
#define ULP_GUI_VIEWS_SCALE_VIEW_HPP

#include <QLabel>
#include <QPushButton>
#include <array>
#include <memory>

#include <ulp/report/pictures/logged_series.hpp>

#include "chart_view.hpp"
#include "stepped.hpp"

namespace ulp::gui {

class scale_view final : public chart_view {
  Q_OBJECT
 public:
  scale_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override {
    return of != restriction::kind::tensor && of != restriction::kind::filter;
  }
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;

 private:
  // What the run logged, found anew where it is another.
  void look_at(const std::shared_ptr<const loaded_run>& run);
  // What each replay did at a step.
  [[nodiscard]] QString told_of(std::int64_t step) const;
  [[nodiscard]] stepped_line scales_of(const drawn_replay& result) const;
  [[nodiscard]] stepped_line difference_of(std::size_t replay);

  QPushButton* difference_;
  QPushButton* critical_;
  QLabel* clamps_;
  std::shared_ptr<const loaded_run> of_;
  std::optional<logged_series> logged_;
  std::vector<std::int64_t> overflows_;  // that it logged
  struct difference {
    std::shared_ptr<const drawn_replay> of;
    std::shared_ptr<const drawn_replay> to;
    series_extremes between;
  };
  std::array<difference, document::most_replays> differences_;
};

}  // namespace ulp::gui

#endif
