// What restricts the pictures: words for a row of chips, and for the head of what is exported.
#ifndef ULP_GUI_VIEWMODEL_CONTEXT_HPP
#define ULP_GUI_VIEWMODEL_CONTEXT_HPP

#include <QString>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "view_state.hpp"

namespace ulp::gui {

struct restriction {
  enum class kind : std::uint8_t { steps, tensor, filter, tried_scale, reading };
  kind of = kind::steps;
  QString text;  // "filter ^conv"; printable
};

// Which of them a view heeds.
using heeded = std::function<bool(restriction::kind)>;
[[nodiscard]] inline bool heeds_all(restriction::kind) { return true; }

// Of the run in front; none while nothing is open.
[[nodiscard]] std::vector<restriction> restrictions_of(const view_state& state, const heeded& by = heeds_all);
void lift(restriction::kind of, view_state& state);

// What counts at the scales of the replay does not say: that each layer had a scale of its own. Mostly empty.
[[nodiscard]] QString scales_note(const view_state& state, const heeded& by = heeds_all);

// "steps 100 to 400, filter ^conv"; "all steps, all tensors"; empty while nothing is open. only: the one step that is shown,
// whatever the others are.
[[nodiscard]] QString context_of(const view_state& state, const heeded& by = heeds_all,
                                 std::optional<std::int64_t> only = std::nullopt);

}  // namespace ulp::gui

#endif
