#include "file_syntax.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>

#include <ulp/io/bytes/error.hpp>

#include "arguments.hpp"
#include "config/syntax/references.hpp"

namespace ulp::io {
namespace {

constexpr std::size_t longest_file = 4 << 20;

// DeepSpeed's files may begin with a comment. "[INFO|trainer.py:1] ... TrainingArguments(" is a logger's line.
bool is_json(std::string_view text) {
  text.remove_prefix(text.find_first_not_of(" \t\r\n"));
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.starts_with('[') &&
      (first.find("Arguments(") != std::string_view::npos || first.find("Namespace(") != std::string_view::npos))
    return false;
  return text.starts_with('{') || text.starts_with('[') || text.starts_with("//") || text.starts_with("/*");
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

bool is_text(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
}

// From where arguments are printed, behind what a logger writes before them; the whole text otherwise.
std::string_view printed_arguments(std::string_view text) {
  const std::string_view first = text.substr(0, text.find_first_of("\r\n"));
  const std::size_t at = std::max(first.rfind("Arguments(") + 1, first.rfind("Namespace(") + 1);
  if (at == 0) return text;
  if (text.substr(0, at).find('#') != std::string_view::npos) return text;  // a comment of Python
  const std::size_t before = text.substr(0, at).find_last_of(" \t:=");
  // On one line nothing behind it belongs to it.
  if (before != std::string_view::npos && first.ends_with(')')) return first.substr(before + 1);
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

// By its name, or by a first line like "import torch", "lr = 0.1" or "TrainingArguments(". Gin's files are written like Python's.
bool is_python(const std::string& file, std::string_view text) {
  if (is_named(file, {".py", ".gin"})) return true;
  if (is_named(file, {".yaml", ".yml", ".json", ".toml"}) || is_json(text)) return false;
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.starts_with("#!")) return first.find("python") != std::string_view::npos;
  bool is_one = false;
  any_line(text, [&](std::string_view line) {
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(line,
                                                                       [](char c) {
                                                                         return (c >= 'A' && c <= 'Z') ||
                                                                                (c >= 'a' && c <= 'z') || c == '_' ||
                                                                                c == '.' || (c >= '0' && c <= '9');
                                                                       }) -
                                              line.begin());
    const std::string_view rest = line.substr(end);
    const bool assigns = rest.starts_with(" = ") || rest.starts_with("= ");
    const bool prints = line.find(" Namespace(") != std::string_view::npos && line.ends_with(')');
    is_one = prints || line.ends_with("Arguments(") || line.starts_with("import ") || line.starts_with("from ") ||
             line.starts_with("\"\"\"") || (end > 0 && !has_option(line) && (rest.starts_with("(") || assigns));
    return true;
  });
  return is_one;
}

// As Python prints a value of an enumeration, "<ScalingType.DYNAMIC: 'dynamic'>", as it is written: ScalingType.DYNAMIC.
std::string with_written_members(std::string_view text) {
  std::string written;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text[at] == '<' ? text.find(": ", at) : std::string_view::npos;
    const std::size_t end = colon == std::string_view::npos ? colon : text.find('>', colon);
    const std::string_view member =
        end == std::string_view::npos ? std::string_view{} : text.substr(at + 1, colon - at - 1);
    const bool is_one = !member.empty() && std::ranges::all_of(member, [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    });
    written += is_one ? member : text.substr(at, 1);
    at = is_one ? end + 1 : at + 1;
  }
  return written;
}

}  // namespace

bool is_named(std::string_view file, std::initializer_list<std::string_view> extensions) {
  return std::ranges::any_of(extensions, [&](std::string_view e) { return file.ends_with(e); });
}

// Arguments: a shell script, or an option stands before the first key of a mapping. Option and key are distinguished by
// lines.
bool is_command_line(const std::string& file, std::string_view text) {
  if (is_named(file, {".sh", ".slurm", ".sbatch", ".bat", ".cmd", ".ps1"})) return true;
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first.starts_with("#!")) return first.find("python") == std::string_view::npos;
  if (is_json(text) || is_toml(file, text) || is_python(file, text) || is_named(file, {".yaml", ".yml", ".json"}))
    return false;
  bool is_one = false;
  any_line(text, [&](std::string_view line) {
    const std::size_t colon = line.find(':');
    const bool is_key = colon != std::string_view::npos && line.find_first_of(" \t$=/\"") > colon &&
                        (colon + 1 == line.size() || line.find_first_of(" \t\r", colon) == colon + 1);
    constexpr std::array programs{
        "python",   "torchrun",  "srun",  "deepspeed ", "accelerate ", "fairseq-", "llamafactory-cli ",
        "metaseq-", "composer ", "tune ", "trl ",       "yolo ",       "litgpt ",  "nnUNetv2_train ",
        "swift "};
    const bool starts = std::ranges::any_of(programs, [&](const char* program) { return line.starts_with(program); });
    is_one = !is_key && (starts || has_option(line));
    return is_key || is_one;
  });
  return is_one;
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
  if (is_named(file, {".jsonnet", ".libsonnet"}))
    throw input_error(
        file, "",
        "is Jsonnet, which computes its values and is not read: write it out (jsonnet FILE > x.json) and give that");
  if (is_toml(file, text)) {
    config_node root = parse_toml(file, text);
    resolve_references(file, root);
    return root;
  }
  if (is_python(file, text)) {
    if (is_named(file, {".py", ".gin"})) return parse_python(file, text);
    return parse_python(file, with_written_members(printed_arguments(text)));
  }
  // GPT-NeoX's YAML is written with braces.
  if (is_json(text) && !is_named(file, {".yaml", ".yml"})) return parse_json(file, text);
  config_node root = parse_yaml(file, text);
  resolve_references(file, root);
  return root;
}

}  // namespace ulp::io
