#include "arguments.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <ulp/io/bytes/error.hpp>

#include "argument_words.hpp"
#include "bytes/text.hpp"
#include "config/shell/script.hpp"
#include "file_syntax.hpp"

namespace ulp::io {
namespace {

// NAME of "$NAME", "${NAME..." or "%NAME%".
std::string variable_in(std::string_view word) {
  if (!word.starts_with('$') && !(word.size() > 2 && word.starts_with('%') && word.ends_with('%'))) return "";
  word.remove_prefix(word.starts_with("${") ? 2 : 1);
  return {word.begin(), std::ranges::find_if_not(word, is_name_character)};
}

bool seems_to_hold_arguments(std::string variable) {
  constexpr std::array<std::string_view, 4> parts{"ARG", "OPT", "FLAG", "PREC"};
  for (char& c : variable)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return std::ranges::any_of(parts, [&](std::string_view part) { return variable.find(part) != std::string::npos; });
}

// Bare names of the telling options with their values, the last of each.
using told = std::map<std::string, std::string>;
told told_by(const std::vector<placed_argument>& list, const std::vector<std::string_view>& telling) {
  told all;
  for (const placed_argument& a : list)
    if (std::ranges::find(telling, bare_name(a.what.name)) != telling.end())
      all[bare_name(a.what.name)] = a.what.values.empty() ? "" : a.what.values.front();
  return all;
}

// In words: "with another 'fp16' than the command on line 1".
std::string difference_text(const told& a, const told& b, std::size_t line_of_a) {
  const std::string the_other = "the command on line " + std::to_string(line_of_a);
  const auto lacks = [](const told& other) {
    return [&other](const auto& option) {
      const auto same = other.find(option.first);
      return same == other.end() || same->second != option.second;
    };
  };
  const auto of_a = std::ranges::find_if(a, lacks(b));
  const std::string name = of_a != a.end() ? of_a->first : std::ranges::find_if(b, lacks(a))->first;
  if (!b.contains(name)) return "without " + in_quotes(name) + ", which " + the_other + " has";
  if (!a.contains(name)) return "with " + in_quotes(name) + ", which " + the_other + " does not have";
  return "with another " + in_quotes(name) + " than " + the_other;
}

// The variables of a script that contradict themselves.
class doubts {
 public:
  explicit doubts(const shell_script& script) : script_(script) {}

  void judge(placed_argument& a) const {
    for (const traced_text* const word : {a.option, a.value}) {
      if (word == nullptr || !a.what.doubt.empty()) continue;
      for (const std::string& name : variables_of(*word)) {
        const auto values = script_.values_of(name);
        if (values.size() > 1 && disagree(values, a.what)) a.what.doubt = text_of(values);
      }
    }
  }

  // Options of the values that do not count.
  [[nodiscard]] std::vector<argument> others(const std::set<std::string>& variables,
                                             const std::vector<placed_argument>& there) const {
    std::vector<argument> all;
    for (const std::string& name : variables) {
      const auto values = script_.values_of(name);
      if (values.size() < 2) continue;
      for (const auto* const value : values)
        for (placed_argument& a : options_of(*value)) {
          const auto is_same = [&](const placed_argument& p) { return p.what.name == a.what.name; };
          if (std::ranges::any_of(there, is_same)) continue;
          a.what.doubt = text_of(values);
          all.push_back(std::move(a.what));
        }
    }
    return all;
  }

 private:
  using assignments = std::vector<const shell_script::assignment*>;

  static std::vector<placed_argument> options_of(const shell_script::assignment& value) {
    std::string text;
    for (const traced_text& w : value.words) text += w.text + ' ';
    const words split = words_in(text);
    auto all = arguments_in(split, 0, split.size());
    for (placed_argument& a : all) {
      a.what.line = value.line;
      a.option = a.value = nullptr;
    }
    return all;
  }

