#include "column_choice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "column_fit.hpp"
#include "lost_columns.hpp"
#include "training_log/dialects/record.hpp"

namespace ulp::io {
namespace {

using m = column_meaning;

constexpr std::array metrics{m::loss, m::grad_norm, m::loss_scale, m::found_inf, m::skipped, m::applied};
constexpr std::array in_order{m::step,       m::epoch,     m::loss,    m::grad_norm, m::learning_rate,
                              m::loss_scale, m::found_inf, m::skipped, m::applied};
constexpr double greatest_step = 9007199254740992;  // 2^53

bool is_metric(column_meaning means) { return std::ranges::find(metrics, means) != metrics.end(); }

// What all values of a column are.
struct column_content {
  std::uint64_t numbers = 0;
  std::uint64_t finite = 0;
  bool whole = true;          // they can be steps
  bool powers = true;         // of two, or 0 or infinite
  bool prints_powers = true;  // likewise, as far as they are printed: 0.1 for 0.125
  bool above_one = false;     // one of them at least 2
  double greatest = 0;        // of the finite ones
  bool counts_steps = true;   // of a flag or a number of skipped steps: it can be one
  std::uint64_t beside = 0;   // rows that have it and a metric
};

class chooser {
 public:
  chooser(const run_table& table, const told_columns& told)
      : table_(table), told_(told), content_(table.columns.size()) {}

  chosen_columns choose() {
    check_told();
    look();
    for (const m means : {m::loss, m::grad_norm, m::learning_rate, m::loss_scale, m::found_inf, m::skipped, m::applied})
      if (!take_told(means)) take_best(means);
    count_beside();
    for (const m means : {m::step, m::epoch})
      if (!take_told(means)) take_counter(means);
    check_numbers();
    describe();
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] const run_table::column& column(std::uint32_t i) const { return table_.columns[i]; }

  void check_told() const {
    for (const auto& [means, name] : told_) {
      if (name.empty() || std::ranges::find(table_.columns, name, &run_table::column::name) != table_.columns.end())
        continue;
      std::vector<std::string> names;
      for (const run_table::column& c : table_.columns) names.push_back(in_quotes(c.name));
      throw input_error(
          table_.path, "",
          "has no column " + in_quotes(name) + ", which --columns names; its columns are " + joined(names));
    }
  }

  void look() {
    for (const run_table::cell& c : table_.cells) {
      column_content& of = content_[c.column];
      ++of.numbers;
      of.finite += std::isfinite(c.value) ? 1 : 0;
      of.whole = of.whole && c.value >= 0 && c.value <= greatest_step && c.value == std::floor(c.value);
      of.powers = of.powers && (c.value == 0 || std::isinf(c.value) || is_power_of_two(exact_scale(c.value)));
      of.prints_powers = of.prints_powers && (c.value == 0 || std::isinf(c.value) || prints_power_of_two(c.value));
      if (std::isfinite(c.value)) of.greatest = std::max(of.greatest, c.value);
      of.above_one = of.above_one || (c.value >= 2 && std::isfinite(c.value));
    }
    number();
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i)
      if (tells_of_skips(i) && !is_told(i)) content_[i].counts_steps = can_count_steps(by_step_[i]);
  }

  [[nodiscard]] bool tells_of_skips(std::uint32_t i) const {
    const auto& reading = column(i).reading;
    return reading && (reading->means == m::found_inf || reading->means == m::skipped);
  }
  // Whether its numbers tell if it is what its name says.
  [[nodiscard]] bool may_mean_else(std::uint32_t i) const {
    const auto& reading = column(i).reading;
    return tells_of_skips(i) || (reading && (reading->means == m::loss_scale || reading->stands_in));
  }

