// One line per step: `step`, and `found_inf` or `maxabs`; with a column `layer` one per step and layer, else, where a
// column `scale` is among them, with those of a scalars CSV. Further columns are ignored.
#include "step_log.hpp"

#include <unordered_set>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "bytes/within.hpp"
#include "scalars.hpp"

namespace ulp::io {
namespace {

// Then the row says at which scale it overflowed.
bool has_scale(const csv_reader& rows) { return rows.find_any({"scale", "loss_scale"}).has_value(); }

class step_log final : public source {
 public:
  step_log(csv_reader rows, const read_limits& limits)
      : limits_(limits),
        rows_(std::move(rows)),
        step_(rows_.require("step")),
        found_inf_(rows_.find("found_inf")),
        max_abs_(rows_.find_any({"maxabs", "max_abs"})),
        layer_(rows_.find("layer")),
        scalars_(has_scale(rows_) ? std::optional{scalar_columns(rows_)} : std::nullopt),
        pending_(rows_.next()) {
    if (!pending_) throw input_error(rows_.path(), "", "holds no rows below its header");
  }

  [[nodiscard]] source_kind kind() const override { return source_kind::step_log; }
  [[nodiscard]] std::string description() const override { return "step log"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return none_; }

  [[nodiscard]] bool next(step& into) override {
    if (!pending_) return false;
    into = {};
    into.key.step = rows_.step(step_, previous_);
    previous_ = into.key.step;
    if (!layer_) {
      if (scalars_) into.scalars = scalars_->read(rows_);
      const layer_row row = read_row();
      into.scalars.found_inf = row.found_inf;
      into.max_abs = row.max_abs;
      return true;
    }
    std::unordered_set<std::string> names;
    do {
      const std::string& name = rows_.text(*layer_);
      if (!names.insert(name).second)
        rows_.fail(*layer_, "layer " + in_quotes(name) + " has a second row in this step");
      check_count(names.size(), limits_, rows_.path(), "step " + std::to_string(into.key.step), "layers");
      into.layers.push_back(read_row());
    } while (pending_ && rows_.step(step_, std::nullopt) == into.key.step);
    return true;
  }

 private:
  // What the row says; the next one is read.
  [[nodiscard]] layer_row read_row() {
    layer_row row;
    if (layer_) row.name = rows_.text(*layer_);
    if (found_inf_ && !rows_.is_blank(*found_inf_)) row.found_inf = rows_.flag(*found_inf_);
    if (max_abs_) row.max_abs = read_max_abs();
    if (!max_abs_ && !row.found_inf) rows_.fail(*found_inf_, "the field is empty");
    pending_ = rows_.next();
    return row;
  }

  [[nodiscard]] double read_max_abs() const {
    const double value = rows_.number(*max_abs_);
    if (value < 0) rows_.fail(*max_abs_, "a largest magnitude cannot be below zero");
    return value;
  }

  read_limits limits_;
  csv_reader rows_;
  csv_reader::column step_;
  std::optional<csv_reader::column> found_inf_;
  std::optional<csv_reader::column> max_abs_;
  std::optional<csv_reader::column> layer_;
  std::optional<scalar_columns> scalars_;
  bool pending_;  // whether rows_ stands at a row that was not returned
  std::optional<std::int64_t> previous_;
  std::vector<tensor_info> none_;
};

}  // namespace

bool is_step_log(const csv_reader& rows, bool is_run) {
  if (!rows.find("step")) return false;
  if (rows.find_any({"maxabs", "max_abs"})) return true;
  return rows.find("found_inf") && (!is_run || has_scale(rows) || rows.find("layer"));
}

bool has_other_rows(csv_reader rows) {
  if (rows.find_any({"maxabs", "max_abs"}) || rows.find("layer")) return false;
  const auto found_inf = rows.find("found_inf");
  const auto scale = rows.find_any({"scale", "loss_scale"});
  std::int64_t falls_with = 0;  // of the scale beside an overflow, less those behind one
  double scale_before = not_known;
  bool overflowed_before = false;
  try {
    const csv_reader::column step = rows.require("step");
    for (std::optional<std::int64_t> previous; rows.next();) {
      if (rows.repeats_header() || (rows.is_cut() && rows.field_count() < rows.header().size())) return true;
      const std::int64_t now = rows.step(step, std::nullopt);
      if (previous && now < *previous) return true;
      previous = now;
      if (!scale || !found_inf || rows.is_blank(*scale) || rows.is_blank(*found_inf)) continue;
      const bool overflows = rows.flag(*found_inf);
      const double present = rows.number(*scale);
      if (present > 0 && present < scale_before && overflows != overflowed_before) falls_with += overflows ? 1 : -1;
      scale_before = present;
      overflowed_before = overflows;
    }
  } catch (const input_error&) {  // whoever reads them says it
  }
  return falls_with > 0;
}

std::unique_ptr<source> open_step_log(csv_reader rows, const read_limits& limits) {
  return std::make_unique<step_log>(std::move(rows), limits);
}

}  // namespace ulp::io
