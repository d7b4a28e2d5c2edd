#include "configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/io/printable.hpp>

#include "command.hpp"
#include "output.hpp"

namespace ulp::cli {

void add_config(command& to, std::string& file, option_details details, const char* instead) {
  details.type = "FILE";
  to.add(
      "--config", &file,
      fmt::format("{} from the configuration or script of a framework (DeepSpeed, Hugging Face, Lightning, Megatron-LM "
                  "and others: docs/configurations.md)",
                  instead),
      std::move(details));
}

std::optional<configuration> configuration_of(const std::string& file, const scenario_text& given,
                                              const run_text& run) {
  if (file.empty()) return std::nullopt;
  if (file == "-" && std::ranges::find(run.inputs, "-") != run.inputs.end())
    throw usage_error("--config -: standard input already holds the run");
  return read_configuration(file, given);
}

void print_configuration(const configuration& config, bool machine_stdout) {
  const imported_config& said = config.said;
  const std::string heading = fmt::format("{}: {}", config.file, said.framework);
  if (machine_stdout) {
    for (const std::string& line : said.meanings) note(fmt::format("{}: {}", heading, line));
  } else {
    fmt::print("{:<12} {}\n", "config", printable(heading));
    for (const std::string& line : said.meanings) fmt::print("  {}\n", printable(line));
  }
  for (const std::string& line : said.notes) note(fmt::format("{}: {}", config.file, line));
}

}  // namespace ulp::cli
