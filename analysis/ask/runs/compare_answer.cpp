#include <ulp/ask/runs/compare_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/source/source.hpp>
#include <utility>

namespace ulp {
namespace {

std::string without_wrappers(std::string name) {
  constexpr std::array<std::string_view, 5> wrappers{"_fsdp_wrapped_module.", "_checkpoint_wrapped_module.",
                                                     "_forward_module.", "_orig_mod.", "module."};
  for (const std::string_view wrapper : wrappers)
    for (std::size_t at = name.find(wrapper); at != std::string::npos; at = name.find(wrapper, at)) {
      if (at == 0 || name[at - 1] == '.' || name[at - 1] == '/')
        name.erase(at, wrapper.size());
      else
        ++at;
    }
  return name;
}

// Tells of which input a line is.
class named_listener final : public listener {
 public:
  named_listener(std::string name, listener& to) : name_(std::move(name)), to_(to) {}
  void note(const std::string& line) override { to_.note(named(line)); }
  void warn(const std::string& line) override { to_.warn(named(line)); }
  void tell(const std::string& line) override { to_.tell(named(line)); }
  void configured(const configuration& by) override { to_.configured(by); }
  void begin(const std::string& unit, std::uint64_t total) override { to_.begin(unit, total); }
  void advance() override { to_.advance(); }
  void end() noexcept override { to_.end(); }

 private:
  [[nodiscard]] std::string named(const std::string& line) const {
    return line.starts_with(name_) ? line : name_ + ": " + line;
  }
  std::string name_;
  listener& to_;
};

// Passes each line on once: inputs that are read twice say all twice.
class once_listener final : public listener {
 public:
  explicit once_listener(listener& to) : to_(to) {}
  void note(const std::string& line) override {
    if (told_.insert(line).second) to_.note(line);
  }
  void warn(const std::string& line) override {
    if (told_.insert(line).second) to_.warn(line);
  }
  void tell(const std::string& line) override {
    if (told_.insert(line).second) to_.tell(line);
  }
  void configured(const configuration& by) override { to_.configured(by); }
  void begin(const std::string& unit, std::uint64_t total) override { to_.begin(unit, total); }
  void advance() override { to_.advance(); }
  void end() noexcept override { to_.end(); }

 private:
  std::set<std::string> told_;
  listener& to_;
};

// The tries of one step, in their order: of most runs one.
struct step_tries {
  std::int64_t number = 0;
  std::vector<step> tries;
};

// A run, a step at a time.
class stepped_run {
 public:
  stepped_run(const run_text& run, listener& to)
      : told_(std::make_unique<named_listener>(run.inputs.front(), to)),
        selected_(run.selected()),
        source_(open_run(run, run.how_to_read(), *told_)) {
    of_.name = run.inputs.front();
    of_.description = source_->description();
    advance();
    if (!now_) check_steps_counted(0, run);
  }

