#include <ulp/io/config_import.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "arguments.hpp"
#include "bytes/text.hpp"
#include "frameworks.hpp"

namespace ulp {
namespace io {
namespace {

constexpr std::size_t longest_file = 4 << 20;

struct framework {
  std::string_view name;
  std::size_t (*keys_in)(const config_node&);
  void (*import)(import_run&, const config_entry&);
};
constexpr std::array frameworks{
    framework{"DeepSpeed", deepspeed_keys_in, import_deepspeed},
    framework{"Accelerate", accelerate_keys_in, import_accelerate},
    framework{"Lightning", lightning_keys_in, import_lightning},
    framework{"Cerebras", cerebras_keys_in, import_cerebras},
    framework{"NxD", nxd_keys_in, import_nxd},
};

constexpr std::string_view kinds =
    "they are DeepSpeed JSON (fp16, bf16, zero_optimization, ...), Accelerate YAML (distributed_type, mixed_precision, "
    "...), Lightning YAML (trainer: or its arguments), Cerebras Trainer YAML (trainer: init: precision:), NxD "
    "(mixed_precision_config, optimizer_config), Megatron-LM arguments (--fp16 ...)";

// Keys by which people know a configuration.
constexpr std::string_view telling_keys =
    "fp16 bf16 zero_optimization gradient_clipping train_batch_size train_micro_batch_size_per_gpu mixed_precision "
    "distributed_type deepspeed_config trainer precision gradient_clip_val mixed_precision_config optimizer_config";

// What the only key there is may have been meant to be.
std::string guess(const config_node& root) {
  if (root.entries.size() != 1) return "";
  return ": " + unknown_text(root.entries.front().key, "such key", words_of(telling_keys));
}

// The framework that knows most keys of the file.
const framework& framework_of(const std::string& file, const config_node& root) {
  const framework* best = nullptr;
  const framework* also = nullptr;
  std::size_t most = 0;
  for (const framework& f : frameworks) {
    const std::size_t keys = f.keys_in(root);
    if (keys == most) also = &f;
    if (keys <= most) continue;
    most = keys;
    best = &f;
    also = nullptr;
  }
  if (most == 0)
    throw input_error(file, "", "has no key of a configuration that is read" + guess(root) + "; " + std::string{kinds});
  if (also != nullptr)
    throw input_error(file, "",
                      "may be for " + std::string{best->name} + " or for " + std::string{also->name} +
                          ", which know as many of its keys; " + std::string{kinds});
  return *best;
}

// DeepSpeed's files may begin with a comment.
bool is_json(std::string_view text) {
  text.remove_prefix(text.find_first_not_of(" \t\r\n"));
  return text.starts_with('{') || text.starts_with('[') || text.starts_with("//") || text.starts_with("/*");
}

// Arguments: an option stands before the first key of a mapping. Option and key are distinguished by lines.
bool is_command_line(std::string_view text) {
  if (is_json(text)) return false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    const bool is_key = colon != std::string_view::npos && line.find_first_of(" \t$=/\"") > colon &&
                        (colon + 1 == line.size() || line.find_first_of(" \t\r", colon) == colon + 1);
    if (is_key) return false;
    if (!read_arguments(line).arguments.empty()) return true;
  }
  return false;
}

bool is_text(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
}

// Whether a line of meanings, or a key below, is of that key.
bool is_mentioned(const import_run& run, const std::string& key) {
  const auto is_of = [&](const std::string& line) {
    return line.starts_with(key) && (line.size() == key.size() || line[key.size()] == ' ' || line[key.size()] == '.');
  };
  return std::ranges::any_of(run.out.meanings, is_of) || std::ranges::any_of(run.not_read, is_of) ||
         std::ranges::any_of(run.read, [&](const std::string& other) { return other != key && is_of(other); });
}

}  // namespace

std::size_t keys_in(const config_node& node, const known_keys& known) {
  const auto read = words_of(known.read);
  const auto not_read = words_of(known.not_read);
  return static_cast<std::size_t>(std::ranges::count_if(node.entries, [&](const config_entry& e) {
    return std::ranges::find(read, e.key) != read.end() || std::ranges::find(not_read, e.key) != not_read.end();
  }));
}

std::string text_of(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) throw input_error(file, "", "is a folder; name the file in it");
  std::ifstream opened;
  if (file != "-") opened.open(file, std::ios::binary);
  std::istream& in = file == "-" ? std::cin : opened;
  if (!in) throw input_error(file, "", std::string{"cannot be read: "} + std::strerror(errno));
  std::string text(longest_file + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.empty()) throw input_error(file, "", "is empty");
  if (text.size() > longest_file) throw input_error(file, "", "is larger than 4 MiB, too large for a configuration");
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (!is_text(text)) throw input_error(file, "", "is not a text file: it has control characters");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) throw input_error(file, "", "holds only blanks");
  return text;
}

config_node parse_config(const std::string& file, std::string_view text) {
  return is_json(text) ? parse_json(file, text) : parse_yaml(file, text);
}

}  // namespace io

imported_config import_config(const std::string& path, std::optional<format> wanted) {
  io::import_run run;
  run.file = path == "-" ? "standard input" : path;
  run.wanted = wanted;
  const std::string text = io::text_of(path);
  if (io::is_command_line(text)) {
    run.out.framework = "Megatron-LM";
    io::import_megatron(run, text);
  } else {
    const io::config_entry root{.line = 1, .value = io::parse_config(run.file, text)};
    if (root.value.what == io::config_node::kind::null) throw input_error(run.file, "", "holds only comments");
    if (root.value.what != io::config_node::kind::mapping)
      throw input_error(run.file, "", "is not a mapping of keys to values; " + std::string{io::kinds});
    const io::framework& kind = io::framework_of(run.file, root.value);
    run.out.framework = kind.name;
    kind.import(run, root);
  }
  for (const std::string& key : run.read)
    if (!io::is_mentioned(run, key)) run.not_read.push_back(key);
  if (!run.not_read.empty()) {
    std::string names;
    for (const std::string& key : run.not_read) names += (names.empty() ? "" : ", ") + key;
    run.out.meanings.push_back("without meaning for the replay: " + names);
  }
  return std::move(run.out);
}

}  // namespace ulp
