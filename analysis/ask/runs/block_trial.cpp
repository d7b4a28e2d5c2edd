#include <ulp/ask/runs/block_trial.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <ulp/ask/reading/repeated_steps.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/plan/hardware.hpp>
#include <ulp/model/replay/fp8_replay.hpp>
#include <utility>

#include "columns/row_blocks.hpp"
#include "narrow_energies.hpp"

namespace ulp {
namespace {

constexpr std::array<std::string_view, 4> rules{"floor", "rceil", "ceil", "even"};

struct open_name {
  std::string_view name;
  std::array<std::string_view, 2> elements;  // as torchao's rows have them
};
constexpr std::array open_names{open_name{"mxfp8", {"e4m3", "e5m2"}},  open_name{"mxfp8_e4m3", {"e4m3", ""}},
                                open_name{"mxfp8_e5m2", {"e5m2", ""}}, open_name{"mxfp6", {"e2m3", "e3m2"}},
                                open_name{"mxfp6_e2m3", {"e2m3", ""}}, open_name{"mxfp6_e3m2", {"e3m2", ""}},
                                open_name{"mxfp4", {"e2m1", ""}}};

// `shape`: what stands behind the name, ",block=64" or nothing.
const block_format* torchao_row(std::string_view element, std::string_view rule, std::string_view shape) {
  return find_block_format(fmt::format("torchao_mx{}_{}{}", element, rule, shape));
}

plan_treatment treatment_of(const block_format& row) {
  return {.name = row.name,
          .format_name = row.element.name,
          .scale = plan_scale::block,
          .row = row.name,
          .in_words = row.summary};
}

// What is counted of a row of a step in each format, from its values or its block tables.
class outcome_counting {
 public:
  explicit outcome_counting(std::span<const block_format* const> rows) : rows_(rows) {
    for (const block_format* row : rows_) {
      const bool is_told = row->block.rows > 0 && row->block.columns > 0 && why_block_tables_do_not_tell(*row).empty();
      counters_.push_back(is_told ? std::optional<block_outcome_counter>{*row} : std::nullopt);
    }
  }

  [[nodiscard]] std::optional<block_outcomes> operator()(std::size_t i, const tensor_row& row,
                                                         const quantized_outcomes* from_values) const {
    if (from_values != nullptr) return from_values->counts;
    const block_table* const table = counters_[i] ? block_table_of(row, rows_[i]->block) : nullptr;
    return table == nullptr ? std::nullopt : std::optional{(*counters_[i])(*table)};
  }

 private:
  std::span<const block_format* const> rows_;
  std::vector<std::optional<block_outcome_counter>> counters_;
};

}  // namespace

block_family block_family_named(const std::string& name, std::string_view option) {
  const parsed<const block_format*> read = read_block_format(name);
  if (!read.value) throw std::invalid_argument(fmt::format("{} {}: {}", option, name, read.error));
  const block_format& row = **read.value;
  if (row.element.numbers == nullptr)
    throw std::invalid_argument(fmt::format(
        "{} {}: its elements are integers, of which nothing is advised; ulp outcomes counts what becomes of values",
        option, name));
  block_family made{.name = name, .rows = {}, .by_rule = {}};
  const std::size_t comma = std::min(name.find(','), name.size());
  std::string typed = name.substr(0, comma);
  std::ranges::transform(typed, typed.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view shape = std::string_view{name}.substr(comma);
  const auto open = std::ranges::find(open_names, typed, &open_name::name);
  if (open == open_names.end()) {
    made.rows.push_back(&row);
    return made;
  }
  for (const std::string_view element : open->elements) {
    if (element.empty()) continue;
    made.rows.push_back(torchao_row(element, "rceil", shape));
    std::vector<const block_format*>& of = made.by_rule.emplace_back();
    for (const std::string_view rule : rules) of.push_back(torchao_row(element, rule, shape));
  }
  return made;
}

std::string_view scale_rule_of(const block_format& row) {
  const std::string_view listed = listed_row(row).name;
  return listed.substr(listed.rfind('_') + 1);
}

std::size_t block_trial::index_of(const block_format& row) const {
  return static_cast<std::size_t>(std::ranges::find(rows, &row) - rows.begin());
}

trial_verdict verdict_of(const judged_treatment& j) noexcept {
  if (j.nonfinite > 0) return trial_verdict::nonfinite;
  if (j.steps == 0) return trial_verdict::not_decided;
  if (j.worst.low > drowning_share) return trial_verdict::drowned;
  return j.worst.high <= usual_lost_share ? trial_verdict::held
         : j.worst.high <= drowning_share ? trial_verdict::loses_more
                                          : trial_verdict::not_decided;
}

bool did_worse(const judged_treatment& a, const judged_treatment& b) noexcept {
  const auto rank = [](const judged_treatment& j) {
    const trial_verdict v = verdict_of(j);
    return std::tuple{v == trial_verdict::nonfinite, v == trial_verdict::drowned,
                      v == trial_verdict::not_decided ? 0.0 : j.worst.high, j.estimate};
  };
  return rank(a) > rank(b);
}

std::vector<const tried_tensor*> block_trial::judged() const {
  std::vector<const tried_tensor*> all;
  for (const tried_tensor& t : tensors)
    if (!t.unfit && t.has_values) all.push_back(&t);
  return all;
}

std::size_t block_trial::count(std::size_t row, trial_verdict v) const {
  const std::vector<const tried_tensor*> all = judged();
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const tried_tensor* t) { return verdict_of(t->of[row]) == v; }));
}

std::size_t block_trial::saturating(std::size_t row) const {
  const std::vector<const tried_tensor*> all = judged();
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const tried_tensor* t) { return t->of[row].saturating > 0; }));
}

