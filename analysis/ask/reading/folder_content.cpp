#include <ulp/ask/reading/folder_content.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include <ulp/ask/questions/command_text.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/io/inputs/open.hpp>

namespace ulp {
namespace {

constexpr std::size_t most_files = 2000;
constexpr std::uint64_t largest_text = std::uint64_t{4} << 20U;
constexpr std::uint64_t all_texts = std::uint64_t{64} << 20U;  // of the others the names decide
constexpr std::uint64_t largest_configuration = std::uint64_t{1} << 18U;

bool can_be_configuration(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 8> endings{".json", ".yaml", ".yml", ".toml", ".py", ".sh", ".bash", ".cfg"};
  return std::ranges::find(endings, path.extension().string()) != endings.end();
}

found_files::kinds kind_of(const input_format& format) {
  if (format.is_dump) return found_files::dumps;
  if (format.globs == "*.ulp") return found_files::recording;
  return format.name.find("TensorBoard") != std::string_view::npos ? found_files::events : found_files::text;
}

// `left`: bytes that are still to be read at most.
std::optional<found_files> looked_at(const std::filesystem::path& path, std::uint64_t& left) {
  const std::string name = path.filename().string();
  std::error_code unknown;
  const std::uint64_t size = std::filesystem::file_size(path, unknown);
  const std::uint64_t most = std::min(largest_text, left);
  if (!unknown && size <= most) left -= size;
  if (const auto format = input_format_of(path.string(), most))
    return found_files{kind_of(*format),
                       std::string{format->name} +
                           (kind_of(*format) == found_files::text && size > most ? ", by its name: it is long" : ""),
                       name};
  if (!can_be_configuration(path) || unknown || size > largest_configuration) return {};
  try {
    return found_files{found_files::configuration, import_config(path.string()).framework + " configuration", name};
  } catch (const std::exception&) {  // who asks for it is told why
    return {};
  }
}

// "step*.npz" of "step0010.npz": each number is a star.
std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit)
      pattern += c;
    else if (!pattern.ends_with('*'))
      pattern += '*';
  }
  return pattern;
}

// Dumps whose names differ in numbers alone are the steps of a run.
std::vector<found_files> with_dumps_joined(std::vector<found_files> all) {
  std::map<std::string, std::vector<found_files>> runs;
  std::erase_if(all, [&](const found_files& one) {
    if (one.kind != found_files::dumps) return false;
    runs[pattern_of(one.words)].push_back(one);
    return true;
  });
  for (const auto& [pattern, files] : runs) {
    // What a shell would not match as it stands is named file by file.
    const bool joins = files.size() > 1 &&
                       shell_quoted(pattern_of(pattern)).find_first_not_of("'*") != std::string::npos &&
                       pattern.find_first_of(" '\"\\$`?[]{}()<>|&;~#!") == std::string::npos;
    if (joins) {
      all.push_back(files.front());
      all.back().words = pattern.starts_with('-') ? "./" + pattern : pattern;
      all.back().count = files.size();
      continue;
    }
    for (found_files one : files) {
      one.words = file_argument(one.words);
      all.push_back(one);
    }
  }
  return all;
}

bool is_of_events(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  const auto format = input_format_of(path.string(), 0);
  return format && kind_of(*format) == found_files::events;
}

// Folders within in which TensorBoard's files lie, as ulp takes them.
std::set<std::string> event_folders(const std::filesystem::path& folder, bool& all_seen) {
  constexpr int deepest = 3;
  std::set<std::string> all;
  std::error_code none;
  std::size_t seen = 0;
  using iterator = std::filesystem::recursive_directory_iterator;
  for (iterator at(folder, std::filesystem::directory_options::skip_permission_denied, none), end; !none && at != end;
       at.increment(none)) {
    const std::string name = at->path().filename().string();
    if (at.depth() >= deepest || name.starts_with('.')) at.disable_recursion_pending();
    if (++seen > most_files) {
      all_seen = false;
      break;
    }
    if (at.depth() > 0 && name.find("tfevents") != std::string::npos && is_of_events(at->path()))
      all.insert(at->path().parent_path().lexically_relative(folder).string());
  }
  return all;
}

}  // namespace

folder_content look_into(const std::string& folder) {
  folder_content content;
  for (const std::string& name : event_folders(folder, content.all_seen))
    content.found.push_back({found_files::events, "folder of TensorBoard event files", name});
  std::error_code none;
  std::size_t seen = 0;
  std::uint64_t left = all_texts;
  for (std::filesystem::directory_iterator at(folder, none), end; !none && at != end; at.increment(none)) {
    std::error_code unknown;
    if (at->path().filename().string().starts_with('.') || !at->is_regular_file(unknown)) continue;
    if (++seen > most_files) {
      content.all_seen = false;
      break;
    }
    if (auto one = looked_at(at->path(), left)) content.found.push_back(std::move(*one));
  }
  for (found_files& one : content.found)
    if (one.kind != found_files::dumps) one.words = file_argument(one.words);
  content.found = with_dumps_joined(std::move(content.found));
  std::ranges::sort(content.found, {}, [](const found_files& f) { return std::tie(f.kind, f.words); });
  return content;
}

}  // namespace ulp
