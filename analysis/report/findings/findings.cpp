#include "findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ulp/formats/catalog.hpp>
#include <ulp/model/machines/policy_analysis.hpp>

namespace ulp {

std::string percent(double share) { return percent_number(share) + " %"; }

std::string power(int k) { return fmt::format("2^{}", k); }

std::string were(std::uint64_t n, std::string_view noun) { return count_text(n, noun) + (n == 1 ? " was" : " were"); }

std::string left_out_text(const advice_options& o) {
  return o.bad_batches == 0
             ? ""
             : fmt::format(" {} not counted here.",
                           o.bad_batches == 1 ? "1 bad batch is" : fmt::format("{} bad batches are", o.bad_batches));
}

std::string places_text(std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string hedged(std::string_view sure, const std::string& since) {
  constexpr std::string_view doubted = "not sure, since ";
  if (sure.starts_with(doubted)) return fmt::format("{}{}, and {}", doubted, since, sure.substr(doubted.size()));
  for (const std::string_view word :
       {"certain: ", "very sure: ", "fairly sure: ", "not sure: ", "certain ", "very sure ", "fairly sure "})
    if (sure.starts_with(word)) sure.remove_prefix(word.size());
  // What is not sure as a whole is certain of what was read.
  constexpr std::string_view certain = " certain";
  const std::string_view first = sure.substr(0, sure.find(';'));
  if (!first.ends_with(certain)) return fmt::format("not sure, since {}: {}", since, sure);
  return fmt::format("not sure, since {}: what was read is certain, as far as it goes{}", since,
                     sure.substr(first.size()));
}

std::string steps_text(std::uint64_t n) { return count_text(n, "step"); }

std::string range_text(const value_range& share) { return percent_text(share); }

table_value integer(const std::optional<int>& n) { return n ? table_value{std::int64_t{*n}} : table_value{}; }

std::uint64_t window::overflowing(double scale) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(open, scale) - open.begin());
}

std::uint64_t window::undecided(double scale) const {
  return static_cast<std::uint64_t>(std::ranges::lower_bound(safe, scale) - safe.begin()) - overflowing(scale);
}

namespace {

// The largest power of two at most the first of ascending scales.
std::optional<int> power_below(const std::vector<double>& scales) {
  if (scales.empty() || std::isinf(scales.front())) return std::nullopt;
  return std::ilogb(scales.front());  // log2 may round up to the next power
}

}  // namespace

std::optional<int> window::largest_safe() const { return power_below(finite); }

std::optional<int> window::largest_likely_safe() const { return power_below(likely); }

std::optional<window::outliers> window::held_down_by() const {
  constexpr std::size_t few = 100;  // one in so many
  constexpr double far = 8;
  for (std::size_t i = finite.size() / few; i > 0; --i)
    if (std::isfinite(finite[i]) && finite[i] >= far * finite[i - 1])
      return outliers{.steps = i, .of = finite.size(), .without = std::ilogb(finite[i])};
  return std::nullopt;
}

std::optional<int> window::largest_usual_safe() const {
  const std::optional<outliers> held = held_down_by();
  return held ? held->without : largest_likely_safe();
}

// What step_overflow answers of each step, from what a survey keeps of it.
void window_maker::add(const step_survey& s) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const bool is_nearest =
      how_.rounding.direction == direction::nearest_even || how_.rounding.direction == direction::nearest_away;
  const bool found = s.found_inf.value_or(false);
  if (!s.known && !found) return;
  const bool has_scale = s.loss_scale > 0 && std::isfinite(s.loss_scale);
  // What nobody rounded, so far as is known, was rounded to float16 if the loss was scaled.
  const format in = s.rounded_to.value_or(float16);
  const bool alike = (s.rounded_to || has_scale) && !s.several_formats && in == how_.format && is_nearest;
  const bool own = alike && (s.rounded_to || s.loss_scale != 1);
  if (found || !std::isfinite(s.max_abs)) {
    made_.safe.push_back(0);
    made_.open.push_back(!alike                  ? never
                         : s.loss_is_lost && own ? 0
                         : has_scale             ? std::nextafter(s.loss_scale, 0.0)
                                                 : never);
    return;
  }
  const auto largest_safe = [&](double magnitude) { return magnitude > 0 ? range_scale_of(magnitude, how_) : never; };
  double safe = largest_safe(s.largest_whole);
  double open = std::min(safe, largest_safe(s.least_part));
  double estimate = safe;
  double largest_likely = 0;
  if (own && has_scale && safe < s.loss_scale && (s.rounded_to || s.found_inf)) {
    // Finite there beyond the limit: a sum of parts, or never rounded.
    const bool is_sum = s.largest_whole * s.loss_scale <= most_of_sum;
    if (is_sum || s.rounded_to) open = never;
    if (is_sum || s.rounded_to) estimate = s.loss_scale;
    if (s.rounded_to) safe = s.loss_scale;
  }
  if (s.has_sums) {
    const double finite = has_scale && s.rounded_to && is_nearest
                              ? s.loss_scale * (range_scale_of(1, {how_.format}) / range_scale_of(1, {in}))
                              : 0;
    safe = std::min(safe, finite);
    // Parts may be larger than their sum, but another format's range does not say how large they were.
    largest_likely = std::max(finite, largest_safe(s.max_abs));
    estimate = std::min(estimate, in == how_.format && finite > 0 ? finite : largest_likely);
  }
  made_.safe.push_back(safe);
  made_.open.push_back(std::max(safe, open));
  made_.finite.push_back(estimate);
  made_.likely.push_back(std::max(estimate, largest_likely));
}

window window_maker::result() {
  std::ranges::sort(made_.safe);
  std::ranges::sort(made_.open);
  std::ranges::sort(made_.finite);
  std::ranges::sort(made_.likely);
  return std::move(made_);
}

window window_of(std::span<const step_survey> steps, const treatment& how) {
  window_maker maker(how);
  for (const step_survey& s : steps) maker.add(s);
  return maker.result();
}

std::string overflow_text(const window& w, double scale) {
  const std::uint64_t open = w.undecided(scale);
  return steps_text(w.overflowing(scale)) + (open == 0 ? "" : fmt::format(" ({} not decided)", grouped(open)));
}

}  // namespace ulp
