// What every view is: a widget that can also be drawn elsewhere, and whose numbers can be had as a table.
#ifndef ULP_GUI_VIEWS_VIEW_HPP
#define ULP_GUI_VIEWS_VIEW_HPP

#include <QPushButton>
#include <QString>
#include <QWidget>
#include <string>
#include <vector>

#include <ulp/report/tables/table.hpp>

#include "plot/theme.hpp"
#include "viewmodel/context.hpp"
#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class view : public QWidget {
  Q_OBJECT
 public:
  // `key` names it on the command line, `title` to people; `question` is what it answers.
  view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent);

  [[nodiscard]] const QString& key() const noexcept { return key_; }
  [[nodiscard]] const QString& title() const noexcept { return title_; }
  [[nodiscard]] const QString& question() const noexcept { return question_; }
  // Whether what it shows depends on it.
  [[nodiscard]] virtual bool heeds(restriction::kind) const { return true; }
  // The one step that it shows; nullopt where it shows all that are chosen.
  [[nodiscard]] virtual std::optional<std::int64_t> only_step() const { return std::nullopt; }
  // What its marks and colours mean, in a few sentences.
  [[nodiscard]] virtual QString legend() const = 0;

  // The picture in `room`, as on the screen.
  virtual void draw(QPainter& to, const QRectF& room, const theme& colours) = 0;
  // Under what it shows the run: the scenario of the replay in front, or the FP8 recipe where amaxes alone are known.
  [[nodiscard]] virtual QString shown_under() const;
  // The numbers behind it.
  [[nodiscard]] virtual table data() const = 0;
  // What should be told with them, beside what the document's replays tell.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  // Up to date although it is not shown, and without waiting for the event loop.
  virtual void catch_up_now() { catch_up(); }
  [[nodiscard]] view_state& state() const noexcept { return state_; }

 protected:
  // Something of what the view shows is another. Called while it is visible, or when it becomes so.
  virtual void refresh(view_state::parts what) = 0;
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  void catch_up();

  // In place of a picture where there is nothing to show: why.
  static void draw_empty(QPainter& to, const QRectF& room, const theme& colours, const QString& why);
  [[nodiscard]] QString why_empty() const;     // empty where there is a run with tensors
  [[nodiscard]] QString why_no_steps() const;  // empty where there is a run with steps

 private:
  view_state& state_;
  QString key_;
  QString title_;
  QString question_;
  view_state::parts missed_;
};

// A button that stays down, and is seen to be in the dark too.
[[nodiscard]] QPushButton* make_toggle(const QString& text, QWidget* parent);

// A view whose widget is its picture.
class picture_view : public view {
  Q_OBJECT
 public:
  using view::view;

 protected:
  void refresh(view_state::parts what) override;
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace ulp::gui

#endif