  [[nodiscard]] std::set<std::string> variables_of(const traced_text& word) const {
    std::set<std::string> names;
    for (const auto& o : word.origins)
      if (o.assignment > 0) names.insert(script_.assignments[o.assignment - 1].name);
    return names;
  }

  static bool disagree(const assignments& values, const argument& a) {
    bool any = false;
    bool all = true;
    for (const auto* const value : values) {
      const auto options = options_of(*value);
      const auto same = std::ranges::find_if(options, [&](const placed_argument& p) { return p.what.name == a.name; });
      const bool is_there = same != options.end();
      any = any || is_there;
      const auto first = [](const argument& x) { return x.values.empty() ? "" : x.values.front(); };
      all = all && is_there && first(same->what) == first(a);
    }
    // A variable that holds no options is a value, and its values differ.
    return !any || !all;
  }

  static std::string text_of(const assignments& values) {
    const std::string first = std::to_string(values.front()->line);
    const std::string last = std::to_string(values.back()->line);
    return "depends on $" + values.front()->name + ", which is assigned " +
           (first == last ? "again on line " + first : "on lines " + first + " and " + last) +
           " with different values" +
           (values.back()->condition.empty() ? "" : ", as $" + values.back()->condition + " decides") +
           "; keep the assignment that counts";
  }

  const shell_script& script_;
};

// Whether a word begins with the output of a command; of such outputs a file is arguments wherever it stands.
bool is_output(std::string_view word) { return word.starts_with("$(") || word.starts_with('`'); }
bool is_content_of_file(std::string_view word) {
  word.remove_prefix(word.starts_with("$(") ? 2 : 1);
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  return word.starts_with("cat ") || word == "cat" || word.starts_with('<');
}

// Up to where it closes: a variable that holds it was split at blanks.
std::string whole_output(const words& all, std::size_t at) {
  constexpr std::size_t longest = 60;
  const char close = all[at].text.starts_with('`') ? '`' : ')';
  std::string text = all[at].text;
  while (text.find(close, 1) == std::string::npos && text.size() < longest && ++at < all.size())
    text += ' ' + all[at].text;
  return text;
}

// What may hold arguments and is not in this text.
void note_unset(argument_list& list, const words& all, std::size_t from, const shell_script& script) {
  std::set<std::string> used;
  bool before_options = true;
  for (std::size_t i = from; i < all.size(); ++i) {
    const std::string& text = all[i].text;
    before_options = before_options && !is_option(text);
    const bool is_value = i > from && is_option(all[i - 1].text) && all[i - 1].text.find('=') == std::string::npos;
    const std::uint32_t assignment = all[i].origins.empty() ? 0 : all[i].origins.front().assignment;
    const std::string name = variable_in(text);
    if (is_all_of_caller(text)) {
      used.insert(text);
    } else if (is_output(text)) {
      const bool is_of_arguments = assignment > 0 && seems_to_hold_arguments(script.assignments[assignment - 1].name);
      if (!is_value || is_of_arguments || is_content_of_file(text)) used.insert(whole_output(all, i));
    } else if (seems_to_hold_arguments(name) && !script.of_variable.contains(name)) {
      used.insert(text.starts_with('%') ? "%" + name + "%" : "$" + name);
    } else if (before_options && !list.program.empty() && text.find_first_of("=$") == std::string::npos &&
               is_named(text, {".json", ".yaml", ".yml", ".toml"})) {
      used.insert(text);
    }
  }
  list.unset.assign(used.begin(), used.end());
}

}  // namespace

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") &&
         ((word[2] >= 'a' && word[2] <= 'z') || (word[2] >= 'A' && word[2] <= 'Z'));
}

bool has_option(std::string_view line) {
  return std::ranges::any_of(words_in(line), [](const traced_text& w) { return is_option(w.text); });
}

std::string bare_name(std::string_view option) {
  option.remove_prefix(std::min(option.find_first_not_of('-'), option.size()));
  std::string name{option};
  std::ranges::replace(name, '-', '_');
  return name;
}

