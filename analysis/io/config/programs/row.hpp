// A program whose configurations are read: by what they are known, and what its keys mean. rows.hpp lists them.
#ifndef ULP_IO_CONFIG_PROGRAMS_ROW_HPP
#define ULP_IO_CONFIG_PROGRAMS_ROW_HPP

#include <cstdint>
#include <string_view>
#include <vector>

namespace ulp::io {

struct config_entry;
struct config_node;
struct import_run;

// The keys of a mapping, separated by blanks.
struct known_keys {
  std::string_view read;           // have a meaning for the replay
  std::string_view not_read = {};  // have none, with all that is below them
};

// Conditions are words, of which all hold. Keys are paths: "AMP.level".
//   amp            is given, and not null         amp=a|b        has one of these values; or its default, where it is not given
//   amp=*          has a value, not keys of its own
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
  std::string_view words = {};    // whose lines are written for it; empty: the program's
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
  bool clips_to_zero = false;  // 0 is a limit as any other: nothing is learned
};

// The first whose conditions hold says how 8-bit floats are scaled.
struct float8_case {
  conditions when = {};
  std::string_view recipe = {};  // the key that says which
  std::string_view otherwise = {};
  std::string_view kept_out = {};  // the key with a list of layers
  std::string_view library = {};   // of said_float8
  // Keys of said_float8's members, and "format=hybrid margin=0": where no key says them.
  std::string_view format = {};
  std::string_view history = {};
  std::string_view algorithm = {};
  std::string_view margin = {};
  std::string_view defaults = {};
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
  std::string_view calls = {};            // functions of Python whose arguments are the configuration
  std::string_view call_markers = {};     // of which such a call must have one; empty: it need not
  std::string_view named_in_script = {};  // what a script says that has such a call, though perhaps in a branch
  std::string_view argument = {};         // those of its arguments that may hold it all; empty: the arguments are it
  std::string_view beside = {};  // keys that may be anywhere else in the file, and are taken for arguments of the call
  std::string_view started_by = {};  // ends of the words that start it on a command line; '*' is any text
  bool takes_command =
      false;  // the words before its options are its key "command": "finetune" of `litgpt finetune --lr 1`
  std::string_view flags =
      {};  // keys of its command line that take no value: a word behind one is an argument by itself
  std::string_view settings = {};        // keys of its command line that name a file of settings: "config command"
  std::string_view own_settings = {};    // the file among them that holds the defaults below
  std::string_view of_command = {};      // keys that its command line says, whatever the file of settings does
  std::string_view not_started_by = {};  // ends of the words that start others with such arguments
  bool has_any_sections = false;         // sections of its files only group the keys
  bool is_part = false;                  // of what other programs configure: these count before it
  std::string_view holds = {};           // names of programs, separated by commas, whose markers its files may have too
  known_keys keys = {};                  // beside those in the conditions; `read` are shared with other programs
  std::string_view defaults = {};        // "amp=false amp_dtype=float16"
  std::vector<precision_case> precision = {};
  std::vector<scaler_key> scale = {};
  std::vector<clipping_case> clipping = {};
  std::string_view microbatches = {};  // the key that says how many
  std::vector<float8_case> float8 =
      {};  // whose keys stand among those that are not read: no loss scale depends on them
  std::vector<remark> remarks = {};
  written_in place = written_in::both;
  bool precision_of_launcher = false;  // mixed_precision is that of `accelerate launch` where the program has none

  // Instead of the tables, of programs whose rules are many.
  void (*import)(import_run&, const config_entry&) = nullptr;
  // Beside the markers.
  bool (*is_its)(const config_node&) = nullptr;
};

}  // namespace ulp::io

#endif
