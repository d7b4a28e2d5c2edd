// Where a finding is looked at: what the card of its topic shows, and where it leads.
#ifndef ULP_REPORT_FINDINGS_CARDS_HPP
#define ULP_REPORT_FINDINGS_CARDS_HPP

#include <cstdint>
#include <span>
#include <string_view>

namespace ulp {

// Along the run.
enum class card_curve : std::uint8_t { none, loss, norm, run_scale, replay_scale };

struct card_row {
  std::string_view topic;
  std::string_view view;  // the viewer's, by its key; empty: nowhere
  card_curve curve;
};

// One for each cause (ulp/model/causes/diagnosis.hpp), then those of the other answers.
[[nodiscard]] std::span<const card_row> card_rows() noexcept;
// nullptr where the topic has none.
[[nodiscard]] const card_row* find_card(std::string_view topic) noexcept;

}  // namespace ulp

#endif
