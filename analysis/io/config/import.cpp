#include <ulp/io/config/config_import.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
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
  bool by_arguments = false;  // on command lines too, by the same names
};
constexpr std::array frameworks{
    framework{"DeepSpeed", deepspeed_keys_in, import_deepspeed},
    framework{"Accelerate", accelerate_keys_in, import_accelerate},
    framework{"Lightning", lightning_keys_in, import_lightning},
    framework{"NeMo", nemo_keys_in, import_nemo, true},
    framework{"Cerebras", cerebras_keys_in, import_cerebras},
    framework{"Cerebras", cerebras_params_keys_in, import_cerebras_params},
    framework{"NxD", nxd_keys_in, import_nxd},
    framework{"GPT-NeoX", neox_keys_in, import_neox},
    framework{"Hugging Face", hugging_face_keys_in, import_hugging_face, true},
    framework{"fairseq", fairseq_keys_in, import_fairseq, true},
    framework{"verl", verl_keys_in, import_verl, true},
    framework{"torchtitan", torchtitan_keys_in, import_torchtitan, true},
};

constexpr std::string_view kinds =
    "they are DeepSpeed JSON (fp16, bf16, zero_optimization, ...), Accelerate YAML (distributed_type, mixed_precision, "
    "...), Hugging Face TrainingArguments (per_device_train_batch_size, fp16, ...), Lightning YAML (trainer: or its "
    "arguments), NeMo, GPT-NeoX, fairseq and verl YAML, torchtitan TOML, Cerebras YAML (trainer: init: precision:, or "
    "runconfig:), NxD (mixed_precision_config, optimizer_config), arguments of Megatron-LM, Hugging Face or fairseq "
    "(--fp16 ...)";

// Keys by which people know a configuration.
constexpr std::string_view telling_keys =
    "fp16 bf16 zero_optimization gradient_clipping train_batch_size train_micro_batch_size_per_gpu mixed_precision "
    "distributed_type deepspeed_config trainer precision gradient_clip_val mixed_precision_config optimizer_config";

// What the only key there is may have been meant to be.
std::string guess(const config_node& root) {
  if (root.entries.size() != 1) return "";
  const std::string& key = root.entries.front().key;
  const std::string near = near_key(key, words_of(telling_keys));
  return near.empty() ? "" : ": " + unknown_text(key, "key", near);
}

// The framework that knows most keys of the file.
const framework& framework_of(const std::string& file, const config_node& root) {
  const framework* best = nullptr;
  const framework* also = nullptr;
  std::size_t most = 0;
  for (const framework& f : frameworks) {
    const std::size_t keys = f.keys_in(root);
    if (keys == most && also == nullptr) also = &f;
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

bool is_named(const std::string& file, std::initializer_list<std::string_view> extensions) {
  return std::ranges::any_of(extensions, [&](std::string_view e) { return file.ends_with(e); });
}

// The lines that are no comments, without what is blank around them; up to where `look` returns true.
template <typename Look>
bool any_line(std::string_view text, const Look& look) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    line.remove_suffix(line.size() - std::min(line.find_last_not_of(" \t\r") + 1, line.size()));
    if (!line.empty() && !line.starts_with('#') && look(line)) return true;
  }
  return false;
}

// By its name, or by a first line like "[training]".
bool is_toml(const std::string& file, std::string_view text) {
  if (is_named(file, {".toml"})) return true;
  std::string_view first;
  any_line(text, [&](std::string_view line) {
    first = line;
    return true;
  });
  const std::size_t close = first.find(']');
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '.'; };
  return first.starts_with('[') && close != std::string_view::npos && close > 1 &&
         std::ranges::all_of(first.substr(1, close - 1), fits) &&
         (close + 1 == first.size() || first.find('#') != std::string_view::npos);
}

