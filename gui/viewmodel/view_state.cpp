#include "view_state.hpp"

#include <QMetaObject>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <ulp/io/bytes/regex.hpp>
#include <ulp/model/recipe/scaling.hpp>

namespace ulp::gui {
namespace {

// The first step that overflowed, as the run logged it or its gradients show; the first of all where none did.
std::int64_t first_to_look_at(const std::vector<pictured_step>& steps) {
  const auto at = std::ranges::find_if(steps, [](const pictured_step& s) {
    return s.scalars.found_inf == true || s.scalars.applied == false || (s.known && std::isinf(s.max_abs));
  });
  if (at != steps.end()) return at->key.step;
  return steps.empty() ? 0 : steps.front().key.step;
}

}  // namespace

view_state::view_state(document& doc, QObject* parent) : QObject(parent), doc_(doc) {
  soon_.setSingleShot(true);
  soon_.setInterval(80);  // while somebody zooms nothing is read
  connect(&soon_, &QTimer::timeout, this, &view_state::refine);
  connect(&refiner_, &background::failed, this, &view_state::refining_failed);
  connect(&doc_, &document::run_changed, this, &view_state::look_at_run);
  connect(&doc_, &document::replays_changed, this, [this] {
    front_ = front_index();
    if (doc_.run_of(front()) != run_) look_at_run();
    tell(replays);
  });
}

void view_state::look_at_run() {
  front_ = front_index();
  const auto before = std::exchange(run_, doc_.run_of(front()));
  if (run_ == nullptr) return;
  // What is compared, or read again and grown, is looked at as before.
  const bool known = std::ranges::any_of(doc_.runs(), [&](const auto& r) { return r->text.inputs == inputs_; });
  if (!known) {
    inputs_ = doc_.run()->text.inputs;
    cursor_ = first_to_look_at(run_->picture.steps());
    shows_whole_ = true;
  }
  const step_range all = whole();
  shown_ = {std::clamp(shown_.first, all.first, all.last), std::clamp(shown_.last, all.first, all.last)};
  if (shows_whole_) shown_ = all;
  if (!before || before->id != run_->id) {
    tensor_.reset();
    undo_.clear();
    typing_ = false;
  }
  mask();
  tell(parts{run} | cursor | range | tensors);
}

std::size_t view_state::front_index() const noexcept { return std::min(front_, doc_.replays().size() - 1); }

void view_state::make_first() {
  // First the front, so that it stays the same replay.
  const std::size_t index = std::exchange(front_, 0);
  doc_.make_first(index);
}

void view_state::set_front(std::size_t index) {
  if (index == front_ || index >= doc_.replays().size()) return;
  front_ = index;
  if (doc_.run_of(front()) != run_) look_at_run();
  tell(replays);
}

std::size_t view_state::cursor_index() const noexcept {
  if (current_run() == nullptr) return 0;
  const auto& steps = current_run()->picture.steps();
  const auto after = std::ranges::upper_bound(steps, cursor_, {}, [](const pictured_step& s) { return s.key.step; });
  return after == steps.begin() ? 0 : static_cast<std::size_t>(after - steps.begin()) - 1;
}

void view_state::set_cursor(std::int64_t step) {
  if (current_run() == nullptr || current_run()->picture.steps().empty()) return;
  const std::int64_t before = cursor_;
  cursor_ = step;
  cursor_ = current_run()->picture.steps()[cursor_index()].key.step;
  if (cursor_ != before) tell(cursor);
}

void view_state::move_cursor(std::ptrdiff_t by) {
  if (current_run() == nullptr || current_run()->picture.steps().empty()) return;
  const auto& steps = current_run()->picture.steps();
  const auto last = static_cast<std::ptrdiff_t>(steps.size()) - 1;
  const auto at = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(cursor_index()) + by, 0, last);
  set_cursor(steps[static_cast<std::size_t>(at)].key.step);
}

void view_state::move_to_skip(int direction) {
  const auto result = front().result;
  if (!result) return;
  const auto& steps = result->steps;
  if (direction > 0) {
    const auto next = std::ranges::find_if(steps, [&](const replay_step& s) { return s.skipped && s.step > cursor_; });
    if (next != steps.end()) set_cursor(next->step);
  } else {
    const auto before =
        std::find_if(steps.rbegin(), steps.rend(), [&](const replay_step& s) { return s.skipped && s.step < cursor_; });
    if (before != steps.rend()) set_cursor(before->step);
  }
}

view_state::step_range view_state::whole() const noexcept {
  std::optional<step_range> all;
  for (const auto& r : doc_.runs()) {
    const auto& steps = r->picture.steps();
    if (steps.empty()) continue;
    const step_range own{steps.front().key.step, steps.back().key.step};
    all = all ? step_range{std::min(all->first, own.first), std::max(all->last, own.last)} : own;
  }
  return all.value_or(step_range{});
}

void view_state::set_shown(step_range to) {
  const step_range all = whole();
  to = {std::clamp(to.first, all.first, all.last), std::clamp(to.last, all.first, all.last)};
  if (to.last < to.first) std::swap(to.first, to.last);
  if (to == shown_) return;
  remember();
  shown_ = to;
  shows_whole_ = shown_ == all;
  tell(range);
}

