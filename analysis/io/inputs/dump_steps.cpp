#include "dump_steps.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "file_kind.hpp"

namespace ulp::io {
namespace {

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

std::vector<dump_step> in_order_of_steps(const std::vector<dump_file>& files, const regex& pattern) {
  std::map<std::int64_t, std::vector<dump_file>> by_step;
  std::vector<const dump_file*> without;
  for (const dump_file& file : files) {
    if (const auto step = step_in(file.path, pattern))
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
  for (auto& [number, group] : by_step) steps.push_back({number, std::move(group)});
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
  std::vector<dump_file> files;
  const file_kind* first = nullptr;
  bool mixed = false;
  for (const std::string& path : inputs) {
    const file_kind& what = file_kind_of(path, options.limits);
    if (!what.is_dump())
      throw input_error(path, "",
                        "is a " + std::string(what.name) +
                            "; only dumps and event files can be given several at once; ulp merge combines recordings");
    if (first == nullptr) first = &what;
    mixed = mixed || first != &what;
    files.push_back({path, what.open_dump});
  }
  return {in_order_of_steps(files, options.steps_from), (mixed ? "mixed" : std::string(first->name)) + " dump"};
}

std::unique_ptr<source> open_given_dumps(const std::vector<std::string>& inputs, const source_options& options,
                                         const scalar_table& scalars) {
  dumped_steps found = dump_steps_of(inputs, options);
  check_common_step(found.steps, scalars, options);
  return open_dumps(std::move(found.steps), found.description, options, scalars);
}

}  // namespace ulp::io