  // The numbers of such columns, with those of the best column of steps. W&B's "_step" counts calls of log, between which there may be several
  // of what is said to be steps.
  void number() {
    const std::vector<std::uint32_t> counters = counters_of_steps();
    const bool are_calls = !counters.empty() && column(counters.front()).name == "_step";
    std::vector<bool> is_wanted(table_.columns.size());
    std::vector<bool> has_steps(table_.columns.size());
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i) {
      is_wanted[i] = may_mean_else(i);
      has_steps[i] = !are_calls || !names_steps(column(i).name);
    }
    by_step_.resize(table_.columns.size());
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      double step = not_known;
      for (const run_table::cell& c : table_.cells_of(r))
        if (!counters.empty() && c.column == counters.front()) step = c.value;
      for (const run_table::cell& c : table_.cells_of(r))
        if (is_wanted[c.column]) by_step_[c.column].push_back({has_steps[c.column] ? step : not_known, c.value});
    }
  }
  [[nodiscard]] std::vector<std::uint32_t> counters_of_steps() const {
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i)
      if (column(i).reading && column(i).reading->means == m::step && is_told(i)) return {i};
    std::vector<std::uint32_t> all = candidates(m::step);
    std::erase_if(all, [&](std::uint32_t i) { return !content_[i].whole; });
    return all;
  }

  // Rows in which a counter stands beside a metric that was taken.
  void count_beside() {
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const auto cells = table_.cells_of(r);
      const bool has_metric =
          std::ranges::any_of(cells, [&](const run_table::cell& c) { return is_taken_metric(c.column); });
      if (!has_metric) continue;
      ++with_metric_;
      for (const run_table::cell& c : cells) ++content_[c.column].beside;
    }
  }
  [[nodiscard]] bool is_taken_metric(std::uint32_t i) const {
    return std::ranges::any_of(chosen_.by_meaning,
                               [&](const auto& of) { return of.second == i && is_metric(of.first); });
  }

  // Whether the user said what has this meaning, or that nothing has.
  bool take_told(m means) {
    bool any = false;
    for (const auto& [told, name] : told_) {
      if (told != means) continue;
      any = true;
      for (std::uint32_t i = 0; i < table_.columns.size(); ++i)
        if (!name.empty() && column(i).name == name) chosen_.by_meaning[means] = i;
    }
    return any;
  }

  [[nodiscard]] bool is_told(std::uint32_t i) const {
    return std::ranges::any_of(told_, [&](const auto& t) { return t.second == column(i).name; });
  }

  [[nodiscard]] bool is_told_of(m means) const {
    return std::ranges::any_of(told_, [&](const auto& t) { return t.first == means && !t.second.empty(); });
  }

  // Those with a value, the best first.
  [[nodiscard]] std::vector<std::uint32_t> candidates(m means) const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i) {
      const auto& reading = column(i).reading;
      if (reading && reading->means == means && column(i).values > 0 && !is_told(i)) all.push_back(i);
    }
    const auto has_number = [&](std::uint32_t i) { return content_[i].numbers > 0; };
    if (std::ranges::any_of(all, has_number)) std::erase_if(all, std::not_fn(has_number));
    std::ranges::stable_sort(all, {}, [&](std::uint32_t i) { return *column(i).reading; });
    return all;
  }

  void take_best(m means) {
    std::vector<std::uint32_t> all = candidates(means);
    const auto is_validation = [&](std::uint32_t i) { return column(i).reading->of_validation; };
    if (std::ranges::any_of(all, std::not_fn(is_validation))) std::erase_if(all, is_validation);
    // "scale" alone may be of anything; a loss scale is a power of two.
    const auto is_vague = [&](std::uint32_t i) {
      return reading_of(column(i).name) && reading_of("scale")->place == column(i).reading->place;
    };
    if (means == m::loss_scale) {
      std::erase_if(all, [&](std::uint32_t i) {
        const column_content& of = content_[i];
        const bool are_powers = of.powers || (of.prints_powers && of.greatest >= least_first_scale);
        return is_vague(i) && !(are_powers && of.above_one);
      });
      std::erase_if(all, [&](std::uint32_t i) { return is_vague(i) && is_of_something_else(i); });
      std::erase_if(all, [&](std::uint32_t i) { return is_no_scale(i); });
    }
    if (means == m::loss) std::erase_if(all, [&](std::uint32_t i) { return is_maximised(i); });
    if (means == m::found_inf || means == m::skipped)
      std::erase_if(all, [&](std::uint32_t i) { return counts_something_else(i); });
    if (all.empty()) return;
    const column_reading best = *column(all.front()).reading;
    const auto ties = std::ranges::count_if(all, [&](std::uint32_t i) { return *column(i).reading == best; });
    if (ties > 1 && best.is_nested && means == m::grad_norm) {
      chosen_.notes.push_back("none of the " + std::to_string(ties) + " norms from " +
                              in_quotes(column(all.front()).name) +
                              " on is that of all gradients: say with --columns norm=NAME which to take");
      return;
    }
    if (best.of_validation && means == m::loss && (is_told_of(m::grad_norm) || !candidates(m::grad_norm).empty())) {
      chosen_.notes.push_back("no loss of the training is in the table: " + in_quotes(column(all.front()).name) +
                              " is of validation, and not used beside the norm");
      return;
    }
    if (best.of_validation)
      chosen_.notes.push_back("no loss but " + in_quotes(column(all.front()).name) +
                              ", of validation, is in the table");
    if (means == m::loss && best.is_part) {
      take_parts(all);
      return;
    }
    chosen_.by_meaning[means] = all.front();
  }

  // Scales are powers of two, or begin as a great number: "16, 16, 15" and "4.8, 4.5" are logarithms of some, "1.0, 0.993" weights.
  bool is_no_scale(std::uint32_t i) {
    const column_content& of = content_[i];
    if (column(i).reading->is_log2 || of.powers || of.prints_powers || of.greatest >= least_first_scale) return false;
    chosen_.of_no_scale += of.numbers;
    chosen_.notes.push_back(
        "the column " + in_quotes(column(i).name) + " holds no loss scales, but perhaps " +
        (of.above_one
             ? "their logarithms: it is not used; write the scale itself, or call a logarithm base 2 'log2_loss_scale'"
             : "weights of a loss: it is not used"));
    return true;
  }

  // "scale" that is 8, 4 and 2, or moves as none of a loss does, where nothing speaks of an overflow: of images, as well as of a loss.
  bool is_of_something_else(std::uint32_t i) {
    const column_content& of = content_[i];
    const std::string_view why = of.greatest < least_first_scale         ? " is below 64 throughout"
                                 : rises_too_often(values_of(i))         ? " rises more often than a loss scale does"
                                 : falls_by_several_factors(by_step_[i]) ? " falls by several factors in single steps"
                                                                         : "";
    if (of.numbers == 0 || why.empty() || speaks_of_overflow()) return false;
    chosen_.of_no_scale += of.numbers;
    chosen_.notes.push_back("the column " + in_quotes(column(i).name) + std::string(why) +
                            ", and nothing in the table speaks of an overflow: it is not used as a loss "
                            "scale; --columns scale=NAME says that it is one");
    return true;
  }

  // An evidence lower bound may be logged itself, or its negative as a loss, under one name.
  bool is_maximised(std::uint32_t i) {
    const std::string& name = column(i).name;
    const bool is_negative = has_word(name, "neg") || has_word(name, "negative");
    if (!column(i).reading->stands_in || !has_word(name, "elbo") || is_negative || !rises_in_all(by_step_[i]))
      return false;
    chosen_.notes.push_back("the column " + in_quotes(name) +
                            " rises, as what is maximised does: it is not used as a loss");
    return true;
  }

  bool counts_something_else(std::uint32_t i) {
    if (content_[i].counts_steps) return false;
    chosen_.of_no_count = std::max(chosen_.of_no_count, content_[i].numbers);
    const std::vector<std::uint32_t> norms = candidates(m::grad_norm);
    const bool has_finite = !norms.empty() && content_[norms.front()].finite == content_[norms.front()].numbers;
    chosen_.notes.push_back("the column " + in_quotes(column(i).name) +
                            " holds neither flags nor numbers of steps that fit between its rows" +
                            (has_finite ? ", beside norms that are finite" : "") +
                            ": it is not used, and may be of something else than the loss scaler");
    return true;
  }
  [[nodiscard]] std::vector<double> values_of(std::uint32_t i) const {
    std::vector<double> all;
    for (const run_table::cell& c : table_.cells)
      if (c.column == i) all.push_back(c.value);
    return all;
  }

  // A loss or a norm that is not finite, a flag, or a number of skipped steps.
  [[nodiscard]] bool speaks_of_overflow() const {
    return std::ranges::any_of(table_.cells, [&](const run_table::cell& c) {
      const auto& reading = column(c.column).reading;
      if (!reading || reading->of_validation) return false;
      const bool is_value = reading->means == m::loss || reading->means == m::grad_norm;
      return (is_value && !std::isfinite(c.value)) ||
             (tells_of_skips(c.column) && content_[c.column].counts_steps && c.value > 0);
    });
  }

  // Losses without their sum: the first that is finite somewhere is shown, and each is looked at.
  void take_parts(const std::vector<std::uint32_t>& all) {
    const auto of_epoch = column(all.front()).reading->of_epoch;
    for (const std::uint32_t i : all)
      if (column(i).reading->is_part && column(i).reading->of_epoch == of_epoch && content_[i].finite > 0)
        chosen_.parts_of_loss.push_back(i);
    if (chosen_.parts_of_loss.empty()) chosen_.parts_of_loss = {all.front()};
    chosen_.by_meaning[m::loss] = chosen_.parts_of_loss.front();
    if (chosen_.parts_of_loss.size() == 1) {
      chosen_.parts_of_loss.clear();
      return;
    }
    std::vector<std::string> names;
    for (const std::uint32_t i : chosen_.parts_of_loss) names.push_back(in_quotes(column(i).name));
    chosen_.notes.push_back("the table has no loss but those of parts: " + joined(names) +
                            "; the first is shown, and where any of them is not finite, the loss is not");
  }

  // A counter that nearly every row with a metric has.
  void take_counter(m means) {
    for (const std::uint32_t i : candidates(means)) {
      const bool is_usual = 10 * content_[i].beside >= 9 * with_metric_;
      const bool can_be = (means == m::epoch ? content_[i].finite > 0 : content_[i].whole) && content_[i].numbers > 0;
      if (!is_usual || (!can_be && column(i).wrong_line == 0)) continue;
      chosen_.by_meaning[means] = i;
      return;
    }
  }

  void check_numbers() const {
    for (const auto& [means, i] : chosen_.by_meaning) {
      const run_table::column& c = column(i);
      if (c.wrong_line == 0) continue;
      throw input_error(c.wrong_path.empty() ? table_.path : c.wrong_path,
                        table_.place(c.wrong_line) + ", column " + in_quotes(c.name),
                        in_quotes(c.wrong_text) +
                            (c.is_ambiguous ? " may be a thousand and more, or a decimal comma: write it with a point"
                                            : " is not a number; --columns " + std::string(to_string(means)) +
                                                  "=NAME takes another column, and without a name none"));
    }
  }

  // W&B's CSV of several runs: "run name - train/loss".
  static std::string_view run_of(std::string_view name) {
    const std::size_t dash = name.rfind(" - ");
    return dash == std::string_view::npos ? "" : name.substr(0, dash);
  }

  // Metrics of other runs than the one that is read.
  void count_other_runs() {
    std::string_view run;
    for (const m means : metrics)
      if (const auto i = chosen_.of(means); i && run.empty()) run = run_of(column(*i).name);
    if (run.empty()) return;
    std::set<std::string_view> others;
    for (const run_table::column& c : table_.columns) {
      const bool is_other =
          c.reading && is_metric(c.reading->means) && !run_of(c.name).empty() && run_of(c.name) != run;
      if (!is_other || c.values == 0) continue;
      others.insert(run_of(c.name));
      chosen_.of_other_runs = std::max(chosen_.of_other_runs, c.values);
    }
    if (!others.empty())
      chosen_.notes.push_back("the table holds " + std::to_string(others.size() + 1) + " runs, of which only " +
                              in_quotes(std::string(run)) + " is read: give a table of each");
  }

  void describe() {
    count_other_runs();
    chosen_.lost = lost_in_others(table_, chosen_);
    const bool by_step = chosen_.of(m::step).has_value();
    for (const m means : in_order) {
      const auto i = chosen_.of(means);
      if (!i || (means == m::epoch && by_step)) continue;
      chosen_.text +=
          (chosen_.text.empty() ? "" : ", ") + std::string(to_string(means)) + " from " + in_quotes(column(*i).name);
    }
    std::vector<std::string> others;
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i) {
      const run_table::column& c = column(i);
      const bool matters = c.reading ? c.reading->means <= m::applied : looks_important(c.name) || c.words.any(c.name);
      if (chosen_.uses(i) || !matters) continue;
      const bool is_empty = c.reading && c.values == 0;
      const bool of_validation = c.reading && c.reading->of_validation;
      others.push_back(in_quotes(c.name) + (is_empty ? " (empty)" : of_validation ? " (validation)" : ""));
    }
    if (!others.empty()) chosen_.text += "; not used: " + joined(others);
  }

  const run_table& table_;
  const told_columns& told_;
  std::vector<column_content> content_;
  std::vector<std::vector<numbered_value>> by_step_;  // of columns that may mean something else than their names say
  std::uint64_t with_metric_ = 0;
  chosen_columns chosen_;
};

}  // namespace