// Arguments: a shell script, or an option stands before the first key of a mapping. Option and key are distinguished by
// lines.
bool is_command_line(const std::string& file, std::string_view text) {
  if (is_named(file, {".sh", ".slurm", ".sbatch"})) return true;
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.starts_with("#!")) return first.find("python") == std::string_view::npos;
  if (is_json(text) || is_toml(file, text) || is_named(file, {".yaml", ".yml", ".json"})) return false;
  bool is_one = false;
  any_line(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    const bool is_key = colon != std::string_view::npos && line.find_first_of(" \t$=/\"") > colon &&
                        (colon + 1 == line.size() || line.find_first_of(" \t\r", colon) == colon + 1);
    constexpr std::array programs{"python",   "torchrun",         "srun", "deepspeed ", "accelerate ",
                                  "fairseq-", "llamafactory-cli "};
    const bool starts = std::ranges::any_of(programs, [&](const char* program) { return line.starts_with(program); });
    is_one = !is_key && (starts || has_option(line));
    return is_key || is_one;
  });
  return is_one;
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

void read_microbatches(const config_section& s, std::string_view key) {
  if (!s.has(key)) return;
  const std::int64_t count = s.is_number(key) ? *s.integer(key) : 0;
  if (count <= 0) {
    s.means(key, "it does not say how many micro-batches are accumulated for a step");
    return;
  }
  s.means(key, count == 1 ? "a step has one micro-batch" : "so many micro-batches are accumulated for a step");
  s.run().out.microbatches = static_cast<std::uint64_t>(count);
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
  if (is_toml(file, text)) return parse_toml(file, text);
  // GPT-NeoX's YAML is written with braces.
  return is_json(text) && !is_named(file, {".yaml", ".yml"}) ? parse_json(file, text) : parse_yaml(file, text);
}

