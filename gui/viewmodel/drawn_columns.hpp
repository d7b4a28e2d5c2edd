// The columns of steps that pictures are made of: those of the whole run, and in their place finer ones where somebody looks
// closer.
#ifndef ULP_GUI_VIEWMODEL_DRAWN_COLUMNS_HPP
#define ULP_GUI_VIEWMODEL_DRAWN_COLUMNS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>

namespace ulp::gui {

// Both ends are included.
struct step_range {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const step_range&, const step_range&) = default;
};

// The tables of the steps span.first_step to span.last_step, drawn from step `from` up to step `to`.
struct drawn_column {
  double from = 0;
  double to = 0;
  column_span span;
  const tensor_tables* tables = nullptr;
};

struct loaded_run;
struct run_detail;

// Those that meet the steps shown, ascending. Does not change any more; keeps alive what it is made of.
struct drawn_columns {
  std::shared_ptr<const loaded_run> run;
  std::shared_ptr<const run_detail> detail;
  step_range shown;
  std::vector<drawn_column> columns;
  bool exact = false;  // they hold the steps shown and no others
  bool fine = false;   // and are as fine as the picture asks for

  // The column that a step is drawn in, or the next one before it; there is one.
  [[nodiscard]] std::size_t at(double step) const noexcept;
  // Left edges in steps, and the right edge of the last.
  [[nodiscard]] std::vector<double> edges() const;
  // The steps that `merged` counts: those shown, or where the columns are not exact those of whole columns of the run.
  [[nodiscard]] step_range counted() const;
  [[nodiscard]] tensor_tables merged() const;

 private:
  [[nodiscard]] std::vector<drawn_column> whole_columns() const;
};

}  // namespace ulp::gui

#endif
