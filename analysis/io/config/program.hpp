// A program whose configurations are read: by what they are known, and what its keys mean. Each is a row of programs/rows.hpp.
#ifndef ULP_IO_CONFIG_PROGRAM_HPP
#define ULP_IO_CONFIG_PROGRAM_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "section.hpp"

namespace ulp::io {

// Conditions are words, of which all hold. Keys are paths: "AMP.level".
//   amp            is given, and not null         amp=a|b        has one of these values; or its default, where it is not given
//   !amp, !amp=a   the opposite
// Values are compared in lower case and without what stands before the last dot ("torch.float16"); 1 is true, 0 false. Of a list
// any element may be the value.
using conditions = std::string_view;

// The first whose conditions hold says format, scaler and what weights are kept in.
struct precision_case {
  conditions when = {};
  std::string_view format = {};      // of the gradients
  std::string_view scaler = "none";  // of the catalogue
  std::string_view parameters = {};  // "init_scale=1 growth_interval=2000": where no key sets them
  std::string_view weights = {};     // empty: not said
  std::string_view sums = {};        // what gradients are accumulated in; empty: not said
  std::string_view meaning = {};
  std::string_view refused = {};  // instead of all that: why it is not replayed
};

struct scaler_key {
  std::string_view scaler;  // of which it is a parameter
  std::string_view key;
  std::string_view parameter;
  std::string_view meaning;
};

enum class clipping_mode : bool { norm, value };

// The first whose conditions hold says how gradients are clipped.
struct clipping_case {
  std::string_view key = {};  // empty: the program has none
  conditions when = {};
  double otherwise = 0;  // where the key is not given; 0: not clipped
  clipping_mode mode = clipping_mode::norm;
  std::string_view refused = {};
};

struct remark {
  conditions when = {};
  std::string_view text;
};

enum class written_in : std::uint8_t { both, files, arguments };

struct program_row {
  std::string_view name;  // as it names itself, and as --framework takes it
  std::string_view markers =
      {};  // each is conditions joined by '+'; one that holds names the program, which alone has such keys
  std::string_view calls = {};         // functions of Python whose arguments are the configuration
  std::string_view call_markers = {};  // of which such a call must have one; empty: it need not
  std::string_view beside = {};  // keys that may be anywhere else in the file, and are taken for arguments of the call
  std::string_view started_by = {};  // ends of the words that start it on a command line; '*' is any text
  std::string_view holds = {};       // names of programs, separated by commas, whose markers its files may have too
  known_keys keys = {};              // beside those in the conditions; `read` are shared with other programs
  std::string_view defaults = {};    // "amp=false amp_dtype=float16"
  std::vector<precision_case> precision = {};
  std::vector<scaler_key> scale = {};
  std::vector<clipping_case> clipping = {};
  std::string_view microbatches = {};  // the key that says how many
  std::vector<remark> remarks = {};
  written_in place = written_in::both;
  bool precision_of_launcher = false;  // mixed_precision is that of `accelerate launch` where the program has none

  // Instead of the tables, of programs whose rules are many.
  void (*import)(import_run&, const config_entry&) = nullptr;
  // Beside the markers.
  bool (*is_its)(const config_node&) = nullptr;
};

[[nodiscard]] std::span<const program_row> program_rows();
// In any case, '-' and '_' like blanks; nullptr where there is none.
[[nodiscard]] const program_row* program_named(std::string_view name);
[[nodiscard]] std::string names_of_programs();

// Reads a configuration by the tables of its row.
void import_by_row(import_run& run, const config_entry& root, const program_row& row);

// The keys of the row's conditions and tables.
[[nodiscard]] std::vector<std::string> keys_of(const program_row& row);

// Whether they hold in a tree; `defaults` stand for keys that are not given.
[[nodiscard]] bool hold(conditions all, const config_node& root, std::string_view defaults = {});
// The entry at a path of keys; nullptr where there is none or it is null.
[[nodiscard]] const config_entry* entry_at(const config_node& root, std::string_view path);

// Of whom a configuration is, and where in the file it begins: the file itself, or the arguments of a call in it.
struct named_program {
  const program_row* row = nullptr;
  config_entry root;
};
// By the name that is asked for, else by what starts it, else by its markers; a row of nullptr where nothing names one. Throws
// input_error where several may be meant.
[[nodiscard]] named_program found_program(const import_run& run, const config_entry& root);
// Throws input_error, which names the keys that several programs have, where nothing names one.
[[nodiscard]] named_program program_of(const import_run& run, const config_entry& root);

}  // namespace ulp::io

#endif
