// Configurations that change others: `_BASE_` of Detectron2 and PaddleDetection, `__BASE__` of MindYOLO, `_base_` of MMEngine, and
// the file that a command line names.
#ifndef ULP_IO_CONFIG_BASES_HPP
#define ULP_IO_CONFIG_BASES_HPP

#include <string>
#include <string_view>

#include "section.hpp"

namespace ulp::io {

constexpr std::string_view base_keys = "_BASE_ __BASE__ _base_";

// Puts the values of `root` over those of the files that the keys name, relative to run.file or to the current folder, and theirs over
// those that they name. A key goes when its files were read, with a note, and stays where one is not there. Throws input_error.
void read_bases(import_run& run, config_node& root, std::string_view keys = base_keys);

// A file that the keys name and that was not read, but those named `own`; nullptr where there is none.
[[nodiscard]] const config_entry* unread_base(const config_node& root, std::string_view keys, std::string_view own);
// The keys of sections, where they are not at the top, as keys at the top.
void put_sections_at_top(config_node& root);
[[nodiscard]] std::string file_named_by(const config_entry& base);

// Whether an option of a command line names a file of settings: "--cfg x.yaml", and Hydra's "--config-name x". `name` is bare.
[[nodiscard]] bool names_settings(std::string_view name, std::string_view value);

}  // namespace ulp::io

#endif
