// Of whom a configuration is: by what only one program has, never by keys that several share.
#include <algorithm>
#include <set>

#include <ulp/formats/name_suggestions.hpp>
#include <ulp/io/bytes/error.hpp>

#include "arguments.hpp"
#include "bases.hpp"
#include "bytes/text.hpp"
#include "concerns.hpp"
#include "file_syntax.hpp"
#include "program.hpp"

namespace ulp::io {
namespace {

// Whether a text ends so; '*' in the pattern is any text.
bool ends_in(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    if (!text.ends_with(pattern)) return false;
    const std::size_t before = text.size() - pattern.size();
    return before == 0 || text[before - 1] == '/' || text[before - 1] == '.' || pattern.front() == '.' ||
           pattern.front() == '_';
  }
  const std::string_view first = pattern.substr(0, star);
  const std::string_view last = pattern.substr(star + 1);
  if (!text.ends_with(last)) return false;
  text.remove_suffix(last.size());
  for (std::size_t at = text.find(first); at != std::string_view::npos; at = text.find(first, at + 1))
    if (at == 0 || text[at - 1] == '/' || text[at - 1] == '.') return true;
  return false;
}

bool is_among_markers(std::string_view markers, const config_node& root) {
  return std::ranges::any_of(words_of(markers), [&](std::string_view marker) {
    std::string all{marker};
    std::ranges::replace(all, '+', ' ');
    return hold(all, root);
  });
}

bool is_marked(const program_row& row, const config_node& root) {
  return (row.is_its != nullptr && row.is_its(root)) || is_among_markers(row.markers, root);
}

// The function that a node calls: "TrainingArguments" of transformers.TrainingArguments(...), and of run.Config(TrainingArguments).
std::string_view function_of(const config_node& node) {
  const auto last = [](std::string_view name) { return name.substr(name.find_last_of('.') + 1); };
  const config_entry* const callee = node.what == config_node::kind::mapping ? node.find("()") : nullptr;
  if (callee == nullptr) return {};
  const std::string_view name = last(callee->value.text);
  const config_entry* const first = node.find("0");
  return first != nullptr && (name == "Config" || name == "Partial") ? last(first->value.text) : name;
}

// All calls of functions of that name, wherever they stand.
void find_calls(const config_entry& in, const std::vector<std::string_view>& names,
                std::vector<const config_entry*>& found) {
  const std::string_view name = function_of(in.value);
  if (!name.empty() && std::ranges::find(names, name) != names.end()) found.push_back(&in);
  for (const config_entry& e : in.value.entries) find_calls(e, names, found);
}

void find_entries(const config_node& in, std::string_view key, std::vector<const config_entry*>& found) {
  for (const config_entry& e : in.entries) {
    if (e.key == key) found.push_back(&e);
    find_entries(e.value, key, found);
  }
}

// The arguments of the row's call, with what may stand beside it.
std::optional<config_entry> call_of(const import_run& run, const program_row& row, const config_entry& root) {
  if (row.calls.empty()) return {};
  std::vector<const config_entry*> found;
  find_calls(root, words_of(row.calls), found);
  const auto has_marker = [&](const config_entry* call) { return is_among_markers(row.call_markers, call->value); };
  const auto decides = [](const config_entry& argument) { return concern_of(argument.key).has_value(); };
  // Beside one that is its, another without a marker is too, where it decides on the same.
  if (!row.call_markers.empty()) {
    const bool any = std::ranges::any_of(found, has_marker);
    std::erase_if(found, [&](const config_entry* call) {
      return !has_marker(call) && !(any && std::ranges::any_of(call->value.entries, decides));
    });
  }
  if (found.empty()) return {};
  // Names that stand for a call are copies of it.
  const auto line_of = [](const config_entry* call) { return call->value.find("()")->line; };
  std::erase_if(found, [&](const config_entry* call) {
    return call != found.front() && line_of(call) == line_of(found.front());
  });
  std::ranges::stable_sort(found, {}, line_of);
  if (found.size() > 1)
    throw input_error(run.file, at_line(line_of(found.back())),
                      "calls " + in_quotes(std::string{function_of(found.back()->value)}) + " again, first on line " +
                          std::to_string(line_of(found.front())) + "; keep one of them");
  config_entry call = *found.front();
  call.key.clear();
  for (const std::string_view key : words_of(row.argument))
    if (const config_entry* const whole = call.value.find(key);
        whole != nullptr && whole->value.what == config_node::kind::mapping)
      return config_entry{.line = whole->line, .value = whole->value};
  if (const config_entry* const taken = call.value.find("**"))
    throw input_error(run.file, at_line(taken->line),
                      "takes in " + taken->value.text + ", which this file does not say; write the arguments out");
  for (const std::string_view key : words_of(row.beside)) {
    std::vector<const config_entry*> others;
    find_entries(root.value, key, others);
    if (!others.empty() && call.value.find(key) == nullptr) call.value.entries.push_back(*others.back());
  }
  return call;
}

bool holds_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(", "), names.size());
    if (names.substr(0, end) == name) return true;
    names.remove_prefix(std::min(end + 2, names.size()));
  }
  return false;
}

