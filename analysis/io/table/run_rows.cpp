#include "run_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "missing_values.hpp"
#include "raw_row.hpp"
#include "source/scalar_table.hpp"
#include "training_log/skip_counts.hpp"

namespace ulp::io {
namespace {

using m = column_meaning;

bool is_whole(double x) { return x >= 0 && x == std::floor(x) && x <= 0x1p53; }

class row_reader {
 public:
  row_reader(const run_table& table, const chosen_columns& chosen) : table_(table), chosen_(chosen) {
    for (const auto& [means, column] : chosen.by_meaning) meanings_[column] = means;
  }

  run_rows read() {
    collect();
    drop_absent_norms();
    all_.notes = drop_missing(table_, chosen_, rows_, negative_norms_ > 0 && has_other_norms_);
    choose_numbers();
    turn_round();
    count_over_epochs();
    all_.loss_is_running = is_running_mean();
    count_samples();
    put_together();
    count_skipped();
    if (all_.rows.empty()) throw input_error(table_.path, "", "holds no row with a metric: " + chosen_.text);
    describe();
    return std::move(all_);
  }

 private:
  [[nodiscard]] double value_of(const run_table::cell& c) const {
    const auto& reading = table_.columns[c.column].reading;
    return reading && reading->is_log2 ? std::exp2(c.value) : c.value;
  }

  void collect() {
    const auto& parts = chosen_.parts_of_loss;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      raw_row row(i, table_.rows[i].line);
      for (const run_table::cell& c : table_.cells_of(i)) {
        const auto found = meanings_.find(c.column);
        if (found != meanings_.end() && !row.has(found->second)) put(row, found->second, value_of(c));
        const bool is_part = std::ranges::find(parts, c.column) != parts.end();
        if (is_part && !std::isfinite(c.value)) row.set(m::loss, c.value);
      }
      if (row.has_metric() || row.has(m::learning_rate)) rows_.push_back(std::move(row));
    }
  }

  void put(raw_row& row, m means, double value) {
    if (means != m::grad_norm) return row.set(means, value);
    negative_norms_ += is_negative_norm(value) ? 1 : 0;
    has_other_norms_ = has_other_norms_ || !is_negative_norm(value);
    if (const auto norm = norm_told(value)) row.set(means, *norm);
  }

  void drop_absent_norms() {
    if (negative_norms_ == 0 || has_other_norms_) return;
    for (raw_row& row : rows_) row.forget(m::grad_norm);
    std::erase_if(rows_, [](const raw_row& row) { return !row.has_metric() && !row.has(m::learning_rate); });
  }

  // By steps; else by epochs, of which each has a row; else by the order of the rows.
  void choose_numbers() {
    if (chosen_.of(m::step) && !are_means_of_epochs()) return number_by(m::step, counted_by::step);
    if (chosen_.of(m::step) && !chosen_.of(m::epoch)) return number_by(m::step, counted_by::epoch);
    std::uint64_t repeats = 0;
    double before = not_known;
    bool whole = chosen_.of(m::epoch).has_value();
    for (const raw_row& row : rows_) {
      if (!row.has_metric() || !row.has(m::epoch)) continue;
      whole = whole && is_whole(row.of(m::epoch));
      repeats += row.of(m::epoch) == before ? 1 : 0;
      before = row.of(m::epoch);
    }
    if (whole && 2 * repeats <= rows_.size()) return number_by(m::epoch, counted_by::epoch);
    all_.numbers = counted_by::order;
    std::erase_if(rows_, [](const raw_row& row) { return !row.has_metric(); });
    steps_.resize(rows_.size());
    std::iota(steps_.begin(), steps_.end(), std::int64_t{1});
  }

  // Keras' "epoch_loss", Lightning's "train_loss_epoch" alone.
  [[nodiscard]] bool are_means_of_epochs() const {
    return std::ranges::all_of(chosen_.by_meaning, [&](const auto& of) {
      const auto& reading = table_.columns[of.second].reading;
      const bool is_counter = of.first == m::step || of.first == m::epoch || of.first == m::learning_rate;
      return is_counter || (reading && reading->of_epoch);
    });
  }

  void number_by(m means, counted_by numbers) {
    all_.numbers = numbers;
    const auto lacks = [&](const raw_row& row) { return !row.has(means) || !is_whole(row.of(means)); };
    without_number_ = static_cast<std::uint64_t>(
        std::ranges::count_if(rows_, [&](const raw_row& row) { return lacks(row) && row.has_metric(); }));
    std::erase_if(rows_, lacks);
    for (const raw_row& row : rows_) steps_.push_back(static_cast<std::int64_t>(row.of(means)));
  }