namespace {

// Bare names of the arguments that decide on a loss scale in any framework.
std::vector<std::string_view> telling_arguments(std::vector<std::string>& names) {
  for (const std::string_view name : megatron_scale_arguments()) names.push_back(bare_name(name));
  for (const std::string_view name : {"mixed_precision", "deepspeed_config"}) names.emplace_back(name);
  std::vector<std::string_view> all(names.begin(), names.end());
  for (const auto& more : {hugging_face_scale_keys(), fairseq_scale_keys()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

void check_doubts(const import_run& run, const argument_list& list, const std::vector<std::string_view>& telling) {
  for (const auto* const arguments : {&list.arguments, &list.perhaps})
    for (const argument& a : *arguments)
      if (!a.doubt.empty() && std::ranges::find(telling, bare_name(a.name)) != telling.end())
        throw input_error(run.file, at_line(a.line), a.name + " " + a.doubt);
}

// How much speaks for Hugging Face beside names: "--fp16 True", "--deepspeed FILE".
std::size_t habits_of_hugging_face(const argument_list& list) {
  return static_cast<std::size_t>(std::ranges::count_if(list.arguments, [](const argument& a) {
    const std::string value = a.values.empty() ? "" : a.values.front();
    const bool is_flag = value == "True" || value == "False" || value == "true" || value == "false";
    return ((a.name == "--fp16" || a.name == "--bf16") && is_flag) || (a.name == "--deepspeed" && !value.empty());
  }));
}

// "accelerate launch --mixed_precision fp16 train.py", or a program with such an argument of its own.
bool import_accelerate_launch(import_run& run, const argument_list& list, const config_node& tree) {
  std::vector<argument> all = list.of_launcher;
  all.insert(all.end(), list.arguments.begin(), list.arguments.end());
  const auto named = [](std::string_view name) {
    return [name](const argument& a) { return bare_name(a.name) == name; };
  };
  if (std::ranges::none_of(all, named("mixed_precision")) || tree.find("fp16") != nullptr ||
      tree.find("bf16") != nullptr)
    return false;
  std::erase_if(all, [&](const argument& a) { return !named("mixed_precision")(a) && !named("use_cpu")(a); });
  run.out.framework = "Accelerate";
  import_accelerate(run, tree_of(all));
  return true;
}

// The last configuration or script that a script names, in which the arguments may be.
std::string file_named_in(std::string_view text) {
  constexpr std::string_view ends = " \t\r\n\"'=;|&()<>";
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
    const std::string word{text.substr(at, end - at)};
    const bool is_name = word.size() > 5 && word.find_first_of("$`{") == std::string::npos;
    if (is_name && is_named(word, {".yaml", ".yml", ".json", ".toml", ".sh"})) last = word;
    at = end + 1;
  }
  return last;
}

void import_arguments(import_run& run, std::string_view text) {
  std::vector<std::string> names;
  const std::vector<std::string_view> telling = telling_arguments(names);
  const argument_list list = read_arguments(run.file, text, telling);
  run.written = list.files;
  const config_entry tree = tree_of(list.arguments);
  std::size_t most = megatron_arguments_in(list);
  const framework* best = nullptr;
  for (const framework& f : frameworks) {
    if (!f.by_arguments) continue;
    const bool trainer = f.import == import_hugging_face;
    const std::size_t keys = f.keys_in(tree.value) + (trainer ? habits_of_hugging_face(list) : 0);
    if (keys <= most) continue;
    most = keys;
    best = &f;
  }
  if (import_accelerate_launch(run, list, tree.value)) return;
  if (most == 0) {
    const std::string file = file_named_in(text);
    throw input_error(
        run.file, "",
        (list.program.empty() ? "starts no Python program, and has" : "starts " + in_quotes(list.program) + " with") +
            std::string{" no argument of a framework that is read; "} +
            (file.empty() ? "give the script that has them; " + std::string{kinds}
                          : "give the file that it names: " + in_quotes(file)));
  }
  if (best == nullptr) {
    run.out.framework = "Megatron-LM";
    import_megatron(run, list);
    return;
  }
  check_doubts(run, list, telling);
  for (const std::string& variable : list.unset)
    run.note("what " + variable + " holds is not in this file and was not read");
  run.out.framework = best->name;
  best->import(run, tree);
}

std::string listed(const std::vector<std::string>& keys) {
  constexpr std::size_t shown = 12;
  constexpr std::size_t longest = 60;
  std::string names;
  for (std::size_t i = 0; i < std::min(keys.size(), shown); ++i)
    names += (i == 0 ? "" : ", ") + (keys[i].size() > longest ? keys[i].substr(0, longest) + "..." : keys[i]);
  return keys.size() <= shown ? names : names + " and " + std::to_string(keys.size() - shown) + " more";
}

// One line for all that is not known, and one before it for those whose names sound as if they mattered.
void note_unknown(import_run& run) {
  constexpr std::array telling{"loss_scal", "grad_scal", "precision", "fp16", "bf16", "float16", "half"};
  const auto sounds_so = [&](const std::string& key) {
    const std::string name = bare_name(std::string_view(key).substr(key.find_last_of('.') + 1));
    return std::ranges::any_of(telling, [&](const char* part) { return name.find(part) != std::string::npos; });
  };
  std::vector<std::string> matter;
  std::vector<std::string> others;
  for (const std::string& key : run.unknown) (sounds_so(key) ? matter : others).push_back(key);
  if (!matter.empty()) run.note("may bear on precision, but not known here, and left out: " + listed(matter));
  if (!others.empty()) run.note("not known here, and left out: " + listed(others));
}

}  // namespace
}  // namespace io

imported_config import_config(const std::string& path, std::optional<format> wanted) {
  io::import_run run;
  run.file = path == "-" ? "standard input" : path;
  run.wanted = wanted;
  const std::string text = io::text_of(path);
  if (io::is_command_line(path, text)) {
    io::import_arguments(run, text);
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
  io::note_unknown(run);
  return std::move(run.out);
}

}  // namespace ulp