// Without those whose markers another's files may have.
void leave_holders(std::vector<named_program>& all) {
  if (std::ranges::any_of(all, [](const named_program& p) { return !p.row->is_part; }))
    std::erase_if(all, [](const named_program& p) { return p.row->is_part; });
  const std::vector<named_program> before = all;
  std::erase_if(all, [&](const named_program& p) {
    return std::ranges::any_of(before,
                               [&](const named_program& other) { return holds_name(other.row->holds, p.row->name); });
  });
}

void collect_keys(const config_entry& entry, const std::string& path, std::vector<std::string>& keys) {
  constexpr std::size_t most = 12;
  for (const config_entry& e : entry.value.entries) {
    const std::string name = path.empty() || e.key.empty() ? path + e.key : path + "." + e.key;
    const bool is_leaf = e.value.what != config_node::kind::mapping && e.value.what != config_node::kind::sequence;
    if (is_leaf && concern_of(e.key) && keys.size() < most && std::ranges::find(keys, name) == keys.end())
      keys.push_back(name);
    collect_keys(e, name, keys);
  }
}

constexpr std::string_view telling_keys =
    "fp16 bf16 zero_optimization gradient_clipping train_batch_size train_micro_batch_size_per_gpu mixed_precision "
    "distributed_type deepspeed_config trainer precision gradient_clip_val mixed_precision_config optimizer_config";

// What the only key there is may have been meant to be.
std::string guess(const config_node& root) {
  if (root.entries.size() != 1) return "";
  const std::string& key = root.entries.front().key;
  const std::string near = near_key(key, words_of(telling_keys));
  return near.empty() || near == key ? "" : ": " + unknown_text(key, "key", near);
}

// The last configuration or script that a script names, in which the arguments may be.
std::string file_named_in(const argument_list& command) {
  std::string last;
  const auto look = [&](const std::string& word) {
    const bool is_name = word.size() > 5 && word != command.program && word.find_first_of("$`{ ") == std::string::npos;
    if (is_name && is_named(word, {".yaml", ".yml", ".json", ".toml", ".sh", ".py"})) last = word;
  };
  for (const std::string& word : command.words) look(word);
  return last;
}

[[noreturn]] void refuse(const import_run& run, const config_entry& root, const argument_list* command) {
  std::vector<std::string> seen;
  collect_keys(root, "", seen);
  std::set<std::string> programs;
  for (const program_row& row : program_rows()) {
    const bool is_call = row.markers.empty() && !row.calls.empty();  // which would be seen
    const std::vector<std::string> own = is_call ? std::vector<std::string>{} : keys_of(row);
    if (std::ranges::any_of(seen, [&](const std::string& key) { return std::ranges::find(own, key) != own.end(); }))
      programs.emplace(row.name);
  }
  std::string keys;
  for (const std::string& key : seen) keys += (keys.empty() ? "" : ", ") + key;
  std::string names;
  for (const std::string& name : programs) names += (names.empty() ? "" : ", ") + name;
  std::string how = "say by --framework NAME whose it is, or give --scaler and --format instead";
  const std::string all = "--framework list names the programs that are known";
  if (command != nullptr) {
    const std::string starts = command->program.empty() ? "starts no Python program, and has"
                                                        : "starts " + in_quotes(command->program) + " with";
    const std::string file = file_named_in(*command);
    if (!file.empty() && seen.empty())
      throw input_error(
          run.file, "",
          starts + " no argument of a framework that is read; give the file that it names: " + in_quotes(file));
    const bool is_settings = std::ranges::any_of(command->arguments, [](const argument& a) {
      return !a.values.empty() && names_settings(bare_name(a.name), a.values.front());
    });
    if (!file.empty() && is_settings) how += ", or give the file that the command names: " + in_quotes(file);
    if (seen.empty())
      throw input_error(run.file, "",
                        starts + " no argument of a framework that is read; give the script that has them; " + all);
  }
  if (seen.empty())
    throw input_error(run.file, "",
                      "has no key of a configuration that is read" + guess(root.value) + "; " + how + "; " + all);
  if (names.empty())
    throw input_error(run.file, "",
                      "is of a program that is not read here: " + keys +
                          " may decide; give --scaler, --format and --clip-norm for what they mean; " + all);
  throw input_error(run.file, "",
                    "has no key that only one program has, but " + keys +
                        (programs.size() == 1 ? "; it could be " + names + "'s: " : ", as " + names + " may; ") + how);
}