  // A table that begins with the last step.
  void turn_round() {
    if (steps_.size() < 3 || !std::ranges::is_sorted(steps_, std::greater{}) || steps_.front() == steps_.back()) return;
    std::ranges::reverse(rows_);
    std::ranges::reverse(steps_);
    all_.notes.push_back("the steps descend all through: the table is read from its end");
  }

  // Batches that are counted anew in each epoch, as a column of epochs says, or their name.
  void count_over_epochs() {
    if (all_.numbers != counted_by::step) return;
    std::uint64_t restarts = 0;
    const bool are_batches = !chosen_.of(m::epoch) && counts_batches();
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      if (steps_[i] >= steps_[i - 1]) continue;
      ++restarts;
      const bool is_new_epoch =
          are_batches ? steps_[i] == steps_.front() : rows_[i].of(m::epoch) > rows_[i - 1].of(m::epoch);
      if (!is_new_epoch) return;
    }
    if (restarts == 0) return;
    std::int64_t before = 0;
    std::int64_t gap = 1;
    std::int64_t last = steps_.front();
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      const std::int64_t now = steps_[i];
      if (now < last)
        before = steps_[i - 1] + gap - now;
      else if (now > last)
        gap = now - last;
      last = now;
      if (before > std::int64_t{1} << 53)  // as each step by itself
        throw input_error(table_.path, "", "counts more steps over its epochs than can be numbered");
      steps_[i] = before + now;
    }
    all_.notes.push_back(are_batches ? "the batches begin again " + std::to_string(restarts) +
                                           (restarts == 1 ? " time" : " times") +
                                           ", as in each epoch: they are counted on from one to the next"
                                     : "the steps begin again in each epoch: they are counted on from one to the next");
  }

  [[nodiscard]] bool counts_batches() const {
    const std::string& name = table_.columns[*chosen_.of(m::step)].name;
    return name.find("batch") != std::string::npos || name.find("Batch") != std::string::npos;
  }

  // An average over ranks is none of steps.
  [[nodiscard]] bool is_running_mean() const {
    const auto loss = chosen_.of(m::loss);
    if (!loss) return false;
    const run_table::column& column = table_.columns[*loss];
    return column.reading && column.reading->is_running && column.name.find("global") == std::string::npos;
  }

  // DeepSpeed numbers its metrics by samples.
  void count_samples() {
    const bool of_samples = std::ranges::any_of(chosen_.by_meaning, [&](const auto& of) {
      return table_.columns[of.second].name.find("/Samples/") != std::string::npos;
    });
    if (!of_samples || all_.numbers != counted_by::step) return;
    std::int64_t all = 0;
    for (const std::int64_t step : steps_) all = std::gcd(all, step);
    if (all < 2) return;
    for (std::int64_t& step : steps_) step /= all;
    all_.notes.push_back("the table counts samples: each " + std::to_string(all) + " of them are taken for a step");
  }

  void put_together() {
    constexpr std::array all{m::loss,      m::grad_norm, m::learning_rate, m::loss_scale,
                             m::found_inf, m::skipped,   m::applied};
    std::map<std::int64_t, raw_row> part;  // from one restart to the next
    std::map<m, std::int64_t> last;
    std::int64_t before = -1;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const raw_row& row = rows_[i];
      const std::int64_t step = steps_[i];
      const bool goes_back = std::ranges::any_of(all, [&](m means) {
        const auto at = last.find(means);
        return row.has(means) && at != last.end() && (step < at->second || (step == at->second && step != before));
      });
      if (goes_back) {
        if (step <= part.begin()->first && part.rbegin()->first > part.begin()->first) refuse_second_run(row);
        flush(part);
        last.clear();
      }
      before = step;
      raw_row& into = part.try_emplace(step, row.index(), row.line()).first->second;
      for (const m means : all) {
        if (!row.has(means)) continue;
        last[means] = step;
        const bool repeats = into.has(means);
        repeated_ += repeats ? 1 : 0;
        const bool agrees =
            into.of(means) == row.of(means) || (std::isnan(into.of(means)) && std::isnan(row.of(means)));
        all_.contradicted += repeats && !agrees && means != m::learning_rate ? 1 : 0;
        if (!repeats || std::isfinite(into.of(means))) into.set(means, row.of(means));
      }
    }
    flush(part);
  }

  // Nobody can tell which of them counts, and none may be dropped without a word.
  [[noreturn]] void refuse_second_run(const raw_row& row) const {
    throw input_error(
        table_.path_of(row.index()), table_.place(row.line()),
        "the step numbers begin again: the table holds two runs, or each epoch counts anew; give each run a table "
        "of its own, with numbers that go on from one epoch to the next, or a column of the epoch");
  }

  void flush(std::map<std::int64_t, raw_row>& part) {
    for (const auto& [step, row] : part) {
      if (!row.has_metric()) continue;
      run_row made{.line = row.line(), .index = row.index(), .step = step};
      made.logged.loss = row.of(m::loss);
      made.logged.grad_norm = row.of(m::grad_norm);
      made.logged.learning_rate = row.of(m::learning_rate);
      made.logged.loss_scale = row.of(m::loss_scale);
      made.scale_is_rounded = is_logarithm();
      made.logged.loss_is_nan = row.has(m::loss) && std::isnan(made.logged.loss);
      made.logged.grad_norm_is_nan = row.has(m::grad_norm) && std::isnan(made.logged.grad_norm);
      made.scale_is_infinite = made.logged.loss_scale == std::numeric_limits<double>::infinity();
      if (made.scale_is_infinite && infinite_scales_++ == 0) first_infinite_scale_ = step;
      if (!(made.logged.loss_scale >= 0) || std::isinf(made.logged.loss_scale)) made.logged.loss_scale = not_known;
      if (is_of_validation() && !std::isfinite(row.of(m::loss)) && row.has(m::loss)) {
        made.logged.loss = not_known;
        made.logged.loss_is_nan = false;
        ++all_.of_validation;
      }
      if (row.has(m::applied)) made.logged.applied = row.of(m::applied) != 0;
      if (made.logged.applied) made.logged.found_inf = !*made.logged.applied;
      if (row.has(m::found_inf)) found_.emplace_back(all_.rows.size(), row.of(m::found_inf));
      if (row.has(m::skipped)) skipped_.emplace_back(all_.rows.size(), row.of(m::skipped));
      all_.rows.push_back(made);
    }
    part.clear();
  }

  [[nodiscard]] bool is_logarithm() const {
    const auto scale = chosen_.of(m::loss_scale);
    return scale && table_.columns[*scale].reading && table_.columns[*scale].reading->is_log2;
  }

  [[nodiscard]] bool is_of_validation() const {
    const auto loss = chosen_.of(m::loss);
    if (!loss) return false;
    const auto& reading = table_.columns[*loss].reading;
    return reading && reading->of_validation;
  }

  // Whether steps that are told to be skipped, each with a row, have norms and losses that are finite, without any that has not,
  // or at which the loss scale falls: then something else is skipped, as data are.
  [[nodiscard]] bool finite_norms_contradict(const std::vector<std::pair<std::size_t, double>>& told,
                                             const std::vector<std::optional<std::int64_t>>& since) const {
    bool any = false;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const std::size_t at = told[i].first;
      const run_row& row = all_.rows[at];
      if (!(since.empty() ? told[i].second > 0 : since[i].value_or(0) > 0)) continue;
      const step_scalars& now = row.logged;
      const auto falls_behind = [&](std::size_t k) {
        return k > 0 && k < all_.rows.size() && all_.rows[k].logged.loss_scale < all_.rows[k - 1].logged.loss_scale;
      };
      const bool is_single = at == 0 || row.step == all_.rows[at - 1].step + 1;
      if (!is_single || !std::isfinite(now.grad_norm) || now.loss_is_nan || std::isinf(now.loss) || falls_behind(at) ||
          falls_behind(at + 1))
        return false;
      any = true;
    }
    return any;
  }

  [[nodiscard]] bool is_vague(m means) const {
    const auto column = chosen_.of(means);
    return column && !names_steps(table_.columns[*column].name);
  }

  void leave_out(m means, std::size_t rows) {
    all_.not_used += rows;
    all_.notes.push_back(
        "the column " + in_quotes(table_.columns[*chosen_.of(means)].name) +
        " tells of skipped steps or of overflows beside norms that are finite: it is not used, and may be of something "
        "else than the loss scaler");
  }

  // What a number of those in all tells of the first row, where the rows begin with the run: no more than there are steps up to it.
  [[nodiscard]] std::optional<std::int64_t> skipped_at_first(double in_all) {
    const auto skipped = static_cast<std::int64_t>(in_all);
    const std::int64_t can_be = skipped_.front().first == 0 ? most_at_first(all_.rows) : 0;
    if (skipped > can_be) {
      all_.notes.push_back("the first row counts " + std::to_string(skipped) +
                           (skipped == 1 ? " skipped step" : " skipped steps") +
                           ", which are of none of the steps that the table has");
      return std::nullopt;
    }
    if (skipped == can_be && can_be > 1) all_.notes.emplace_back("the first row counts step 0, too, which has no row");
    return skipped;
  }

  // Flags; or numbers of skipped steps, in all if they never fall.
  void count_skipped() {
    const auto is_flag = [](const auto& v) { return v.second == 0 || v.second == 1 || std::isnan(v.second); };
    if (std::ranges::all_of(found_, is_flag)) {
      for (const auto& [row, value] : found_)
        if (!std::isnan(value)) all_.rows[row].logged.found_inf = value != 0;
    } else if (skipped_.empty()) {
      skipped_ = std::move(found_);
    }
    std::erase_if(skipped_, [](const auto& v) { return !is_whole(v.second); });
    if (std::ranges::all_of(found_, is_flag) && is_vague(m::found_inf) && finite_norms_contradict(found_, {})) {
      leave_out(m::found_inf, found_.size());
      for (const auto& [row, value] : found_) all_.rows[row].logged.found_inf.reset();
    }
    if (skipped_.empty()) return;
    std::vector<logged_skips> told;
    for (const auto& [row, value] : skipped_) told.push_back({value, all_.rows[row].is_nonfinite()});
    std::vector<std::optional<std::int64_t>> since = skips_of(told);
    if (are_in_all(told)) since.front() = skipped_at_first(told.front().value);
    const m means = chosen_.of(m::skipped) ? m::skipped : m::found_inf;
    if (is_vague(means) && finite_norms_contradict(skipped_, since)) {
      leave_out(means, skipped_.size());
      return;
    }
    for (std::size_t i = 0; i < told.size(); ++i)
      if (since[i]) all_.rows[skipped_[i].first].skipped = since[i];
    all_.notes.push_back(are_in_all(told)
                             ? "the numbers of skipped steps never fall: they are those since the run began"
                             : "the numbers of skipped steps are those since the row before");
  }

  void describe() {
    if (without_number_ > 0)
      all_.notes.push_back(count_text(without_number_, "row") + " without a number of their " +
                           (all_.numbers == counted_by::epoch ? "epoch" : "step") + ": not read");
    if (all_.of_validation > 0)
      all_.notes.push_back("the loss of validation is not finite in " + count_text(all_.of_validation, "row") +
                           ": in which step of the training that began, the table does not tell");
    if (negative_norms_ > 0)
      all_.notes.push_back(negative_norms_text(count_text(negative_norms_, "row"), has_other_norms_));
    if (infinite_scales_ > 0)
      all_.notes.push_back(
          "the loss scale is infinite in " + count_text(infinite_scales_, "row") + ", from step " +
          std::to_string(first_infinite_scale_) +
          " on: what it multiplies is infinite or NaN, whatever the gradients are; keep the scale below a limit");
    if (repeated_ > 0)
      all_.notes.push_back("in " + std::to_string(repeated_) + (repeated_ == 1 ? " field" : " fields") +
                           " a row repeats what the row before says of its step: the later counts, but for one that is "
                           "not finite");
    if (all_.numbers == counted_by::epoch)
      all_.notes.push_back(
          "each row is an epoch, not a step: a loss that is not finite says so of some step of its epoch, and no step "
          "is known to be skipped");
    if (all_.numbers == counted_by::order)
      all_.notes.push_back("the table has no column of steps: its " + count_text(all_.rows.size(), "row") +
                           " are numbered from 1 in their order, and marked ~");
  }

  const run_table& table_;
  const chosen_columns& chosen_;
  std::map<std::uint32_t, m> meanings_;
  std::vector<raw_row> rows_;
  std::vector<std::int64_t> steps_;                      // of these
  std::vector<std::pair<std::size_t, double>> found_;    // by row
  std::vector<std::pair<std::size_t, double>> skipped_;  // likewise
  std::uint64_t without_number_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t infinite_scales_ = 0;
  std::int64_t first_infinite_scale_ = 0;
  std::uint64_t negative_norms_ = 0;
  bool has_other_norms_ = false;
  run_rows all_;
};

}  // namespace

bool run_row::is_nonfinite() const noexcept {
  return logged.loss_is_nan || logged.grad_norm_is_nan || std::isinf(logged.loss) || std::isinf(logged.grad_norm) ||
         logged.found_inf.value_or(false) || skipped.value_or(0) > 0;
}

std::int64_t distance_of_first(const std::vector<run_row>& rows) noexcept {
  return rows.size() > 1 ? std::max<std::int64_t>(rows[1].step - rows[0].step, 1) : 1;
}

std::int64_t most_at_first(const std::vector<run_row>& rows) noexcept {
  return rows.front().step <= distance_of_first(rows) ? rows.front().step + 1 : 0;
}

run_rows rows_of(const run_table& table, const chosen_columns& chosen) { return row_reader(table, chosen).read(); }

}  // namespace ulp::io
