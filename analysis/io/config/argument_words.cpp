#include "argument_words.hpp"

#include <algorithm>
#include <array>

#include "bases.hpp"
#include "concerns.hpp"
#include "config/shell/arithmetic.hpp"
#include "file_syntax.hpp"

namespace ulp::io {
namespace {

// "trainer.max_norm" of "trainer.max_norm=1", as Hydra's command lines have it, and "precision" of "precision=16"; empty for
// other words.
std::string overridden_name(std::string_view word) {
  if (word.starts_with("++")) word.remove_prefix(2);
  if (word.starts_with('+')) word.remove_prefix(1);
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return "";
  const std::string_view name = word.substr(0, equals);
  const bool is_told = concern_of(name) || name == "quantization" || names_settings(name, word.substr(equals + 1));
  if (name.find('.') == std::string_view::npos && !is_told) return "";
  const auto fits = [](char c) { return is_name_character(c) || c == '.'; };
  return std::ranges::all_of(name, fits) ? std::string{name} : "";
}

// A value as the program gets it, where arithmetic of constants decides it.
std::string computed(const std::string& text) {
  const auto number = constant_arithmetic(text);
  return number ? std::to_string(*number) : text;
}

std::string without_quotes(std::string_view text) {
  const bool quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return std::string{quoted ? text.substr(1, text.size() - 2) : text};
}

// "SOLVER.AMP.ENABLED", whose value is the next word: as yacs takes them (rbgirshick/yacs, merge_from_list).
bool is_of_yacs(std::string_view word) {
  if (word.find('.') == std::string_view::npos) return false;
  bool starts_part = true;
  for (const char c : word) {
    const bool is_letter = c >= 'A' && c <= 'Z';
    if (starts_part ? !is_letter : !(is_letter || c == '_' || c == '.' || (c >= '0' && c <= '9'))) return false;
    starts_part = c == '.';
  }
  return !starts_part;
}

bool starts_program(std::string_view word) {
  constexpr std::array<std::string_view, 12> programs{
      "marian",        "marian-train", "fairseq-train",  "fairseq-hydra-train",
      "metaseq-train", "torchtitan",   "yolo",           "tune",
      "swift",         "litgpt",       "nnUNetv2_train", "trl"};
  const std::string_view name = word.substr(word.find_last_of('/') + 1);
  return name.ends_with(".py") || std::ranges::find(programs, name) != programs.end();
}

// "c" of "-c", and what Hydra's short options stand for; empty for words that are no option of one dash.
std::string name_of_settings(std::string_view word) {
  if (!word.starts_with('-') || word.starts_with("--")) return "";
  if (word == "-cn") return "config_name";
  return bare_name(word);
}

// "-j", which takes no value of the option before it.
bool is_short_option(std::string_view word) {
  return word.size() == 2 && word[0] == '-' &&
         ((word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z'));
}

}  // namespace

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

words words_in(std::string_view text) {
  constexpr std::string_view separators = " \t\r\n\"'()[],;&|<>`";
  words all;
  traced_text now;
  std::uint32_t line = 1;
  const auto finish = [&] {
    if (!now.text.empty()) all.push_back(std::move(now));
    now = {};
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool continues = c == '^' && (text.substr(i + 1, 1) == "\n" || text.substr(i + 1, 2) == "\r\n");
    if (separators.find(c) != std::string_view::npos || c == '\\' || continues) {
      finish();
    } else if (c == '#' && now.text.empty()) {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else {
      now.add(c, {line, 0});
    }
    if (i < text.size() && text[i] == '\n') ++line;
  }
  finish();
  return all;
}

bool is_all_of_caller(std::string_view word) {
  return word.starts_with("$@") || word.starts_with("$*") || word.starts_with("${@") || word.starts_with("${*") ||
         word == "%*";
}

std::vector<placed_argument> arguments_in(const words& all, std::size_t from, std::size_t to) {
  std::vector<placed_argument> list;
  const auto add_pair = [&](std::size_t i) {
    list.push_back({.what = {.name = all[i].text, .line = all[i].line(), .values = {all[i + 1].text}},
                    .option = &all[i],
                    .value = &all[i + 1]});
  };
  bool is_of_short_option = false;
  for (std::size_t i = from; i < to; ++i) {
    const std::string& text = all[i].text;
    if (const std::string name = name_of_settings(text); i + 1 < to && names_settings(name, all[i + 1].text)) {
      add_pair(i++);
      list.back().what.name = name.size() == 1 ? text : "--" + name;
      continue;
    }
    std::string name = overridden_name(text);
    if (name.empty() && !is_option(text)) {
      if (is_of_yacs(text) && i + 1 < to && !is_option(all[i + 1].text)) {
        add_pair(i++);
        continue;
      }
      is_of_short_option = is_of_short_option || is_short_option(text);
      if (list.empty() || is_all_of_caller(text) || is_of_short_option) continue;
      if (list.back().what.values.empty()) list.back().value = &all[i];
      list.back().what.values.push_back(computed(text));
      continue;
    }
    is_of_short_option = false;
    const std::size_t equals = text.find('=');
    if (name.empty()) name = text.substr(0, equals);
    placed_argument a{.what = {.name = std::move(name), .line = all[i].line()}, .option = &all[i]};
    if (equals != std::string::npos && equals + 1 < text.size()) {
      a.what.values.push_back(computed(without_quotes(text.substr(equals + 1))));
      a.value = &all[i];
    }
    list.push_back(std::move(a));
  }
  return list;
}

std::vector<std::string> plain_words(const words& all, std::size_t from) {
  std::vector<std::string> plain;
  for (std::size_t i = from; i < all.size(); ++i) {
    const std::string& text = all[i].text;
    if (text.starts_with('-') || text.find('=') != std::string::npos || is_of_yacs(text)) break;
    plain.push_back(text);
  }
  return plain;
}

std::optional<std::size_t> program_in(const words& all) {
  constexpr std::string_view launcher = "torch.distributed";
  constexpr std::array<std::string_view, 4> launchers{"python", "torchrun", "accelerate", "deepspeed"};
  constexpr std::array<std::string_view, 11> of_files{"echo", "printf", "cat", "cp",  "mv", "rm",
                                                      "ls",   "cd",     "rem", "REM", "::"};
  if (all.empty() || std::ranges::find(of_files, all.front().text) != of_files.end()) return {};
  const auto file = std::ranges::find_if(all, [](const traced_text& w) { return starts_program(w.text); });
  if (file != all.end()) return static_cast<std::size_t>(file - all.begin());
  bool of_python = false;
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    of_python = of_python || std::ranges::any_of(launchers, [&](std::string_view name) {
                  return all[i].text.find(name) != std::string::npos;
                });
    const bool names_module = all[i + 1].text == "-m" || all[i + 1].text == "--module";
    if (of_python && names_module && !all[i + 2].text.starts_with(launcher)) return i + 2;
  }
  return {};
}

}  // namespace ulp::io
