#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <type_traits>

#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/ambiguous_names.hpp>
#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

constexpr const char* quiet_option = "--quiet";
constexpr const char* quiet_help = "suppress notes and progress; still print warnings and errors";

constexpr std::size_t help_width = 80;
constexpr std::size_t help_column = 30;  // where descriptions of options begin
constexpr std::size_t command_column = 15;

// `text` broken between words, `column` characters being there already; further lines begin at `indent`.
std::string wrapped_at(std::string_view text, std::size_t column, std::size_t indent) {
  std::string all;
  bool first = true;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find(' '), text.size());
    if (!first && column + 1 + size > help_width) {
      all += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      all += ' ';
      ++column;
    }
    all += text.substr(0, size);
    column += size;
    text.remove_prefix(std::min(size + 1, text.size()));
    first = false;
  }
  return all;
}

// A line of a footer. Commands to be copied stay in one piece; in the rows of a table only the second column is broken.
std::string wrapped_line(std::string_view line) {
  if (line.size() <= help_width || line.starts_with("  ulp ") || line.starts_with("  echo ")) return std::string{line};
  const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
  std::size_t text = margin;
  if (const std::size_t gap = margin == 0 ? line.npos : line.find("  ", margin); gap != line.npos)
    text = line.find_first_not_of(' ', gap);
  return std::string{line.substr(0, text)} + wrapped_at(line.substr(text), text, text);
}

std::string wrapped_lines(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find('\n'), text.size());
    all += wrapped_line(text.substr(0, size)) + "\n";
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return all;
}

// --help within 80 columns: the library's own formatter does not break lines.
class narrow_formatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string all = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at; (at = all.find("\n\n\n")) != std::string::npos;) all.erase(at, 1);
    return all;
  }
  std::string make_option(const CLI::Option* o, bool positional) const override {
    return row(make_option_name(o, positional) + make_option_opts(o), make_option_desc(o));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return row(command->get_display_name(true), command->get_description(), command_column);
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped_lines(CLI::Formatter::make_description(app));
  }
  std::string make_footer(const CLI::App* app) const override {
    return wrapped_lines(CLI::Formatter::make_footer(app));
  }

 private:
  static std::string row(const std::string& name, const std::string& help, std::size_t column = help_column) {
    std::string left = wrapped_at("  " + name, 0, 6);
    if (help.empty()) return left + "\n";
    if (left.size() + 2 > column) left += "\n";
    left.resize(left.back() == '\n' ? left.size() + column : column, ' ');
    return left + wrapped_at(help, column, column) + "\n";
  }
};

CLI::Option& added(CLI::App& app, const option& o) {
  return std::visit(
      [&](auto* value) -> CLI::Option& {
        using type = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<type, bool>)
          return *app.add_flag(o.name, *value, o.help);
        else
          return *app.add_option(o.name, *value, o.help);
      },
      o.value);
}

void add(CLI::App& app, const option& o) {
  CLI::Option& made = added(app, o);
  const option_details& d = o.details;
  if (!d.type.empty()) made.type_name(d.type);
  if (!d.group.empty()) made.group(d.group);
  if (d.required) made.required();
  if (o.name.starts_with('-') && std::holds_alternative<std::vector<std::string>*>(o.value))
    made.allow_extra_args(false);
  if (d.split_at_commas) made.delimiter(',');
  if (!d.one_of.empty()) made.check(CLI::IsMember(d.one_of));
  if (d.check) made.check(CLI::Validator{[&d](const std::string& text) { return d.check(text); }, ""});
  if (!d.excludes.empty()) made.excludes(app.get_option(d.excludes));
  if (d.show_default) made.capture_default_str();
}

void add(CLI::App& app, const command& c, bool& is_quiet) {
  CLI::App& added = *app.add_subcommand(c.name, c.help);
  for (const option& o : c.options) add(added, o);
  for (const command& inner : c.commands) add(added, inner, is_quiet);
  if (!c.commands.empty()) added.require_subcommand(1);
  if (c.words != nullptr)
    added.prefix_command();
  else
    added.add_flag(quiet_option, is_quiet, quiet_help);
  added.footer(c.footer);
}

// The options of a command that have names, as they are typed.
std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* const o : app.get_options())
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