  [[nodiscard]] const std::optional<step_tries>& now() const noexcept { return now_; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const { return source_->tensors(); }
  [[nodiscard]] const selection& selected() const noexcept { return selected_; }
  [[nodiscard]] std::uint64_t step_count() const { return source_->step_count(); }
  [[nodiscard]] compared_run& of() noexcept { return of_; }

  void advance() {
    now_.reset();
    while (ahead_ || read_ahead()) {
      if (now_ && now_->number != ahead_->key.step) break;
      if (!now_) now_.emplace(step_tries{.number = ahead_->key.step});
      now_->tries.push_back(std::move(*ahead_));
      ahead_.reset();
    }
    if (!now_) return;
    of_.steps += now_->tries.size();
    of_.last_step = now_->number;
    see_loss(now_->tries.back().scalars);
    if (!of_.first_step) of_.first_step = now_->number;
    of_.has_tensors = of_.has_tensors || !now_->tries.front().tensors.empty();
  }
  // Past a step that the other lacks.
  void pass() {
    of_.alone += now_->tries.size();
    advance();
  }

 private:
  void see_loss(const step_scalars& now) {
    if (std::isfinite(now.loss)) {
      of_.losses.push_back({now_->number, now.loss});
      of_.lost.to_the_end_from.reset();
      of_.lost.steps_to_the_end = 0;
    } else if (std::isinf(now.loss) || now.loss_is_nan) {
      ++of_.lost.steps;
      ++of_.lost.steps_to_the_end;
      if (!of_.lost.first) of_.lost.first = now_->number;
      if (!of_.lost.to_the_end_from) of_.lost.to_the_end_from = now_->number;
    }
  }
  bool read_ahead() {
    step next;
    while (source_->next(next)) {
      if (!selected_.takes(next.key.step) || next.key.microbatch != -1) continue;
      ahead_ = std::move(next);
      return true;
    }
    return false;
  }

  std::unique_ptr<named_listener> told_;  // outlives the source
  selection selected_;
  std::unique_ptr<source> source_;
  compared_run of_;
  std::optional<step> ahead_;
  std::optional<step_tries> now_;
};

// Which tensors of the runs are the same. They come as the steps that have them.
class tensor_pairs {
 public:
  tensor_pairs(stepped_run& a, stepped_run& b, std::vector<std::unique_ptr<stepped_run>>& repeats)
      : a_(a), b_(b), repeats_(repeats), in_repeats_(repeats.size()) {}

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // After a step was read.
  void see_names() {
    if (a_.tensors().size() == seen_a_ && b_.tensors().size() == seen_b_) return;
    seen_a_ = a_.tensors().size();
    seen_b_ = b_.tensors().size();
    b_of_a_.resize(seen_a_, none);
    compared_.resize(seen_a_, none);
    const auto pair = [&](const auto& name_of) {
      const std::map<std::string, std::size_t> free = unique_names(b_.tensors(), name_of, paired_of_b());
      for (const auto& [name, a] : unique_names(a_.tensors(), name_of, paired_of_a())) {
        const auto b = free.find(name);
        if (b == free.end() || !are_alike(a_.tensors()[a], b_.tensors()[b->second])) continue;
        b_of_a_[a] = b->second;
        renamed_ += a_.tensors()[a].name != b_.tensors()[b->second].name ? 1 : 0;
      }
    };
    pair([](const std::string& name) { return name; });
    pair(without_wrappers);
    for (std::size_t r = 0; r < repeats_.size(); ++r) in_repeats_[r].clear();
  }

  [[nodiscard]] std::vector<paired_row> rows_of(const step& a, const step& b, const std::vector<const step*>& repeats,
                                                run_comparison& comparison) {
    const std::vector<const tensor_row*> rows_a = by_tensor(a, seen_a_);
    const std::vector<const tensor_row*> rows_b = by_tensor(b, seen_b_);
    std::vector<std::vector<const tensor_row*>> of_repeats;
    for (std::size_t r = 0; r < repeats.size(); ++r) of_repeats.push_back(by_name(r, repeats[r]));
    std::vector<paired_row> rows;
    for (std::size_t i = 0; i < seen_a_; ++i) {
      const std::size_t j = b_of_a_[i];
      if (j == none || !a_.selected().takes(a_.tensors()[i]) || (rows_a[i] == nullptr && rows_b[j] == nullptr))
        continue;
      if (rows_a[i] != nullptr && rows_b[j] != nullptr && is_other_size(i, *rows_a[i], *rows_b[j])) continue;
      if (compared_[i] == none) compared_[i] = comparison.add_tensor(a_.tensors()[i], b_.tensors()[j]);
      paired_row& row = rows.emplace_back(paired_row{.tensor = compared_[i], .a = rows_a[i], .b = rows_b[j]});
      for (const auto& of_repeat : of_repeats) {
        const tensor_row* const repeat = of_repeat.empty() ? nullptr : of_repeat[i];
        row.repeats.push_back(
            repeat != nullptr && row.a != nullptr && repeat->table.numel == row.a->table.numel ? repeat : nullptr);
      }
      // Without a loss scale gradients are what they are.
      const auto lacks_factor = [](const tensor_row& r, const step& of) {
        return !r.factor_known() && !std::isnan(of.scalars.loss_scale);
      };
      if (row.a != nullptr && row.b != nullptr && row.a->factor_known() != row.b->factor_known() &&
          (lacks_factor(*row.a, a) || lacks_factor(*row.b, b)))
        unknown_factors_.insert(i);
    }
    return rows;
  }

