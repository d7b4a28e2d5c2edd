#include <ulp/model/comparison/run_comparison.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

// Of drift_bounds; tensors follow.
constexpr std::size_t loss_series = 0;
constexpr std::size_t norm_series = 1;
constexpr std::size_t first_tensor_series = 2;

// Learning rates and scales are the same up to how logs print them.
constexpr double as_printed = 1e-6;

step_part part_of(tensor_kind kind) {
  switch (kind) {
    case tensor_kind::weight: return step_part::weight;
    case tensor_kind::activation: return step_part::activation;
    case tensor_kind::activation_grad: return step_part::activation_grad;
    case tensor_kind::weight_grad: return step_part::weight_grad;
    case tensor_kind::update: return step_part::update;
    case tensor_kind::unknown: break;
  }
  return step_part::other;
}

bool is_gradient(tensor_kind kind) {
  return kind == tensor_kind::weight_grad || kind == tensor_kind::activation_grad || kind == tensor_kind::unknown;
}

// What a short decimal may have been rounded from: half a unit of its last digit; 0 for one of many digits.
double printed_error(double x) {
  double unit = 1;
  for (int decimals = 0; decimals <= 6; ++decimals, unit *= 10) {
    const double scaled = std::abs(x) * unit;
    if (scaled < 1e7 && std::abs(scaled - std::round(scaled)) <= 1e-9 * scaled) return 0.5 / unit;
  }
  return 0;
}

double relative_change(double a, double b) {
  const double whole = std::max(std::abs(a), std::abs(b));
  return whole > 0 ? std::max(0.0, std::abs(a - b) - printed_error(a) - printed_error(b)) / whole : 0;
}

double roundoff_of(const format& f) { return std::ldexp(1.0, -f.precision()); }

// Of the type that a row's values are kept in, or of what they show.
double storage_of(const tensor_row& row) {
  constexpr int enough_binades = 3;
  const format* const of_type = properties_of(row.type).of;
  const significand_bits bits = bits_of(row.table);
  int precision = of_type != nullptr ? std::min(of_type->precision(), binary32.precision()) : binary32.precision();
  if (bits.binades >= enough_binades) precision = std::min(precision, std::max(bits.usual, bfloat16.precision()));
  return std::ldexp(1.0, -precision);
}

// The format that a tensor was computed in, as far as its row tells.
const format* format_of(const tensor_row& row, const significand_bits& bits, tensor_kind kind) {
  const format* const of_type = properties_of(row.type).of;
  if (of_type != nullptr && of_type->precision() < binary32.precision()) return of_type;
  constexpr int enough_binades = 2;
  if (kind == tensor_kind::weight || bits.binades < enough_binades) return nullptr;
  return bits.usual <= bfloat16.precision() ? &bfloat16 : bits.usual <= float16.precision() ? &float16 : &binary32;
}

// What is not told follows from whether something overflowed.
std::optional<bool> skipped(const step_scalars& s) { return s.applied ? std::optional{!*s.applied} : s.found_inf; }

void count(compared_scalar& to, double a, double b, std::int64_t step) {
  const bool known_a = !std::isnan(a);
  const bool known_b = !std::isnan(b);
  if (!known_a || !known_b) {
    (known_a ? to.only_a : to.only_b) += known_a || known_b ? 1 : 0;
    return;
  }
  ++to.steps;
  to.last_a = a;
  to.last_b = b;
  if (a == b)
    ++to.same;
  else if (!to.first_different)
    to.first_different = step;
  to.largest = std::max(to.largest, relative_change(a, b));
}

bool is_over(const part_change& c) { return c.change > c.bound.value; }

// Of B over A, where all have the same.
std::optional<double> common_factor(const std::vector<part_change>& parts, double allowed) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  std::size_t tensors = 0;
  for (const part_change& p : parts) {
    if (!p.tensor || p.is_narrower || !(p.a > 0) || !(p.b > 0) || p.part == step_part::weight) continue;
    ++tensors;
    low = std::min(low, p.b / p.a);
    high = std::max(high, p.b / p.a);
  }
  constexpr double noticed = 0.05;
  const bool is_one = tensors > 2 && high / low - 1 <= 2 * allowed && std::abs(std::log(high)) > noticed;
  return is_one ? std::optional{std::sqrt(low * high)} : std::nullopt;
}

}  // namespace

