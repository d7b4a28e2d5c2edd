#include "bases.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "conditions.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t deepest = 16;
constexpr std::size_t most_files = 200;

bool names_file(const config_node& node) {
  return node.what == config_node::kind::scalar && is_named(node.text, {".yaml", ".yml", ".py", ".json", ".toml"});
}

// Beside the file that names it, else from the current folder.
std::optional<std::string> path_of(const std::string& file, const std::string& named) {
  const std::filesystem::path beside = std::filesystem::path(file).parent_path() / named;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(beside, ignored)) return beside.string();
  return path_beside(file, named);
}

// Errors about what a base says point to where it is named.
void set_lines(config_node& node, std::size_t line) {
  for (config_entry& e : node.entries) {
    e.line = line;
    set_lines(e.value, line);
  }
}

bool replaces(const config_node& node) {
  const config_entry* const mark = node.find("_delete_");
  return mark != nullptr && !is_false(mark->value);
}

void put_under(config_node& node, const config_node& base) {
  for (const config_entry& e : base.entries) {
    const auto own = std::ranges::find(node.entries, e.key, &config_entry::key);
    if (own == node.entries.end())
      node.entries.push_back(e);
    else if (own->value.what == config_node::kind::mapping && e.value.what == config_node::kind::mapping &&
             !replaces(own->value))
      put_under(own->value, e.value);
  }
}

class reading {
 public:
  explicit reading(import_run& run) : run_(run) {}

  void resolve(const std::string& file, config_node& root, std::string_view keys) {
    for (const std::string_view key : words_of(keys)) {
      const config_entry* const found = root.find(key);
      if (found == nullptr) continue;
      const config_entry named = *found;
      const std::vector<std::string> paths = paths_of(file, named.value);
      if (paths.empty()) continue;
      std::erase_if(root.entries, [&](const config_entry& e) { return e.key == key; });
      config_node all{.what = config_node::kind::mapping};
      for (const std::string& path : paths) {
        config_node base = read(path, named.line);
        put_under(base, all);
        all = std::move(base);
      }
      set_lines(all, named.line);
      put_under(root, all);
    }
  }

 private:
  // Nothing where one of them is not there.
  static std::vector<std::string> paths_of(const std::string& file, const config_node& named) {
    std::vector<std::string> paths;
    const auto add = [&](const config_node& node) {
      const auto path = names_file(node) ? path_of(file, node.text) : std::nullopt;
      if (path) paths.push_back(*path);
      return path.has_value();
    };
    if (named.what == config_node::kind::scalar) add(named);
    if (named.what == config_node::kind::sequence && !std::ranges::all_of(named.entries, add, &config_entry::value))
      return {};
    return paths;
  }

  config_node read(const std::string& path, std::size_t line) {
    if (std::ranges::find(open_, path) != open_.end() || open_.size() == deepest || ++files_ > most_files)
      throw input_error(run_.file, at_line(line),
                        "leads to " + in_quotes(path) + ", which is based on itself, or on too many files in a row");
    open_.push_back(path);
    config_node node = parse_config(path, text_of(path));
    if (node.what != config_node::kind::mapping) node = {.what = config_node::kind::mapping};
    run_.note("its settings are read from " + in_quotes(path) + ", too");
    resolve(path, node, base_keys);
    open_.pop_back();
    return node;
  }

  import_run& run_;
  std::vector<std::string> open_;
  std::size_t files_ = 0;
};

}  // namespace

void read_bases(import_run& run, config_node& root, std::string_view keys) {
  if (root.what == config_node::kind::mapping) reading(run).resolve(run.file, root, keys);
}

void put_sections_at_top(config_node& root) {
  config_node sections{.what = config_node::kind::mapping};
  std::erase_if(root.entries, [&](const config_entry& e) {
    if (e.value.what != config_node::kind::mapping) return false;
    put_under(sections, e.value);
    return true;
  });
  put_under(root, sections);
}

std::string file_named_by(const config_entry& base) {
  const auto may_be_one = [&](const config_node& node) {
    return node.what == config_node::kind::scalar && !node.text.empty() &&
           (base.key != "command" || names_file(node) || node.text.starts_with('$'));
  };
  if (may_be_one(base.value)) return base.value.text;
  const auto first = std::ranges::find_if(base.value.entries, may_be_one, &config_entry::value);
  return first == base.value.entries.end() ? "" : first->value.text;
}

bool names_settings(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 20> names{
      "config",      "cfg",       "c",        "config_file", "cfg_file",        "config_path", "config_yaml",
      "yaml",        "yaml_file", "yaml_cfg", "conf",        "train_config",    "opt",         "args_file",
      "params_file", "hparams",   "recipe",   "gin_file",    "job.config_file", "trainer"};
  if (name == "config_name") return !value.empty();
  return std::ranges::find(names, name) != names.end() &&
         is_named(value, {".yaml", ".yml", ".json", ".jsonnet", ".toml", ".py", ".cfg", ".ini", ".gin"});
}

const config_entry* unread_base(const config_node& root, std::string_view keys, std::string_view own) {
  for (const std::string_view all : {base_keys, keys})
    for (const std::string_view key : words_of(all)) {
      const config_entry* const entry = root.find(key);
      if (entry == nullptr) continue;
      const std::string file = file_named_by(*entry);
      if (!file.empty() && (own.empty() || !file.ends_with(own))) return entry;
    }
  return nullptr;
}

}  // namespace ulp::io
