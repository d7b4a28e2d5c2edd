// The exponents of the gradients at the cursor, with the bands of the format: what is lost at this step, at any scale. Of a format
// whose blocks share a scale they are those over this scale (exponents_view_blocks.cpp).
#ifndef ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP
#define ULP_GUI_VIEWS_EXPONENTS_VIEW_HPP

#include <QLabel>
#include <QPushButton>
#include <QSlider>
#include <cstdint>
#include <optional>

#include <ulp/ask/columns/block_comparison.hpp>
#include "chart_view.hpp"

#include "viewmodel/background.hpp"

namespace ulp::gui {

class block_choice;
class ruler_strip;
struct format_bands;

class exponents_view final : public chart_view {
  Q_OBJECT
 public:
  exponents_view(view_state& state, QWidget* parent);
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;
  [[nodiscard]] bool heeds(restriction::kind of) const override {
    return of != restriction::kind::tried_scale || !shows_blocks();
  }
  [[nodiscard]] std::optional<std::int64_t> only_step() const override {
    return counted_.first == counted_.last ? std::optional(counted_.first) : std::nullopt;
  }
  [[nodiscard]] QString shown_under() const override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString words() const override { return told_; }
  void draw_beside(QPainter& to, const QRectF& room, const theme& colours) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  // Finds what is shown: the cursor's step, or all columns in the range. Where columns hold several steps that of the
  // cursor is shown until the step itself has been read.
  void count();
  // From which to which exponent the gradients of the whole run reach: the axis stays while scale and cursor move.
  void measure();
  // The column of the cursor: of those drawn, where it is among them.
  [[nodiscard]] drawn_column cursor_column() const;
  // The same place of the run that others are compared with; empty where that is this one.
  [[nodiscard]] binade_counts compared() const;
  [[nodiscard]] bool shows_column() const;
  [[nodiscard]] bool knows_step() const;
  [[nodiscard]] double log2_scale() const;
  [[nodiscard]] format_bands bands() const;
  // What becomes of them, as `ulp outcomes` tells it.
  [[nodiscard]] QString shares() const;
  [[nodiscard]] QString told_of(double x) const;

  static constexpr double ends = 3;     // room at both ends, for zeros and for what is not finite
  static constexpr double foot = -0.3;  // of the logarithm of counts, so that a single value is seen
  // From 2^left to 2^right, and up to the largest count.
  void set_axes(const QString& magnitude, const QString& values, double left, double right, double most);

  // What is asked of blocks, and what is known of them.
  struct block_question {
    std::uint64_t run = 0;  // its id
    named_block_format row;
    step_range steps;
    tensor_mask shown;
    friend bool operator==(const block_question&, const block_question&) = default;
  };
  [[nodiscard]] bool shows_blocks() const { return state().block().has_value(); }
  [[nodiscard]] block_question blocks_asked() const;
  // Reads them in the background, where they are not known.
  void count_blocks();
  void take_blocks(const block_question& asked, compared_blocks counted);
  [[nodiscard]] QString fill_blocks(const theme& colours);
  [[nodiscard]] QString block_words(const QString& in) const;
  [[nodiscard]] QString block_told_of(double x) const;
  [[nodiscard]] table block_data() const;
  [[nodiscard]] QString steps_and_tensors(step_range steps) const;
  void show_controls();

  struct exponents {
    int lowest = 0;
    int highest = 0;
  };
  block_choice* format_;
  QLabel* scale_title_;
  QSlider* slider_;
  QLabel* scale_;
  QPushButton* follow_;
  QPushButton* none_;
  QPushButton* whole_;
  QLabel* shares_;
  ruler_strip* rulers_ = nullptr;
  bool has_rulers_ = true;  // there is room for them
  QString told_;            // the shares
  tensor_tables tables_;
  binade_counts binades_;
  binade_counts compared_;
  std::optional<exponents> reach_;
  step_range counted_;
  background reader_;
  std::uint64_t exact_run_ = 0;  // the id of that of which exact_ is
  std::int64_t exact_step_ = 0;
  tensor_tables exact_;
  background block_reader_;
  block_question block_asked_;
  std::optional<compared_blocks> counted_blocks_;  // of block_asked_
  QString block_failure_;
};

}  // namespace ulp::gui

#endif
