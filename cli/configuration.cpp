#include "configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/io/printable.hpp>

#include "command.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {

imported_config apply_configuration(const std::string& file, policy_options given) {
  std::optional<format> wanted;
  if (!given.format_name.empty()) wanted = format_named(given.format_name);
  imported_config config = import_config(file, wanted);
  const bool clips = config.clip_norm || config.clip_value;
  if (clips && !(given.clip_norm.empty() && given.clip_value.empty()))
    throw usage_error(fmt::format(
        "{}: {} clips already, to {} {}; take the one or the other out",
        given.clip_norm.empty() ? "--clip-value" : "--clip-norm", file, config.clip_norm ? "L2 norm" : "magnitude",
        to_string(parameter_value{config.clip_norm ? *config.clip_norm : *config.clip_value})));
  if (config.clip_norm) given.clip_norm = to_string(parameter_value{*config.clip_norm});
  if (config.clip_value) given.clip_value = to_string(parameter_value{*config.clip_value});

  given.scaler = config.scaler;
  std::vector<std::string> parameters;
  for (const auto& [name, value] : config.parameters) {
    const bool overridden = std::any_of(given.parameters.begin(), given.parameters.end(),
                                        [&](const std::string& text) { return text.starts_with(name + "="); });
    if (!overridden) parameters.push_back(name + "=" + to_string(value));
  }
  given.parameters.insert(given.parameters.begin(), parameters.begin(), parameters.end());
  if (given.format_name.empty()) given.format_name = config.format.value_or("");
  return config;
}

void print_configuration(const std::string& file, const imported_config& config, bool machine_stdout) {
  const std::string heading = fmt::format("{}: {}", file, config.framework);
  if (machine_stdout) {
    for (const std::string& line : config.meanings) note(fmt::format("{}: {}", heading, line));
  } else {
    fmt::print("{:<12} {}\n", "config", printable(heading));
    for (const std::string& line : config.meanings) fmt::print("  {}\n", printable(line));
  }
  for (const std::string& line : config.notes) note(fmt::format("{}: {}", file, line));
}

}  // namespace ulp::cli
