// What all views look at: the step, the range of steps, the tensors, the replay in front. Wishes are merged: however many
// setters are called, the views hear of it once, when the event loop is reached.
#ifndef ULP_GUI_VIEWMODEL_VIEW_STATE_HPP
#define ULP_GUI_VIEWMODEL_VIEW_STATE_HPP

#include <QFlags>
#include <QObject>
#include <QString>
#include <QTimer>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/report/pictures/layer_metrics.hpp>

#include "document.hpp"
#include "drawn_columns.hpp"
#include "fp8_spec.hpp"
#include "plan_spec.hpp"
#include "run_detail.hpp"

namespace ulp::gui {

class view_state : public QObject {
  Q_OBJECT
 public:
  enum part {
    run = 1,
    replays = 2,
    cursor = 4,
    range = 8,
    tensors = 16,
    scale = 32,
    columns = 64,
    lost = 128,
    metric = 256,
    recipe = 512,
    blocks = 1024,
    plans = 2048
  };
  Q_DECLARE_FLAGS(parts, part)

  using step_range = gui::step_range;

  explicit view_state(document& doc, QObject* parent = nullptr);

  [[nodiscard]] document& doc() const noexcept { return doc_; }
  // That of the replay in front.
  [[nodiscard]] const std::shared_ptr<const loaded_run>& shared_run() const noexcept { return run_; }
  [[nodiscard]] const loaded_run* current_run() const noexcept { return run_.get(); }
  [[nodiscard]] const replay_entry& front() const { return doc_.replays()[front_index()]; }
  [[nodiscard]] std::size_t front_index() const noexcept;
  void set_front(std::size_t index);
  // The replay in front becomes the one that others are compared with.
  void make_first();

  // A step of the run; the next one before where there is none of that number. Runs are aligned by step.
  [[nodiscard]] std::int64_t cursor_step() const noexcept { return cursor_; }
  [[nodiscard]] std::size_t cursor_index() const noexcept;
  // The step of the run in front that it is at; there is one.
  [[nodiscard]] std::int64_t run_step() const noexcept { return run_->picture.steps()[cursor_index()].key.step; }
  void set_cursor(std::int64_t step);
  void move_cursor(std::ptrdiff_t steps);
  void move_to_skip(int direction);  // the next skipped step of the replay in front

  [[nodiscard]] step_range shown() const noexcept { return shown_; }
  [[nodiscard]] step_range whole() const noexcept;  // of all open runs
  void set_shown(step_range range);
  // As many steps, from another one on; all of a pan is one change for undo().
  void pan_to(std::int64_t first);
  // The range and the filter as they were before the last change of either.
  void undo();
  // What is drawn of the steps shown, never null; finer columns come a moment after a range was set.
  [[nodiscard]] const std::shared_ptr<const drawn_columns>& drawn() const noexcept { return drawn_; }
  // How wide pictures over steps are, in pixels: columns are refined to about three of them, or one step.
  void set_room(int pixels);
  // As fine as they get, without waiting for the event loop. Throws input_error.
  void refine_now();
  [[nodiscard]] bool refining() const noexcept { return refiner_.running(); }

  // Searched anywhere in the names. Returns false, and changes nothing, where it has a problem.
  bool set_filter(const QString& expression);
  // Why it is not a regular expression, for the user; empty where it is one.
  [[nodiscard]] static QString problem_with_filter(const QString& expression);
  [[nodiscard]] const QString& filter() const noexcept { return filter_; }
  // One tensor alone; nullopt for all that the filter leaves.
  void set_tensor(std::optional<std::uint32_t> tensor);
  [[nodiscard]] std::optional<std::uint32_t> tensor() const noexcept { return tensor_; }
  [[nodiscard]] const tensor_mask& filtered() const noexcept { return filtered_; }
  // The one tensor, or gradients_of() the run.
  [[nodiscard]] const tensor_mask& selected() const noexcept { return selected_; }
  // What the filter, and what was said when it was opened, leaves of another run.
  [[nodiscard]] tensor_mask filtered(const loaded_run& of) const { return filtered(of, of.tensors); }
  // Likewise of tensors that it knows under other indices, or has beside those.
  [[nodiscard]] tensor_mask filtered(const loaded_run& of, const std::vector<tensor_info>& tensors) const;
  // What pictures of gradients show of it: the same, but weights and updates, which no loss scale multiplies, only where a
  // kind was given, or nothing else is left.
  [[nodiscard]] tensor_mask gradients_of(const loaded_run& of) const;