// An option that does not exist is told before what is missing: that may be what was mistyped.
std::string text_of(const CLI::ParseError& problem, const CLI::App& where) {
  for (const std::string& word : where.remaining()) {
    const bool is_option =
        word.size() > 1 && word[0] == '-' && (word[1] == '-' || std::isalpha(static_cast<unsigned char>(word[1])) != 0);
    if (!is_option) continue;
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown option {}{}", name, did_you_mean(name, names_of(where)));
  }
  return problem.what();
}

// `of` is the program, or a command that has commands.
usage_error unknown_command(const std::string& typed, std::vector<std::string> names, const std::string& of) {
  return usage_error(fmt::format("unknown command '{}'{} (see {} --help)", typed, did_you_mean(typed, names), of));
}

std::vector<std::string> names_of(const std::vector<command>& commands) {
  std::vector<std::string> names;
  for (const command& c : commands) names.push_back(c.name);
  return names;
}

// `ulp help` is `ulp --help`, and `ulp help COMMAND` is `ulp COMMAND --help`.
std::vector<std::string> without_help_command(std::vector<std::string> words, const program& all) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  if (words == std::vector<std::string>{"help"}) words.clear();
  const std::vector<command>* among = &all.commands;
  std::string of = all.name;
  for (const std::string& word : words) {
    if (among->empty()) throw usage_error(fmt::format("help: name one command (see {} --help)", all.name));
    const command* const named = find_command(*among, word);
    if (named == nullptr) throw unknown_command(word, names_of(*among), of);
    among = &named->commands;
    of += " " + word;
  }
  words.emplace_back("--help");
  return words;
}

// What was named last: the program, one of its commands, or a command of that.
struct named {
  const CLI::App* app = nullptr;
  std::string name;                                // all words that lead to it
  const std::vector<command>* commands = nullptr;  // it has these
  const command* chosen = nullptr;                 // nullptr: the program
};

named last_named(const CLI::App& app, const program& all) {
  named last{&app, all.name, &all.commands};
  while (!last.app->get_subcommands().empty()) {
    last.app = last.app->get_subcommands().front();
    last.name += " " + last.app->get_name();
    last.chosen = find_command(*last.commands, last.app->get_name());
    last.commands = &last.chosen->commands;
  }
  return last;
}

// Whichever option, file or recording had the name.
void note_once(std::string_view entry, const std::string& text) {
  static std::mutex one_at_a_time;
  static std::set<std::string, std::less<>> noted;
  const std::lock_guard lock(one_at_a_time);
  if (noted.emplace(entry).second) note(text);
}

}  // namespace

const command* find_command(const std::vector<command>& commands, const std::string& name) {
  const auto found = std::ranges::find(commands, name, &command::name);
  return found == commands.end() ? nullptr : &*found;
}

void command::add(std::string option_name, option_value value, std::string option_help, option_details details) {
  options.push_back({std::move(option_name), value, std::move(option_help), std::move(details)});
}

std::string whole_number(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= 0) return "";
  return fmt::format("'{}' is not an integer from 0 to 9223372036854775807", text);
}

std::string positive(const std::string& text) {
  if (text.find_first_not_of('0') == std::string::npos) return fmt::format("'{}' is not a positive integer", text);
  return whole_number(text);
}

std::string a_name(const std::string& text) { return text.empty() ? "the file name is empty" : ""; }

int run(const program& all, int argc, char** argv) {
  CLI::App app{all.help, all.name};
  app.require_subcommand(1);
  app.set_version_flag("--version", all.version);
  bool is_quiet = false;
  app.add_flag(quiet_option, is_quiet, quiet_help);
  app.footer(all.footer);
  app.formatter(std::make_shared<narrow_formatter>());
  for (const command& c : all.commands) add(app, c, is_quiet);
  const std::vector<std::string> words = without_help_command({argv + 1, argv + argc}, all);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    const named last = last_named(app, all);
    const std::vector<std::string> rest = last.chosen == nullptr ? words : last.app->remaining();
    const auto first = std::ranges::find_if(rest, [](const std::string& word) { return !word.starts_with('-'); });
    if (!last.commands->empty() && first != rest.end())
      throw unknown_command(*first, names_of(*last.commands), last.name);
    throw usage_error(fmt::format("{} (see {} --help)", text_of(problem, *last.app), last.name));
  }
  if (is_quiet) be_quiet();
  listen_for_ambiguous_names(note_once);
  const named last = last_named(app, all);
  if (last.chosen->words != nullptr) *last.chosen->words = last.app->remaining();
  return last.chosen->run();
}

}  // namespace ulp::cli