const tried_tensor* block_trial::worst(std::size_t row) const {
  const std::vector<const tried_tensor*> all = judged();
  const auto found = std::ranges::min_element(
      all, [&](const tried_tensor* a, const tried_tensor* b) { return did_worse(a->of[row], b->of[row]); });
  return found == all.end() ? nullptr : *found;
}

bool block_trial::is_better(std::size_t a, std::size_t b) const {
  const auto rank = [&](std::size_t row) {
    const tried_tensor* const its_worst = worst(row);
    return std::tuple{count(row, trial_verdict::nonfinite) + count(row, trial_verdict::drowned),
                      count(row, trial_verdict::not_decided), its_worst == nullptr ? 0 : its_worst->of[row].worst.high};
  };
  return rank(a) < rank(b);
}

std::uint64_t block_trial::left_out() const {
  std::uint64_t steps_of_tensors = 0;
  for (const tried_tensor& t : tensors) steps_of_tensors += t.unfit ? 0 : t.left_out;
  return steps_of_tensors;
}

bool block_trial::has_stand_ins() const {
  return std::ranges::any_of(judged(), [&](const tried_tensor* t) {
    return info[t->tensor].kind == tensor_kind::weight_grad || info[t->tensor].kind == tensor_kind::unknown;
  });
}

bool block_trial::may_have_vectors() const {
  return std::ranges::any_of(judged(), [&](const tried_tensor* t) { return info[t->tensor].shape.empty(); });
}

std::optional<block_outcomes> block_trial::counts(std::size_t row) const {
  block_outcomes sum;
  for (const tried_tensor* t : judged()) {
    if (!t->counts[row]) return std::nullopt;
    sum += *t->counts[row];
  }
  return sum;
}

std::optional<block_trial> try_blocks(const run_text& run, const selection& selected,
                                      std::vector<const block_format*> rows, listener& to, first_look look) {
  block_trial all{.rows = std::move(rows), .tensors = {}, .info = {}};
  std::vector<plan_treatment> treatments;
  for (const block_format* row : all.rows) treatments.push_back(treatment_of(*row));
  source_options how = run.how_to_read();
  const narrow_energies energies(treatments, how);
  const outcome_counting outcomes(all.rows);
  const std::unique_ptr<source> from = look == first_look::yes ? open_run(run, how, to) : open_run_again(run, how);
  if (from == nullptr) return std::nullopt;
  repeated_steps repeated;
  std::vector<std::optional<std::size_t>> at;
  for_each_step(*from, selected, to, [&](const step& now) {
    ++all.steps;
    repeated.see(now.key, now.scalars);
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      if (!selected.takes(info)) continue;
      at.resize(std::max<std::size_t>(at.size(), row.tensor + 1));
      if (!at[row.tensor]) {
        at[row.tensor] = all.tensors.size();
        tried_tensor& made = all.tensors.emplace_back(
            tried_tensor{.tensor = row.tensor, .unfit = !may_be_narrow(info), .of = {}, .counts = {}});
        made.of.resize(all.rows.size());
        made.counts.resize(all.rows.size(), block_outcomes{});
      }
      tried_tensor& tried = all.tensors[*at[row.tensor]];
      tried.numel = std::max(tried.numel, row.table.numel);
      if (row.table.nonfinite() > 0) {
        ++tried.left_out;
        continue;
      }
      tried.has_values = tried.has_values || row.table.nonzero_finite() > 0;
      if (tried.unfit) continue;
      for (std::size_t i = 0; i < all.rows.size(); ++i) {
        judged_treatment& of = tried.of[i];
        of.add(now.key.step, energies(i, row, of.doubts));
        if (!tried.counts[i]) continue;
        const std::optional<block_outcomes> here = outcomes(i, row, energies.counted(i, row));
        if (here)
          *tried.counts[i] += *here;
        else
          tried.counts[i].reset();
      }
    }
  });
  all.info = from->tensors();
  all.from_values = from->kind() == source_kind::dump;
  const bool has_activation_grads = std::ranges::any_of(
      all.tensors, [&](const tried_tensor& t) { return all.info[t.tensor].kind == tensor_kind::activation_grad; });
  for (tried_tensor& t : all.tensors) {
    t.unfit = t.unfit || !is_read_by_products(all.info[t.tensor], has_activation_grads);
    for (std::size_t i = 0; i < treatments.size(); ++i)
      t.of[i].bits = treatments[i].bits(t.numel, all.info[t.tensor].shape);
  }
  if (look == first_look::yes) {
    check_steps_counted(all.steps, run);
    for (const std::string& line : repeated.lines(run)) to.note(line);
    if (all.tensors.empty())
      throw std::invalid_argument(printable(run.inputs.front()) + ": has no values of the selected tensors" +
                                  (all.info.empty() ? ", which blocks are made of (a log has none): give dumps"
                                                    : near_tensors(run.tensor, *from)));
  }
  if (all.tensors.empty()) return std::nullopt;
  return all;
}

bool has_block_tables(const run_text& run, const selection& selected, const block_extent& block) {
  source_options how = run.how_to_read();
  how.with_blocks = true;
  const std::unique_ptr<source> from = open_run_again(run, how);
  if (from == nullptr || from->kind() != source_kind::recording) return false;
  bool has = false;
  for_each_step(*from, selected, nobody(), [&](const step& first) {
    for (const tensor_row& row : first.tensors)
      has = has || (selected.takes(from->tensors()[row.tensor]) && block_table_of(row, block) != nullptr);
    return false;
  });
  return has;
}

}  // namespace ulp