struct run_comparison::seen_row {
  std::size_t tensor = 0;
  row_figures a;
  row_figures b;
  significand_bits bits_a;
  significand_bits bits_b;
  double least_factor = 1;  // of the two
  double storage = 0;       // the larger roundoff of what the values are kept in
  double change = 0;
  double nearest = 0;            // change from the nearest of A and its repeats
  std::vector<double> repeated;  // changes among these
  double scaled_largest = 0;     // times the loss scale, in the run that is finite

  [[nodiscard]] bool is_finite() const noexcept { return a.nonfinite == 0 && b.nonfinite == 0; }
  [[nodiscard]] bool one_is_finite() const noexcept { return (a.nonfinite == 0) != (b.nonfinite == 0); }
  [[nodiscard]] double typical() const noexcept { return std::max(a.typical(), b.typical()); }
};

bool run_comparison::is_weight(const seen_row& row) const {
  return found_.tensors[row.tensor].kind == tensor_kind::weight;
}

std::size_t run_comparison::add_tensor(const tensor_info& a, const tensor_info& b) {
  found_.tensors.push_back({.name = a.name, .name_b = b.name, .kind = a.kind});
  through_a_.push_back(a.through);
  through_b_.push_back(b.through);
  return found_.tensors.size() - 1;
}

