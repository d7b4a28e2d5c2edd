#include "choice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace ulp::io {
namespace {

using kind = scale_record::kind;

// Lines of one rank and one scaler: of each framework the first that printed one.
std::uint64_t drop_other_ranks(std::vector<scale_record>& records) {
  std::map<std::pair<const log_dialect*, kind>, std::uint32_t> rank;
  std::optional<std::uint32_t> scaler;
  return std::erase_if(records, [&](const scale_record& r) {
    if (r.from->has_scalers && scaler.value_or(r.part) != r.part) return true;
    if (r.from->has_scalers) scaler = r.part;
    return rank.try_emplace({r.from, r.what}, r.label).first->second != r.label;
  });
}

// The progress bar under which steps were skipped, by its length.
std::optional<std::uint32_t> bar_of_steps(const std::vector<scale_record>& records) {
  std::map<std::uint32_t, std::uint64_t> overflows;
  std::optional<std::uint32_t> now;
  for (const scale_record& r : records) {
    if (r.from->is_bar) now = r.part;
    if ((r.what == kind::overflow || r.what == kind::metrics) && now) ++overflows[*now];
  }
  const auto most = std::ranges::max_element(overflows, {}, [](const auto& o) { return o.second; });
  return most == overflows.end() ? std::nullopt : std::optional(most->first);
}

// The one that ended the run, whichever ranks say so: the scale stood at its least value already.
void add_fatal_overflow(std::vector<scale_record>& records) {
  double scale = not_known;
  bool seen = false;
  for (scale_record& r : records) {
    if (r.what == kind::overflow) {
      scale = r.after;
      seen = false;
    }
    if (r.what != kind::fatal || std::exchange(seen, true)) continue;
    r.what = kind::overflow;
    r.before = r.after = scale;
  }
  std::erase_if(records, [](const scale_record& r) { return r.what == kind::fatal; });
}

// Batches that are counted anew in each epoch, from the first of the log on.
void count_over_epochs(std::vector<scale_record>& records) {
  std::int64_t before = 0;  // steps of earlier epochs
  std::int64_t last = 0;
  std::uint32_t epoch = 0;
  for (scale_record& r : records) {
    if (!r.from->counts_in_epochs || r.what != kind::reached) continue;
    if (r.part > epoch) before = last;
    epoch = r.part;
    r.step += before;
    last = r.step;
  }
}

// Metrics have the step that a progress bar or the script prints next, else the last; bars remain where overflows need them.
void number_metrics(std::vector<scale_record>& records) {
  const auto numbers = [](const scale_record& r) { return r.what == kind::reached && !r.from->is_framework(); };
  if (std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::metrics; })) return;
  if (std::ranges::any_of(records,
                          [](const scale_record& r) { return r.what == kind::reached && r.from->is_framework(); }))
    std::erase_if(records, [](const scale_record& r) { return r.what == kind::metrics; });
  if (std::ranges::none_of(records, numbers)) return;
  std::int64_t step = -1;
  for (const scale_record& r : records)
    if (numbers(r)) step = r.step;
  for (std::size_t i = records.size(); i-- > 0;) {
    scale_record& r = records[i];
    if (numbers(r)) step = r.step;
    if (r.what != kind::metrics) continue;
    r.what = kind::reached;
    r.step = step;
  }
  if (std::ranges::none_of(records, [](const scale_record& r) { return r.what == kind::overflow; }))
    std::erase_if(records, numbers);
}

// Leaves the step numbers of the framework where it prints them, else of the progress bar, else of the script.
void choose_steps(std::vector<scale_record>& records) {
  const bool prints_steps = std::ranges::any_of(
      records, [](const scale_record& r) { return r.what == kind::reached && r.from->is_framework(); });
  // Of accumulated steps a bar shows more.
  const bool positions = std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::position; });
  const bool framework = positions || prints_steps;
  const auto bar = framework ? std::nullopt : bar_of_steps(records);
  std::erase_if(records, [&](const scale_record& r) {
    if (r.from->is_bar) return framework || bar != r.part;
    return !r.from->is_framework() && (framework || bar);
  });
}

// Where no line says how far a run came, but each overflow in which step it was: up to the last of them.
void reach_positions(std::vector<scale_record>& records) {
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::reached; })) return;
  std::vector<scale_record> numbered;
  scale_record reached{.what = kind::reached, .skipped = 0};
  for (const scale_record& r : records) {
    if (r.what == kind::position && r.step != reached.step) {
      if (reached.step >= 0) numbered.push_back(reached);
      reached.from = r.from;
      reached.steps = reached.step < 0 ? 1 : -1;  // of the steps before it the log says nothing
      reached.step = r.step;
      ++reached.skipped;
    }
    reached.label = r.label;
    reached.line = r.line;
    numbered.push_back(r);
  }
  if (reached.step >= 0) numbered.push_back(reached);
  records = std::move(numbered);
}

}  // namespace

std::uint64_t choose_records(std::vector<scale_record>& records) {
  const std::uint64_t others = drop_other_ranks(records);
  add_fatal_overflow(records);
  choose_steps(records);
  number_metrics(records);
  count_over_epochs(records);
  reach_positions(records);
  for (scale_record& r : records)
    for (double* const scale : {&r.before, &r.after})
      if (!(*scale >= 0) || std::isinf(*scale)) *scale = not_known;
  return others;
}

}  // namespace ulp::io
