#include <ulp/ask/reading/folder_content.hpp>

#include <algorithm>
#include <array>
#include <compare>
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

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "step0010.npz" is "step", 0010 and ".npz": the last number of the name, before its ending. No number: all is before.
struct numbered {
  std::string before;
  std::string after;

  explicit numbered(const std::string& name) {
    std::size_t end = std::min(name.rfind('.'), name.size());
    while (end > 0 && !is_digit(name[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_digit(name[begin - 1])) --begin;
    before = end == 0 ? name : name.substr(0, begin);
    after = end == 0 ? "" : name.substr(end);
  }
  friend auto operator<=>(const numbered&, const numbered&) = default;
};

// What open_source takes the step from by itself: a number behind one of these.
bool names_step(std::string_view before) { return before.ends_with("step") || before.ends_with("iter_"); }

// "grads.ulp" of "grads_"; another where that is there, or was given already.
std::string free_name(std::string stem, const std::filesystem::path& folder, std::set<std::string>& given) {
  while (!stem.empty() && std::string_view{"._-"}.find(stem.back()) != std::string_view::npos) stem.pop_back();
  if (stem.empty() || stem.starts_with('-')) stem = "run";
  std::string name = stem + ".ulp";
  std::error_code unknown;
  for (int i = 2; std::filesystem::exists(folder / name, unknown) || given.contains(name); ++i)
    name = stem + "-" + std::to_string(i) + ".ulp";
  given.insert(name);
  return name;
}

// Dumps whose names differ in their last numbers alone are the steps of a run.
std::vector<found_files> with_dumps_joined(std::vector<found_files> all, const std::filesystem::path& folder) {
  std::map<numbered, std::vector<found_files>> runs;
  std::erase_if(all, [&](const found_files& one) {
    if (one.kind != found_files::dumps) return false;
    runs[numbered(one.words)].push_back(one);
    return true;
  });
  std::set<std::string> given;
  for (const auto& [name, files] : runs) {
    const auto add = [&](const found_files& one, const std::string& words, std::size_t count) {
      all.push_back(one);
      all.back().words = words;
      all.back().count = count;
      all.back().record_as = file_argument(free_name(name.before, folder, given));
    };
    // What a shell would not match as it stands is named file by file.
    const std::string both = name.before + name.after;
    if (files.size() > 1 && shell_quoted(both) == both && !both.starts_with('-')) {
      add(files.front(), name.before + "[0-9]*" + name.after, files.size());
      if (!names_step(name.before)) all.back().steps_from = shell_quoted(name.before + "([0-9]+)");
    } else {
      for (const found_files& one : files) add(one, file_argument(one.words), 1);
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
  content.found = with_dumps_joined(std::move(content.found), folder);
  std::ranges::sort(content.found, {}, [](const found_files& f) { return std::tie(f.kind, f.words); });
  return content;
}

}  // namespace ulp
