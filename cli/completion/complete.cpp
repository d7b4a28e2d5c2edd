#include "complete.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string_view>
#include <ulp/io/bytes/printable.hpp>
#include <variant>

#include "command.hpp"
#include "values.hpp"

namespace ulp::cli {
namespace {

const option* find_option(const command& c, const std::string& name) {
  for (const option& o : c.options)
    for (const std::string& own : names_of(o))
      if (own == name) return &o;
  return nullptr;
}

bool is_flag(const option& o) { return std::holds_alternative<bool*>(o.value); }
bool is_list(const option& o) { return std::holds_alternative<std::vector<std::string>*>(o.value); }
bool is_argument(const option& o) { return !o.name.starts_with('-'); }

// The argument that comes next.
const option* argument_after(const command& c, std::size_t given) {
  const option* last = nullptr;
  for (const option& o : c.options) {
    if (!is_argument(o)) continue;
    last = &o;
    if (is_list(o)) break;
    if (given == 0) return &o;
    --given;
  }
  return last != nullptr && is_list(*last) ? last : nullptr;
}

std::string first_sentence(std::string_view text) {
  const std::size_t end = std::min(text.find("; "), text.find(" ("));
  return std::string{text.substr(0, end)};
}

std::vector<candidate> names_of_commands(const std::vector<command>& commands) {
  std::vector<candidate> all;
  for (const command& c : commands) all.push_back({c.name, c.help});
  return all;
}

// --help and --quiet are every command's.
std::vector<candidate> names_of_options(const command* c, const typed_line& line) {
  std::vector<candidate> all;
  for (const option& o : c == nullptr ? std::vector<option>{} : c->options) {
    if (is_argument(o)) continue;
    const std::string name = names_of(o).back();
    if (is_list(o) || !std::ranges::count(line.values, name, &std::pair<std::string, std::string>::first))
      all.push_back({name, first_sentence(o.help)});
  }
  all.push_back({"--help", "what this does, its options, and an example"});
  all.push_back({"--quiet", "no notes and no progress"});
  if (c == nullptr) all.push_back({"--version"});
  return all;
}

// Each begins with `before`, which is typed already and no part of what is looked for.
void put_before(choice& made, const std::string& before) {
  for (candidate& c : made.words) c.word.insert(0, before);
}

choice value_candidates(const option& o, const typed_line& line, const std::string& begun) {
  const std::size_t comma = o.details.split_at_commas ? begun.rfind(',') : begun.npos;
  const std::string kept = comma == begun.npos ? "" : begun.substr(0, comma + 1);
  choice made = values_of(o, line, std::string_view{begun}.substr(kept.size()));
  std::erase_if(made.words, [&](const candidate& c) { return ("," + kept).find("," + c.word + ",") != kept.npos; });
  put_before(made, kept);
  return made;
}

choice choice_of(const program& all, const std::vector<std::string>& before, const std::string& now) {
  typed_line line;
  const std::vector<command>* among = &all.commands;
  const command* chosen = nullptr;
  const option* waiting = nullptr;  // for its value
  for (const std::string& word : before) {
    const bool asks_help = chosen == nullptr && word == "help";
    if (waiting != nullptr) {
      line.values.emplace_back(names_of(*waiting).back(), word);
      waiting = nullptr;
    } else if (word.size() > 1 && word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      const option* const o = chosen == nullptr ? nullptr : find_option(*chosen, word.substr(0, equals));
      if (o == nullptr) continue;
      if (is_flag(*o) || equals != word.npos)
        line.values.emplace_back(names_of(*o).back(), equals == word.npos ? "" : word.substr(equals + 1));
      else
        waiting = o;
    } else if (!among->empty() && !asks_help) {
      chosen = find_command(*among, word);
      if (chosen == nullptr) return {};
      among = &chosen->commands;
      line.command += (line.command.empty() ? "" : " ") + word;
    } else if (!asks_help) {
      line.arguments.push_back(word);
    }
  }
  if (waiting != nullptr) return value_candidates(*waiting, line, now);
  if (chosen != nullptr && chosen->words != nullptr) return {.words = {}, .files = true};
  if (now.starts_with('-')) {
    const std::size_t equals = now.find('=');
    if (equals == now.npos) return {.words = names_of_options(chosen, line)};
    const option* const o = chosen == nullptr ? nullptr : find_option(*chosen, now.substr(0, equals));
    if (o == nullptr || is_flag(*o)) return {};
    choice made = value_candidates(*o, line, now.substr(equals + 1));
    put_before(made, now.substr(0, equals + 1));
    return made;
  }
  if (!among->empty()) return {.words = names_of_commands(*among)};
  const option* const next = argument_after(*chosen, line.arguments.size());
  return next == nullptr ? choice{} : value_candidates(*next, line, now);
}

}  // namespace

int complete(const program& all, std::vector<std::string> words) {
  const std::string now = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  choice made;
  try {
    made = choice_of(all, words, now);
  } catch (const std::exception&) {
    made = {};  // what was typed makes no sense yet
  }
  fmt::print("{}\n", made.files ? "files" : "words");
  for (const candidate& c : made.words)
    if (c.word.starts_with(now) && c.word == printable(c.word))
      fmt::print("{}{}{}\n", c.word, c.meaning.empty() ? "" : "\t", printable(c.meaning));
  return done;
}

}  // namespace ulp::cli
