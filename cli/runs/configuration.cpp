#include "configuration.hpp"

#include <fmt/format.h>

#include <ulp/io/bytes/printable.hpp>

#include "output.hpp"

namespace ulp::cli {

void add_config(command& to, config_file& file, option_details details, const char* instead) {
  details.type = "FILE";
  to.add(
      "--config", &file.path,
      fmt::format("{} from the configuration or script of a framework (DeepSpeed, Hugging Face, Lightning, Megatron-LM "
                  "and others: docs/configurations.md)",
                  instead),
      std::move(details));
  to.add("--framework", &file.framework,
         "whose configuration --config is, where its keys do not say it: timm, Lightning, ... (docs/configurations.md)",
         {.type = "NAME"});
}

void print_configuration(const configuration& config, bool machine_stdout) {
  if (machine_stdout) {
    for (const std::string& line : configuration_notes(config)) note(line);
    return;
  }
  const imported_config& said = config.said;
  print_sentences("config       ", fmt::format("{}: {}", printable(config.file), printable(said.framework)));
  for (const std::string& line : said.meanings) print_sentences("  ", printable(line));
  for (const std::string& line : said.notes) note(fmt::format("{}: {}", config.file, line));
}

void print_conclusions(const std::vector<std::string>& conclusions, bool machine_stdout) {
  for (const std::string& line : conclusions) {
    if (machine_stdout)
      note(line);
    else
      print_sentences("", printable(line));
  }
  if (!machine_stdout && !conclusions.empty()) fmt::print("\n");
}

}  // namespace ulp::cli
