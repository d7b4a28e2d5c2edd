#include "choice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace ulp::io {
namespace {

using kind = scale_record::kind;
using origin = scale_record::origin;

// Lines of one rank and one scaler: of each framework the first that printed one.
std::uint64_t drop_other_ranks(std::vector<scale_record>& records) {
  std::map<std::pair<origin, kind>, std::uint32_t> rank;
  std::optional<std::uint32_t> scaler;
  return std::erase_if(records, [&](const scale_record& r) {
    if (r.from == origin::apex && scaler.value_or(r.part) != r.part) return true;
    if (r.from == origin::apex) scaler = r.part;
    return rank.try_emplace({r.from, r.what}, r.label).first->second != r.label;
  });
}

// The progress bar under which steps were skipped, by its length.
std::optional<std::uint32_t> bar_of_steps(const std::vector<scale_record>& records) {
  std::map<std::uint32_t, std::uint64_t> overflows;
  std::optional<std::uint32_t> now;
  for (const scale_record& r : records) {
    if (r.from == origin::bar) now = r.part;
    if (r.what == kind::overflow && now) ++overflows[*now];
  }
  const auto most = std::ranges::max_element(overflows, {}, [](const auto& o) { return o.second; });
  return most == overflows.end() ? std::nullopt : std::optional(most->first);
}

// Leaves the step numbers of the framework where it prints them, else of the progress bar, else of the script.
void choose_steps(std::vector<scale_record>& records) {
  const auto has = [&](auto&& test) {
    return std::ranges::any_of(records, [&](const scale_record& r) { return r.what == kind::reached && test(r.from); });
  };
  const bool framework = has(is_framework);
  const auto bar = framework ? std::nullopt : bar_of_steps(records);
  std::erase_if(records, [&](const scale_record& r) {
    if (r.from == origin::bar) return framework || bar != r.part;
    return r.from == origin::print && (framework || bar);
  });
}

// Where no line says how far a run came, but each overflow in which step it was: up to the last of them.
void reach_positions(std::vector<scale_record>& records) {
  if (std::ranges::any_of(records, [](const scale_record& r) { return r.what == kind::reached; })) return;
  std::vector<scale_record> told;
  scale_record reached{.what = kind::reached, .from = origin::deepspeed, .skipped = 0};
  for (const scale_record& r : records) {
    if (r.what == kind::position && r.step != reached.step) {
      if (reached.step >= 0) told.push_back(reached);
      reached.step = r.step;
      ++reached.skipped;
    }
    reached.label = r.label;
    reached.line = r.line;
    told.push_back(r);
  }
  if (reached.step >= 0) told.push_back(reached);
  records = std::move(told);
}

}  // namespace

std::uint64_t choose_records(std::vector<scale_record>& records) {
  const std::uint64_t others = drop_other_ranks(records);
  choose_steps(records);
  reach_positions(records);
  for (scale_record& r : records)
    for (double* const scale : {&r.before, &r.after})
      if (!(*scale >= 0) || std::isinf(*scale)) *scale = not_known;
  return others;
}

}  // namespace ulp::io
