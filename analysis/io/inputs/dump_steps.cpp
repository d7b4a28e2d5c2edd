#include "dump_steps.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "dumps/layouts.hpp"
#include "file_kind.hpp"
#include "folders.hpp"

namespace ulp::io {
namespace {

using placed_file = std::pair<dump_file, std::optional<std::int64_t>>;  // with the step that its place says

// The file's own name says more than its folders.
std::optional<std::int64_t> step_in(const std::string& path, const regex& pattern) {
  auto text = pattern.last_group(std::filesystem::path(path).filename().string());
  if (!text) text = pattern.last_group(path);
  if (!text) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, step);
  if (error != std::errc() || stop != end || step < 0)
    throw input_error(path, "", "--steps-from finds " + in_quotes(*text) + " in its path, which is not a step number");
  return step;
}

// An expression that finds the last number of a file's name by the letters before it: '(?:step|before)(\d+)'. Where
// none are, any number does.
std::string example_for(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  const bool has_number = end > 0;
  while (end > 0 && is_digit(name[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  if (has_number && begin == end) return "'(\\d+)'";
  const std::string before = begin < end ? name.substr(begin, end - begin) : "before";
  return "'(?:step|" + before + ")(\\d+)'";
}

std::vector<dump_step> in_order_of_steps(const std::vector<placed_file>& files, const regex& pattern) {
  std::map<std::int64_t, std::vector<dump_file>> by_step;
  std::vector<const dump_file*> without;
  for (const auto& [file, placed] : files) {
    if (const auto step = placed ? placed : step_in(file.path, pattern))
      by_step[*step].push_back(file);
    else
      without.push_back(&file);
  }
  if (!without.empty() && !by_step.empty())
    throw input_error(without.front()->path, "",
                      "has no step number in its path, unlike other inputs; say where it stands with --steps-from "
                      "REGEX, such as " +
                          example_for(without.front()->path));
  for (std::size_t i = 0; i < without.size(); ++i) by_step[static_cast<std::int64_t>(i)] = {*without[i]};

  std::vector<dump_step> steps;
  for (auto& [number, group] : by_step) {
    std::ranges::stable_sort(group, {}, &dump_file::rank);
    steps.push_back({number, std::move(group)});
  }
  return steps;
}

void check_common_step(const std::vector<dump_step>& steps, const scalar_table& scalars,
                       const source_options& options) {
  const auto is_logged = [&](const dump_step& step) { return logged_at(scalars, step.number) != nullptr; };
  if (!scalars.empty() && std::ranges::none_of(steps, is_logged))
    throw input_error(
        options.scalars, "column 'step'",
        "none of its steps is one of the input's, which begin at step " + std::to_string(steps.front().number));
}

}  // namespace

dumped_steps dump_steps_of(const std::vector<std::string>& inputs, const source_options& options) {
  std::vector<placed_file> files;
  const std::vector<std::string> paths = with_files_of_folders(inputs);
  std::string first;  // what the files are
  bool mixed = false;
  const std::string* of_layout = nullptr;
  std::string_view program;
  for (const std::string& path : paths) {
    const file_kind& kind = file_kind_of(path, options.limits);
    if (!kind.is_dump())
      throw input_error(path, "",
                        "is a " + std::string(kind.name) +
                            "; only dumps and event files can be given several at once; ulp merge combines recordings");
    const auto place = kind.name == "pt" ? place_in_layout_of(path) : std::nullopt;
    const std::string what(place ? place->program : kind.name);
    if (first.empty()) first = what;
    mixed = mixed || first != what;
    if (place && of_layout != nullptr && program != place->program)
      throw input_error(path, "",
                        "is a dump of " + what + ", and " + *of_layout + " one of " + std::string(program) +
                            ": record the folders of the one and of the other apart");
    if (place) of_layout = &path, program = place->program;
    files.push_back({{.path = path,
                      .open = place ? place->open : kind.open_dump,
                      .rank = place ? place->rank : std::nullopt,
                      .one_of_many = place.has_value()},
                     place ? std::optional(place->step) : std::nullopt});
  }
  return {in_order_of_steps(files, options.steps_from), (mixed ? "mixed" : first) + " dump"};
}

std::unique_ptr<source> open_given_dumps(const std::vector<std::string>& inputs, const source_options& options,
                                         const scalar_table& scalars) {
  dumped_steps found = dump_steps_of(inputs, options);
  check_common_step(found.steps, scalars, options);
  return open_dumps(std::move(found.steps), found.description, options, scalars);
}

}  // namespace ulp::io
