// A sweep over the parameters of the policy in front; a double click adds the policy to the replays.
#ifndef ULP_GUI_VIEWS_POLICIES_VIEW_HPP
#define ULP_GUI_VIEWS_POLICIES_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy_map.hpp"
#include "rows_view.hpp"
#include "viewmodel/background.hpp"
#include "viewmodel/loaded_run.hpp"

namespace ulp::gui {

class policies_view final : public rows_view {
  Q_OBJECT
 public:
  // A parameter and its values, "50,200".
  using grid_of_values = std::vector<std::pair<std::string, std::string>>;

  policies_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override { return of == restriction::kind::reading; }
  [[nodiscard]] QString legend() const override;
  // As `ulp sweep` writes it.
  [[nodiscard]] table data() const override;
  // The map over the table.
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  void start();
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;

 private:
  // What was swept, or is: around which replay of which run.
  struct swept_around {
    std::uint64_t run = 0;
    grid_of_values values;
    scenario_text base;
    QString title;
  };
  // nullopt, and a note, where what is typed is not a list of values.
  [[nodiscard]] std::optional<grid_of_values> typed();
  [[nodiscard]] swept_around around_front(grid_of_values values) const;
  // Whether the replay in front is, but for the parameters that were swept, another one.
  [[nodiscard]] bool is_of_another(const swept_around& sweep) const;
  void take(swept_around of, sweep_answer results);
  void show_values(const QString& values);
  void show_results();
  [[nodiscard]] QString why_no_regret() const;
  void say();  // what the table is, over it
  void add_replay(std::size_t policy);

  QLineEdit* values_;
  QPushButton* sweep_;
  QComboBox* metric_;
  policy_map* map_;
  background work_;
  std::optional<swept_around> running_;
  swept_around of_;
  sweep_answer results_;
  bool stale_ = false;
};

}  // namespace ulp::gui

#endif
