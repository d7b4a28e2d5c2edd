// What is open and how it is looked at: what the command line asks for, and what is saved as a small file.
#ifndef ULP_GUI_APP_SESSION_HPP
#define ULP_GUI_APP_SESSION_HPP

#include <QByteArray>
#include <QString>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

struct session {
  struct replay {
    scenario_text spec;
    std::size_t run = 0;  // index into `runs`
    friend bool operator==(const replay&, const replay&) = default;
  };
  std::vector<document::inputs_of_run> runs;
  std::vector<replay> replays;
  run_text reading;  // of all runs; without inputs
  QString view = "overview";
  QString filter;
  layer_metric metric = layer_metric::underflow;  // of Layers
  std::string weights_format;                     // view_state::weights_format, where it is not the replay's
  std::optional<fp8_spec> fp8;                    // nullopt: none was chosen
  plan_spec plan;                                 // view_state::plan
  std::string block;                              // view_state::block, where one was chosen
  std::vector<std::string> block_rows;            // those that Formats compares; empty: the usual ones
  std::optional<std::int64_t> first_step;         // shown; nullopt: from the run's first on
  std::optional<std::int64_t> last_step;          // likewise
  std::optional<std::int64_t> cursor;
  friend bool operator==(const session&, const session&) = default;
};

// JSON with its keys in a fixed order: equal sessions are equal bytes.
[[nodiscard]] QByteArray to_json(const session& s);
// Throws std::runtime_error that says what is wrong with it; `name` is the file's.
[[nodiscard]] session session_from(const QByteArray& json, const QString& name);
// The same of a file.
[[nodiscard]] session read_session(const QString& path);
// Whether a file is one, whatever its name.
[[nodiscard]] bool is_session(const QString& path);

[[nodiscard]] session session_of(const view_state& state, const QString& view);
[[nodiscard]] std::vector<replay_entry> entries_of(const session& s);
// The range, the filter and the cursor; the runs are open.
void look_as(const session& s, view_state& state);

}  // namespace ulp::gui

#endif
