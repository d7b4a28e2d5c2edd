#include "fp8_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/amax/amax_rows.hpp>
#include <ulp/io/amax/amax_table.hpp>
#include <ulp/io/recording/live_scales.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/io/tensorboard/event_statistics.hpp>
#include <unordered_map>
#include <utility>

namespace ulp {
namespace {

// As TransformerEngine's statistics and histories have it at the end of their names. A bare "weight" may be of a parameter
// whose gradient is meant, and a bare "output" the name of a layer: these count behind "_" alone.
tensor_kind kind_in_name(std::string_view name) {
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::string word{name};
  std::ranges::transform(word, word.begin(), lower);
  for (const auto& [end, kind] : {std::pair<std::string_view, tensor_kind>{"wgrad", tensor_kind::weight_grad},
                                  {"dgrad", tensor_kind::activation_grad},
                                  {"gradient", tensor_kind::activation_grad},
                                  {"grad_output", tensor_kind::activation_grad},
                                  {"grad_input", tensor_kind::activation_grad},
                                  {"activation", tensor_kind::activation},
                                  {"_weight", tensor_kind::weight},
                                  {"_input", tensor_kind::activation},
                                  {"_output", tensor_kind::activation}}) {
    if (!word.ends_with(end)) continue;
    const std::size_t before = word.size() - end.size();
    if (end.front() == '_' || before == 0 || std::string_view{"_./:"}.find(word[before - 1]) != std::string_view::npos)
      return kind;
  }
  return tensor_kind::unknown;
}

// A tensor of which only the name is known: --kind says what it is.
tensor_info named_tensor(const std::string& name, const source_options& how) {
  tensor_info t{.name = name};
  for (const auto& [expression, kind] : how.kinds)
    if (t.kind == tensor_kind::unknown && expression.matches(name)) t.kind = kind;
  if (t.kind == tensor_kind::unknown) t.kind = kind_in_name(name);
  return t;
}

// Amaxes one after the other, into all replays.
class amax_reader {
 public:
  amax_reader(std::span<fp8_replayer> replays, const run_text& run, const fp8_hearer& hears)
      : replays_(replays), how_(run.how_to_read()), selected_(run.selected()), hears_(hears) {
    if (!run.factor.empty())
      throw std::invalid_argument(fmt::format(
          "--factor: not with {}, which holds the amaxes as the policies see them; remove it", run.inputs.front()));
  }

  void add(const amax_row& now) {
    if (selected_.takes(now.step)) add(now.step, index_of(now.tensor), now.amax, {});
  }
  // What came in between has no scale of the run to be compared with.
  void add(const step_key& key, const std::vector<live_scale>& tensors) {
    if (!selected_.takes(key.step)) return;
    if (!read_.live) read_.live.emplace();
    const live_comparison before = *read_.live;
    for (const live_scale& now : tensors) {
      const std::uint32_t tensor = index_of(now.tensor);
      const std::size_t n = now.amaxes.size();
      for (std::size_t i = 0; i + 1 < n; ++i) add(key.step, tensor, now.amaxes[i], {});
      add(key.step, tensor, n == 0 ? 0 : now.amaxes.back(), now.starts_late ? std::nullopt : std::optional{now.scale});
    }
    const std::uint64_t compared = read_.live->tensor_steps - before.tensor_steps;
    read_.live->steps += compared > 0 ? 1 : 0;
    read_.live->equal_steps +=
        compared > 0 && compared == read_.live->equal_tensor_steps - before.equal_tensor_steps ? 1 : 0;
  }
  [[nodiscard]] fp8_reading result() {
    read_.steps = steps_.size();
    return std::move(read_);
  }

 private:
  std::uint32_t index_of(const std::string& tensor) {
    const auto [index, is_new] = indices_.try_emplace(tensor, static_cast<std::uint32_t>(read_.tensors.size()));
    if (is_new) read_.tensors.push_back(named_tensor(tensor, how_));
    return index->second;
  }
  void add(std::int64_t step, std::uint32_t tensor, float amax, std::optional<float> live) {
    steps_.insert(step);
    for (fp8_replayer& replay : replays_) {
      std::optional<fp8_row> row = replay.advance({.step = step}, tensor, static_cast<double>(amax), read_.tensors);
      if (!row || &replay != &replays_.front()) continue;
      row->is_live = read_.live.has_value();
      row->live_scale = live;
      if (live) compare(*row, *live);
      if (!hears_) continue;
      rows_.assign(1, *row);
      hears_(rows_, read_.tensors);
    }
  }
  void compare(const fp8_row& row, float live) {
    const auto replayed = static_cast<float>(row.scales.after);
    const bool equal = replayed == live || (std::isnan(replayed) && std::isnan(live));
    ++read_.live->tensor_steps;
    read_.live->equal_tensor_steps += equal ? 1 : 0;
    if (!equal && !read_.live->first)
      read_.live->first = {.step = row.key.step, .tensor = row.tensor, .live = live, .replayed = replayed};
  }

