#include <ulp/ask/reading/reading.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recorded_steps.hpp>
#include <utility>
#include <vector>

namespace ulp {
namespace {

// The same source, which tells at its end of steps of which it holds only some ranks' data, and of what ranks were reduced to.
class source_of_ranks final : public forwarding_source {
 public:
  source_of_ranks(std::unique_ptr<source> from, std::string name, listener& to)
      : forwarding_source(std::move(from)), name_(std::move(name)), to_(to), ranks_(inner().header()) {}

  [[nodiscard]] bool next(step& into) override {
    if (inner().next(into)) {
      ranks_.see(into.key, into.ranks);
      return true;
    }
    tell();
    return false;
  }

 private:
  void tell() {
    if (std::exchange(told_, true)) return;
    if (const std::string text = ranks_.warning(name_); !text.empty()) to_.warn(text);
    if (const std::string text = ranks_.note(name_); !text.empty()) to_.note(text);
  }

  std::string name_;
  listener& to_;
  rank_coverage ranks_;
  bool told_ = false;
};

// `name` is the input's; `to` outlives it.
std::unique_ptr<source> watch_ranks(std::unique_ptr<source> from, const std::string& name, listener& to) {
  if (from->header().world <= 1) return from;
  return std::make_unique<source_of_ranks>(std::move(from), name, to);
}

}  // namespace

std::unique_ptr<source> open_run(const run_text& run, const source_options& how, listener& to, first_look look) {
  auto from = open_source(run.inputs, how);
  if (look == first_look::yes && from->kind() == source_kind::recording) refuse_damaged(run.inputs.front());
  if (from->tensors().empty()) {
    for (const auto& [option, given] : {std::pair{"--tensor", !run.tensor.empty()},
                                        {"--kind", !run.kinds.empty()},
                                        {"--role", !run.roles.empty()},
                                        {"--group", !run.groups.empty()},
                                        {"--factor", !run.factor.empty()}})
      if (given)
        throw std::invalid_argument(
            fmt::format("{}: {} has no tensors; remove this option (maxabs in a step log is unscaled)", option,
                        run.inputs.front()));
  }
  for (const std::string& line : from->notes()) to.note(line);
  return watch_ranks(std::move(from), run.inputs.front(), to);
}

std::unique_ptr<source> open_part_of(const run_text& run, run_part part, const source_options& how, listener& to) {
  std::unique_ptr<source> whole = open_run(run, how, to);
  const selection selected = run.selected();
  constexpr step_bounds all;
  const step_bounds within{selected.first_step, selected.end_step == all.last ? all.last : selected.end_step - 1};
  const bool is_as_recorded = how.kinds.empty() && how.roles.empty() && run.factor.empty() && how.scalars.empty();
  const bool is_part = part == run_part::steps || within.first != all.first || within.last != all.last;
  if (whole->kind() != source_kind::recording || !is_as_recorded || !is_part) return whole;
  whole.reset();
  const std::string& path = run.inputs.front();
  return watch_ranks(part == run_part::steps ? open_without_tensors(path, within, how.attempts)
                                             : open_recording(path, within.first, within.last, how.attempts),
                     path, to);
}

std::string read_once_of(const run_text& run) {
  const auto is_gone_once_read = [](const std::string& input) {
    std::error_code none;
    const std::filesystem::file_status is = std::filesystem::status(input, none);
    return input == "-" ||
           (std::filesystem::exists(is) && !std::filesystem::is_regular_file(is) && !std::filesystem::is_directory(is));
  };
  const std::vector<std::string> files = run.files();
  const auto found = std::ranges::find_if(files, is_gone_once_read);
  return found == files.end() ? "" : *found;
}

std::unique_ptr<source> open_run_again(const run_text& run, const source_options& how) {
  return read_once_of(run).empty() ? open_source(run.inputs, how) : nullptr;
}

std::unique_ptr<source> open_run_again(const run_text& run) { return open_run_again(run, run.how_to_read()); }

void follow_steps(source& from, const selection& selected, const followed_steps& hears) {
  const auto next = [&](step& now) {
    try {
      return !hears.is_stopped() && from.next(now);
    } catch (const input_error&) {
      if (hears.is_stopped()) return false;
      throw;
    }
  };
  std::optional<step_key> last;
  step now;  // whose room is used again
  while (next(now)) {
    if (last && !(*last < now.key)) hears.begin_again();
    last = now.key;
    if (selected.takes(now.key.step) && !hears.see(now, from.tensors())) return;
  }
}

void check_steps_counted(std::uint64_t steps, const run_text& run) {
  if (steps > 0) return;
  const std::string& input = run.inputs.front();
  if (!run.steps.empty() || run.every != 1)
    throw std::invalid_argument(fmt::format("{}: --steps and --every select none of its steps (see ulp info)", input));
  throw std::invalid_argument(
      fmt::format("{}: holds no steps, so there is nothing to analyse (microbatches alone are not steps)", input));
}

void check_tensors_exist(const std::string& check, const source& from) {
  if (!check.empty() && from.tensors().empty())
    throw std::invalid_argument(
        fmt::format("--check: a {} has no tensors to select; its overflow covers all of them", from.description()));
}

namespace {

// What stands between dots and slashes, each with the names that it is a part of.
std::map<std::string, std::vector<std::string>> by_part(const std::vector<std::string>& names) {
  std::map<std::string, std::vector<std::string>> parts;
  for (const std::string& name : names)
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t end = std::min(name.find_first_of("./", at), name.size());
      parts[name.substr(at, end - at)].push_back(name);
      at = end + 1;
    }
  return parts;
}

std::vector<std::string> near_names_or_parts(const std::string& typed, const std::vector<std::string>& names) {
  if (std::vector<std::string> near = near_names(typed, names); !near.empty()) return near;
  const auto parts = by_part(names);
  std::vector<std::string> known;
  for (const auto& [part, of] : parts) known.push_back(part);
  const std::vector<std::string> part = near_names(typed, known, 1);
  return part.empty() ? std::vector<std::string>{} : parts.at(part.front());
}

}  // namespace