  void tell(compare_answer& to) const {
    to.renamed = renamed_;
    to.unknown_factors = unknown_factors_.size();
    for (const auto& [name, size] : other_sizes_) to.other_sizes.push_back(size);
    const std::vector<bool> paired = paired_of_b();
    for (std::size_t i = 0; i < seen_a_; ++i)
      if (b_of_a_[i] == none && a_.selected().takes(a_.tensors()[i])) to.only_a.push_back(a_.tensors()[i].name);
    for (std::size_t j = 0; j < seen_b_; ++j)
      if (!paired[j] && a_.selected().takes(b_.tensors()[j])) to.only_b.push_back(b_.tensors()[j].name);
  }

 private:
  static bool are_alike(const tensor_info& a, const tensor_info& b) {
    return a.kind == b.kind || a.kind == tensor_kind::unknown || b.kind == tensor_kind::unknown;
  }

  // Of tensors that are not taken yet; names that occur twice are none.
  template <typename NameOf>
  static std::map<std::string, std::size_t> unique_names(const std::vector<tensor_info>& tensors, const NameOf& name_of,
                                                         const std::vector<bool>& taken) {
    std::map<std::string, std::size_t> names;
    std::map<std::string, int> times;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::string name = name_of(tensors[i].name);
      ++times[name];
      if (!taken[i]) names[name] = i;
    }
    std::erase_if(names, [&](const auto& entry) { return times[entry.first] > 1; });
    return names;
  }
  [[nodiscard]] std::vector<bool> paired_of_a() const {
    std::vector<bool> paired(seen_a_);
    for (std::size_t i = 0; i < seen_a_; ++i) paired[i] = b_of_a_[i] != none;
    return paired;
  }
  [[nodiscard]] std::vector<bool> paired_of_b() const {
    std::vector<bool> paired(seen_b_);
    for (const std::size_t b : b_of_a_)
      if (b != none) paired[b] = true;
    return paired;
  }

  static std::vector<const tensor_row*> by_tensor(const step& of, std::size_t tensors) {
    std::vector<const tensor_row*> rows(tensors);
    for (const tensor_row& row : of.tensors)
      if (row.tensor < tensors) rows[row.tensor] = &row;
    return rows;
  }

  // Of a repeat, by A's tensors; empty where it lacks the step.
  std::vector<const tensor_row*> by_name(std::size_t r, const step* of) {
    if (of == nullptr) return {};
    const std::vector<tensor_info>& tensors = repeats_[r]->tensors();
    std::map<std::string, std::size_t>& names = in_repeats_[r];
    if (names.size() != tensors.size()) {
      names.clear();
      for (std::size_t i = 0; i < tensors.size(); ++i) names.try_emplace(without_wrappers(tensors[i].name), i);
    }
    const std::vector<const tensor_row*> rows = by_tensor(*of, tensors.size());
    std::vector<const tensor_row*> by_a(seen_a_);
    for (std::size_t i = 0; i < seen_a_; ++i)
      if (const auto found = names.find(without_wrappers(a_.tensors()[i].name)); found != names.end())
        by_a[i] = rows[found->second];
    return by_a;
  }

  bool is_other_size(std::size_t tensor, const tensor_row& a, const tensor_row& b) {
    if (a.table.numel == b.table.numel) return false;
    const std::string& name = a_.tensors()[tensor].name;
    other_sizes_.try_emplace(name, other_size{name, a.table.numel, b.table.numel});
    return true;
  }

