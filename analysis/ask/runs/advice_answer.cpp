#include <ulp/ask/runs/advice_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/io/source/source.hpp>
#include <utility>
#include <vector>

namespace ulp {
namespace {

constexpr std::array<double, 5> trial_starts{0x1p8, 0x1p12, 0x1p16, 0x1p20, 0x1p24};
constexpr std::array<double, 7> trial_intervals{25, 50, 100, 200, 500, 1000, 2000};

// GradScaler with various starts and growth intervals, to be run over the same steps as the survey.
std::vector<scenario> scaler_trials(const advice_options& options, const selection& counted,
                                    const name_predicate& checked) {
  std::vector<scenario> all;
  for (const double start : trial_starts)
    for (const double interval : trial_intervals) {
      scenario s{
          make_scaler(*find_scaler("pytorch_gradscaler"), {{"init_scale", start}, {"growth_interval", interval}}),
          options.how};
      s.counted = counted;
      s.checked = checked;
      all.push_back(std::move(s));
    }
  return all;
}

// Current scaling, and delayed scaling with histories of several lengths, in both formats of 8 bits.
fp8_trials trials_of_tensors(const advice_options& options, const selection& counted) {
  fp8_trials made;
  if (options.scaling() != scaling_kind::tensor) return made;
  for (const auto& [name, to] : {std::pair{"float8_e4m3fn", float8_e4m3fn}, {"float8_e5m2", float8_e5m2}})
    for (const std::int64_t history : {0, 1, 16, 1024}) {
      const bool is_current = history == 0;
      const std::string_view policy = is_current ? "te_current_cuda" : "te_delayed_bulk";
      std::vector<std::pair<std::string, parameter_value>> parameters;
      if (!is_current) parameters.emplace_back("amax_history_len", static_cast<double>(history));
      fp8_recipe recipe = uniform_recipe(
          {.how = {.format = to, .rounding = {.overflow = overflow_mode::saturate}, .scale = scale_source::tensor},
           .start = make_fp8_scaler(*find_fp8_scaler(policy), to, parameters)});
      made.all.push_back(
          {.policy = policy,
           .format_name = name,
           .history = history,
           .by = fp8_replayer(std::move(recipe), counted, is_current ? with_noise::yes : with_noise::no)});
    }
  return made;
}

// Steps with infinities or NaN are those of the run's own scaling, as a rule, and are left out.
void add_to(fp8_trials& trials, const step& now, const std::vector<tensor_info>& tensors, const selection& counted) {
  if (trials.all.empty()) return;
  const auto is_counted = [&](const tensor_row& t) { return counted.takes(tensors[t.tensor]); };
  if (std::ranges::any_of(now.tensors,
                          [&](const tensor_row& t) { return is_counted(t) && std::isnan(t.table.max_abs); })) {
    trials.all.clear();
    return;
  }
  if (std::ranges::any_of(now.tensors, [&](const tensor_row& t) { return is_counted(t) && t.table.nonfinite() > 0; })) {
    ++trials.not_finite;
    return;
  }
  for (fp8_trial& t : trials.all) static_cast<void>(t.by.advance(now, tensors));
}

// What is asked on, or else what the configuration trains in.
std::string asked_blocks(const advice_question& asked, const std::optional<configuration>& own) {
  if (!asked.format.empty()) return find_block_format(asked.format) == nullptr ? "" : asked.format;
  if (!own || !own->said.float8) return "";
  const said_float8& said = *own->said.float8;
  if (said.recipe == "blockwise") return "fp8_1x128";
  if (said.recipe == "mxfp8") return said.format == "e4m3" ? "mxfp8_e4m3" : "mxfp8";
  return said.recipe == "nvfp4" ? "nvfp4" : "";
}

// The name of the format that advice is asked on, as that of numbers.
std::string numbers_of(const advice_question& asked, const std::optional<block_family>& blocks, bool is_float8) {
  if (blocks) return std::string{blocks->rows.front()->element.name};
  if (!asked.format.empty()) return asked.format;
  return is_float8 ? "float8_e4m3fn" : "float16";
}

name_predicate checked_by(const advice_question& asked) {
  if (asked.check.empty()) return {};
  return regex_of(asked.check, "--check");
}

}  // namespace

scaling_kind scaling_in(const format& f) noexcept {
  constexpr int bits_of_fp8 = 8;
  if (f.width() < bits_of_fp8) return scaling_kind::block;
  if (f.width() == bits_of_fp8) return scaling_kind::tensor;
  return f.emin() <= binary32.emin() && f.emax() >= binary32.emax() ? scaling_kind::none : scaling_kind::run;
}

const fp8_trial* fp8_trials::find(std::string_view format_name, std::int64_t history) const noexcept {
  const auto found = std::ranges::find_if(
      all, [&](const fp8_trial& t) { return t.format_name == format_name && t.history == history; });
  return found == all.end() ? nullptr : &*found;
}

std::string whose_words(const source& from, const std::string& otherwise) {
  const std::string logged = from.framework().substr(0, from.framework().find(" and "));
  return configuration_lines(logged, {.format = "bfloat16"}).empty() ? otherwise : logged;
}

advice_options advice_options_of(const std::string& format, const rounding_text& rounding, const std::string& epsilon,
                                 const run_text& run) {
  advice_options o{.format_name = format, .how = {value_format_named(format)}, .typed = rounding};
  o.how.rounding = rounding.value(o.how.format);
  if (o.how.rounding.direction == direction::stochastic)
    throw std::invalid_argument(
        "--rounding: advice and reports need a deterministic rounding; for stochastic rounding see ulp outcomes");
  o.epsilon = positive_number(epsilon, "--epsilon");
  if (!(o.epsilon < 1)) throw std::invalid_argument("--epsilon: a share below 1, such as 1e-5");
  o.groups = run.named_groups();
  return o;
}

bool examined_run::died_at_once() const { return found.died_at && *found.died_at == whole.steps().front().key.step; }

bool examined_run::has_values() const {
  return std::ranges::any_of(judged().tensors(), [](const tensor_survey& t) { return t.counted && t.max_abs > 0; });
}

bool examined_run::has_maxima() const {
  return std::ranges::any_of(judged().steps(),
                             [](const step_survey& s) { return std::isfinite(s.max_abs) && s.max_abs > 0; });
}

run_examination::run_examination(advice_options options, selection counted, name_predicate checked)
    : options_(std::move(options)),
      counted_(std::move(counted)),
      checked_(std::move(checked)),
      scenarios_(options_.scaling() == scaling_kind::run ? scaler_trials(options_, counted_, checked_)
                                                         : std::vector<scenario>{}),
      whole_(counted_, checked_),
      fp8_(trials_of_tensors(options_, counted_)) {
  if (!scenarios_.empty()) trials_.emplace(scenarios_);
  options_.ends_early = counted_.end_step != std::numeric_limits<std::int64_t>::max();
}

void run_examination::take_facts_of(const source& from) {
  options_.unread = from.unread_records();
  options_.ended_at_scale = from.ended_at_scale();
  options_.row_unit = from.row_unit();
  options_.lost_elsewhere = from.lost_elsewhere();
  options_.doubts = from.doubts();
  if (from.kind() == source_kind::training_log) trials_.reset();  // it never has a finite maximum: see has_maxima()
  attempts_.clear();
  for (const earlier_attempt& attempt : from.earlier_attempts()) {
    survey seen(counted_, checked_);
    for (step now; attempt.steps->next(now);)
      if (counted_.takes(now.key.step)) seen.add(now, attempt.steps->tensors());
    if (seen.steps().empty() || seen.steps().back().key.step <= attempt.from) continue;
    attempts_.push_back({attempt.from, seen.steps().back().key.step, seen.steps().size(),
                         diagnosis_of(seen, attempt.steps->tensors())});
  }
}

void run_examination::add(const step& now, const std::vector<tensor_info>& tensors) {
  whole_.add(now, tensors);
  if (trials_) trials_->add(now, tensors);
  add_to(fp8_, now, tensors, counted_);
}

std::optional<selection> run_examination::again(const std::vector<tensor_info>& tensors) {
  found_ = diagnosis_of(whole_, tensors);
  selection judged = counted_;
  if (found_->died_at && *found_->died_at != whole_.steps().front().key.step) {
    judged.end_step = *found_->died_at;
    less_.emplace(judged, checked_);
    if (trials_) trials_.emplace(scenarios_);
    fp8_ = trials_of_tensors(options_, judged);
  }
  for (const cause& c : found_->causes)
    if (const auto* const batch = std::get_if<bad_batch>(&c); batch != nullptr && batch->is_finite)
      std::ranges::copy_if(batch->steps, std::inserter(bad_batches_, bad_batches_.end()),
                           [&](std::int64_t step) { return judged.takes(step); });
  const bool has_values =
      std::ranges::any_of(whole_.tensors(), [](const tensor_survey& t) { return t.counted && t.max_abs > 0; });
  if (!has_values) bad_batches_.clear();
  options_.bad_batches = bad_batches_.size();
  if (!bad_batches_.empty()) typical_.emplace(judged, checked_);
  return less_ || typical_ ? std::optional(judged) : std::nullopt;
}

void run_examination::add_again(const step& now, const std::vector<tensor_info>& tensors) {
  if (typical_ && !bad_batches_.contains(now.key.step)) typical_->add(now, tensors);
  if (!less_) return;
  less_->add(now, tensors);
  if (trials_) trials_->add(now, tensors);
  add_to(fp8_, now, tensors, counted_);
}

examined_run run_examination::result(const std::vector<tensor_info>& tensors, std::optional<kept_weights> weights) {
  if (!found_) found_ = diagnosis_of(whole_, tensors);
  examined_run all{.options = options_,
                   .tensors = tensors,
                   .whole = std::move(whole_),
                   .less = std::move(less_),
                   .typical = std::move(typical_),
                   .found = std::move(*found_),
                   .trials = std::move(scenarios_),
                   .tried = {},
                   .fp8 = std::move(fp8_),
                   .weights = std::move(weights),
                   .attempts = std::move(attempts_)};
  if (!all.died_at_once() && all.has_maxima() && trials_) all.tried = trials_->results();
  return all;
}

std::optional<block_advice> advice_on_blocks(const run_text& text, std::optional<block_family> asked,
                                             const examined_run& run) {
  constexpr block_extent of_mx{1, 32};
  if (!asked && (run.died_at_once() || !has_block_tables(text, text.selected(), of_mx))) return std::nullopt;
  const bool is_asked = asked.has_value();
  block_advice made{.of = asked ? std::move(*asked) : block_family_named("mxfp8"), .tried = {}};
  made.lost_at_once = run.died_at_once();
  if (made.lost_at_once) return made;
  std::vector<const block_format*> rows = made.of.rows;
  for (const std::vector<const block_format*>& of : made.of.by_rule)
    std::ranges::copy_if(of, std::back_inserter(rows), [&](const block_format* row) {
      return std::ranges::find(made.of.rows, row) == made.of.rows.end();
    });
  selection judged = text.selected();
  if (run.less) judged.end_step = *run.found.died_at;
  made.tried = try_blocks(text, judged, std::move(rows), nobody(), first_look::no);
  if (!is_asked && (!made.tried || made.tried->judged().empty())) return std::nullopt;
  return made;
}

examined_run advice_over(const advice_question& asked, listener& to) {
  const bool names_blocks = find_block_format(asked.format) != nullptr;
  if (names_blocks && asked.rounding != rounding_text{})
    throw std::invalid_argument(
        fmt::format("--rounding, or a switch of it: blocks of {} round in their own way; remove it", asked.format));
  const scenario_text scaled{.format = names_blocks ? "" : asked.format, .rounding = asked.rounding};
  const std::optional<configuration> own = configuration_of(asked.config, scaled, asked.run);
  const own_configuration configured = own ? own_configuration_of(own->said) : own_configuration{};
  std::optional<block_family> blocks;
  if (const std::string name = asked_blocks(asked, own); !name.empty()) blocks = block_family_named(name);
  advice_options how =
      advice_options_of(numbers_of(asked, blocks, configured.is_float8), asked.rounding, asked.epsilon, asked.run);
  how.configured = configured;
  if (blocks) {
    how.in_blocks = true;
    how.format_name = blocks->name;
  }
  const selection counted = asked.run.selected();
  const name_predicate checked = checked_by(asked);

  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to, asked.look);
  if (!asked.framework.empty() && !own) how.configured.framework = asked.framework;
  if (!own) how.configured.framework = whose_words(*from, how.configured.framework);
  check_tensors_exist(asked.check, *from);
  run_examination examination(how, counted, checked);
  examination.expect(from->step_count());
  examination.take_facts_of(*from);
  run_notes notes;
  for_each_step(*from, counted, to, [&](const step& now) {
    notes.see(now, from->tensors());
    examination.add(now, from->tensors());
  });
  check_steps_counted(examination.whole().steps().size(), asked.run);
  check_tensors_counted(examination.whole().choice(), *from, asked.run);
  if (const std::unique_ptr<source> twice = open_run_again(asked.run))
    if (const std::optional<selection> less = examination.again(from->tensors()))
      for_each_step(*twice, *less, to, [&](const step& now) { examination.add_again(now, from->tensors()); });

  examined_run run = examination.result(from->tensors(), kept_weights_of(asked.run, how.configured));
  run.blocks = advice_on_blocks(asked.run, std::move(blocks), run);
  for (const std::string& line : notes.lines(run.whole.choice(), asked.run)) to.note(line);
  for (const std::string& line : group_notes(sets_by_group(run.whole, from->tensors(), how.groups))) to.note(line);
  if (run.whole.as_recorded()) to.note(factor_note);
  return run;
}

std::optional<std::int64_t> left_out_from(const advice_question& asked, listener& to) {
  const selection counted = asked.run.selected();
  survey all(counted, checked_by(asked));
  const std::unique_ptr<source> from = open_run(asked.run, asked.run.how_to_read(), to, asked.look);
  for_each_step(*from, counted, to, [&](const step& now) { all.add(now, from->tensors()); });
  check_steps_counted(all.steps().size(), asked.run);
  const std::optional<std::int64_t> died = diagnosis_of(all, from->tensors()).died_at;
  return died && *died != all.steps().front().key.step ? died : std::nullopt;
}

}  // namespace ulp