std::vector<run_comparison::seen_row> run_comparison::rows_of(const paired_step& now) {
  std::vector<seen_row> rows;
  for (const paired_row& pair : now.rows) {
    compared_tensor& t = found_.tensors[pair.tensor];
    if (pair.a == nullptr || pair.b == nullptr) {
      ++(pair.a != nullptr ? t.only_a : t.only_b);
      continue;
    }
    seen_row row{.tensor = pair.tensor,
                 .a = figures_of(*pair.a),
                 .b = figures_of(*pair.b),
                 .bits_a = bits_of(pair.a->table),
                 .bits_b = bits_of(pair.b->table),
                 .least_factor = std::min(pair.a->unit(), pair.b->unit()),
                 .storage = std::max(storage_of(*pair.a), storage_of(*pair.b))};
    row.change = row.nearest = least_change(row.a, row.b);
    std::vector<row_figures> same{row.a};
    for (const tensor_row* const repeat : pair.repeats) {
      if (repeat == nullptr) continue;
      const row_figures r = figures_of(*repeat);
      for (const row_figures& other : same) row.repeated.push_back(least_change(other, r));
      row.nearest = std::min(row.nearest, least_change(r, row.b));
      same.push_back(r);
    }
    const auto scaled = [](const row_figures& f, const step_scalars* s, const tensor_row& recorded) {
      return std::isnan(s->loss_scale) ? recorded.table.max_abs : f.largest * s->loss_scale;
    };
    row.scaled_largest = row.a.nonfinite == 0 ? scaled(row.a, now.a, *pair.a) : scaled(row.b, now.b, *pair.b);

    if (t.steps++ == 0) {
      t.bits_a = row.bits_a;
      t.bits_b = row.bits_b;
    }
    t.values += row.a.numel;
    t.zeros_a += row.a.zeros;
    t.zeros_b += row.b.zeros;
    t.estimated = t.estimated || !row.a.exact || !row.b.exact;
    if (row.a == row.b)
      ++t.same;
    else if (!t.first_different)
      t.first_different = now.key.step;
    if (!row.is_finite()) {
      ++t.not_finite;
    } else {
      if (row.change > t.largest) {
        t.largest = row.change;
        t.largest_at = now.key.step;
      }
      if (row.a.norm > 0 && row.b.norm > 0)
        t.log2_ratio += (std::log2(row.b.norm / row.a.norm) - t.log2_ratio) / static_cast<double>(++t.ratios);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// The coarsest of the tensors that both runs keep alike, but for a few; where most are narrower in one run, of all.
void run_comparison::choose_format(const std::vector<seen_row>& rows, const paired_step& now) {
  std::size_t told = 0;
  std::size_t narrower_a = 0;
  std::size_t narrower_b = 0;
  for (const seen_row& r : rows) {
    if (is_weight(r)) continue;
    told += r.bits_a.binades > 0 && r.bits_b.binades > 0 ? 1 : 0;
    narrower_a += is_narrower(r.bits_a, r.bits_b) ? 1 : 0;
    narrower_b += is_narrower(r.bits_b, r.bits_a) ? 1 : 0;
  }
  // Tensors that stay in float32 do not show.
  const auto are_most = [&](std::size_t narrower) { return narrower * 5 > told * 2; };
  found_.is_narrower_a = are_most(narrower_a);
  found_.is_narrower_b = are_most(narrower_b);
  const bool all = found_.is_narrower_a || found_.is_narrower_b;

  std::vector<format> seen;
  std::size_t next = 0;
  for (const paired_row& pair : now.rows) {
    if (pair.a == nullptr || pair.b == nullptr) continue;
    const seen_row& r = rows[next++];
    if (!all && (is_narrower(r.bits_a, r.bits_b) || is_narrower(r.bits_b, r.bits_a))) continue;
    for (const auto& [row, bits, through] : {std::tuple{pair.a, r.bits_a, through_a_[pair.tensor]},
                                             std::tuple{pair.b, r.bits_b, through_b_[pair.tensor]}}) {
      if (const auto named = find_format(through); named && !through.empty())
        seen.push_back(*named);
      else if (const format* const of = format_of(*row, bits, found_.tensors[pair.tensor].kind))
        seen.push_back(*of);
    }
  }
  format coarsest = std::isnan(now.a->loss_scale) && std::isnan(now.b->loss_scale) ? bfloat16 : float16;
  found_.format_assumed = seen.empty();
  if (!seen.empty()) {
    // Gradients that are nothing but rounding have few bits in any format.
    std::ranges::stable_sort(seen, {}, &format::precision);
    coarsest = seen[seen.size() / 5];
  }
  found_.format = to_string(coarsest);
  largest_number_ = std::ldexp(2 - 2 * roundoff_of(coarsest), coarsest.last_exponent());
  least_number_ = std::ldexp(1.0, coarsest.min_quantum_exponent());
  roundoff_ = roundoff_of(coarsest);
  gradients_ = static_cast<std::size_t>(std::ranges::count_if(rows, [&](const seen_row& r) { return !is_weight(r); }));
}

part_change run_comparison::scalar_change(const paired_step& now, step_part part, double step_scalars::*of,
                                          bool step_scalars::*is_nan, std::size_t series) {
  part_change c{.part = part, .a = now.a->*of, .b = now.b->*of};
  const auto is_finite = [&](const step_scalars& s) { return std::isfinite(s.*of); };
  const auto is_lost = [&](const step_scalars& s) { return std::isinf(s.*of) || s.*is_nan; };
  if ((is_finite(*now.a) && is_lost(*now.b)) || (is_lost(*now.a) && is_finite(*now.b)))
    c.change = std::numeric_limits<double>::infinity();
  if (is_finite(*now.a) && is_finite(*now.b)) {
    c.change = relative_change(c.a, c.b);
    std::vector<double> same{c.a};
    for (const step_scalars* const repeat : now.repeats) {
      if (repeat == nullptr || !is_finite(*repeat)) continue;
      for (const double other : same) bounds_.see_repeat(series, relative_change(other, repeat->*of));
      c.change = std::min(c.change, relative_change(repeat->*of, c.b));
      same.push_back(repeat->*of);
    }
    bounds_.see_pair(series, c.change);
  }
  // A mean over many values has a smaller error than they have; below 1 a loss is a difference of larger numbers.
  c.bound = bounds_.of(series, of_format() / 4 * std::max(1.0, 1 / std::max(std::abs(c.a), std::abs(c.b))));
  return c;
}

// What is chosen, not computed: it is the same or it differs.
void run_comparison::see_exact(const paired_step& now, step_part part, double step_scalars::*of, compared_scalar& to,
                               parted_step& parted) {
  const double a = now.a->*of;
  const double b = now.b->*of;
  const bool differed = to.largest > as_printed;
  count(to, a, b, now.key.step);
  const auto is_other = [&](const step_scalars* repeat) {
    return repeat != nullptr && !(relative_change(repeat->*of, a) <= as_printed);
  };
  to.repeats_differ = to.repeats_differ || std::ranges::any_of(now.repeats, is_other);
  if (differed || to.repeats_differ || !(relative_change(a, b) > as_printed)) return;
  parted.parts.push_back({.part = part, .change = relative_change(a, b), .a = a, .b = b});
}

void run_comparison::see_overflow(const paired_step& now, const std::vector<seen_row>& rows, parted_step& parted) {
  const auto differ = [](const std::optional<bool>& a, const std::optional<bool>& b) { return a && b && *a != *b; };
  const bool lost = std::ranges::any_of(rows, [&](const seen_row& r) { return r.one_is_finite(); });
  const auto overflows = [](const step_scalars* s) { return s != nullptr && s->found_inf.value_or(false); };
  same_overflow_ = same_overflow_ || overflows(now.a) || std::ranges::any_of(now.repeats, overflows);
  if (!lost && !differ(now.a->found_inf, now.b->found_inf) && !differ(skipped(*now.a), skipped(*now.b))) return;
  // What is the same overflows in one step or in another.
  if (bounds_.by_repeats() && same_overflow_) return;

  double largest = 0;
  for (const seen_row& r : rows)
    if (is_gradient(found_.tensors[r.tensor].kind) && !std::isnan(r.scaled_largest))
      largest = std::max(largest, r.scaled_largest);
  const bool is_near = largest * (1 + 16 * usual_bound().value) >= largest_number_;
  const bool is_scaled = std::isnan(now.a->loss_scale) != std::isnan(now.b->loss_scale) ||
                         relative_change(now.a->loss_scale, now.b->loss_scale) > as_printed;
  if (is_scaled || is_near) {
    found_.end = {now.key.step,
                  is_scaled ? end_of_judgement::reason::other_scale : end_of_judgement::reason::near_overflow};
    return;
  }
  // The backward pass carries infinities from later tensors of the network to earlier ones.
  std::optional<std::size_t> last;
  for (const seen_row& r : rows)
    if (r.one_is_finite()) last = r.tensor;
  parted.parts.push_back(
      {.part = step_part::overflow, .tensor = last, .change = std::numeric_limits<double>::infinity()});
}

void run_comparison::keep(parted_step parted) {
  std::ranges::stable_sort(parted.parts, [](const part_change& x, const part_change& y) {
    if (x.is_narrower != y.is_narrower) return x.is_narrower;
    if (x.part != y.part) return x.part < y.part;
    return x.excess() > y.excess();
  });
  parted.factor = common_factor(parted.parts, usual_bound().value);
  const bool tells_values = std::ranges::any_of(parted.parts, [](const part_change& p) {
    return p.part != step_part::learning_rate && p.part != step_part::loss_scale;
  });
  if (!found_.first) found_.first = parted;
  if (!found_.first_tensors && tells_values) found_.first_tensors = std::move(parted);
}

void run_comparison::see_tensors(const std::vector<seen_row>& rows, parted_step& parted) {
  // What values of a tensor usually are, and how far a weight usually has moved.
  std::vector<std::pair<step_part, double>> typical;
  std::vector<double> ways;
  for (const seen_row& r : rows) {
    if (!r.is_finite()) continue;
    if (r.typical() > 0) typical.emplace_back(part_of(found_.tensors[r.tensor].kind), r.typical());
    if (!is_weight(r)) continue;
    if (last_weights_.size() <= r.tensor) {
      last_weights_.resize(r.tensor + 1);
      moved_.resize(r.tensor + 1);
    }
    const row_figures last = std::exchange(last_weights_[r.tensor], r.a);
    if (last.numel > 0) moved_[r.tensor] = std::max(moved_[r.tensor], least_change(last, r.a));
    ways.push_back(moved_[r.tensor]);
  }
  std::ranges::sort(typical);
  std::ranges::sort(ways);
  const auto usual = [&](step_part part) {
    const auto of_part = std::ranges::equal_range(typical, part, {}, &std::pair<step_part, double>::first);
    return of_part.empty() ? 0 : of_part[of_part.size() / 2].second;
  };
  const auto bound_of_format = [&](const seen_row& r) {
    const step_part part = part_of(found_.tensors[r.tensor].kind);
    if (part == step_part::weight)
      return std::max(update_bound(roundoff_), found_.kink ? 0.5 : 0) *
                 std::max(moved_[r.tensor], ways[ways.size() / 2]) +
             8 * r.storage;
    if (part == step_part::update) return std::max(update_bound(roundoff_), of_format());
    if (!(r.typical() > 0)) return of_format();
    // A tensor that is much smaller than the others is rounded with them; few values do not average out.
    const double small = std::max(1.0, usual(part) / r.typical() / 4);
    const double few = 1 + 8 / std::sqrt(static_cast<double>(r.a.numel));
    return of_format() * (small * few + least_number_ / 2 / r.least_factor / r.typical() / roundoff_);
  };
  for (const seen_row& r : rows) {
    if (!r.is_finite()) continue;
    compared_tensor& t = found_.tensors[r.tensor];
    drift_bounds& bounds = is_weight(r) ? weight_bounds_ : bounds_;
    const std::size_t series = first_tensor_series + r.tensor;
    part_change c{.part = part_of(t.kind),
                  .tensor = r.tensor,
                  .change = r.nearest,
                  .bound = bounds.of(series, bound_of_format(r)),
                  .a = r.a.norm,
                  .b = r.b.norm};
    // What is nothing but rounding has as few bits as it happens.
    constexpr double smallest = 0x1p-10;
    c.is_narrower = !found_.is_narrower_a && !found_.is_narrower_b && r.typical() > smallest * usual(c.part) &&
                    (is_narrower(r.bits_a, r.bits_b) || is_narrower(r.bits_b, r.bits_a));
    const bool differs = is_over(c) || c.is_narrower;
    if (!is_weight(r)) {
      ++parted.compared;
      parted.over += differs ? 1 : 0;
    }
    if (differs) {
      if (!t.first_over) t.first_over = parted.step;
      parted.parts.push_back(c);
    }
    if (!found_.first_tensors) bounds.see_pair(series, r.change);
  }
}

// At equal losses, which no bound of rounding is for.
void run_comparison::see_ratios(const std::vector<seen_row>& rows, const paired_step& now, parted_step& parted) {
  const auto judge = [&](std::size_t series, part_change& c) {
    if (ratios_.size() <= series) ratios_.resize(series + 1);
    usual_ratio& usual = ratios_[series];
    const bool has_ratio = c.a > 0 && c.b > 0;
    const double ratio = has_ratio ? std::log(c.b / c.a) : 0;
    if (usual.is_known()) {
      c.usual_ratio = std::exp(usual.median());
      c.bound = {std::max(usual.bound(), of_format()), bound_source::history};
      if (has_ratio)
        c.change = std::abs(ratio - usual.median());
      else if (c.a > 0 || c.b > 0)
        c.change = std::numeric_limits<double>::infinity();
    } else if ((c.a > 0) != (c.b > 0)) {
      usual.see_zero_alone();
      if (usual.is_zero_alone()) {
        c.change = std::numeric_limits<double>::infinity();
        c.bound = {of_format(), bound_source::history};
      }
    }
    if (has_ratio && !is_over(c)) usual.see(std::log(c.a), std::log(c.b));
    return is_over(c);
  };

  part_change norm{.part = step_part::grad_norm, .a = now.a->grad_norm, .b = now.b->grad_norm};
  const bool is_lost_a = std::isinf(norm.a) || now.a->grad_norm_is_nan;
  const bool is_lost_b = std::isinf(norm.b) || now.b->grad_norm_is_nan;
  if ((is_lost_a && std::isfinite(norm.b)) || (is_lost_b && std::isfinite(norm.a))) {
    norm.change = std::numeric_limits<double>::infinity();
    norm.bound = {of_format(), bound_source::history};
    parted.parts.push_back(norm);
  }
  if (std::isfinite(norm.a) && std::isfinite(norm.b)) {
    found_.norm_ratios += norm.a > 0 && norm.b > 0 ? 1 : 0;
    if (judge(0, norm)) parted.parts.push_back(norm);
  }
  for (const seen_row& r : rows) {
    if (!r.is_finite()) continue;
    compared_tensor& t = found_.tensors[r.tensor];
    part_change c{.part = part_of(t.kind), .tensor = r.tensor, .a = r.a.norm, .b = r.b.norm};
    c.is_narrower = !found_.is_narrower_a && !found_.is_narrower_b &&
                    (is_narrower(r.bits_a, r.bits_b) || is_narrower(r.bits_b, r.bits_a));
    const bool differs = judge(1 + r.tensor, c) || c.is_narrower;
    ++parted.compared;
    if (!differs) continue;
    ++parted.over;
    if (!t.first_over) t.first_over = parted.step;
    parted.parts.push_back(c);
  }
}

bool run_comparison::is_kink(const std::vector<seen_row>& rows, const parted_step& parted) const {
  if (!parted.loss_agrees || bounds_.by_repeats()) return false;
  std::vector<bool> is_changed(found_.tensors.size());
  for (const part_change& p : parted.parts) {
    const bool is_of_gradients =
        p.tensor ? is_gradient(found_.tensors[*p.tensor].kind) : p.part == step_part::grad_norm;
    if (!is_of_gradients || p.is_narrower || p.change > kink_bound) return false;
    if (p.tensor) is_changed[*p.tensor] = true;
  }
  // Gradients of weights up to the last that changed, and how many of them did.
  std::size_t weights = 0;
  std::size_t last = 0;
  std::size_t changed = 0;
  for (const seen_row& r : rows) {
    const tensor_kind kind = found_.tensors[r.tensor].kind;
    if (kind == tensor_kind::activation_grad || !is_gradient(kind)) continue;
    ++weights;
    if (!is_changed[r.tensor]) continue;
    last = weights;
    ++changed;
  }
  return changed >= 2 && last < weights && changed * 5 >= last * 3;
}

void run_comparison::see(const paired_step& now) {
  const std::vector<seen_row> rows = rows_of(now);
  parted_step parted{.step = now.key.step, .is_first = found_.steps++ == 0};
  if (parted.is_first) {
    choose_format(rows, now);
    found_.first_step = now.key.step;
    found_.smallest_bound = usual_bound();
  }
  found_.last_step = now.key.step;

  parted_step chosen = parted;  // what is at equal losses as it happens
  parted_step& exact = by_ == run_alignment::loss ? chosen : parted;
  see_exact(now, step_part::learning_rate, &step_scalars::learning_rate, found_.learning_rate, exact);
  see_exact(now, step_part::loss_scale, &step_scalars::loss_scale, found_.loss_scale, exact);
  count(found_.loss, now.a->loss, now.b->loss, now.key.step);
  count(found_.grad_norm, now.a->grad_norm, now.b->grad_norm, now.key.step);
  const std::optional<bool> skipped_a = skipped(*now.a);
  const std::optional<bool> skipped_b = skipped(*now.b);
  if (skipped_a && skipped_b) {
    ++found_.skips_known;
    found_.skipped_a += *skipped_a ? 1 : 0;
    found_.skipped_b += *skipped_b ? 1 : 0;
  }
  if (by_ == run_alignment::loss) {
    see_ratios(rows, now, parted);
    if (!parted.parts.empty()) keep(std::move(parted));
    return;
  }
  for (const seen_row& r : rows)
    for (const double change : r.repeated)
      (is_weight(r) ? weight_bounds_ : bounds_).see_repeat(first_tensor_series + r.tensor, change);
  if (found_.end) return;

  see_overflow(now, rows, parted);
  if (!found_.end && !bounds_.by_repeats() && usual_bound().value >= 0.5)
    found_.end = {now.key.step, end_of_judgement::reason::drifted};
  if (found_.end) {
    if (!parted.parts.empty()) keep(std::move(parted));
    return;
  }
  found_.largest_bound = usual_bound();

  const part_change loss =
      scalar_change(now, step_part::loss, &step_scalars::loss, &step_scalars::loss_is_nan, loss_series);
  if (is_over(loss)) parted.parts.push_back(loss);
  if (!std::isnan(loss.a) && !std::isnan(loss.b)) {
    parted.loss = loss.change;
    parted.loss_agrees = !is_over(loss);
  }
  const part_change norm =
      scalar_change(now, step_part::grad_norm, &step_scalars::grad_norm, &step_scalars::grad_norm_is_nan, norm_series);
  if (is_over(norm)) parted.parts.push_back(norm);

  see_tensors(rows, parted);
  if (has_kinks_ && !found_.first_tensors && is_kink(rows, parted)) {
    double most = 0;
    for (const part_change& p : parted.parts) most = std::max(most, p.change);
    if (!found_.kink) found_.kink = {parted.step, most};
    parted.parts.clear();
  }
  if (!parted.parts.empty()) keep(std::move(parted));
  bounds_.end_step();
  weight_bounds_.end_step();
  found_.repeats_differ = bounds_.by_repeats() || weight_bounds_.by_repeats();
}

}  // namespace ulp