  stepped_run& a_;
  stepped_run& b_;
  std::vector<std::unique_ptr<stepped_run>>& repeats_;
  std::size_t seen_a_ = 0;
  std::size_t seen_b_ = 0;
  std::size_t renamed_ = 0;
  std::vector<std::size_t> b_of_a_;                             // by A's tensor
  std::vector<std::size_t> compared_;                           // likewise: its index in the comparison
  std::vector<std::map<std::string, std::size_t>> in_repeats_;  // tensors by name
  std::map<std::string, other_size> other_sizes_;
  std::set<std::size_t> unknown_factors_;
};

run_text another(run_text run, const std::string& input) {
  run.inputs = {input};
  return run;
}

std::string range_text(const compared_run& run) {
  return run.last_step == *run.first_step ? fmt::format("step {}", run.last_step)
                                          : fmt::format("steps {} to {}", *run.first_step, run.last_step);
}

void check_anything_compared(const compare_answer& answer, const compare_question& question, const stepped_run& a,
                             const stepped_run& b) {
  const compare_answer& r = answer;
  if (r.found.steps == 0)
    throw std::invalid_argument(fmt::format("{}: no step in common with {}: the first has {}, the second {}", r.b.name,
                                            r.a.name, range_text(r.a), range_text(r.b)));
  const run_differences& d = r.found;
  const bool any = d.loss.steps + d.grad_norm.steps + d.learning_rate.steps + d.loss_scale.steps + d.skips_known > 0 ||
                   std::ranges::any_of(d.tensors, [](const compared_tensor& t) { return t.steps > 0; });
  const run_text& asked = question.run;
  const bool has_tensors = !a.tensors().empty() && !b.tensors().empty();
  if (has_tensors && d.tensors.empty() && r.only_a.empty() && r.only_b.empty() && r.other_sizes.empty() &&
      (!asked.tensor.empty() || !asked.kinds.empty() || !asked.roles.empty()))
    throw std::invalid_argument(fmt::format("{}: --tensor, --kind and --role select none of its tensors, such as {}",
                                            r.a.name, a.tensors().front().name));
  if (any) return;
  const auto names = [](const std::vector<tensor_info>& tensors) {
    return tensors.empty() ? std::string{"no tensors"} : fmt::format("tensors such as {}", tensors.front().name);
  };
  throw std::invalid_argument(fmt::format(
      "{}: nothing that {} has too: no loss, scale, norm or skipped steps in both, and no tensor of the same name and "
      "size (the first has {}, the second {})",
      r.b.name, r.a.name, names(a.tensors()), names(b.tensors())));
}

std::vector<step_loss> losses_of(const run_text& run, listener& to) {
  stepped_run steps(run, to);
  work reading(to, "losses", steps.step_count());
  for (; steps.now(); steps.advance()) reading.advance();
  return std::move(steps.of().losses);
}

std::string levels_text(const std::vector<step_loss>& records) {
  return fmt::format("{:.6g} to {:.6g}", records.front().loss, records.back().loss);
}

std::vector<loss_pair> pairs_by_loss(const compare_question& asked, listener& to) {
  if (asked.loss_window % 2 == 0)
    throw std::invalid_argument(fmt::format("--loss-window: {} is even; give an odd number of losses, such as {}",
                                            asked.loss_window, usual_loss_window));
  if (!asked.repeats.empty())
    throw std::invalid_argument("--repeat: tells what runs differ at the same step; remove it, or --align loss");
  const auto records_of = [&](const std::string& input) {
    const run_text run = another(asked.run, input);
    if (const std::string once = read_once_of(run); !once.empty())
      throw std::invalid_argument(fmt::format("{}: {}, and --align loss reads its inputs twice: give a file",
                                              printable(once),
                                              once == "-" ? "standard input is read once" : "is a pipe"));
    std::vector<step_loss> records = loss_records(losses_of(run, to), asked.loss_window);
    if (records.empty())
      throw std::invalid_argument(fmt::format(
          "{}: no finite loss in its steps, which --align loss needs; record the loss, or align by step", input));
    return records;
  };
  const std::string& name_a = asked.run.inputs.front();
  const std::vector<step_loss> a = records_of(name_a);
  const std::vector<step_loss> b = records_of(asked.other);
  std::vector<loss_pair> pairs = pair_by_loss(a, b);
  if (!pairs.empty()) return pairs;
  const bool overlap = a.front().loss >= b.back().loss && b.front().loss >= a.back().loss;
  throw std::invalid_argument(
      fmt::format("{}: never at the loss of {}, smoothed over {}: {} here, {} there{}", asked.other, name_a,
                  count_text(asked.loss_window, "step"), levels_text(b), levels_text(a),
                  overlap ? fmt::format("; these meet, but no two steps are within {:.0f} %: log the loss more often",
                                        100 * equal_losses)
                          : "; align by step"));
}

}  // namespace

std::int64_t compare_answer::step_of_b(std::int64_t step_of_a) const {
  const auto pair = std::ranges::lower_bound(pairs, step_of_a, {}, &loss_pair::a);
  return pair != pairs.end() && pair->a == step_of_a ? pair->b : step_of_a;
}

compare_answer compare_runs(const compare_question& asked, listener& tell_to) {
  once_listener to(tell_to);
  std::vector<std::string> inputs{asked.other};
  inputs.insert(inputs.end(), asked.run.inputs.begin(), asked.run.inputs.end());
  inputs.insert(inputs.end(), asked.repeats.begin(), asked.repeats.end());
  if (std::ranges::count(inputs, "-") > 1)
    throw std::invalid_argument("-: standard input is one run only; name a file for the other");
  const bool by_loss = asked.by == run_alignment::loss;
  compare_answer answer{.by = asked.by, .loss_window = asked.loss_window};
  if (by_loss) answer.pairs = pairs_by_loss(asked, to);

  stepped_run a(asked.run, to);
  stepped_run b(another(asked.run, asked.other), to);
  std::vector<std::unique_ptr<stepped_run>> repeats;
  for (const std::string& input : asked.repeats)
    repeats.push_back(std::make_unique<stepped_run>(another(asked.run, input), to));

  run_comparison comparison(repeats.size(), !asked.is_smooth, asked.by);
  tensor_pairs pairs(a, b, repeats);
  {
    work reading(to, "steps", std::max(a.step_count(), b.step_count()));
    if (by_loss) {
      for (const loss_pair& pair : answer.pairs) {
        for (; a.now()->number < pair.a; a.pass()) reading.advance();
        for (; b.now()->number < pair.b; b.pass()) continue;
        pairs.see_names();
        const step& of_a = a.now()->tries.back();
        const step& of_b = b.now()->tries.back();
        paired_step now{.key = of_a.key, .a = &of_a.scalars, .b = &of_b.scalars};
        now.rows = pairs.rows_of(of_a, of_b, {}, comparison);
        comparison.see(now);
        a.advance();
        b.advance();
      }
      for (stepped_run* const rest : {&a, &b})
        while (rest->now()) rest->pass();
    }
    while (a.now() || b.now()) {
      reading.advance();
      if (!b.now() || (a.now() && a.now()->number < b.now()->number)) {
        a.pass();
        continue;
      }
      if (!a.now() || b.now()->number < a.now()->number) {
        b.pass();
        continue;
      }
      const std::int64_t number = a.now()->number;
      for (const auto& r : repeats)
        while (r->now() && r->now()->number < number) r->pass();
      pairs.see_names();
      const std::size_t tries = std::min(a.now()->tries.size(), b.now()->tries.size());
      for (std::size_t i = 0; i < tries; ++i) {
        const step& of_a = a.now()->tries[i];
        const step& of_b = b.now()->tries[i];
        paired_step now{.key = of_a.key, .a = &of_a.scalars, .b = &of_b.scalars};
        std::vector<const step*> of_repeats;
        for (const auto& r : repeats) {
          const bool has = r->now() && r->now()->number == number && i < r->now()->tries.size();
          of_repeats.push_back(has ? &r->now()->tries[i] : nullptr);
          now.repeats.push_back(has ? &of_repeats.back()->scalars : nullptr);
        }
        now.rows = pairs.rows_of(of_a, of_b, of_repeats, comparison);
        comparison.see(now);
      }
      a.of().alone += a.now()->tries.size() - tries;
      b.of().alone += b.now()->tries.size() - tries;
      a.advance();
      b.advance();
      for (const auto& r : repeats)
        if (r->now() && r->now()->number == number) r->advance();
    }
  }

  answer.found = comparison.found();
  answer.a = a.of();
  answer.b = b.of();
  if (by_loss)
    for (compared_run* const run : {&answer.a, &answer.b}) run->rise = rise_for_good(run->losses, asked.loss_window);
  for (const auto& r : repeats) answer.repeats.push_back(r->of());
  pairs.tell(answer);
  check_anything_compared(answer, asked, a, b);
  return answer;
}

}  // namespace ulp
