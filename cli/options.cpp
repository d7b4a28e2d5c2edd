#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <ulp/io/inputs/open.hpp>

#include "command.hpp"

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

namespace {

// What stands behind "--set a=1 b=2" would be an input: a name as parameters have them, and a value.
std::string no_setting(const std::string& text) {
  const std::size_t name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  std::error_code ignored;
  if (name == 0 || name == std::string::npos || text[name] != '=' || std::filesystem::exists(text, ignored)) return "";
  return fmt::format("{}: No such file or directory; a parameter has a --set of its own: --set {}", text, text);
}

}  // namespace

void add_run(command& to, run_text& options, const std::vector<std::string>& but, const std::string& inputs) {
  to.add("INPUT", &options.inputs, inputs.empty() ? inputs_help() + "; - for CSV or a log on standard input" : inputs,
         {.required = true, .check = no_setting});
  add_options(to, options_of(options), but);
}

namespace {

void add_some(command& to, run_text& options, const std::vector<std::string>& names) {
  std::vector<text_option> some = options_of(options);
  std::erase_if(some, [&](const text_option& o) { return std::ranges::find(names, o.name) == names.end(); });
  add_options(to, some);
}

}  // namespace

void add_tensor_and_limits(command& to, run_text& options) { add_some(to, options, {"tensor", "limit", "raw-codes"}); }

void add_limits(command& to, run_text& options) { add_some(to, options, {"limit", "raw-codes"}); }

void add_groups(command& to, run_text& options) { add_options(to, {group_option(options)}); }

std::unique_ptr<source> follow_run(const run_text& options, const source_options& how, wait_for_steps wait) {
  if (options.inputs.size() > 1) throw usage_error("only one recording can be followed: name one");
  if (options.inputs.front() == "-") throw usage_error("-: is not a recording: only recordings can be followed");
  return follow_recording(options.inputs.front(), how, std::move(wait));
}

}  // namespace ulp::cli