void view_state::pan_to(std::int64_t first) {
  const step_range all = whole();
  const std::int64_t more = shown_.last - shown_.first;
  first = std::clamp(first, all.first, std::max(all.first, all.last - more));
  if (first == shown_.first) return;
  if (!panning_) remember();
  panning_ = true;
  shown_ = {first, first + more};
  tell(range);
}

void view_state::remember() {
  typing_ = false;
  panning_ = false;
  constexpr std::size_t most = 100;
  if (undo_.size() == most) undo_.erase(undo_.begin());
  undo_.push_back({shown_, filter_, tensor_});
}

void view_state::undo() {
  typing_ = false;
  panning_ = false;
  if (undo_.empty()) return;
  const undo_entry before = undo_.back();
  undo_.pop_back();
  const step_range all = whole();
  shown_ = {std::clamp(before.shown.first, all.first, all.last), std::clamp(before.shown.last, all.first, all.last)};
  shows_whole_ = shown_ == all;
  filter_ = before.filter;
  tensor_ = before.tensor;
  mask();
  tell(parts{range} | tensors);
}

QString view_state::problem_with_filter(const QString& expression) {
  try {
    static_cast<void>(regex(expression.toStdString()));
    return {};
  } catch (const std::invalid_argument& mistake) {
    return QString::fromUtf8(mistake.what());
  }
}

bool view_state::set_filter(const QString& expression) {
  if (!problem_with_filter(expression).isEmpty()) return false;
  if (expression == filter_) return true;
  // What is typed letter by letter is taken back at once.
  if (!typing_) remember();
  typing_ = true;
  filter_ = expression;
  tensor_.reset();
  mask();
  tell(tensors);
  return true;
}

void view_state::set_tensor(std::optional<std::uint32_t> tensor) {
  if (tensor == tensor_) return;
  remember();
  tensor_ = tensor;
  mask();
  tell(tensors);
}

tensor_mask view_state::filtered(const loaded_run& of, const std::vector<tensor_info>& tensors) const {
  const regex expression(filter_.toStdString());
  tensor_mask mask;
  const selection counted = of.text.selected();
  for (const tensor_info& t : tensors) mask.push_back(counted.takes(t) && expression.matches(t.name));
  return mask;
}

tensor_mask view_state::gradients_of(const loaded_run& of) const {
  tensor_mask all = filtered(of);
  const bool has_kind =
      std::ranges::any_of(of.text.kinds, [](const std::string& kind) { return kind.find('=') == std::string::npos; });
  tensor_mask gradients = all;
  for (std::size_t t = 0; t < gradients.size(); ++t) gradients[t] = gradients[t] && is_scaled(of.tensors[t]);
  return has_kind || std::ranges::find(gradients, true) == gradients.end() ? all : gradients;
}

void view_state::mask() {
  filtered_.clear();
  if (current_run() == nullptr) return;
  filtered_ = filtered(*current_run());
  selected_ = gradients_of(*current_run());
  if (tensor_) {
    selected_.assign(filtered_.size(), false);
    selected_[*tensor_] = true;
  }
}

void view_state::set_metric_of_layers(layer_metric m) {
  if (m == metric_) return;
  metric_ = m;
  tell(metric);
}

void view_state::set_weights_format(std::string name) {
  if (name == weights_format_) return;
  weights_format_ = std::move(name);
  tell(metric);
}

void view_state::set_fp8(fp8_spec spec) {
  if (has_own_fp8_ && spec == fp8_) return;
  fp8_ = std::move(spec);
  has_own_fp8_ = true;
  tell(recipe);
}

void view_state::set_plan(plan_spec spec) {
  if (spec == plan_) return;
  plan_ = std::move(spec);
  tell(plans);
}

void view_state::set_block(std::optional<named_block_format> row) {
  if (row == block_) return;
  block_ = std::move(row);
  tell(blocks);
}

std::vector<named_block_format> view_state::block_rows() const {
  std::vector<named_block_format> all = block_rows_.empty() ? usual_block_formats() : block_rows_;
  if (block_ && std::ranges::find(all, block_->row, &named_block_format::row) == all.end()) all.push_back(*block_);
  return all;
}

void view_state::set_block_rows(std::vector<named_block_format> rows) {
  if (rows == block_rows_) return;
  block_rows_ = std::move(rows);
  tell(blocks);
}

void view_state::set_tried_scale(std::optional<int> log2) {
  if (log2 == tried_) return;
  tried_ = log2;
  tell(scale);
}

double view_state::scale_at(std::int64_t step) const { return gui::scale_at(step, tried_, front().result.get()); }

value_range view_state::scales_in(std::int64_t first, std::int64_t last) const {
  if (tried_) return {std::ldexp(1.0, *tried_), std::ldexp(1.0, *tried_)};
  const double at_first = scale_at(first);
  const value_range all{at_first, at_first};
  const auto result = front().result;
  if (!result) return all;
  const auto index_after = [&](std::int64_t step) {
    const auto after = std::ranges::upper_bound(result->steps, step, {}, &replay_step::step);
    return static_cast<std::size_t>(after - result->steps.begin());
  };
  const extremes later = result->scales_used.between(index_after(first), index_after(last),
                                                     [&](std::size_t i) { return used_scale(result->steps[i]); });
  return {std::fmin(all.low, later.least), std::fmax(all.high, later.greatest)};
}

