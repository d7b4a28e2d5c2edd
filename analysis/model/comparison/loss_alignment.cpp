#include <ulp/model/comparison/loss_alignment.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace ulp {
namespace {

// Of `records`, whose levels fall, the nearest to `level`; of two the first.
std::size_t nearest(const std::vector<step_loss>& records, double level) {
  const auto below = std::ranges::lower_bound(records, level, std::ranges::greater{}, &step_loss::loss);
  const auto at = static_cast<std::size_t>(below - records.begin());
  if (below == records.end()) return at - 1;
  if (at == 0) return 0;
  return records[at - 1].loss - level <= level - records[at].loss ? at - 1 : at;
}

bool are_equal(double a, double b) { return std::abs(a - b) <= equal_losses * std::max(std::abs(a), std::abs(b)); }

std::vector<step_loss> finite_of(const std::vector<step_loss>& losses) {
  std::vector<step_loss> known;
  std::ranges::copy_if(losses, std::back_inserter(known), [](const step_loss& s) { return std::isfinite(s.loss); });
  return known;
}

// Of as many losses before as behind.
double median_around(const std::vector<step_loss>& losses, std::size_t at, std::size_t half) {
  std::vector<double> around;
  for (std::size_t j = at - half; j <= at + half; ++j) around.push_back(losses[j].loss);
  const auto middle = around.begin() + static_cast<std::ptrdiff_t>(half);
  std::ranges::nth_element(around, middle);
  return *middle;
}

std::vector<step_loss> smoothed(const std::vector<step_loss>& losses, std::size_t window) {
  const std::vector<step_loss> known = finite_of(losses);
  std::vector<step_loss> all;
  for (std::size_t i = 0; i < known.size(); ++i)
    all.push_back({known[i].step, median_around(known, i, std::min({window / 2, i, known.size() - 1 - i}))});
  return all;
}

}  // namespace

std::vector<step_loss> loss_records(const std::vector<step_loss>& losses, std::size_t window) {
  std::vector<step_loss> records;
  for (const step_loss& s : smoothed(losses, window))
    if (records.empty() || s.loss < records.back().loss) records.push_back(s);
  return records;
}

std::optional<lasting_rise> rise_for_good(const std::vector<step_loss>& losses, std::size_t window) {
  const std::vector<step_loss> levels = smoothed(losses, window);
  if (levels.size() <= window) return std::nullopt;
  const std::size_t half = window / 2;
  const double least = std::ranges::min(levels, {}, &step_loss::loss).loss;
  // Near the ends less and less is smoothed: the first and the last whole window speak for what lies there.
  const double first = levels[half].loss;
  const double last = levels[levels.size() - 1 - half].loss;
  const double above = least + std::max((first - least) / 4, std::abs(least) / 5);
  const auto is_low = [&](const step_loss& s) { return s.loss <= above; };
  const auto risen = std::find_if(levels.rbegin() + static_cast<std::ptrdiff_t>(half), levels.rend(), is_low).base();
  if (!(last > above) || static_cast<std::size_t>(levels.end() - risen) < window) return std::nullopt;
  return lasting_rise{risen->step, least, last};
}

std::vector<loss_pair> pair_by_loss(const std::vector<step_loss>& records_a, const std::vector<step_loss>& records_b) {
  std::vector<loss_pair> pairs;
  if (records_b.empty()) return pairs;
  for (std::size_t i = 0; i < records_a.size(); ++i) {
    const step_loss& a = records_a[i];
    const step_loss& b = records_b[nearest(records_b, a.loss)];
    if (nearest(records_a, b.loss) == i && are_equal(a.loss, b.loss)) pairs.push_back({a.step, b.step, a.loss, b.loss});
  }
  return pairs;
}

}  // namespace ulp
