// Tensor x step: a metric of each tensor as a heat map, the worst tensors first, or as a tree of modules.
#ifndef ULP_GUI_VIEWS_LAYERS_VIEW_HPP
#define ULP_GUI_VIEWS_LAYERS_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <QScrollBar>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "layers_picture.hpp"
#include "step_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

class layers_view final : public step_view {
  Q_OBJECT
 public:
  layers_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] bool heeds(restriction::kind of) const override {
    return of != restriction::kind::tried_scale || !is_beside_replays();
  }
  [[nodiscard]] QString shown_under() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;
  // The line over the picture: what is shown, at which scale, and what is left out. Empty without one.
  [[nodiscard]] const QString& heading() const noexcept { return heading_; }

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString told_at(QPointF place) const override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // What is counted.
  struct question {
    std::shared_ptr<const drawn_columns> drawn;
    layer_question of;
    std::vector<layer_column> columns;
    QString where;  // "in float16 at the replay's scale (2^16)"
    std::optional<fp8_spec> recipe = {};
    friend bool operator==(const question&, const question&) = default;
  };
  [[nodiscard]] bool can_ask() const;
  [[nodiscard]] question asked_now() const;
  // Why no lost updates can be counted, for the user; empty where they can.
  [[nodiscard]] QString why_no_lost_updates() const;
  [[nodiscard]] bool shows_updates() const { return state().metric_of_layers() == layer_metric::lost_updates; }
  [[nodiscard]] bool shows_recipe() const { return is_of_recipe(state().metric_of_layers()); }
  // No replay of loss scaling matters.
  [[nodiscard]] bool is_beside_replays() const { return shows_updates() || shows_recipe(); }
  [[nodiscard]] layer_reading reading_now() const;
  // What was counted before of the same.
  struct counted_before {
    std::shared_ptr<const layer_updates> updates;
    std::shared_ptr<const replayed_scales> scales;
  };
  static counted_layers counted_of(const question& asked, const counted_before& known, listener& to);
  [[nodiscard]] counted_before known() const { return {updates_known(), scales_}; }
  [[nodiscard]] std::shared_ptr<const layer_updates> updates_known() const;
  void take(counted_layers counted, const QString& where);
  // What columns leave open is read: first from which step on, then the counts.
  [[nodiscard]] bool lacks_first_steps() const;
  [[nodiscard]] bool lacks_counts() const;
  void read_steps_on();
  void take(const tensor_mask& wanted, const found_steps& found);
  void take(const tensor_mask& wanted, counted_steps counted);

  void offer_metrics();
  void offer_weights_formats();
  void offer_recipes();
  [[nodiscard]] QString why_no_rows() const;
  void offer_kinds();
  [[nodiscard]] std::vector<std::uint32_t> shown_tensors() const;
  void arrange();  // the rows, of what was counted
  void lay_out();
  void picture_again();
  [[nodiscard]] QRectF room_on_screen() const;
  [[nodiscard]] layers_look look() const;
  [[nodiscard]] bool is_open(const module_row& row) const;
  void toggle(std::size_t row);
  void select(std::size_t row);
  void set_current(std::size_t row);
  [[nodiscard]] QString heading_now() const;
  [[nodiscard]] QString where_text() const;
  [[nodiscard]] QString only_text() const;  // what the controls leave
  [[nodiscard]] QString row_text(std::size_t row) const;

  QComboBox* metric_;
  QComboBox* weights_format_;
  QComboBox* recipe_;
  QComboBox* kind_;
  QPushButton* tree_;
  QLineEdit* filter_;
  QScrollBar* bar_;
  double controls_height_ = 34;
  QString known_filter_;  // the state's, when the field was last set
  background work_;
  background reading_;
  question asked_;   // last
  QString failure_;  // to count
  counted_layers counted_;
  // Counted last, and kept while other metrics are shown.
  std::uint64_t run_of_updates_ = 0;
  format format_of_updates_;
  std::shared_ptr<const layer_updates> updates_;
  std::shared_ptr<const replayed_scales> scales_;
  QString where_;  // of what was counted
  std::vector<layer_row> rows_;
  QString heading_;
  std::optional<layers_picture> picture_;  // on the screen
  std::optional<std::size_t> current_;
  std::set<std::string> toggled_;  // modules that are not as they are at first
};

}  // namespace ulp::gui

#endif
