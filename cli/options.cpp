#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <type_traits>
#include <ulp/io/check.hpp>
#include <ulp/report/table.hpp>
#include <utility>

#include "command.hpp"
#include "output.hpp"
#include "runs/rank_warnings.hpp"
#include "suggestions.hpp"

namespace ulp::cli {

void add_options(command& to, const std::vector<text_option>& options, const std::vector<std::string>& but) {
  for (const text_option& o : options) {
    if (std::ranges::find(but, o.name) != but.end()) continue;
    option_details details{.type = o.type, .group = o.group, .one_of = o.one_of};
    if (!o.excludes.empty()) details.excludes = "--" + o.excludes;
    std::visit(
        [&](auto* value) {
          using type = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<type, std::string>) details.show_default = !value->empty();
          if constexpr (std::is_same_v<type, std::int64_t> || std::is_same_v<type, std::uint64_t>) {
            details.show_default = true;
            details.check = whole_number;
          }
          to.add("--" + o.name, value, o.help, details);
        },
        o.value);
  }
}

void add_rounding(command& to, rounding_text& options) { add_options(to, options_of(options)); }

void add_run(command& to, run_text& options, const std::vector<std::string>& but) {
  to.add("INPUT", &options.inputs, inputs_help() + "; - for CSV or a log on standard input", {.required = true});
  add_options(to, options_of(options), but);
}

void add_groups(command& to, run_text& options) { add_options(to, {group_option(options)}); }

namespace {

std::unique_ptr<source> opened(const run_text& options, const source_options& how) {
  auto from = open_source(options.inputs, how);
  if (from->kind() == source_kind::recording) refuse_damaged(options.inputs.front());
  if (from->tensors().empty()) {
    for (const auto& [option, given] : {std::pair{"--tensor", !options.tensor.empty()},
                                        {"--kind", !options.kinds.empty()},
                                        {"--role", !options.roles.empty()},
                                        {"--group", !options.groups.empty()},
                                        {"--factor", !options.factor.empty()}})
      if (given)
        throw usage_error(fmt::format("{}: {} has no tensors; remove this option (maxabs in a step log is unscaled)",
                                      option, options.inputs.front()));
  }
  for (const std::string& line : from->notes()) note(line);
  return watch_ranks(std::move(from), options.inputs.front());
}

}  // namespace

std::unique_ptr<source> open_run(const run_text& options) { return open_run(options, options.how_to_read()); }

std::unique_ptr<source> open_run(const run_text& options, const source_options& how) { return opened(options, how); }

std::unique_ptr<source> open_run_again(const run_text& options) {
  const auto lasts = [](const std::string& input) {
    std::error_code none;
    return input.empty() || std::filesystem::is_regular_file(input, none) || std::filesystem::is_directory(input, none);
  };
  if (!std::ranges::all_of(options.files(), lasts)) return nullptr;
  return open_source(options.inputs, options.how_to_read());
}

std::unique_ptr<source> follow_run(const run_text& options, const source_options& how, wait_for_steps wait) {
  if (options.inputs.size() > 1) throw usage_error("only one recording can be followed: name one");
  if (options.inputs.front() == "-") throw usage_error("-: is not a recording: only recordings can be followed");
  return follow_recording(options.inputs.front(), how, std::move(wait));
}

void check_steps_counted(std::uint64_t steps, const run_text& options) {
  if (steps > 0) return;
  const std::string& input = options.inputs.front();
  if (!options.steps.empty() || options.every != 1)
    throw usage_error(fmt::format("{}: --steps and --every select none of its steps (see ulp info)", input));
  throw usage_error(
      fmt::format("{}: holds no steps, so there is nothing to analyse (microbatches alone are not steps)", input));
}

void check_tensors_exist(const std::string& check, const source& from) {
  if (!check.empty() && from.tensors().empty())
    throw usage_error(
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

void check_tensors_counted(const tensor_choice& choice, const source& from, const run_text& options) {
  if (!from.tensors().empty() && choice.counted_count() == 0)
    throw usage_error(fmt::format("--tensor, --kind and --role select none of {}{} (see ulp info)",
                                  count_text(from.tensors().size(), "tensor"), near_tensors(options.tensor, from)));
}

}  // namespace ulp::cli