std::optional<std::optional<std::int64_t>> view_state::lost_from() const noexcept {
  if (run_ == nullptr || run_->id != looked_at_) return std::nullopt;
  return std::optional(lost_from_);
}

void view_state::set_lost_from(std::uint64_t run, std::optional<std::int64_t> step) {
  if (run == looked_at_ && step == lost_from_) return;
  looked_at_ = run;
  lost_from_ = step;
  tell(lost);
}

void view_state::draw_columns() {
  const auto drawn = std::make_shared<drawn_columns>();
  drawn->run = run_;
  drawn->shown = shown_;
  if (run_ != nullptr) {
    if (detail_ && detail_->run != run_->id) detail_.reset();
    drawn->detail = detail_;
    const auto add = [&](const std::vector<column_span>& spans, const std::vector<tensor_tables>& tables,
                         step_range part) {
      for (std::size_t c = 0; c < spans.size(); ++c) {
        const std::int64_t end = c + 1 < spans.size() ? spans[c + 1].first_step : spans[c].last_step + 1;
        if (end <= part.first || spans[c].first_step > part.last) continue;
        drawn->columns.push_back({static_cast<double>(std::max(spans[c].first_step, part.first)),
                                  static_cast<double>(std::min(end - 1, part.last)) + 1, spans[c], &tables[c]});
      }
    };
    const auto& base = run_->picture.columns();
    const step_range all = shown_;
    const step_range fine =
        detail_ ? step_range{std::max(detail_->range.first, all.first), std::min(detail_->range.last, all.last)}
                : step_range{all.last + 1, all.last};
    if (fine.first <= fine.last) {
      if (all.first < fine.first) add(base.spans(), base.columns(), {all.first, fine.first - 1});
      add(detail_->spans, detail_->columns, fine);
      if (all.last > fine.last) add(base.spans(), base.columns(), {fine.last + 1, all.last});
    } else {
      add(base.spans(), base.columns(), all);
    }
    drawn->exact = std::ranges::all_of(drawn->columns, [&](const drawn_column& c) {
      return static_cast<double>(c.span.first_step) >= c.from && static_cast<double>(c.span.last_step) < c.to;
    });
    drawn->fine = drawn->exact && drawn->columns.size() * wanted_width() >= steps_in(*run_, shown_);
  }
  // The columns follow from the others. What is the same stays, so that nothing is counted again.
  const bool is_same = drawn_->run == drawn->run && drawn_->detail == drawn->detail && drawn_->shown == drawn->shown &&
                       drawn_->fine == drawn->fine;
  if (!is_same) drawn_ = drawn;
}

// At three pixels each.
std::size_t view_state::wanted_width() const {
  const std::size_t most = static_cast<std::size_t>(std::max(100, room_ / 3));
  return std::max<std::size_t>(1, (steps_in(*run_, shown_) + most - 1) / most);
}

void view_state::set_room(int pixels) {
  if (pixels == room_) return;
  room_ = pixels;
  soon_.start();
}

void view_state::refine() {
  if (run_ == nullptr || run_->tensors.empty()) return;
  const auto before = drawn_;
  draw_columns();
  if (drawn_ != before) tell(columns);
  if (drawn_->fine) return refiner_.cancel();
  // Blocks first where steps take long.
  std::size_t width = wanted_width();
  const bool has_blocks = detail_ && detail_->range == shown_;
  if (!has_blocks && is_slow_in_steps(*run_, shown_)) width = std::max(width, block_of_steps);
  refiner_.start([this, run = run_, range = shown_, width](listener& to) -> std::function<void()> {
    return [this, detail = detail_of(*run, range, width, to)] { take(detail); };
  });
}

void view_state::take(std::shared_ptr<const run_detail> detail) {
  // Of a run that was read again meanwhile it tells nothing.
  if (run_ == nullptr || detail->run != run_->id) return;
  detail_ = std::move(detail);
  tell(columns);
  // Not finer where it cannot be: the steps of a file that grows may be more by now.
  if (detail_->width > wanted_width()) soon_.start();
}

void view_state::refine_now() {
  if (run_ == nullptr || run_->tensors.empty()) return;
  draw_columns();
  if (drawn_->fine) return;
  detail_ = detail_of(*run_, shown_, wanted_width(), nobody());
  draw_columns();
  emit changed(columns);
}

void view_state::tell(parts what) {
  if (what.testAnyFlags(parts{run} | range)) {
    what |= columns;
    soon_.start();
  }
  if (what.testFlag(columns)) draw_columns();
  const bool first = pending_ == parts{};
  pending_ |= what;
  if (!first) return;
  QMetaObject::invokeMethod(
      this,
      [this] {
        const parts all = pending_;
        pending_ = {};
        emit changed(all);
      },
      Qt::QueuedConnection);
}

}  // namespace ulp::gui
