#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <type_traits>

#include "command.hpp"

namespace ulp::cli {
namespace {

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

CLI::Validator member_of(const option& o) {
  if (!std::holds_alternative<int*>(o.value)) return CLI::IsMember(o.details.one_of);
  std::vector<int> numbers;
  for (const std::string& text : o.details.one_of) numbers.push_back(std::stoi(text));
  return CLI::IsMember(numbers);
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
  if (!d.one_of.empty()) made.check(member_of(o));
  if (d.check) made.check(CLI::Validator{[&d](const std::string& text) { return d.check(text); }, ""});
  if (!d.excludes.empty()) made.excludes(app.get_option(d.excludes));
  if (d.show_default) made.capture_default_str();
}

void add(CLI::App& app, const command& c) {
  CLI::App& added = *app.add_subcommand(c.name, c.help);
  for (const option& o : c.options) add(added, o);
  if (c.words != nullptr) added.prefix_command();
  added.footer(c.footer);
}

}  // namespace

void command::add(std::string option_name, option_value value, std::string option_help, option_details details) {
  options.push_back({std::move(option_name), value, std::move(option_help), std::move(details)});
}

std::string whole_number(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc{} && stop == end && value >= 0) return "";
  return fmt::format("'{}' is no integer from 0 to 9223372036854775807", text);
}

std::string positive(const std::string& text) { return CLI::PositiveNumber(text); }

std::string a_name(const std::string& text) { return text.empty() ? "is empty: which file?" : ""; }

int run(const program& all, int argc, char** argv) {
  CLI::App app{all.help, all.name};
  app.require_subcommand(1);
  app.set_version_flag("--version", all.version);
  app.footer(all.footer);
  app.get_formatter()->column_width(34);
  for (const command& c : all.commands) add(app, c);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    const auto given = app.get_subcommands();
    if (given.empty() && argc > 1 && argv[1][0] != '-')
      throw usage_error(fmt::format("unknown command '{}' (see {} --help)", argv[1], all.name));
    const std::string name = given.empty() ? all.name : all.name + " " + given.front()->get_name();
    throw usage_error(fmt::format("{} (see {} --help)", problem.what(), name));
  }
  const CLI::App& given = *app.get_subcommands().front();
  const command& chosen = *std::ranges::find(all.commands, given.get_name(), &command::name);
  if (chosen.words != nullptr) *chosen.words = given.remaining();
  return chosen.run();
}

}  // namespace ulp::cli