  std::span<fp8_replayer> replays_;
  source_options how_;
  selection selected_;
  const fp8_hearer& hears_;
  fp8_reading read_{.tensors = {}, .is_of_amaxes = true};
  std::unordered_map<std::string, std::uint32_t> indices_;
  std::set<std::int64_t> steps_;
  std::vector<fp8_row> rows_;
};

// What frameworks log or keep of amaxes; nullopt where the file is something else.
std::optional<amax_rows> logged_amaxes(const std::string& path, const read_limits& limits) {
  if (is_statistics_log(path, limits)) return read_statistics_log(path, limits);
  if (holds_amax_histories(path, limits)) return read_amax_histories(path, limits);
  return read_event_statistics(path, limits);
}

// nullopt where the input is something else.
std::optional<fp8_reading> read_amaxes(std::span<fp8_replayer> replays, const run_text& run, listener& to,
                                       const fp8_hearer& hears) {
  amax_reader reader(replays, run, hears);
  if (!for_each_amax(run, to, [&](const amax_row& now) { reader.add(now); })) return std::nullopt;
  return reader.result();
}

// Whether an infinity of it is an overflow of how the run was trained.
bool overflowed_itself(const tensor_row& t, const step& now, const tensor_info& info) {
  return t.table.infinities() > 0 &&
         (now.scalars.loss_scale > 1 || !info.through.empty() || format_of_codes(t.type) != nullptr);
}

fp8_reading read_tables(std::span<fp8_replayer> replays, const run_text& run, listener& to, const fp8_hearer& hears) {
  source_options how = run.how_to_read();
  how.infer = true;
  const std::unique_ptr<source> from = open_run(run, how, to);
  if (from->kind() == source_kind::recording && run.inputs.size() == 1 && has_live_scales(run.inputs.front())) {
    to.note("it holds the scales of its run: the amaxes that these came from are replayed, its histograms are not");
    amax_reader reader(replays, run, hears);
    read_live_scales(run.inputs.front(), how.attempts,
                     [&](const step_key& key, const std::vector<live_scale>& tensors) { reader.add(key, tensors); });
    return reader.result();
  }
  if (from->tensors().empty())
    throw std::invalid_argument(fmt::format(
        "{}: a {} knows no tensors, and these policies scale each: give a recording, dumps, a statistics log of "
        "TransformerEngine, or a table with the columns step, tensor, amax (--columns step=NAME,key=NAME,value=NAME says which "
        "they are)",
        run.inputs.front(), from->description()));
  fp8_reading read;
  for_each_step(*from, run.selected(), to, [&](const step& now) {
    ++read.steps;
    if (std::ranges::any_of(now.tensors,
                            [&](const tensor_row& t) { return overflowed_itself(t, now, from->tensors()[t.tensor]); }))
      ++read.own_overflows;
    for (fp8_replayer& replay : replays) {
      const std::vector<fp8_row> rows = replay.advance(now, from->tensors());
      if (hears && &replay == &replays.front()) hears(rows, from->tensors());
    }
  });
  read.tensors = from->tensors();
  return read;
}

}  // namespace

bool for_each_amax(const run_text& run, listener& to, const std::function<void(const amax_row&)>& act) {
  const std::string& path = run.inputs.front();
  if (run.inputs.size() != 1 || std::filesystem::is_directory(path)) return false;
  const read_limits limits = run.how_to_read().limits;
  if (const std::unique_ptr<amax_table> table = amax_table::open(path, limits, run.how_to_read().columns)) {
    work reading(to, "rows", 0);
    for (amax_row now; table->next(now); act(now)) reading.advance();
    return true;
  }
  if (path == "-")
    throw std::invalid_argument(
        "standard input is no table with the columns step, tensor, amax, which these policies take from there (--columns "
        "step=NAME,key=NAME,value=NAME says which they are)");
  const std::optional<amax_rows> logged = logged_amaxes(path, limits);
  if (!logged) return false;
  for (const std::string& line : logged->notes) to.note(line);
  for (const amax_row& now : logged->rows) act(now);
  return true;
}

fp8_reading read_into(std::span<fp8_replayer> replays, const run_text& run, listener& to, const fp8_hearer& hears) {
  std::optional<fp8_reading> amaxes = read_amaxes(replays, run, to, hears);
  const fp8_reading read = amaxes ? std::move(*amaxes) : read_tables(replays, run, to, hears);
  check_steps_counted(read.steps, run);
  if (read.own_overflows > 0)
    to.warn(fmt::format(
        "{} {} infinities that the run's own 16-bit format or loss scale made: training in FP8 would have had finite "
        "values there, which are not known; the policies see the infinities",
        count_text(read.own_overflows, "step"), read.own_overflows == 1 ? "has" : "have"));
  for (const fp8_replayer& replay : replays)
    if (replay.summaries().empty())
      throw std::invalid_argument(
          replay.choices().empty()
              ? fmt::format("{}: --tensor, --kind and --role leave no tensor", run.inputs.front())
              : fmt::format(
                    "{}: none of its tensors is one that {} casts: it leaves out vectors, and what products give "
                    "(--kind REGEX=KIND says what tensors are; --scaler NAME --format F casts all)",
                    run.inputs.front(), replay.recipe().name));
  return read;
}

}  // namespace ulp
