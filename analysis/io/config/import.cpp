#include <ulp/io/config/config_import.hpp>

#include <algorithm>
#include <array>

#include "arguments.hpp"
#include "bases.hpp"
#include "bytes/text.hpp"
#include "concerns.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"
#include "launcher.hpp"
#include "program.hpp"

namespace ulp {
namespace io {
namespace {

// Whether a line of meanings, or a key below, is of that key.
bool is_mentioned(const import_run& run, const std::string& key) {
  const auto is_of = [&](const std::string& line) {
    return line.starts_with(key) && (line.size() == key.size() || line[key.size()] == ' ' || line[key.size()] == '.');
  };
  return std::ranges::any_of(run.out.meanings, is_of) || std::ranges::any_of(run.not_read, is_of) ||
         std::ranges::any_of(run.used, is_of) ||
         std::ranges::any_of(run.read, [&](const std::string& other) { return other != key && is_of(other); });
}

void import_named(import_run& run, const named_program& named) {
  run.out.framework = named.row->name;
  if (named.row->import != nullptr)
    named.row->import(run, named.root);
  else
    import_by_row(run, named.root, *named.row);
}

// Bare names of the arguments that decide on a loss scale in any program.
std::vector<std::string> telling_arguments() {
  std::vector<std::string> names{"mixed_precision", "deepspeed_config"};
  for (const std::string_view name : megatron_scale_arguments()) names.push_back(bare_name(name));
  for (const program_row& row : program_rows())
    for (const std::string& key : keys_of(row))
      if (concern_of(key)) names.push_back(key);
  return names;
}

void check_doubts(const import_run& run, const argument_list& list, const std::vector<std::string_view>& telling) {
  for (const auto* const arguments : {&list.arguments, &list.perhaps})
    for (const argument& a : *arguments)
      if (!a.doubt.empty() && std::ranges::find(telling, bare_name(a.name)) != telling.end())
        throw input_error(run.file, at_line(a.line), a.name + " " + a.doubt);
}

bool is_precision(const argument& a) { return bare_name(a.name) == "mixed_precision"; }

// Other programs have a switch of that name.
bool is_precision_of_accelerate(const argument& a) {
  constexpr std::array<std::string_view, 4> known{"no", "fp16", "bf16", "fp8"};
  const bool is_open = !a.values.empty() && a.values.front().starts_with('$');
  return is_precision(a) && !a.values.empty() && (is_open || std::ranges::find(known, a.values.front()) != known.end());
}

// "accelerate launch --mixed_precision fp16 train.py", or a program with such an argument, where its name says nothing. What
// the program makes of its own arguments is not known.
bool import_accelerate_launch(import_run& run, const argument_list& list, const config_node& tree) {
  std::vector<argument> all = list.of_launcher;
  std::ranges::copy_if(list.arguments, std::back_inserter(all), is_precision_of_accelerate);
  if (std::ranges::none_of(all, is_precision) || tree.find("fp16") != nullptr || tree.find("bf16") != nullptr)
    return false;
  std::erase_if(all, [](const argument& a) { return !is_precision(a) && bare_name(a.name) != "use_cpu"; });
  run.out.framework = "Accelerate";
  run.only_what_matters = true;
  import_accelerate(run, tree_of(all));
  for (const config_entry& e : tree.entries)
    if (e.key != "mixed_precision") run.unknown.push_back({e.key, e.line, e.value});
  return true;
}

bool is_true(const config_node& tree, std::string_view key) {
  const config_entry* const e = tree.find(key);
  return e != nullptr && !is_false(e->value);
}

bool has_format(const config_node& tree) { return is_true(tree, "fp16") || is_true(tree, "bf16"); }

// Where the program's own arguments say bfloat16 the loss is not scaled, whoever keeps the scale.
bool is_bfloat16(const config_node& tree) {
  const config_entry* const precision = tree.find("mixed_precision");
  return is_true(tree, "bf16") || (precision != nullptr && precision->value.text == "bf16");
}

// With settings of `accelerate launch` that name who keeps the loss scale: whether they are all that was to be read. Of those
// that a program takes over, the precision is added to its launcher's arguments.
bool import_launched(import_run& run, argument_list& list, const config_node& tree, const named_program& named) {
  const argument* const option = deciding_option(list);
  if (option == nullptr || is_bfloat16(tree)) return false;
  const bool is_file = bare_name(option->name) == "config_file";
  const bool has_precision =
      std::ranges::any_of(list.of_launcher, is_precision) || tree.find("mixed_precision") != nullptr;
  const bool is_here =
      !is_file || (!option->values.empty() && path_beside(run.file, option->values.front()).has_value());
  if (named.row == nullptr && !is_here && !has_precision) return false;  // nothing is read, which is said elsewhere
  config_entry settings = settings_of_launcher(run, list);
  const bool is_unknown = named.row == nullptr && !has_format(tree);
  if (!is_unknown && hands_scale_on(settings.value))
    throw input_error(run.file, at_line(option->line),
                      option->name +
                          " hands the loss scale to DeepSpeed or Megatron-LM, which is not read together with this "
                          "program; leave --config out and give --scaler and --format");
  if (const config_entry* const own = tree.find("mixed_precision"); own != nullptr && is_unknown) {
    std::erase_if(settings.value.entries, [](const config_entry& e) { return e.key == "mixed_precision"; });
    settings.value.entries.push_back(*own);
  }
  const config_entry* const precision = settings.value.find("mixed_precision");
  if (is_unknown && precision != nullptr) {
    run.out.framework = "Accelerate";
    run.only_what_matters = true;
    import_accelerate(run, settings);
    for (const config_entry& e : tree.entries)
      if (e.key != "mixed_precision") run.unknown.push_back({e.key, e.line, e.value});
    return true;
  }
  if (precision != nullptr && std::ranges::none_of(list.of_launcher, is_precision))
    list.of_launcher.push_back(
        {.name = "--mixed_precision", .line = precision->line, .values = {precision->value.text}});
  return false;
}

// Of a program that leaves it to its launcher.
void take_over_precision(const import_run& run, config_entry& tree, const argument_list& list) {
  if (tree.value.find("mixed_precision") != nullptr) return;
  const bool launched = std::ranges::any_of(list.words, [](const std::string& w) { return w.ends_with("accelerate"); });
  if (launched && std::ranges::none_of(list.of_launcher, is_precision))
    throw input_error(
        run.file, "",
        "has no --mixed_precision, which accelerate takes from its own configuration then; give that file, or write "
        "--mixed_precision");
  std::vector<argument> said;
  std::ranges::copy_if(list.of_launcher, std::back_inserter(said), is_precision);
  for (config_entry& e : tree_of(said).value.entries) tree.value.entries.push_back(std::move(e));
}

// Whose file of settings the command names, among the programs that take one there; nullptr where there is none.
const program_row* program_of_settings(const import_run& run, const argument_list& list, const config_node& tree) {
  const auto its_program = [&](std::string_view key, const std::string& name) -> const program_row* {
    const auto path = is_named(name, {".yaml", ".yml", ".py"}) ? path_beside(run.file, name) : std::nullopt;
    if (!path) return nullptr;
    import_run other;
    other.file = *path;
    config_entry root{.line = 1, .value = parse_config(*path, text_of(*path))};
    if (root.value.what != config_node::kind::mapping) return nullptr;
    read_bases(other, root.value);
    const program_row* const row = found_program(other, root).row;
    if (row == nullptr) return nullptr;
    const std::vector<std::string_view> taken = words_of(row->settings);
    return std::ranges::find(taken, key) != taken.end() ? row : nullptr;
  };
  for (const std::string& word : list.plain)
    if (const program_row* const row = its_program("command", word)) return row;
  for (const std::string_view key : {"config", "config_file", "cfg", "c", "config_name"})
    if (const config_entry* const option = tree.find(key))
      if (const program_row* const row = its_program(key, option->value.text)) return row;
  return nullptr;
}

// The words before the options, and the file of settings that the command names.
void add_words_and_settings(import_run& run, argument_list& list, named_program& named) {
  config_node& root = named.root.value;
  const program_row& row = *named.row;
  const auto scalar = [](const std::string& text) {
    return config_node{.what = config_node::kind::scalar, .text = text};
  };
  if (row.takes_command && root.find("command") == nullptr) {
    config_entry command{.key = "command", .line = named.root.line, .value = {.what = config_node::kind::sequence}};
    for (const std::string& word : list.plain) command.value.entries.push_back({"", command.line, scalar(word)});
    root.entries.push_back(std::move(command));
  }
  for (const std::string_view key : words_of(row.settings)) {
    const auto option = std::ranges::find(list.words, key);
    if (key.starts_with('-') && option != list.words.end() && option + 1 != list.words.end())
      root.entries.push_back({std::string{key}, named.root.line, scalar(*(option + 1))});
  }
  for (const std::string_view key : words_of(row.of_command))
    if (root.find(key) == nullptr) root.entries.push_back({std::string{key}, named.root.line, {}});
  read_bases(run, root, row.settings);
  if (row.has_any_sections) put_sections_at_top(root);
  // What is not there is refused where it decides.
  std::erase_if(list.unset, [](const std::string& name) {
    return std::string_view{"$%`"}.find(name.front()) == std::string_view::npos;
  });
}

// Hydra's folder and name are one file, and torchtitan's is in a section.
void join_name_of_settings(config_node& root) {
  if (const config_entry* const file = entry_at(root, "job.config_file"))
    root.entries.push_back({"config_file", file->line, file->value});
  const auto name = std::ranges::find(root.entries, std::string_view{"config_name"}, &config_entry::key);
  if (name == root.entries.end() || name->value.what != config_node::kind::scalar) return;
  for (const std::string_view key : {"config_dir", "config_path"})
    if (const config_entry* const folder = root.find(key)) {
      std::string& text = name->value.text;
      text = folder->value.text + "/" + text + (is_named(text, {".yaml", ".yml"}) ? "" : ".yaml");
      return;
    }
}

// A file of settings that the command names and that was not read may say anything; of those that a row of tables takes, which
// refuses its defaults itself.
void refuse_unread_settings(const import_run& run, const argument_list& list, const config_node& root,
                            const program_row* row) {
  const auto is_among = [](std::string_view words, std::string_view word) {
    const auto all = words_of(words);
    return std::ranges::find(all, word) != all.end();
  };
  const auto refuse = [&](std::size_t line, const std::string& what, const std::string& file) {
    throw input_error(run.file, line == 0 ? "" : at_line(line),
                      what + " names the file " + in_quotes(file) +
                          ", which decides and was not read: put it where the command finds it, or give that file by "
                          "--config, with what the command changes written in it");
  };
  for (const argument& a : list.arguments) {
    std::string name = bare_name(a.name);
    if (a.values.empty() || !names_settings(name, a.values.front())) continue;
    name.erase(0, name.find_last_of('.') + 1);
    const bool is_known = row != nullptr && (is_among(row->keys.not_read, name) || is_among(row->keys.read, name) ||
                                             (row->import == nullptr && is_among(row->settings, name)));
    const config_entry* const entry = root.find(name);
    const bool is_read = row != nullptr && entry == nullptr;
    const bool is_scalar = entry != nullptr && entry->value.what == config_node::kind::scalar;
    if (!is_known && !is_read) refuse(a.line, a.name, is_scalar ? entry->value.text : a.values.front());
  }
  if (list.program.empty() || (row != nullptr && row->takes_command)) return;
  for (const std::string& word : list.plain)
    if (names_settings("config", word)) refuse(0, in_quotes(list.program), word);
}

// DeiT's main.py, for one, has timm's arguments and other defaults.
void refuse_other_program(const import_run& run, const argument_list& list, const program_row& row) {
  if (is_one_of_programs(list.program, row.not_started_by))
    throw input_error(run.file, "",
                      "starts " + in_quotes(list.program) + ", which is not " + std::string{row.name} +
                          "'s own and may have another default precision; give --scaler, --format and --clip-norm");
}

// A word behind a flag is no value of it, unless it looks like one: "fairseq-train --fp16 data-bin".
void read_flags(named_program& named) {
  if (named.row == nullptr) return;
  const auto flags = words_of(named.row->flags);
  const auto is_word = [](std::string_view text) {
    constexpr std::array<std::string_view, 3> on{"true", "True", "1"};
    const bool is_number = text.find_first_not_of("0123456789.") == std::string_view::npos;
    return std::ranges::find(on, text) == on.end() && !is_number &&
           (text.find('/') != std::string_view::npos || concern_of(text) != concern::precision);
  };
  for (config_entry& e : named.root.value.entries) {
    const bool is_flag = std::ranges::find(flags, e.key) != flags.end();
    if (is_flag && e.value.what == config_node::kind::scalar && !is_false(e.value) && is_word(e.value.text))
      e.value.text = "true";
  }
}

void import_arguments(import_run& run, argument_list& list, std::string_view text) {
  const std::vector<std::string> names = telling_arguments();
  const std::vector<std::string_view> telling(names.begin(), names.end());
  list = read_arguments(run.file, text, telling);
  run.written = list.files;
  run.command = &list;
  config_entry tree = tree_of(list.arguments);
  join_name_of_settings(tree.value);
  named_program named = found_program(run, tree);
  if (named.row == nullptr)
    if (const program_row* const row = program_of_settings(run, list, tree.value)) named = {row, tree};
  if (named.row != nullptr && (!named.row->settings.empty() || named.row->takes_command))
    add_words_and_settings(run, list, named);
  if (import_launched(run, list, tree.value, named)) {
    refuse_unread_settings(run, list, named.row == nullptr ? tree.value : named.root.value, named.row);
    check_doubts(run, list, telling);
    return;
  }
  const bool is_launched =
      std::ranges::any_of(list.of_launcher, is_precision) || tree.value.find("mixed_precision") != nullptr;
  for (const std::string& variable : list.unset)
    run.note("what " + variable + " holds is not in this file and was not read");
  if (named.row == nullptr || (named.row->name == "Hugging Face" && is_launched)) {
    check_doubts(run, list, telling);
    if (import_accelerate_launch(run, list, tree.value)) {
      refuse_unread_settings(run, list, tree.value, nullptr);
      return;
    }
    named = program_of(run, tree);
  }
  read_flags(named);
  if (named.row->import != import_megatron) check_doubts(run, list, telling);
  refuse_other_program(run, list, *named.row);
  refuse_unread_settings(run, list, named.root.value, named.row);
  if (named.row->precision_of_launcher) take_over_precision(run, named.root, list);
  import_named(run, named);
}

}  // namespace
}  // namespace io

imported_config import_config(const config_file& file, std::optional<format> wanted) {
  io::import_run run;
  run.file = file.path == "-" ? "standard input" : file.path;
  run.framework = file.framework;
  run.wanted = wanted;
  const std::string text = io::text_of(file.path);
  io::argument_list list;
  if (run.framework.empty() && io::import_printed_recipe(run, text)) return std::move(run.out);
  if (io::is_command_line(file.path, text)) {
    io::import_arguments(run, list, text);
  } else {
    run.script = text;
    io::config_entry root{.line = 1, .value = io::parse_config(run.file, text)};
    io::read_bases(run, root.value);
    if (root.value.what == io::config_node::kind::null) throw input_error(run.file, "", "holds only comments");
    if (root.value.what != io::config_node::kind::mapping)
      throw input_error(
          run.file, "",
          "is not a mapping of keys to values, as the programs' configurations are; --framework list names those that are read");
    io::import_named(run, io::program_of(run, root));
  }
  for (const std::string& key : run.read)
    if (!io::is_mentioned(run, key)) run.not_read.push_back(key);
  for (const std::string_view of_calls : {"()", "0"}) std::erase(run.not_read, of_calls);
  if (!run.not_read.empty()) {
    std::string names;
    for (const std::string& key : run.not_read) names += (names.empty() ? "" : ", ") + key;
    run.out.meanings.push_back("without meaning for the replay: " + names);
  }
  io::judge_unknown(run);
  return std::move(run.out);
}

}  // namespace ulp