std::optional<std::uint32_t> chosen_columns::of(column_meaning meaning) const {
  const auto found = by_meaning.find(meaning);
  return found == by_meaning.end() ? std::nullopt : std::optional(found->second);
}

bool chosen_columns::any_metric() const {
  return std::ranges::any_of(metrics, [&](column_meaning means) { return by_meaning.contains(means); });
}

bool chosen_columns::uses(std::uint32_t column) const {
  return std::ranges::find(parts_of_loss, column) != parts_of_loss.end() ||
         std::ranges::any_of(by_meaning, [&](const auto& of) { return of.second == column; });
}

chosen_columns choose_columns(const run_table& table, const told_columns& told) {
  return chooser(table, told).choose();
}

bool are_of_run(const std::vector<std::string>& names) {
  // "1|2|Loss: nan: 0%| | 2/26000 [00:05, 2.77s/it]": a line of a log, that begins with a number.
  if (!names.empty() && !names.front().empty() && names.front().find_first_not_of("0123456789") == std::string::npos)
    return false;
  // "Epoch 0:   3%|3    | 0/20101 [2:12:19<76:15:08, 14.05s/it, loss=nan": a progress bar.
  if (std::ranges::any_of(names, [](const std::string& name) { return name.find("%|") != std::string::npos; }))
    return false;
  bool counts = false;
  bool tells = false;
  bool has_value = false;
  for (const std::string& name : names) {
    const auto reading = reading_of(name);
    if (!reading) continue;
    counts = counts || reading->means == m::step || reading->means == m::epoch;
    tells = tells || is_metric(reading->means);
    has_value = has_value || reading->means == m::value;
  }
  return counts && (tells || has_value);
}

}  // namespace ulp::io
