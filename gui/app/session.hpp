// What is open and how it is looked at, as a small file.
#ifndef ULP_GUI_APP_SESSION_HPP
#define ULP_GUI_APP_SESSION_HPP

#include <QByteArray>
#include <QString>
#include <string>
#include <vector>

#include "viewmodel/scenario_spec.hpp"
#include "viewmodel/view_state.hpp"

namespace ulp::gui {

struct session {
  std::vector<std::string> inputs;
  std::vector<scenario_spec> replays;
  QString view;
  QString filter;
  view_state::step_range shown;
  std::int64_t cursor = 0;
  friend bool operator==(const session&, const session&) = default;
};

// JSON with its keys in a fixed order: equal sessions are equal bytes.
[[nodiscard]] QByteArray to_json(const session& s);
// Throws std::runtime_error that says what is wrong with it; `name` is the file's.
[[nodiscard]] session session_from(const QByteArray& json, const QString& name);

}  // namespace ulp::gui

#endif