std::string near_tensors(const std::string& expression, const source& from) {
  if (expression.empty()) return "";
  std::string typed = expression;  // without what only expressions have
  std::erase_if(typed, [](char c) { return std::string_view{"^$\\*+?()[]"}.find(c) != std::string_view::npos; });
  std::vector<std::string> names;
  for (const tensor_info& t : from.tensors()) names.push_back(t.name);
  constexpr std::size_t most = 3;
  std::vector<std::string> near = near_names_or_parts(typed, names);
  const bool any = !near.empty();
  if (!any) near = names;
  std::string text = any ? "; near: " : "; there are ";
  for (std::size_t i = 0; i < std::min(most, near.size()); ++i) text += (i == 0 ? "" : ", ") + near[i];
  if (!any && near.size() > most) text += fmt::format(" and {} more", near.size() - most);
  return text;
}

void check_tensors_counted(const tensor_choice& choice, const source& from, const run_text& run) {
  if (!from.tensors().empty() && choice.counted_count() == 0)
    throw std::invalid_argument(fmt::format("--tensor, --kind and --role select none of {}{} (see ulp info)",
                                            count_text(from.tensors().size(), "tensor"),
                                            near_tensors(run.tensor, from)));
}

std::optional<configuration> configuration_of(const config_file& file, const scenario_text& given,
                                              const run_text& run) {
  if (file.path.empty() && !file.framework.empty())
    throw std::invalid_argument(
        "--framework: says whose --config FILE is: give --config, too (with it, --framework list names the programs)");
  if (file.empty()) return std::nullopt;
  if (file.path == "-" && std::ranges::find(run.inputs, "-") != run.inputs.end())
    throw std::invalid_argument("--config -: standard input already holds the run");
  return read_configuration(file, given);
}

}  // namespace ulp