// A printed call, "Namespace(...)", is its arguments.
const config_entry& arguments_of_call(const config_entry& root) {
  if (root.value.entries.size() != 1) return root;
  const config_entry& only = root.value.entries.front();
  const config_entry* const callee = only.value.find("()");
  return callee != nullptr && callee->value.text == only.key ? only : root;
}

bool is_started_by(const import_run& run, const program_row& row) {
  return run.command != nullptr && is_one_of_programs(run.command->program, row.started_by);
}

// Rows of one program, of which the first that fits counts.
const program_row* fitting(const import_run& run, const config_entry& root,
                           const std::vector<const program_row*>& rows) {
  const auto started = std::ranges::find_if(rows, [&](const program_row* row) { return is_started_by(run, *row); });
  if (started != rows.end()) return *started;
  const auto its = std::ranges::find_if(rows, [&](const program_row* row) {
    return is_marked(*row, arguments_of_call(root).value) || call_of(run, *row, root);
  });
  return its == rows.end() ? rows.front() : *its;
}

named_program asked_for(const import_run& run, const config_entry& root) {
  std::vector<const program_row*> rows;
  for (const program_row& row : program_rows())
    if (program_named(run.framework)->name == row.name) rows.push_back(&row);
  const program_row* const row = fitting(run, root, rows);
  if (row->has_any_sections && run.command == nullptr) {
    config_entry flat = root;
    put_sections_at_top(flat.value);
    return {row, std::move(flat)};
  }
  std::optional<config_entry> call = call_of(run, *row, root);
  return {row, call ? std::move(*call) : arguments_of_call(root)};
}

}  // namespace

bool is_one_of_programs(std::string_view program, std::string_view words) {
  return !program.empty() &&
         std::ranges::any_of(words_of(words), [&](std::string_view end) { return ends_in(program, end); });
}

named_program found_program(const import_run& run, const config_entry& root) {
  const argument_list* const command = run.command;
  if (!run.framework.empty()) {
    if (run.framework == "list")
      throw input_error(run.file, "", "may be of one of these by --framework: " + names_of_programs());
    if (program_named(run.framework) == nullptr)
      throw input_error(run.file, "",
                        "--framework " + in_quotes(run.framework) + " is not known; there are " + names_of_programs());
    return asked_for(run, root);
  }
  std::vector<named_program> found;
  for (const program_row& row : program_rows())
    if (is_started_by(run, row)) found.push_back({&row, root});
  if (found.empty())
    for (const program_row& row : program_rows())
      if (std::optional<config_entry> call = call_of(run, row, root)) found.push_back({&row, std::move(*call)});
  const config_entry& inner = arguments_of_call(root);
  if (found.empty())
    for (const program_row& row : program_rows())
      if (row.place != (command == nullptr ? written_in::arguments : written_in::files) && is_marked(row, inner.value))
        found.push_back({&row, inner});
  if (found.empty() && command == nullptr)
    for (const program_row& row : program_rows()) {
      if (!row.has_any_sections) continue;
      config_entry flat = root;
      put_sections_at_top(flat.value);
      if (is_marked(row, flat.value)) found.push_back({&row, std::move(flat)});
    }
  if (found.empty() && is_named(run.file, {".py", ".gin"}))
    for (const program_row& row : program_rows())
      if (!row.named_in_script.empty() && run.script.find(row.named_in_script) != std::string_view::npos)
        found.push_back({&row, root});
  leave_holders(found);
  if (found.empty()) return {};
  const auto another =
      std::ranges::find_if(found, [&](const named_program& p) { return p.row->name != found.front().row->name; });
  if (another != found.end())
    throw input_error(run.file, "",
                      "may be for " + std::string{found.front().row->name} + " or for " +
                          std::string{another->row->name} +
                          ", which both have keys that are theirs alone in it; say by --framework whose it is");
  return found.front();
}

named_program program_of(const import_run& run, const config_entry& root) {
  const named_program found = found_program(run, root);
  if (found.row == nullptr) refuse(run, arguments_of_call(root), run.command);
  return found;
}

}  // namespace ulp::io