argument_list read_arguments(const std::string& file, std::string_view text,
                             const std::vector<std::string_view>& telling) {
  const shell_script script = read_script(file, text);
  argument_list list;
  list.files = script.written;
  const shell_command* chosen = nullptr;
  std::size_t program = 0;
  told signature;
  for (const shell_command& command : script.commands) {
    const auto found = program_in(command.words);
    if (!found) continue;
    const auto own = arguments_in(command.words, *found + 1, command.words.size());
    told its = told_by(own, telling);
    if (chosen != nullptr && !signature.empty() && !its.empty() && its != signature)
      throw input_error(file, at_line(command.words[*found].last_line()),
                        "starts " + in_quotes(command.words[*found].text) + " " +
                            difference_text(signature, its, chosen->words[program].last_line()) + "; keep one of them");
    if (chosen != nullptr && (!signature.empty() || its.empty())) continue;
    chosen = &command;
    program = *found;
    signature = std::move(its);
  }
  const words bare = chosen == nullptr ? words_in(text) : words{};
  const words& all = chosen == nullptr ? bare : chosen->words;
  const std::size_t from = chosen == nullptr ? 0 : program + 1;
  if (chosen != nullptr)
    for (const traced_text& w : all) list.words.push_back(w.text);
  else
    for (const shell_command& command : script.commands)
      for (const traced_text& w : command.words) list.words.push_back(w.text);
  auto own = arguments_in(all, from, all.size());
  const doubts doubtful(script);
  if (chosen != nullptr) {
    list.program = all[program].text;
    list.plain = plain_words(all, from);
    for (placed_argument& a : own)
      if (std::ranges::find(telling, bare_name(a.what.name)) != telling.end()) doubtful.judge(a);
    list.perhaps = doubtful.others(chosen->variables, own);
    for (placed_argument& a : arguments_in(all, 0, program)) list.of_launcher.push_back(std::move(a.what));
  }
  for (placed_argument& a : own) list.arguments.push_back(std::move(a.what));
  // CONFIG_FILE=x.toml ./run_train.sh, as torchtitan is started.
  for (const shell_script::assignment& a : script.assignments)
    if (chosen == nullptr && a.name == "CONFIG_FILE" && a.words.size() == 1)
      list.arguments.push_back({.name = "config_file", .line = a.line, .values = {a.words.front().text}});
  note_unset(list, all, from, script);
  return list;
}

config_entry tree_of(const std::vector<argument>& arguments) {
  constexpr std::size_t deepest = 16;
  config_entry root{.key = "", .line = 1, .value = {.what = config_node::kind::mapping}};
  std::map<std::string, std::size_t> at_top;  // there may be many
  const auto child = [&](config_node& of, const std::string& key, std::size_t line) -> config_node& {
    if (&of == &root.value) {
      const auto [place, is_new] = at_top.try_emplace(key, of.entries.size());
      if (is_new) of.entries.push_back({key, line, {.what = config_node::kind::mapping}});
      of.entries[place->second].line = line;
      return of.entries[place->second].value;
    }
    const auto found = std::ranges::find(of.entries, key, &config_entry::key);
    if (found != of.entries.end()) return found->value;
    of.entries.push_back({key, line, {.what = config_node::kind::mapping}});
    return of.entries.back().value;
  };
  for (const argument& a : arguments) {
    std::string name = bare_name(a.name);
    config_node* node = &root.value;
    for (std::size_t depth = 0, dot = name.find('.'); dot != std::string::npos && depth < deepest; ++depth) {
      node = &child(*node, name.substr(0, dot), a.line);
      node->what = config_node::kind::mapping;
      name.erase(0, dot + 1);
      dot = name.find('.');
    }
    child(*node, name, a.line) = {.what = config_node::kind::scalar,
                                  .text = a.values.empty() ? "true" : a.values.front()};
  }
  return root;
}

}  // namespace ulp::io
