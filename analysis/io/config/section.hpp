// One mapping of a configuration: what its keys mean for the replay is written down, and which of them are not known.
#ifndef ULP_IO_CONFIG_SECTION_HPP
#define ULP_IO_CONFIG_SECTION_HPP

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/io/config/config_import.hpp>

#include "concerns.hpp"
#include "config/programs/row.hpp"
#include "config/syntax/tree.hpp"

namespace ulp::io {

struct argument_list;

[[nodiscard]] std::vector<std::string_view> words_of(std::string_view text);

// Of the known keys that decide on the loss scale the one that `key` nearly is, in spite of case, '-' for '_' and a typing
// error or two; empty where there is none.
[[nodiscard]] std::string near_key(std::string_view key, const std::vector<std::string_view>& known);
// "'hysterisis' is not a known DeepSpeed key of 'fp16', and nearly 'hysteresis'; ...".
[[nodiscard]] std::string unknown_text(std::string_view key, const std::string& what, std::string_view near);

// A key that this program does not know.
struct unknown_key {
  std::string name;
  std::size_t line = 0;
  config_node value;
};

// What is being read, and what it has amounted to.
struct import_run {
  std::string file;
  std::string framework;                   // asked for by the user; empty: by what is in the file
  const argument_list* command = nullptr;  // where it is a command line
  std::string_view script;                 // the text of the file, where it is none
  imported_config out;
  std::optional<format> wanted;                // by the user
  bool by_trainer = false;                     // ... no: by Hugging Face's Trainer, which fills "auto" by it
  std::optional<double> trainer_norm;          // likewise
  std::map<std::string, std::string> written;  // files that the script itself writes, with their texts
  std::vector<std::string> read;               // keys that may have a meaning
  std::vector<std::string> not_read;           // keys without meaning for the replay
  std::vector<unknown_key> unknown;
  std::vector<std::string> used;                 // keys that a conclusion was drawn from, beside those in out.meanings
  std::array<bool, concern_count> settled = {};  // whether a key that is known says it
  bool only_what_matters = false;                // other keys were not looked at: they are counted, not listed

  void parameter(const std::string& name, parameter_value value) {
    out.parameters.emplace_back(name, std::move(value));
  }
  void means(const std::string& what, const std::string& meaning) { out.meanings.push_back(what + " -> " + meaning); }
  void settles(std::string_view key, const config_node& value);
  void note(const std::string& text) { out.notes.push_back(text); }
  void no_scaling(const std::string& format) {
    out.scaler = "none";
    out.format = format;
  }
};

// Why a value is open, and what to do.
[[nodiscard]] std::string open_reason(const config_node& value);

// The shortest decimal that reads back.
[[nodiscard]] std::string number_text(double x);

class config_section {
 public:
  // Throws input_error where `entry` is not a mapping or holds a key that is nearly one of known.read; other unknown keys
  // go to run.unknown. `path` names it: "fp16", or nothing for the whole file.
  config_section(import_run& run, std::string path, const config_entry& entry, const known_keys& known);

  // Whether the key stands there at all, whatever its value.
  [[nodiscard]] bool has(std::string_view key) const { return node_->find(key) != nullptr; }
  // The entry, nullptr where it is not there or null.
  [[nodiscard]] const config_entry* find(std::string_view key) const;

  // Values; nothing where the key is not there or null. Throw input_error for values of another kind.
  [[nodiscard]] std::optional<double> number(std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  // Of any scalar.
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
  // Above 0, or an error.
  [[nodiscard]] double positive(std::string_view key, double otherwise) const;
  // Whether the value is a number, not a text that looks like one.
  [[nodiscard]] bool is_number(std::string_view key) const;
  [[nodiscard]] std::optional<config_section> section(std::string_view key, const known_keys& known) const;

  // "fp16.hysteresis".
  [[nodiscard]] std::string name_of(std::string_view key) const;
  // "fp16.hysteresis = 4", "fp16.hysteresis is not given", or the name alone where the value is no scalar.
  [[nodiscard]] std::string given(std::string_view key) const;
  void means(std::string_view key, const std::string& meaning) const { run_->means(given(key), meaning); }
  // The line is that of the key, or of the section where it is not there.
  [[noreturn]] void fail(std::string_view key, const std::string& reason) const;

  [[nodiscard]] import_run& run() const noexcept { return *run_; }

 private:
  [[noreturn]] void wrong_kind(std::string_view key, const std::string& wanted) const;

  import_run* run_;
  std::string path_;
  const config_node* node_;
  std::size_t line_;
};

}  // namespace ulp::io

#endif