  // What Layers shows.
  [[nodiscard]] layer_metric metric_of_layers() const noexcept { return metric_; }
  void set_metric_of_layers(layer_metric m);
  // The format that weights are kept in, where lost updates are shown: the replay's unless another one was set.
  [[nodiscard]] const std::string& weights_format() const {
    return weights_format_.empty() ? front().spec.format : weights_format_;
  }
  [[nodiscard]] bool has_own_weights_format() const noexcept { return !weights_format_.empty(); }
  void set_weights_format(std::string name);  // of a format; empty: the replay's

  // Under which FP8 recipe runs are replayed: the usual one until another was set, or that.
  [[nodiscard]] const fp8_spec& fp8() const noexcept { return fp8_; }
  [[nodiscard]] bool has_own_fp8() const noexcept { return has_own_fp8_; }
  void set_fp8(fp8_spec spec);  // one that checked() gives

  // What Plan asks for.
  [[nodiscard]] const plan_spec& plan() const noexcept { return plan_; }
  void set_plan(plan_spec spec);

  // The format of blocks that Exponents shows in place of the replay's format; nullopt: none.
  [[nodiscard]] const std::optional<named_block_format>& block() const noexcept { return block_; }
  void set_block(std::optional<named_block_format> row);
  // Those that Formats compares: the usual ones until others were set, and the one that Exponents shows.
  [[nodiscard]] std::vector<named_block_format> block_rows() const;
  [[nodiscard]] const std::vector<named_block_format>& own_block_rows() const noexcept { return block_rows_; }
  void set_block_rows(std::vector<named_block_format> rows);  // none: the usual ones

  // log2 of the loss scale that is tried out; nullopt: that of the replay in front at the cursor.
  [[nodiscard]] std::optional<int> tried_scale() const noexcept { return tried_; }
  void set_tried_scale(std::optional<int> log2);
  // The one that is tried out, or the replay's at the step.
  [[nodiscard]] double scale_at(std::int64_t step) const;
  // What it is in the steps from first to last: the least and the greatest.
  [[nodiscard]] value_range scales_in(std::int64_t first, std::int64_t last) const;

  // From which step on the run in front was lost, as `ulp advise` finds it: nullopt while nobody has looked, and inside it
  // where it was not, or at once.
  [[nodiscard]] std::optional<std::optional<std::int64_t>> lost_from() const noexcept;
  void set_lost_from(std::uint64_t run, std::optional<std::int64_t> step);

 signals:
  void changed(ulp::gui::view_state::parts what);
  // What was to be refined could not be read; what is drawn stays.
  void refining_failed(const QString& reason);

 private:
  struct undo_entry {
    step_range shown;
    QString filter;
    std::optional<std::uint32_t> tensor;
  };
  void look_at_run();
  void tell(parts what);
  void draw_columns();
  [[nodiscard]] std::size_t wanted_width() const;
  void refine();
  void take(std::shared_ptr<const run_detail> detail);
  void mask();
  void remember();

  document& doc_;
  std::shared_ptr<const loaded_run> run_;
  parts pending_;
  std::size_t front_ = 0;
  std::int64_t cursor_ = 0;
  std::vector<std::string> inputs_;  // of the run that is shown
  step_range shown_;
  bool shows_whole_ = true;
  std::shared_ptr<const drawn_columns> drawn_ = std::make_shared<drawn_columns>();
  std::shared_ptr<const run_detail> detail_;
  int room_ = 1200;
  background refiner_;
  QTimer soon_;
  QString filter_;
  std::optional<std::uint32_t> tensor_;
  tensor_mask filtered_;
  tensor_mask selected_;
  layer_metric metric_ = layer_metric::underflow;
  std::string weights_format_;
  fp8_spec fp8_;
  bool has_own_fp8_ = false;
  plan_spec plan_;
  std::optional<named_block_format> block_;
  std::vector<named_block_format> block_rows_;
  std::optional<int> tried_;
  std::uint64_t looked_at_ = 0;  // the id of the run that lost_from_ is of
  std::optional<std::int64_t> lost_from_;
  std::vector<undo_entry> undo_;
  bool typing_ = false;   // the last change was of the filter
  bool panning_ = false;  // or pan_to()
};
Q_DECLARE_OPERATORS_FOR_FLAGS(view_state::parts)

}  // namespace ulp::gui

#endif
