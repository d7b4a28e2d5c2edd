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

}  // namespace

std::vector<step_loss> loss_records(const std::vector<step_loss>& losses, std::size_t window) {
  std::vector<step_loss> known;
  std::ranges::copy_if(losses, std::back_inserter(known), [](const step_loss& s) { return std::isfinite(s.loss); });
  std::vector<step_loss> records;
  std::vector<double> around;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::size_t half = std::min({window / 2, i, known.size() - 1 - i});
    around.clear();
    for (std::size_t j = i - half; j <= i + half; ++j) around.push_back(known[j].loss);
    const auto middle = around.begin() + static_cast<std::ptrdiff_t>(half);
    std::ranges::nth_element(around, middle);
    const double level = *middle;
    if (records.empty() || level < records.back().loss) records.push_back({known[i].step, level});
  }
  return records;
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
